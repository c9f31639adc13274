"""The cases of the comparison with csg-htsim: transports with the same settings in both, on matrices that both read."""

import random
from dataclasses import dataclass
from pathlib import Path

K, RATE_MBPS, DELAY_US = 8, 100_000, 1
PAYLOAD, HEADER = 4096, 64
PACKET = PAYLOAD + HEADER
HOSTS = K**3 // 4
SENDERS = 32
QUEUE = 35
"""Packets that a port of NDP holds, and of windows that fill the path: csg-htsim's own validation has 35 and 50."""
WINDOW = 50
PAUSE, RESUME = 15, 12
"""Packets from which on csg-htsim's lossless switches pause a link, and let it go on: its defaults."""
BASE_RTT_US = 12
"""csg-htsim's HPCC has this round trip, and grows by a packet; its packets have no room for telemetry."""
END_US = 20_000
PACKETS = {"permutation": 1221, "incast": 244}
"""Full packets of a flow: 5 MB and 1 MB."""


@dataclass(frozen=True)
class Case:
    """A transport.

    Attributes:
        name: For people.
        program: Of csg-htsim.
        theirs: Its options beside the fabric's.
        ours: The scenario's lines beside the fabric's.
        repaired: Whether csg-htsim is patched.
        uet: Whether the program is Ultra Ethernet's fork, uet-htsim.
    """

    name: str
    program: str
    theirs: tuple[str, ...]
    ours: str
    repaired: bool = False
    uet: bool = False


ECMP = ("-strat", "ecmp_host", "-paths", str(HOSTS))
LOSSLESS = f'switch.pfc = {{ xoff = "{PAUSE * PAYLOAD}B", xon = "{RESUME * PAYLOAD}B" }}\n'
ROCE = f'{{ packet = "{PACKET}B", header = "{HEADER}B" }}'
HPCC = f"""{LOSSLESS}
[transport]
name = "hpcc"
roce = {ROCE}
hpcc = {{ base_rtt = "{BASE_RTT_US}us", additive_increase = "{PAYLOAD}B", telemetry = "0B" }}
"""

BUFFER, FIRST = 1000, 15
"""Packets that a port holds under Swift, so that nothing is lost, and the first window, csg-htsim's default."""
SWIFT_THEIRS = ("-q", str(BUFFER), "-cwnd", str(FIRST))
SWIFT = f"""
switch.buffer = "{BUFFER} packets"
[transport]
name = "swift"
[transport.tcp]
packet = "{PACKET}B"
header = "{HEADER}B"
initial_window = {FIRST}
handshake = false
receive_window = "16MB"
rto_initial = "1ms"
rto_min = "1ms"
"""

SPRAYED = (*ECMP, "-q", str(QUEUE))
EQDS = f"""
switch.buffer = "{QUEUE} packets"
[transport]
name = "eqds"
uec = {{ packet = "{PACKET}B", header = "{HEADER}B", initial_window = {WINDOW}, entropies = {HOSTS} }}
"""


def uec(control: str, marks: str) -> str:
    """Ultra Ethernet's transport over ports of so many packets that mark."""
    return f"""
[switch]
buffer = "{QUEUE} packets"
{marks}
[transport]
name = "uec"
uec = {{ packet = "{PACKET}B", header = "{HEADER}B", control = "{control}", entropies = {HOSTS} }}
"""


UEC_PATHS = ("-paths", str(HOSTS), "-q", str(QUEUE))

CASES: tuple[Case, ...] = (
    Case(
        "NDP",
        "htsim_ndp",
        ("-strat", "perm", "-q", str(QUEUE), "-cwnd", str(WINDOW)),
        f"""
routing.mode = "per-packet-permuted"
switch.buffer = "{QUEUE} packets"
[transport]
name = "ndp"
ndp = {{ packet = "{PACKET}B", header = "{HEADER}B", initial_window = {WINDOW} }}
""",
    ),
    Case("EQDS", "htsim_eqds", (*SPRAYED, "-cwnd", str(WINDOW)), EQDS),
    Case("UEC, NSCC", "htsim_uec", ("-sender_cc_only", *UEC_PATHS), uec("nscc", ""), uet=True),
    Case("UEC, RCCC", "htsim_uec", ("-receiver_cc_only", *UEC_PATHS), uec("rccc", ""), uet=True),
    Case("RoCE", "htsim_roce", ECMP, f'{LOSSLESS}\n[transport]\nname = "roce"\nroce = {ROCE}\n'),
    Case("HPCC", "htsim_hpcc", ECMP, HPCC),
    Case("HPCC, repaired", "htsim_hpcc", ECMP, HPCC, repaired=True),
    Case("Swift", "htsim_swift", SWIFT_THEIRS, SWIFT),
    Case("Swift, repaired", "htsim_swift", SWIFT_THEIRS, SWIFT, repaired=True),
)


def matrix(kind: str, seed: int) -> str:
    """A connection matrix in csg-htsim's format: a permutation without fixed points, or an incast to host 0."""
    chosen = random.Random(f"{kind} {seed}")
    if kind == "incast":
        pairs = [(a, 0) for a in sorted(chosen.sample(range(1, HOSTS), SENDERS))]
    else:
        to = list(range(HOSTS))
        while any(a == b for a, b in enumerate(to)):
            chosen.shuffle(to)
        pairs = list(enumerate(to))
    flows = [f"{a}->{b} id {n + 1} start 0 size {PACKETS[kind] * PAYLOAD}" for n, (a, b) in enumerate(pairs)]
    return "\n".join([f"Nodes {HOSTS}", f"Connections {len(pairs)}", *flows, ""])


def scenario(case: Case, file: Path) -> str:
    """The scenario that reads a matrix."""
    return f"""
fabric = {{ topology = "fat-tree", k = {K}, rate = "{RATE_MBPS}Mbps", delay = "{DELAY_US}us" }}
{case.ours}
[[workload]]
name = "matrix"
trace = {{ file = "{file.name}", start_unit = "ps" }}
"""


def options(case: Case, file: Path, kind: str, seed: int) -> list[str]:
    """What csg-htsim's program is called with."""
    shared = ["-nodes", str(HOSTS), "-linkspeed", str(RATE_MBPS), "-tm", file.name, "-o", "log", "-end", str(END_US)]
    if case.program == "htsim_swift":
        # Swift's packets have no header; it has links of 1 us and one seed, and does not take sizes from the matrix.
        own = ["-mtu", str(PACKET), "-flowsize", str(PACKETS[kind])]
    else:
        whole = case.program in {"htsim_eqds", "htsim_uec"}
        own = ["-mtu", str(PACKET if whole else PAYLOAD), "-hop_latency", str(DELAY_US), "-seed", str(seed)]
    return [*shared, *own, *case.theirs]
