"""How results are shown: in a terminal (`table`), as figures of a paper, as a report, and in a notebook.

What is told comes from `anabranch.results`; here it is only laid out.
"""
