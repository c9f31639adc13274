"""Damaged result folders: what ``anabranch report`` and ``run --resume`` say of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fixtures
import polars as pl

from broken.case import Case

SCENARIO = """\
[fabric]
topology = "star"
hosts = 4
[transport]
name = "ndp"
[[workload]]
sizes = { law = "fixed", size = "20KB" }
placement = { pattern = "permutation" }
"""

SMALL = fixtures.Fixture(sweep={"transport.name": ["scdp", "ndp"]}, seeds=(1, 2), sessions=20, series=True)
RUN = "r/runs/p001-s2"


def damaged(
    name: str,
    damage: Callable[[Path], object],
    *says: str,
    argv: tuple[str, ...] = ("report", "r"),
    exits: tuple[int, ...] = (2,),
    writes: tuple[str, ...] = (),
) -> Case:
    """A result folder ``r`` of four runs, after some damage."""

    def make(folder: Path) -> None:
        fixtures.write(folder / "r", SMALL)
        damage(folder)

    return Case(name=name, argv=argv, says=says, make=make, exits=frozenset(exits), writes=writes)


def manifest(name: str, change: Callable[[dict[str, Any]], object], *says: str) -> Case:
    """The same after a change of its manifest."""

    def damage(folder: Path) -> None:
        path = folder / "r/manifest.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    return damaged(f"manifest-{name}", damage, "r/manifest.json", *says)


def text(name: str, content: str | bytes, *says: str) -> Case:
    """The same with another text for a manifest."""
    raw = content.encode() if isinstance(content, str) else content
    return damaged(f"manifest-{name}", lambda f: (f / "r/manifest.json").write_bytes(raw), "r/manifest.json", *says)


def setting(name: str, value: object, *says: str) -> Case:
    """The same with another value in a run of the manifest."""
    return manifest(f"run-{name}", lambda data: data["runs"][1].update({name.split("-", maxsplit=1)[0]: value}), *says)


def table(name: str, change: Callable[[Path], object], *says: str, file: str = "flows") -> Case:
    """The same after damage to a table."""
    return damaged(f"{file}-{name}", lambda f: change(f / RUN / f"{file}.parquet"), f"{RUN}/{file}.parquet", *says)


def cut(share: float) -> Callable[[Path], object]:
    """Keep so much of a file."""
    return lambda path: path.write_bytes(path.read_bytes()[: int(len(path.read_bytes()) * share)])


def flip(begin: float, end: float) -> Callable[[Path], object]:
    """Turn over the bits of a part of a file."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        for place in range(int(len(data) * begin), int(len(data) * end)):
            data[place] ^= 0xFF
        path.write_bytes(bytes(data))

    return damage


def frame(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], object]:
    return lambda path: change(pl.read_parquet(path)).write_parquet(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


FOLDERS = (
    Case(name="missing", argv=("report", "nowhere"), says=("error: nowhere: does not exist", "hint:")),
    Case(name="a-file", argv=("report", "f"), says=("error: f: a file, not a folder", "hint:"), files={"f": ""}),
    Case(name="empty-folder", argv=("report", "."), says=("has no manifest.json", "hint:")),
    Case(name="of-something-else", argv=("report", "."), says=("has no manifest.json",), files={"thesis.tex": "years"}),
    Case(name="empty-name", argv=("report", ""), says=("error:",)),
    Case(name="name-too-long", argv=("report", "x" * 5000), says=("error:",)),
    Case(name="no-name", argv=("report",), says=("DIR",)),
    damaged("no-manifest", lambda f: (f / "r/manifest.json").unlink(), "has runs, but no manifest.json", "--resume"),
    damaged("manifest-is-a-folder", lambda f: _folder(f / "r/manifest.json"), "r/manifest.json"),
    damaged("manifest-is-a-loop", lambda f: _loop(f / "r/manifest.json"), "r/manifest.json"),
)

TEXTS = (
    text("empty", "", "not JSON", "--resume"),
    text("cut-short", '{"schema": 1, "anabranch_version": "0.1.0", "runs": [{"run": "p000', "not JSON"),
    text("binary", bytes(range(256)) * 99, "not UTF-8"),
    text("utf-16", '{"schema": 1}'.encode("utf-16"), "not UTF-8"),
    text("a-list", "[]", "not an Anabranch manifest"),
    text("a-number", "7", "not an Anabranch manifest"),
    text("of-a-web-application", '{"name": "app", "icons": []}', "not an Anabranch manifest"),
    text("deep", "[" * 100_000, "not JSON"),
    text("huge-number", '{"schema": ' + "9" * 10_000 + ', "runs": []}'),
    text("runs-as-object", '{"schema": 1, "runs": {}}', "not an Anabranch manifest"),
    manifest("newer", lambda data: data.update(schema=2, anabranch_version="9.9"), "layout 2", "9.9"),
    manifest("schema-as-text", lambda data: data.update(schema="x" * 100_000), "layout"),
    manifest("no-command", lambda data: data.pop("command"), "'command' is missing"),
    manifest("command-as-text", lambda data: data.update(command="anabranch run"), "command"),
    manifest("overrides-as-number", lambda data: data.update(overrides=3), "overrides"),
    manifest("sweep-as-list", lambda data: data.update(sweep=[1]), "wrong type"),
    manifest("sweep-of-numbers", lambda data: data.update(sweep={"load": 3}), "sweep.load"),
    manifest("run-twice", lambda data: data["runs"].append(data["runs"][0]), "p000-s1 is listed twice"),
    manifest("run-as-text", lambda data: data["runs"].append("p009-s1"), "p009-s1"),
    manifest("run-without-seed", lambda data: data["runs"][0].pop("seed"), "'seed' is missing"),
    setting("run", "../../etc", "is not a run's name"),
    setting("run-nul", "p0\0", "is not a run's name"),
    setting("run-empty", "", "is not a run's name"),
    setting("seed", "one", "`seed`"),
    setting("seed-huge", 10**30, "`seed`"),
    setting("seed-fraction", 1.5, "`seed`"),
    setting("status", "fine", "unknown status 'fine'", "hint:"),
    setting("status-list", ["complete"], "unknown status"),
    setting("point", [1], "wrong type"),
    setting("events", "many", "`events`"),
    setting("events-huge", 10**40, "`events`"),
    setting("wall_s", "long", "`wall_s`"),
    setting("simulated_ns", [1], "`simulated_ns`"),
    setting("conservation", {"sent": "many"}, "conservation.sent"),
    setting("conservation-list", [1, 2], "wrong type"),
)

TABLES = (
    table("missing", lambda path: path.unlink(), "missing"),
    table("missing", lambda path: path.unlink(), "missing", file="links"),
    table("empty", cut(0.0), "cannot be read as Parquet", "hint:"),
    table("cut-to-half", cut(0.5), "cannot be read as Parquet", "--resume"),
    table("cut-at-the-end", cut(0.99), "cannot be read as Parquet"),
    table("cut-to-half", cut(0.5), "cannot be read as Parquet", file="links"),
    table("text", lambda path: path.write_text("fct_ns,size_bytes\n1,2\n"), "cannot be read as Parquet"),
    table("pages-damaged", flip(0.05, 0.6), "cannot be read as Parquet"),
    table("pages-damaged", flip(0.05, 0.6), "cannot be read as Parquet", file="links"),
    table("footer-damaged", flip(0.8, 0.95), "cannot be read as Parquet"),
    table("footer-length-damaged", flip(0.9995, 1.0), "cannot be read as Parquet"),
    table("zeros", lambda path: path.write_bytes(bytes(50_000)), "cannot be read as Parquet"),
    table("a-folder", _folder),
    table("a-loop", _loop),
    table("no-fct", frame(lambda f: f.drop("fct_ns")), "column 'fct_ns' is missing", "hint:"),
    table("no-utilisation", frame(lambda f: f.drop("utilisation")), "'utilisation' is missing", file="links"),
    table("size-as-text", frame(lambda f: f.with_columns(pl.lit("big").alias("size_bytes"))), "'size_bytes'", "UInt64"),
    table("fct-as-text", frame(lambda f: f.with_columns(pl.lit("1").alias("fct_ns"))), "'fct_ns'", "Float64"),
    table("fct-as-list", frame(lambda f: f.with_columns(pl.lit([1.0]).alias("fct_ns"))), "'fct_ns'"),
    table("background-as-number", frame(lambda f: f.with_columns(pl.lit(1).alias("background"))), "'background'"),
    table("host-negative", frame(lambda f: f.with_columns(pl.lit(-1).alias("src_host"))), "cannot be read"),
)

FABRICS = (
    damaged("fabric-missing", lambda f: (f / "r/fabric.json").unlink(), "r/fabric.json"),
    damaged("fabric-empty", lambda f: (f / "r/fabric.json").write_text(""), "r/fabric.json"),
    damaged("fabric-cut-short", lambda f: cut(0.5)(f / "r/fabric.json"), "r/fabric.json"),
    damaged("fabric-binary", lambda f: (f / "r/fabric.json").write_bytes(b"\xff\xfe"), "r/fabric.json"),
    damaged("fabric-of-nothing", lambda f: (f / "r/fabric.json").write_text("{}"), "r/fabric.json"),
    damaged(
        "fabric-link-to-nowhere",
        lambda f: (f / "r/fabric.json").write_text(
            '{"nodes": [], "links": [{"a": 1, "b": 2, "rate_bps": 1, "delay_ns": 1}]}'
        ),
        "r/fabric.json",
    ),
)


def _out_is_a_folder(folder: Path) -> None:
    (folder / "r/report.html").mkdir()


def _only(folder: Path, name: str) -> None:
    """Nothing but a file of someone else."""
    shutil.rmtree(folder / "r")
    _write(folder, f"r/{name}")


def _scenario(folder: Path) -> None:
    (folder / "a.toml").write_text(SCENARIO)


def resume(name: str, damage: Callable[[Path], object], *says: str) -> Case:
    """A folder into which ``run --resume`` must not write."""

    def make(folder: Path) -> None:
        (folder / "a.toml").write_text(SCENARIO)
        damage(folder)

    return damaged(f"resume-{name}", make, *says, argv=("run", "a.toml", "--out", "r", "--resume"))


def _write(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("years of work")


WRITES = (
    damaged("report-is-a-folder", _out_is_a_folder, "r/report.html"),
    damaged(
        "run-over-other-results",
        _scenario,
        "r holds 4 finished runs of fixture.toml",
        "--force",
        argv=("run", "a.toml", "--out", "r"),
    ),
    resume("over-other-results", lambda _: None, "r holds 4 finished runs", "--force"),
    resume("without-a-manifest", lambda f: (f / "r/manifest.json").unlink(), "r holds 4 finished runs"),
    resume("entry-damaged", lambda f: cut(0.5)(f / "r/runs/p000-s1/run.json"), "r holds 4 finished runs"),
    resume("manifest-of-another-program", lambda f: _only(f, "manifest.json"), "'manifest.json'"),
    resume("report-of-another-program", lambda f: _only(f, "report.html"), "'report.html'"),
)

CASES: tuple[Case, ...] = (*FOLDERS, *TEXTS, *TABLES, *FABRICS, *WRITES)
