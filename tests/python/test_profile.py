"""`tools/profile`: builds use the profile where it is this compiler's, and a profile that does not fit is told."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools/profile"

OURS = "_ZN13anabranch_sim7network8sessions4open17hd3b6fb4036fefeb6E"
STALE = OURS.replace("hd3b6fb4036fefeb6E", "h0123456789abcdefE")
COPY = "anabranch_sim.c590f3d810a9b004-cgu.0;_ZN5alloc3vec12Vec$LT$T$C$A$GT$7reserve17h773bb928c6ca7e65E"


def record(name: str) -> str:
    return f"{name}\n# Func Hash:\n596847748625771686\n# Num Counters:\n1\n# Counter Values:\n7"


COUNTS = "# IR level Instrumentation Flag\n:ir\n" + "".join(f"{record(name)}\n\n" for name in ("main", OURS, COPY))


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, with an empty folder of profiles and a compiler that is always the same."""
    loader = importlib.machinery.SourceFileLoader("profile_tool", str(TOOL))
    spec = importlib.util.spec_from_loader("profile_tool", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path / "profiles")
    monkeypatch.setattr(module, "compiler", lambda: {"release": "1.95.0", "host": "x86_64-unknown-linux-gnu"})
    monkeypatch.delenv("RUSTFLAGS", raising=False)
    return module


def made(tool: ModuleType, symbol: str = OURS) -> Path:
    file: Path = tool.profile()
    file.parent.mkdir()
    file.write_bytes(symbol.encode())
    return file


def test_builds_use_the_profile_of_their_compiler_beside_the_users_flags(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tool.flags() == {}
    file = made(tool)
    used = f"-Cprofile-use={file} -Cllvm-args=-no-pgo-warn-mismatch"
    assert tool.flags() == {"RUSTFLAGS": used}
    monkeypatch.setenv("RUSTFLAGS", "-Ctarget-cpu=native")
    assert tool.flags() == {"RUSTFLAGS": f"-Ctarget-cpu=native {used}"}
    monkeypatch.setenv("RUSTFLAGS", "-Cprofile-generate=here")
    assert tool.flags() == {}
    monkeypatch.delenv("RUSTFLAGS")
    monkeypatch.setenv("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-cpu=native")
    assert tool.flags() == {}


def test_flags_of_cargos_configuration_are_not_replaced(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tool)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "home"))
    assert tool.flags() != {}
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config.toml").write_text('[build]\nrustflags = ["-Ctarget-cpu=native"]\n')
    assert tool.flags() == {}


def test_builds_go_on_without_another_compilers_profile(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tool)
    monkeypatch.setattr(tool, "compiler", lambda: {"release": "1.96.0", "host": "x86_64-unknown-linux-gnu"})
    assert tool.flags() == {}


def test_builds_go_on_in_a_folder_whose_name_flags_cannot_hold(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "FOLDER", tmp_path / "two words")
    made(tool)
    assert tool.flags() == {}


def test_a_command_ends_as_it_ends(tool: ModuleType) -> None:
    assert tool.run("sh", "-c", "exit 3") == 3


def test_a_profile_keeps_what_our_functions_counted(tool: ModuleType) -> None:
    assert tool.kept(COUNTS) == f"# IR level Instrumentation Flag\n:ir\n{record(OURS)}\n\n{record(COPY)}\n"


def test_a_profile_of_other_versions_is_told(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\0" + OURS.encode() + b"\0")
    with pytest.raises(SystemExit, match="there is no"):
        tool.check(program)
    file = made(tool)
    tool.check(program)
    assert "knows 1 of the 1 functions" in capsys.readouterr().out
    file.write_bytes(STALE.encode())
    with pytest.raises(SystemExit, match="other versions"):
        tool.check(program)
