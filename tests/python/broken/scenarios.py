"""Broken scenarios: TOML, keys, values, units, sweeps, overrides, files beside the scenario, paths.

All but a few are planned only (``--dry-run``): what is wrong must be told before anything runs, and nothing written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from broken.case import Case

BASE = """\
name = "broken"

[fabric]
topology = "star"
hosts = 4

[transport]
name = "ndp"

[[workload]]
name = "w"
sizes = { law = "fixed", size = "20KB" }
placement = { pattern = "permutation" }
"""

FABRIC, TRANSPORT, SIZES, PLACEMENT = (
    'topology = "star"\nhosts = 4',
    'name = "ndp"',
    'sizes = { law = "fixed", size = "20KB" }',
    'placement = { pattern = "permutation" }',
)

DRY = ("run", "a.toml", "--dry-run")


def text(name: str, scenario: str | bytes, *says: str) -> Case:
    """A scenario that is broken as a whole."""
    return Case(name=name, argv=DRY, says=("error:", "a.toml", *says), files={"a.toml": scenario})


def edit(name: str, old: str, new: str, *says: str) -> Case:
    """The right scenario with one part replaced."""
    assert BASE.count(old) == 1, name
    return text(name, BASE.replace(old, new), *says)


def fabric(name: str, table: str, *says: str) -> Case:
    return edit(f"fabric-{name}", FABRIC, table, *says)


def workload(name: str, keys: str, *says: str, sizes: str = SIZES, placement: str = PLACEMENT) -> Case:
    """The right scenario with other keys in its workload."""
    changed = BASE.replace(SIZES, sizes).replace(PLACEMENT, placement) + keys + "\n"
    return text(f"workload-{name}", changed, *says)


def more(name: str, tables: str, *says: str) -> Case:
    """The right scenario and further tables."""
    return text(name, BASE + tables + "\n", *says)


def override(name: str, *settings: str, says: tuple[str, ...] = ()) -> Case:
    return Case(
        name=f"override-{name}",
        argv=("run", "a.toml", *settings, "--dry-run"),
        says=("error:", *says),
        files={"a.toml": BASE},
    )


def command(name: str, *argv: str, says: tuple[str, ...], make: Callable[[Path], object] | None = None) -> Case:
    return Case(name=f"command-{name}", argv=argv, says=says, files={"a.toml": BASE}, make=make)


def beside(name: str, sizes: str, file: str, content: str | bytes, *says: str, keys: str = "") -> Case:
    """A scenario with a file of sizes, volumes or flows beside it, which is broken."""
    changed = BASE.replace(SIZES, sizes) + keys + "\n"
    return Case(name=f"file-{name}", argv=DRY, says=("error:", *says), files={"a.toml": changed, file: content})


CDF = 'sizes = { law = "cdf", file = "sizes.csv" }'
VOLUMES = 'sizes = { law = "volumes", file = "volumes.csv" }'


def trace(name: str, file: str, content: str | bytes, *says: str) -> Case:
    scenario = BASE.replace(SIZES + "\n" + PLACEMENT, f'trace = {{ file = "{file}" }}')
    return Case(name=f"trace-{name}", argv=DRY, says=("error:", *says), files={"a.toml": scenario, file: content})


TOML = (
    text("empty", "", "fabric"),
    text("only-a-comment", "# nothing\n", "fabric"),
    text("not-utf-8", b'name = "\xff\xfe"\n'),
    text("nul-bytes", b"name = \x00\x00\n"),
    text("utf-16", BASE.encode("utf-16")),
    text("binary", bytes(range(256)) * 8),
    text("cut-short", BASE[: len(BASE) // 2], "a.toml:"),
    text("open-string", 'name = "broken\n' + BASE, "a.toml:1"),
    text("open-table", "[fabric\n" + BASE, "a.toml:1"),
    text("open-array", BASE + "x = [1, 2\n"),
    text("key-twice", BASE.replace("hosts = 4", "hosts = 4\nhosts = 5"), "hosts"),
    text("table-twice", BASE + "[fabric]\nk = 4\n", "fabric"),
    text("deep-arrays", "x = " + "[" * 50_000 + "]" * 50_000),
    text("deep-tables", "x = " + "{a=" * 20_000 + "1" + "}" * 20_000),
    text("long-line", 'name = "' + "x" * 1_000_000 + "\n"),
    text("long-key", "x" * 100_000 + " = 1\n" + BASE),
    text("many-unknown-keys", "".join(f"k{i} = 1\n" for i in range(5_000)) + BASE, "k0"),
    text("json", '{"name": "broken"}\n', "a.toml:1"),
    text("byte-order-mark-and-junk", "\ufeff%YAML\n", "a.toml:1"),
)

KEYS = (
    edit("unknown-top-key", 'name = "broken"', 'nmae = "broken"', "nmae", "name"),
    edit("unknown-table", "[transport]", "[transprot]", "transprot"),
    edit("no-fabric", f"[fabric]\n{FABRIC}\n", "", "fabric"),
    edit("no-transport", f"[transport]\n{TRANSPORT}\n", "", "transport"),
    text("no-workload", BASE.partition("[[workload]]")[0], "workload"),
    edit("workload-as-table", "[[workload]]", "[workload]", "workload"),
    text("fabric-as-list", BASE.replace("[fabric]", "[[fabric]]"), "fabric"),
    edit("name-as-number", 'name = "broken"', "name = 7", "name"),
    edit("seed-negative", 'name = "broken"', "seed = -1", "seed"),
    edit("seed-as-text", 'name = "broken"', 'seed = "one"', "seed"),
    edit("seed-too-large", 'name = "broken"', "seed = 99999999999999999999", "a.toml"),
    edit("seed-last", 'name = "broken"', "seed = 9223372036854775807\nrepeat = 5", "seed"),
    edit("repeat-zero", 'name = "broken"', "repeat = 0", "repeat"),
    edit("repeat-fraction", 'name = "broken"', "repeat = 2.5", "repeat"),
    edit("repeat-huge", 'name = "broken"', "repeat = 4000000000", "repeat"),
    edit("transport-unknown", TRANSPORT, 'name = "scpd"', "scpd"),
    edit("transport-key-unknown", TRANSPORT, TRANSPORT + "\nndp = { window = 3 }", "window"),
    edit("transport-window-zero", TRANSPORT, TRANSPORT + "\nndp = { initial_window = 0 }", "initial_window"),
    edit("transport-window-text", TRANSPORT, TRANSPORT + '\nndp = { initial_window = "many" }', "initial_window"),
    edit("transport-rto-without-unit", TRANSPORT, TRANSPORT + "\ntcp = { rto_min = 200 }", "rto_min"),
    more("host-unknown-key", "[host]\njiter = '1us'", "jiter", "jitter"),
    more("host-jitter-negative", "[host]\njitter = '-1us'", "jitter"),
    more("host-pace-zero", "[host]\npull_pace = 0", "pull_pace"),
    more("host-pace-nan", "[host]\npull_pace = nan", "pull_pace"),
    more("routing-unknown-mode", "[routing]\nmode = 'spray'", "mode"),
    more("routing-no-trees", "[routing]\nmulticast_trees = 0", "multicast_trees"),
    more("switch-unknown-queue", "[switch]\nqueue = 'codel'", "queue"),
    more("switch-buffer-negative", "[switch]\nbuffer = '-3 packets'", "buffer"),
    more("run-limit-zero", "[run]\ntime_limit = '0s'", "time_limit"),
    more("run-limit-unit", "[run]\ntime_limit = '20 sec'", "time_limit"),
    more("measure-unknown", "[measure]\nintervall = '1ms'", "intervall"),
    more("failure-of-no-link", "[[failure]]\nat = '1ms'\nlink = 'h0-nowhere'", "failure"),
)

FABRICS = (
    fabric("unknown", 'topology = "torus"\nk = 4', "torus"),
    fabric("odd-k", 'topology = "fat-tree"\nk = 5', "k"),
    fabric("k-zero", 'topology = "fat-tree"\nk = 0', "k"),
    fabric("k-negative", 'topology = "fat-tree"\nk = -4', "k"),
    fabric("k-huge", 'topology = "fat-tree"\nk = 100000', "k"),
    fabric("k-over-64-bits", 'topology = "fat-tree"\nk = 100000000000000000000', "a.toml"),
    fabric("k-missing", 'topology = "fat-tree"', "k"),
    fabric("no-hosts", 'topology = "star"\nhosts = 0', "hosts"),
    fabric("hosts-huge", 'topology = "star"\nhosts = 4000000000', "hosts"),
    fabric("rate-zero", FABRIC + '\nrate = "0Gbps"', "rate"),
    fabric("rate-without-unit", FABRIC + '\nrate = "10"', "rate"),
    fabric("rate-number", FABRIC + "\nrate = 10", "rate"),
    fabric("rate-unknown-unit", FABRIC + '\nrate = "10 furlongs"', "rate"),
    fabric("rate-negative", FABRIC + '\nrate = "-1Gbps"', "rate"),
    fabric("rate-infinite", FABRIC + '\nrate = "infGbps"', "rate"),
    fabric("rate-overflow", FABRIC + '\nrate = "1e30Tbps"', "rate"),
    fabric("delay-overflow", FABRIC + '\ndelay = "99999999999999s"', "delay"),
    fabric("delay-empty", FABRIC + '\ndelay = ""', "delay"),
    fabric("tree-of-17-tiers", 'topology = "m-port-n-tree"\nm = 4\nn = 17', "n"),
    fabric("tree-too-large", 'topology = "m-port-n-tree"\nm = 64\nn = 16', "fabric"),
    fabric("bcube-too-large", 'topology = "bcube"\nn = 64\nk = 15', "fabric"),
    fabric("dcell-too-large", 'topology = "dcell"\nn = 64\nk = 15', "fabric"),
    fabric("jellyfish-too-few-ports", 'topology = "jellyfish"\nswitches = 4\nports = 2\nhosts_per_switch = 2', "ports"),
    fabric("layer-unknown", FABRIC + "\nlayers = { spine = { rate = '1Gbps' } }", "layers"),
)

WORKLOADS = (
    workload("sizes-missing", "", "sizes", sizes="sessions = 3"),
    workload("placement-missing", "", "placement", placement="sessions = 3"),
    workload("law-missing", "", "law", sizes='sizes = { size = "20KB" }'),
    workload("law-unknown", "", "zipf", sizes='sizes = { law = "zipf", size = "20KB" }'),
    workload("size-zero", "", "size", sizes='sizes = { law = "fixed", size = "0B" }'),
    workload("size-overflow", "", "size", sizes='sizes = { law = "fixed", size = "99999999999TB" }'),
    workload(
        "pareto-upside-down", "", "max", sizes='sizes = { law = "pareto", shape = 1.5, min = "2MB", max = "1MB" }'
    ),
    workload("pareto-shape", "", "shape", sizes='sizes = { law = "pareto", shape = -1, min = "1KB", max = "1MB" }'),
    workload("sigma", "", "sigma", sizes='sizes = { law = "log-normal", mean = "1MB", sigma = 99 }'),
    workload("cdf-unknown", "", "google", sizes='sizes = { law = "cdf", name = "google" }'),
    workload("cdf-of-nothing", "", "name", sizes='sizes = { law = "cdf" }'),
    workload("sessions-zero", "sessions = 0", "sessions"),
    workload("sessions-huge", "sessions = 4000000000", "sessions"),
    workload("load-zero", 'arrivals = { law = "poisson", load = 0.0 }\nsessions = 9', "load"),
    workload("load-nan", 'arrivals = { law = "poisson", load = nan }\nsessions = 9', "load"),
    workload("load-and-rate", 'arrivals = { law = "poisson", load = 0.5, rate = 9 }\nsessions = 9', "rate"),
    workload("times-descend", 'arrivals = { law = "explicit", times = ["2ms", "1ms"] }', "times"),
    workload(
        "poisson-without-end",
        'arrivals = { law = "poisson", rate = 9 }',
        "sessions",
        placement='placement = { pattern = "random" }',
    ),
    workload(
        "incast-of-itself", "", "receiver", placement='placement = { pattern = "incast", senders = 2, receiver = 4 }'
    ),
    workload("incast-too-many", "", "senders", placement='placement = { pattern = "incast", senders = 4 }'),
    workload("stride-of-all", "", "by", placement='placement = { pattern = "stride", by = 4 }'),
    workload("share", "", "share", placement='placement = { pattern = "permutation", share = 1.5 }'),
    workload("pair-of-one", "", "pairs", placement='placement = { pattern = "pairs", pairs = [[1]] }'),
    workload("pair-to-itself", "", "pairs", placement='placement = { pattern = "pairs", pairs = [[1, 1]] }'),
    workload("pair-of-nobody", "", "pairs", placement='placement = { pattern = "pairs", pairs = [[1, 9]] }'),
    workload(
        "replicas-too-many",
        "",
        "replicas",
        placement='placement = { pattern = "replicas", replicas = 9, access = "write" }',
    ),
    workload("mode-unknown", 'mode = "anycast"', "mode"),
    workload("name-twice", "[[workload]]\nname = 'w'\n" + SIZES + "\n" + PLACEMENT, "w"),
)

SWEEPS = (
    more("sweep-of-unknown-key", '[sweep]\n"fabric.hots" = [1, 2]', "hots"),
    more("sweep-of-one-value", '[sweep]\n"fabric.hosts" = 4', "sweep"),
    more("sweep-of-nothing", '[sweep]\n"fabric.hosts" = []', "sweep"),
    more("sweep-of-bad-value", '[sweep]\n"fabric.hosts" = [4, 0]', "hosts"),
    more("sweep-together-uneven", '[sweep]\n"fabric.hosts, seed" = [[4, 1], [5]]', "sweep"),
    more("sweep-of-unknown-workload", '[sweep]\n"workload.x.sessions" = [1, 2]', "workload"),
    more(
        "sweep-explodes",
        "[sweep]\n"
        + "\n".join(f'"transport.ndp.{key}" = {list(range(1, 1001))}' for key in ("initial_window",))
        + '\n"host.pull_pace" = '
        + str([i / 1000 for i in range(1, 1001)])
        + '\n"seed" = '
        + str(list(range(1000))),
        "sweep",
    ),
)

OVERRIDES = (
    override("without-value", "fabric.hosts", says=("fabric.hosts",)),
    override("of-nothing", "=4", says=("not a key",)),
    override("unknown-key", "fabric.hots=4", says=("hots", "hosts")),
    override("unknown-table", "fabirc.hosts=4", says=("fabirc",)),
    override("bad-value", "fabric.hosts=many", says=("hosts",)),
    override("huge-integer", "seed=" + "9" * 400, says=("seed",)),
    override("huge-float", "host.pull_pace=1e400", says=("pull_pace",)),
    override("list-for-number", "fabric.hosts=[1,2", says=("hosts",)),
    override("no-such-workload", "workload.x.sessions=4", says=("workload",)),
    override("index-beyond", "workload.7.sessions=4", says=("workload",)),
    override("through-a-value", "fabric.hosts.more=4", says=("hosts",)),
    override("long", "x" * 50_000 + "=1", says=("error",)),
    override("seeds-in-words", "repeat=five", says=("repeat",)),
)

FILES = (
    beside("cdf-missing", CDF, "other.csv", "", "sizes.csv"),
    beside("cdf-empty", CDF, "sizes.csv", "", "sizes.csv"),
    beside("cdf-binary", CDF, "sizes.csv", bytes(range(256)) * 64, "sizes.csv"),
    beside("cdf-no-number", CDF, "sizes.csv", "size_bytes,cdf\nlarge,1\n", "sizes.csv"),
    beside(
        "cdf-falls", CDF, "sizes.csv", "# interpolation: linear\nsize_bytes,cdf\n100,0.5\n200,0.4\n300,1\n", "sizes.csv"
    ),
    beside(
        "cdf-ends-early", CDF, "sizes.csv", "# interpolation: linear\nsize_bytes,cdf\n100,0.5\n200,0.9\n", "sizes.csv"
    ),
    beside("cdf-nan", CDF, "sizes.csv", "# interpolation: linear\nsize_bytes,cdf\nnan,0.5\n200,1\n", "sizes.csv"),
    beside("cdf-above-one", CDF, "sizes.csv", "# interpolation: linear\nsize_bytes,cdf\n100,0.5\n200,7\n", "sizes.csv"),
    beside("volumes-without-bin", VOLUMES, "volumes.csv", "bytes\n100\n", "volumes.csv"),
    beside("volumes-negative", VOLUMES, "volumes.csv", "# bin: 1ms\nbytes\n-100\n", "volumes.csv"),
    beside("volumes-of-nothing", VOLUMES, "volumes.csv", "# bin: 1ms\nbytes\n", "volumes.csv"),
    beside("volumes-huge", VOLUMES, "volumes.csv", "# bin: 1ms\nbytes\n99999999999999999999999\n", "volumes.csv"),
    trace("short-row", "t.csv", "start_us,src,dst,size_bytes\n1,0\n", "t.csv"),
    trace("no-such-host", "t.csv", "start_us,src,dst,size_bytes\n1,0,9,100\n", "t.csv"),
    trace("to-itself", "t.csv", "start_us,src,dst,size_bytes\n1,2,2,100\n", "t.csv"),
    trace("negative-start", "t.csv", "start_us,src,dst,size_bytes\n-1,0,1,100\n", "t.csv"),
    trace("unknown-columns", "t.csv", "when,who,whom,what\n1,0,1,100\n", "t.csv"),
    trace("no-format", "t.txt", "1 0 1 100\n", "t.txt"),
    trace("cm-cut-short", "t.cm", "Nodes 4\nConnections 2\n0->1 start 0 size 100\n", "t.cm"),
    trace("cm-of-another-fabric", "t.cm", "Nodes 99\nConnections 1\n0->77 start 0 size 100\n", "t.cm"),
)


def _folder(folder: Path) -> None:
    (folder / "b.toml").mkdir()


def _loop(folder: Path) -> None:
    (folder / "b.toml").symlink_to("b.toml")


def _file(folder: Path) -> None:
    (folder / "taken").write_text("a file")


def _foreign(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "thesis.tex").write_text("years of work")


def _broken_link(folder: Path) -> None:
    (folder / "taken").symlink_to("nowhere")


COMMANDS = (
    command("no-file", "run", says=("FILE",)),
    command("missing-file", "run", "no.toml", says=("error:", "no.toml")),
    command("empty-name", "run", "", says=("error:",)),
    command("folder-for-a-file", "run", "b.toml", says=("error:", "b.toml"), make=_folder),
    command("link-to-itself", "run", "b.toml", says=("error:", "b.toml"), make=_loop),
    command("device", "run", "/dev/null", says=("error:", "/dev/null")),
    command("name-too-long", "run", "x" * 5_000 + ".toml", says=("error:",)),
    command("seeds-zero", "run", "a.toml", "--seeds", "0", says=("--seeds",)),
    command("seeds-in-words", "run", "a.toml", "--seeds", "five", says=("--seeds",)),
    command("seeds-huge", "run", "a.toml", "--seeds", "99999999999999999999", says=("--seeds",)),
    command("threads-negative", "run", "a.toml", "--threads", "-1", says=("--threads",)),
    command("unknown-option", "run", "a.toml", "--sedes", "3", says=("--sedes",)),
    command("out-is-a-file", "run", "a.toml", "--out", "taken", says=("error: taken",), make=_file),
    command("out-below-a-file", "run", "a.toml", "--out", "taken/r", says=("taken/r: Not a directory",), make=_file),
    command("out-holds-something", "run", "a.toml", "--out", "taken", says=("thesis.tex", "hint:"), make=_foreign),
    command("force-does-not-help", "run", "a.toml", "--out", "taken", "--force", says=("thesis.tex",), make=_foreign),
    command("out-is-a-dangling-link", "run", "a.toml", "--out", "taken", says=("error: taken",), make=_broken_link),
    command("out-empty", "run", "a.toml", "--out", "", says=("error:",)),
    command("out-is-here", "run", "a.toml", "--out", ".", says=("a.toml", "hint:")),
    command("out-too-long", "run", "a.toml", "--out", "x" * 5_000, says=("error:",)),
    command("reproduce-unknown", "reproduce", "scdp/fig999", says=("error:", "fig999")),
    command("reproduce-nothing", "reproduce", says=("error:", "hint:")),
    command("unknown-command", "rum", says=("rum",)),
)

CASES: tuple[Case, ...] = (
    *TOML, *KEYS, *FABRICS, *WORKLOADS, *SWEEPS, *OVERRIDES, *FILES, *COMMANDS,
)  # fmt: skip
