"""What is kept in the user's cache: used if it is whole, made again if not, and never needed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import pytest

from anabranch.base import cache
from anabranch.showing.report import page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "name.txt"


def test_what_was_written_is_read() -> None:
    assert cache.read(NAME) is None
    for content in (b"", b"two\nlines", b"another"):
        cache.write(NAME, content)
        assert cache.read(NAME) == content
    assert NAME in [file.name for file in cache.path(NAME).parent.iterdir()]
    assert not list(cache.path(NAME).parent.glob("tmp*"))


@pytest.mark.parametrize("damaged", [b"", b"\n", b"content", b"\xff\n\xff"])
def test_what_is_damaged_counts_as_missing(damaged: bytes) -> None:
    cache.write(NAME, b"content")
    cache.path(NAME).write_bytes(damaged)
    assert cache.read(NAME) is None
    cache.write(NAME, b"content")
    cut = cache.path(NAME).read_bytes()[:-1]
    cache.path(NAME).write_bytes(cut)
    assert cache.read(NAME) is None


def test_where_nothing_can_be_kept_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    cache.write(NAME, b"content")
    assert cache.read(NAME) is None


def test_nobody_needs_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", nobody)
    cache.write(NAME, b"content")
    assert cache.read(NAME) is None


def test_an_interruption_leaves_no_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    before = set(cache.path("").iterdir())
    with pytest.raises(KeyboardInterrupt):
        cache.write(NAME, b"content")
    assert set(cache.path("").iterdir()) == before


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """What was bundled, in a process that has no library yet, and a cache that has none."""
    made: list[str] = []

    def bundle(script: str) -> str:
        made.append(script)
        return "let end = '</script>';"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    page.vega.cache_clear()
    yield made
    page.vega.cache_clear()


def test_the_library_of_reports_is_bundled_once_for_each_version(
    bundled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = page.vega()
    assert "</script" not in first
    page.vega.cache_clear()
    assert page.vega() == first
    assert len(bundled) == 1
    monkeypatch.setattr(page, "version", lambda _: "999")
    page.vega.cache_clear()
    assert page.vega() == first
    assert len(bundled) == 2

    def unknown(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(page, "version", unknown)
    page.vega.cache_clear()
    assert page.vega() == first
    assert len(bundled) == 3
