"""Where the scenarios are found: in the clone that one stands in, around an editable install, and in the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from anabranch.base import bundle
from anabranch.cli import app
from anabranch.errors import AnabranchError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is not in a clone, with one scenario; the working directory is elsewhere."""
    package = tmp_path / "lib" / "site-packages" / "anabranch"
    (package / "share/scenarios/examples").mkdir(parents=True)
    (package / "share/scenarios/examples/demo.toml").write_text("")
    monkeypatch.setattr(bundle, "PACKAGE", package)
    monkeypatch.setattr(bundle, "SHARE", package / "share")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return package / "share"


def test_an_editable_install_finds_its_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert bundle.find(bundle.DEMO) == ROOT / bundle.DEMO
    assert bundle.clone("this test") == ROOT
    assert bundle.scenario(Path("scenarios/scdp/fig13/fig13.toml")) == ROOT / "scenarios/scdp/fig13/fig13.toml"
    assert set(bundle.scenarios()) == {
        str(file.relative_to(ROOT)) for file in ROOT.glob("scenarios/**/*.toml") if file.name not in bundle.ABOUT
    }


def test_a_package_has_its_own(installed: Path) -> None:
    assert bundle.find(bundle.DEMO) == installed / bundle.DEMO
    assert bundle.scenarios() == ("scenarios/examples/demo.toml",)


def test_the_working_directory_comes_first(installed: Path) -> None:  # noqa: ARG001
    bundle.DEMO.parent.mkdir(parents=True)
    bundle.DEMO.write_text("")
    assert bundle.find(bundle.DEMO) == bundle.DEMO


@pytest.mark.parametrize("name", ["a.toml", "scenarios/nothing.toml", "scenarios/../secret.toml", "/scenarios/a.toml"])
def test_only_our_scenarios_are_found_elsewhere(installed: Path, name: str) -> None:
    (installed / "a.toml").write_text("")
    (installed / "secret.toml").write_text("")
    assert bundle.scenario(Path(name)) == Path(name)


def test_what_is_missing_is_named(installed: Path) -> None:
    name = "scenarios/scdp/fig13/fig13.toml"
    message = f"{name} is not here: neither below the working directory nor in {installed}"
    with pytest.raises(AnabranchError, match=re.escape(message)):
        bundle.find(name)


@pytest.mark.parametrize("argv", [("--record", "scdp/fig13"), ("--record",), ("--check",)], ids=" ".join)
def test_what_works_on_documents_needs_a_clone(installed: Path, argv: tuple[str, ...]) -> None:  # noqa: ARG001
    result = CliRunner().invoke(app, ["reproduce", *argv])
    assert result.exit_code == 2
    message = "needs a clone of the repository: it works on docs/fidelity, which a package lacks"
    assert result.stderr.splitlines() == [
        f"error: {argv[0]} {message}",
        "hint: give the same command in a clone",
    ]
