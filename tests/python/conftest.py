"""What the tests share: result folders, a stand-in for the compiled core, and a browser."""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import shutil
import signal
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import fixtures
import pytest
from broken import runner
from broken.forks import Forks
from hypothesis import HealthCheck, settings

from anabranch import load
from anabranch.base import cache
from anabranch.showing import axes
from anabranch.showing.report import page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from anabranch import Results


# A busy machine takes its time: no test is wrong because it is slow.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure() -> None:
    """A job in the background starts with Ctrl-C ignored, and so would its children, to which tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What has been imported and collected by now stays: no collection of garbage need look at it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: at any time some test waits, for a process, a browser or a cluster."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session", autouse=True)
def _library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with the library that draws charts, which takes a second to bundle; also for fixtures of modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("library")))
        page.vega()
        yield cache.path("")


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, _library: Path) -> None:
    """No test reads or writes the cache of who runs it, or of another test, but for that library."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    cache.path("").mkdir()
    for file in _library.iterdir():
        cache.path(file.name).hardlink_to(file)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Runs commands in processes that have imported the libraries already, which takes longer than most commands."""
    with Forks({**os.environ, **runner.ENVIRONMENT}) as started:
        yield started


@pytest.fixture
def checked_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are checked against the schema of Vega-Lite when they are made."""
    monkeypatch.setattr(axes, "CHECKED", True)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Four transports under three seeds."""
    return load(fixtures.write(tmp_path_factory.mktemp("results") / "four"))


@pytest.fixture(scope="session")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same with one run stalled and one interrupted."""
    fixture = fixtures.Fixture(status={"p003-s2": "stalled", "p001-s3": "interrupted"})
    return load(fixtures.write(tmp_path_factory.mktemp("results") / "stalled", fixture))


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two transports at three loads."""
    fixture = fixtures.Fixture(sweep={"load": [0.3, 0.6, 0.9], "transport.name": ["scdp", "newreno"]})
    return load(fixtures.write(tmp_path_factory.mktemp("results") / "swept", fixture))


class StandIn(ModuleType):
    """A stand-in for ``anabranch._core`` that writes a synthetic result folder."""

    class ScenarioError(Exception):
        """As the core raises it."""

    class RunPanic(RuntimeError):  # noqa: N818 - the core's name
        """As the core raises it."""

    def __init__(self) -> None:
        super().__init__("anabranch._core")
        whole = importlib.import_module("anabranch._core")
        for name in ("Folder", "FolderError", "LockLostError", "SupersededError"):
            setattr(self, name, getattr(whole, name))
        self.fixture = fixtures.Fixture()
        self.calls: list[tuple[Any, ...]] = []
        self.hashes = ""
        self.during: Callable[[Callable[[str], bool]], None] | None = None

    def plan(self, path: str, overrides: list[str], seeds: int | None) -> str:
        self.calls.append(("plan", path, overrides, seeds))
        if "bad" in path:
            raise self.ScenarioError(f"{path}:3:5: unknown key `lod`\nhint: did you mean `load`?")
        runs = [
            {
                "run": f"p{p:03}-s{s}",
                "point": {"transport.name": t},
                "seed": s,
                "transport": t,
                "hash": f"{self.hashes}{p:016x}{s:016x}",
                "hosts": 16,
                "sessions": 120,
                "packets": 21_000,
                "samples": 0,
                "memory_bytes": 190_000,
                "decode_latency": None,
            }
            for p, t in enumerate(self.fixture.sweep["transport.name"])
            for s in self.fixture.seeds[:seeds]
        ]
        return json.dumps({"runs": runs, "warnings": ["warning: a.toml: the load exceeds the core's capacity"]})

    def runs(self, path: str, overrides: list[str], seeds: int | None) -> str:
        listed = json.loads(self.plan(path, overrides, seeds))["runs"]
        names = ("run", "point", "seed", "hash")
        return json.dumps({"runs": [{name: run[name] for name in names} for run in listed]})

    def run(
        self,
        path: str,
        overrides: list[str],
        options: dict[str, Any],
        progress: Callable[[str], bool],
    ) -> str:
        from pathlib import Path

        folder = self.Folder(options["out"])
        planned = json.loads(self.plan(path, overrides, options["seeds"]))["runs"]
        folder.check(json.dumps(planned), options["resume"], options["force"])
        self.calls.pop()
        self.calls.append(("run", path, overrides, options))
        if self.during:
            self.during(progress)
        out = options["out"]
        fixtures.write(Path(out), self.fixture)
        return (Path(out) / "manifest.json").read_text()

    def schema(self) -> str:
        return '{"title": "Scenario"}'

    def reference(self) -> str:
        return "# Scenario"


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "anabranch._core", stand_in)
    return stand_in


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("ANABRANCH_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no browser found: install Chromium (Debian: apt-get install chromium) or set ANABRANCH_BROWSER")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3 server on loopback, which every process that a test starts finds."""
    import boto3
    import s3fs
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    # A file system that was made for another server would be found again.
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.MonkeyPatch.context() as patch:
        for key, value in settings.items():
            patch.setenv(key, value)
        boto3.client("s3").create_bucket(Bucket="sweeps")
        yield "s3://sweeps"
    server.stop()
