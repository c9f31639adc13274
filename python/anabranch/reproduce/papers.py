"""The papers."""

from anabranch.reproduce.model import Paper

SCDP = Paper(
    "scdp",
    "SCDP",
    "Alasmar, Parisis, Crowcroft: SCDP: systematic rateless coding for efficient data transport in data centres. "
    "IEEE/ACM Transactions on Networking 29(6), 2021",
)
NDP = Paper(
    "ndp",
    "OMNeT++ NDP",
    "Alasmar, Parisis: Evaluating modern data centre transport protocols in OMNeT++/INET. "
    "OMNeT++ Community Summit 2019; chapter 4 of Alasmar's thesis",
)

JOY = Paper(
    "joy",
    "Joy",
    "Joy: Improving flow completion time and throughput in data center networks. Thesis, University of Ottawa, 2015",
)

SONG = Paper(
    "song",
    "Song",
    "Song: Multipath approaches to avoiding TCP Incast. Thesis, University of Iowa, 2017",
)

PAPERS: tuple[Paper, ...] = (SCDP, NDP, JOY, SONG)
"""In the order of the comparison tables."""
