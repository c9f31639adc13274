"""Why measured numbers differ from the papers': what is known, claim by claim.

A text here says what was found out, not what would be convenient: an argument that can be checked (a row of the table,
an experiment, arithmetic). A deviation for which there is none stays *unexplained* in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.reproduce.model import Experiment

PIPE = (
    "A window of 12 packets cannot fill a path of six links of 10 µs at 1 Gbps: a packet and its pull take 195 µs, "
    "12 packets last for 144 µs, so that 0.71 Gbps of payload is the most (`scdp/delay` shows it, and that the "
    "paper's windows fill its links if a link's delay is 1 to 2 µs). The thesis itself finds 16 packets for NDP on "
    "the same fabric (chapter 4, Figure 8a)."
)

MEETS = (
    "More than any transport can have: a write of 1 MB holds the links of three receivers for 8.4 ms at least, and "
    "with 6000 of them a second on 175 hosts exp(-3 · 6000 / 175 · 2 · 8.4 ms) = 18 % of the writes meet no other "
    "one. Single receivers are undisturbed in 56 % of the cases; the authors' published simulator reports the mean "
    "over receivers, the text the last of them. Besides, "
)

SERVED_LAST = (
    "Requests of one size are what priorities by bytes sent serve worst: each new request goes before all those "
    "that are further, so that all are done late. With priorities by size, as the published NDP simulator has them,"
    " NDP+ writes as fast as NDP (`anabranch run scenarios/scdp/fig05.toml transport.scdp.priority_by=size`)."
)

LONG_FLOWS = (
    "Not explained. Two things that the paper does not state matter: whether the hosts of these flows do anything "
    "else, and for how long it is measured. On hosts of their own, as here and in the authors' framework, they "
    "get more than the paper says, in its order (SCDP, NDP, PIAS). On hosts that requests use, too, they get "
    "little while requests are under way and as much as alone thereafter: `scdp/background` draws both against "
    "the time that is measured. No one time fits all transports."
)

LONG_FLOWS_OF_NDP = (
    "Not explained. With the links, queues and pulls of the published simulators, windows of 5 packets, which a copy "
    "of the published NDP gives to long flows (here to all), and long flows on hosts that requests use, too, NDP's "
    "have 0.28 Gbps beside writes and 0.32 beside reads, measured until the requests are done, near the paper's "
    "(`anabranch run scenarios/scdp/fig05.toml transport.name=ndp switch.buffer='20 packets' "
    "workload.requests.fallback=multi-unicast workload.requests.sizes.size=4MB workload.requests.arrivals.rate=4000 "
    "workload.background.exclusive=false fabric.delay=1us switch.pushed_first=true switch.victim=arriving "
    "host.pull_pace=1.0313 transport.ndp.initial_window=5`; for reads `fig06.toml` with "
    "`workload.requests.placement.blocks=1 workload.requests.sessions=2000`). But SCDP's then have 0.20 beside writes, "
    "half of the paper's 0.408."
)

PASSES = (
    "Not explained. It grows with the time that is measured, once the requests are done; the paper's number is passed "
    "before, but by each transport at another time (see the figure)."
)

NEVER_SO_LITTLE = (
    "Not explained. On hosts of their own these flows get more; on hosts that requests use, too, less, but "
    "however long is measured not as little as the paper says (`scdp/background`)."
)

FEW_MEET = (
    "Not explained. The load leaves little to trim: 2000 sessions a second of 12 ms each on 175 receivers meet another "
    "one at their start in 14 % of the cases; the others have an idle link, which the sender's own link cannot "
    "overrun. With the queues, pulls and links of the published simulators, and background flows on hosts that "
    "sessions use, too, it is 4 packets (`scdp/published`)."
)

TWENTY = (
    "Who is trimmed, and what else hosts do. With the queues, pulls and links of the published simulators it is 1.3, "
    "7.6 and 18.5 packets at w = 12, 20 and 52, and with background flows on hosts that sessions use, too, 4, 25 and "
    "39 (`scdp/published`): as in the paper, nearly all of it is reached by 20. Those settings do not fit the reads "
    "(same page)."
)

UP_TO = (
    "The paper does not say which of its comparisons has this gain; it gives one for reads and writes together. Here "
    "SCDP is measured against the better way of using the other transport (daisy chain, three blocks). Against a "
    "single block SCDP's heaviest reads gain from 27 to 77 % over NDP, and from 34 to 107 % over PIAS, by what else "
    "the hosts of background flows do and what queues, links and pulls are like, of which the text says little (rows "
    "*improves goodput* of `scdp/published`)."
)

TWO_MORE = (
    "A block of 100 symbols that loses one needs two more, 2 %, and gets those that other receivers of its group "
    "ask for. At this load most receivers lose symbols: writes of 3 MB at λ = 4000 ask for 288 Gbps of 175 links of"
    " 1 Gbps. 1 % is possible only while fewer than half of the blocks lose any, as those of 1 MB at λ = 2000 do "
    "here."
)

ROUND_TRIP = (
    "Not explained for certain. 16 packets last for 192 µs, the round trip of an idle path of six links for 195 µs, so "
    "that anything that lengthens round trips needs more: mean goodput is 88 % of the largest at 16, 94 % at 18 and 97 "
    "% at 20."
)

LONG_LINKS = (
    "With the 10 µs of the text it is near the paper's number (`scdp/fig06`): there NDP's window of 12 does not fill "
    "paths of six links. So reads fit 10 µs, and the windows that fill links fit 1 to 2 µs (`scdp/delay`)."
)

THREE_TIMES = (
    "2048 writes of 4 MB a second to three receivers each, and 512 background sessions, ask for 213 Gbps of 250 "
    "links of 1 Gbps: 85 % of them, against 33 % with one replica. Receivers that share a link equally leave a "
    "session 15 % of it on average, against 67 %, a ratio of 0.22, and a group goes at the pace of its slowest. "
    "The authors' published scenario has 250 sessions a second (`centralSchRq.ini`)."
)

DECODED = (
    "Not explained. The share grows with the number of sessions for each receiver, smoothly; the paper's grows "
    "eightfold from load 0.6 to 0.7. With links of 1 µs (`fabric.delay=1us`) it is two to three times as large at all "
    "loads; with the published queues and pulls, too, it is 2.2 to 4.9 % (`switch.pushed_first=true "
    "switch.victim=arriving host.pull_pace=1.0313 transport.scdp.priority_by=size`)."
)

FLOOR = (
    "The paper's number is below what these flows need on an idle network with pFabric's sizes and links of 10 µs, "
    "0.39 ms (row *on an idle fabric*). With the sizes and the links (1 µs) of the authors' simulators an idle network "
    "needs 0.31 ms, and with all that these do SCDP, NDP+ and PIAS come to 0.40, 0.37 and 0.48 ms, in the paper's "
    "order (`scdp/models`)."
)

NEARLY_IDLE = (
    "Not explained. The paper's numbers, at load 0.8, are what these flows need on an idle network with these sizes "
    "and links (row *on an idle fabric*), or less. The order is the paper's: NDP+, SCDP, PIAS."
)

FLOOR_TAIL = (
    "No 99th percentile of flows of up to 100 KB can be so small: on an idle network it is 0.88 ms. Of the flows that "
    "fit the initial window (chosen afterwards: rows *which fit the initial window*) the tails are nearer to the "
    "paper's; with the sizes of the authors' simulators and links of the text (chosen afterwards, too) they are 0.23, "
    "0.32 and 0.38 ms, with all that these simulators do 0.18, 0.24 and 0.22 (`scdp/models`)."
)

TURNS = (
    "A flow that exceeds the initial window needs pulls, and a receiver grants them in turn to all its sessions, "
    'requests included (§V-I: priorities at the receiver "would be straightforward"), so that it gets the same '
    "share of the link as every one of them, whatever its priority in the network; flows that fit the window are "
    "hardly slower than on an idle network. PIAS's senders do not wait for turns. With pulls by priority SCDP's short "
    "flows are faster than PIAS's (`scdp/pull-order`, with a fifth of the flows)."
)

NO_PRIORITIES = (
    "The sizes: with those of the authors' simulators, which have half as many bytes, it is 0.32 ms, and from 0.24 to "
    "0.36 with whatever else these do (`scdp/models`). NDP has no priorities, so that a pushed packet waits behind up "
    "to 20 others wherever a queue is full, 0.24 ms each time."
)

BEHIND_WRITES = (
    "Not explained. NDP has no priorities: beside multi-unicast writes a pushed packet waits behind its own host's "
    "other packets, and wherever a queue is full. The paper's number leaves room for hardly any. With the sizes of the "
    "authors' simulators it is 3.1 ms, and 2.8 with pushed packets first, too "
    "(`workload.flows.sizes.name=websearch_scdp switch.pushed_first=true`)."
)

HANDSHAKE = (
    "A handshake goes before the data, and the initial window of 10 segments is less than the largest of these "
    "flows have: a round trip each, 0.12 ms or more over six links of 10 µs. With the smaller flows of the authors' "
    "simulators it is 0.38 ms in Figure 7 (`scdp/models`)."
)

AT_MOST = (
    "Here it is most at load 0.8, where the 50 hosts that are left exchange two thirds of what their links carry and "
    "NDP's short flows wait behind its long ones. With the sizes and links of the authors' simulators it is 32 %, and "
    "43 % with the long flows on the same hosts (`scdp/models`)."
)

OVERLOADED = (
    "2500 flows a second of 8.1 MB ask for 163 Gbps: more than the links of the hosts carry that the long flows leave, "
    "from load 0.4 on (150 hosts) to 0.8 (50 hosts). NDP has no priorities, so that its short flows wait for ever more "
    "long ones: SCDP's mean is 49 % below it at load 0.5, 83 % at 0.8."
)

NO_MORE_TO_SAVE_OF_SEARCH = (
    "PIAS's mean at load 0.8 is 1.0 ms in Figure 7 and an idle network needs 0.39 ms: nothing could save more than 61 "
    "%. With the sizes and links of the authors' simulators it is 0.48 and 0.31 ms: not more than 37 % (`scdp/models`)."
)

NO_MORE_TO_SAVE = (
    "PIAS's mean at load 0.8 is 0.37 ms and an idle network needs 0.16 ms: nothing could save more than 57 %."
)

SIZES_OF_SEARCH = (
    "The paper's shares are those of a table in the authors' simulators, within 2 points (`scdp/models`). That ends at "
    "7 MB and has a mean of 0.81 MB; the paper's mean is that of the whole workload, as pFabric's table has it, which "
    "is used here."
)

SIZES = (
    "The paper's shares match no published table of this workload; the mean does. The table here is the one that "
    "pFabric's simulations used."
)

NEVER_FULL = (
    "The buffer changes nothing here: with marks from 20 packets on, as DCTCP and so PIAS has them, 100 KB are hardly "
    "ever full (147 packets of 948 million are dropped, and without a bound none). An idle network needs 0.38 ms for "
    "these flows, more than the paper's 0.32 ms. With the sizes and links of the authors' simulators, and the long "
    "flows on the same hosts, it is 0.49 ms with either buffer (`anabranch run scenarios/scdp/buffers.toml "
    "workload.flows.sizes.name=websearch_scdp fabric.delay=1us workload.background.exclusive=false`)."
)

TWO_THIRDS = (
    "The sizes, and what else hosts do. At this load 80 % of the hosts are kept for long flows, and the other 50 "
    "exchange two thirds of what their links carry. With the sizes of the authors' simulators, half as many bytes, and "
    "their links it is 0.48 Gbps, and 0.61 with the long flows on the same hosts (`scdp/models`)."
)

NO_LOSS_OF_GOODPUT = (
    "Not explained is why a larger buffer should cost long flows anything: marks from 20 packets on keep 100 KB from "
    "filling, and the buffer changes nothing here. With the sizes of the authors' simulators, and the long flows on "
    "the same hosts, it is 0.63 Gbps with either (`anabranch run scenarios/scdp/buffers.toml "
    "workload.flows.sizes.name=websearch_scdp fabric.delay=1us workload.background.exclusive=false`), between the "
    "paper's two numbers."
)

OUTCAST_TCP = (
    "The paper states neither TCP's initial window nor its least timeout, and they decide this. With 10 segments "
    "and 200 ms, as here, the near flows are done before the far ones recover from their losses. With 2 segments "
    "and 10 ms (`anabranch run scenarios/scdp/fig12-outcast.toml transport.name=newreno "
    "transport.tcp.initial_window=2 transport.tcp.rto_min=10ms`) the near group starves as in the paper."
)

OUTCAST_SCDP = (
    "Priorities follow the bytes that each flow has sent, so that twelve flows have six times as much in the high "
    "priorities as two. Without MLFQ (`anabranch run scenarios/scdp/fig12-outcast.toml transport.name=scdp "
    "switch.queue=trim`) the link is shared equally between the receivers while both receive, as in the paper."
)

INCAST = (
    "From 5 senders on every session of SCDP loses symbols and is decoded, NDP sends again just what was trimmed. A "
    "decoded session needs 2 symbols more than the 49 of 70 KB and the 179 of 256 KB (columns `decoded` and "
    "`overhead_symbols` of the flows): 4.1 and 1.1 % of the receiver's link. Decoding 70 KB at the paper's rate takes "
    "0.43 ms, 1.1 % of the median at 70 senders."
)

EXPLANATIONS: Mapping[str, Mapping[str, str]] = {
    "scdp/fig05": {
        **dict.fromkeys(("above-90", "above-60"), MEETS + PIPE[0].lower() + PIPE[1:]),
        **dict.fromkeys(("background-scdp", "background-pias", "freed"), LONG_FLOWS),
        "background-ndp": LONG_FLOWS_OF_NDP,
        **dict.fromkeys(("gain-over-ndp", "gain-over-pias"), UP_TO),
        **dict.fromkeys(("ndp-plus-over-ndp", "ndp-plus-below-scdp"), SERVED_LAST),
    },
    "scdp/fig06": {
        "above-90-ndp": PIPE,
        "ndp-plus-over-both": PIPE,
        **dict.fromkeys(("gain-over-ndp", "gain-over-pias"), UP_TO),
        "background-ndp": LONG_FLOWS_OF_NDP,
        "background-pias": NEVER_SO_LITTLE,
    },
    "scdp/background": {
        **dict.fromkeys(("shared-writes-ndp", "shared-reads-ndp"), LONG_FLOWS_OF_NDP),
        "shared-writes-pias": PASSES,
        "shared-reads-pias": NEVER_SO_LITTLE,
    },
    "scdp/fig13": {"trimmed-w12": FEW_MEET, **dict.fromkeys(("trimmed-w20", "trimmed-w52"), TWENTY)},
    "scdp/fig14": dict.fromkeys(("decoded-load0.5", "decoded-load0.6", "decoded-load0.7"), DECODED),
    "scdp/fig16": {"overhead": TWO_MORE},
    "scdp/polyraptor-fig1": {"writes": THREE_TIMES},
    "ndp/fig8a": {"fills": ROUND_TRIP},
    "scdp/published": {
        "writes-90": MEETS.removesuffix(" Besides, "),
        "writes-60": MEETS.removesuffix(" Besides, "),
        **dict.fromkeys(
            ("reads-90-ndp", "reads-90-pias", "reads-90-ndp-shared-1us", "reads-90-pias-shared-1us"), LONG_LINKS
        ),
        "reads-90-ndp-shared": PIPE,
        **dict.fromkeys(
            (
                "reads-90-ndp-queues",
                "reads-90-pias-queues",
                "reads-90-ndp-queues-shared",
                "reads-90-pias-queues-shared",
            ),
            LONG_LINKS,
        ),
        "reads-90-scdp-queues-shared": (
            "Not explained. What brings trimmed packets near the paper's number takes the reads away from it: none of "
            "these settings fits both."
        ),
        **{
            f"gain-over-{name}, {settings}": UP_TO
            for name in ("ndp", "pias")
            for settings in ("10 µs (text)", "published queues, shared")
        },
        **{
            f"trimmed-{key}, {settings}": text
            for key, text in (("w12", FEW_MEET), ("w20", TWENTY), ("w52", TWENTY))
            for settings in ("published queues", "published queues, shared")
        },
        "background-ndp": LONG_FLOWS_OF_NDP,
        "background-pias": NEVER_SO_LITTLE,
    },
    "scdp/fig07": {
        **dict.fromkeys(
            (
                "mean-scdp",
                "mean-ndp-plus",
                "mean-pias",
                "floor-mean",
            ),
            FLOOR,
        ),
        **dict.fromkeys(("tail-scdp", "tail-ndp", "tail-pias", "floor-tail"), FLOOR_TAIL),
        **dict.fromkeys((f"share-{turn}" for turn in range(4)), SIZES_OF_SEARCH),
        "pushed-ndp": NO_PRIORITIES,
        "pushed-pias": HANDSHAKE,
        "long-flows": SIZES_OF_SEARCH,
        "long-pias": TWO_THIRDS,
        "reduction-ndp": AT_MOST,
        "reduction-pias": NO_MORE_TO_SAVE_OF_SEARCH,
    },
    "scdp/models": {
        **dict.fromkeys(("mean-scdp-by-size", "mean-ndp+-by-size", "mean-ndp+-shared-hosts"), NEARLY_IDLE),
        "reduction-ndp-by-size": (
            "It depends on how many long flows NDP's short ones meet: where these use the same hosts it is 43 % (rows "
            "*on shared hosts*), with the sizes of the text 57 % (first step)."
        ),
        **{
            f"pushed-{name}-{step}": (
                "Links of 1 µs save 54 µs on each trip over six of them, and PIAS makes three. With links of the text "
                "(rows *up to sizes*, chosen afterwards) it is near the paper's number."
            )
            for name in ("scdp", "ndp", "pias")
            for step in ("by-size", "shared-hosts")
        },
        **dict.fromkeys(("reduction-pias-by-size", "reduction-pias-shared-hosts"), NO_MORE_TO_SAVE_OF_SEARCH),
        "long-pias-by-size": (
            "At this load 80 % of the hosts are kept for long flows, and the other 50 exchange all flows. If all hosts "
            "do, these have 0.61 Gbps (row *on shared hosts*)."
        ),
    },
    "scdp/buffers": {
        **dict.fromkeys(("mean-100KB", "mean-unlimited"), NEVER_FULL),
        "long-100KB": TWO_THIRDS,
        "long-unlimited": NO_LOSS_OF_GOODPUT,
    },
    "scdp/fig08": {
        **dict.fromkeys((f"share-{turn}" for turn in range(4)), SIZES),
        "long-flows": SIZES,
        "reduction-ndp": OVERLOADED,
        "reduction-pias": NO_MORE_TO_SAVE,
    },
    "scdp/fig10": {
        **dict.fromkeys(("tail-scdp", "tail-ndp"), f"{FLOOR_TAIL} {TURNS}"),
        "tail-pias": FLOOR_TAIL,
        "pushed-ndp": BEHIND_WRITES,
        "pushed-pias": HANDSHAKE,
        "space-pias-load0.8": TURNS,
    },
    "scdp/pull-order": {"space-pias-load0.8-turns": TURNS},
    "scdp/fig12-incast": dict.fromkeys(
        ("scdp-over-ndp-70KB", "scdp-over-ndp-256KB", "median-70KB", "median-256KB"), INCAST
    ),
    "scdp/fig12-outcast": {
        **dict.fromkeys(("newreno-near", "newreno-far", "newreno-both"), OUTCAST_TCP),
        **dict.fromkeys(("scdp-near", "scdp-far"), OUTCAST_SCDP),
    },
    "scdp/fig15": dict.fromkeys(
        ("fills-1Gbps", "fills-5Gbps", "fills-10Gbps"),
        "With links of 10 µs the window that fills a path of six links is 17 packets at 1 Gbps, 57 at 5 Gbps and "
        "107 at 10 Gbps, by arithmetic (a round trip over the time of a packet). The paper's 12, 24 and 32 fill "
        "links of 1 to 2 µs: `scdp/delay`.",
    ),
}
"""Experiment to key of a claim to explanation, in Markdown."""


def explained(experiment: Experiment) -> Experiment:
    """The experiment, with the explanations of its claims."""
    known = EXPLANATIONS.get(experiment.name, {})
    claims = (replace(claim, explanation=known.get(claim.key, claim.explanation)) for claim in experiment.claims)
    return replace(experiment, claims=tuple(claims))
