"""What a server process leaves to the parser process: grammars, vocabulary, and what few calls need."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from mcp_offload.tools.perform import AT_ONCE_BYTES
from tests.process.stdio.rig import Rig, server_command

pytestmark = pytest.mark.process

HEAVY = ("tree_sitter", "charset_normalizer", "pathspec", "toktok", "re2", "mcp_offload.digest.table")
BEFORE_THE_ANSWER = {
    *("mcp_offload", "__main__", "cli", "paths", "server", "service", "wire"),
    *("cli.console", "cli.environment", "cli.examples", "cli.identity", "cli.lease_options", "cli.main"),
    *("cli.parser", "cli.run_options", "cli.serve_options", "cli.settings_from", "errors", "paths.workspace"),
    *("server.stdio", "service.names", "settings", "wire.canned", "wire.front", "wire.lazy", "wire.lines"),
    *("wire.link", "wire.messages", "wire.outbox", "wire.scrub"),
}
"""What a server loads of ours before it answers; each of these takes from that answer's time."""
SLOW = ("logging", "shutil", "tempfile", "pathlib", "urllib", "importlib.resources", "asyncio", "subprocess")
"""Parts of the standard library that take long to load and that no answer needs."""
SOURCE = "def f():\n    return 1\n\n\nclass A:\n    def m(self):\n        return 2\n"
LARGE_LOG = b"2026-11-03T12:00:00Z INFO worker-1 nothing to see\n" * (AT_ONCE_BYTES // 50 + 1)


def _started(folder: Path) -> Rig:
    """A server that says at its end which of the heavy modules it has loaded."""
    code = (
        "import sys\n"
        "from mcp_offload.server.stdio import StdioBackend\n"
        "close = StdioBackend.close\n"
        "def told(self):\n"
        f"    loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    print('loaded:', loaded, file=sys.stderr, flush=True)\n"
        "    close(self)\n"
        "StdioBackend.close = told\n"
        "from mcp_offload.__main__ import main\n"
        "sys.exit(main())\n"
    )
    command = server_command(folder)
    return Rig([sys.executable, "-c", code, *command[3:]], folder / "work")


def test_little_is_loaded_before_the_first_answer(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from mcp_offload.__main__ import main\n"
        "import mcp_offload.wire.front as front\n"
        "run = front.Front.run\n"
        "def told(self):\n"
        "    print('loaded:', *sys.modules, file=sys.stderr, flush=True)\n"
        "    return run(self)\n"
        "front.Front.run = told\n"
        "sys.exit(main())\n"
    )
    with Rig([sys.executable, "-c", code, *server_command(tmp_path)[3:]], tmp_path / "work") as rig:
        rig.greet()
        told = _loaded(rig)
    loaded = told.split("loaded: ", 1)[1].split()
    ours = {name.removeprefix("mcp_offload.") for name in loaded if name.startswith("mcp_offload")}
    assert sorted(ours - BEFORE_THE_ANSWER) == []
    assert "wire.front" in ours
    assert [name for name in SLOW if name in loaded] == []


def _loaded(rig: Rig) -> str:
    rig.hang_up()
    assert rig.status() == 0
    rig.rest()
    return rig.errors()


def _lives(process: psutil.Process) -> bool:
    """False once it was killed, whether or not its parent has noticed."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_calls_on_sources_and_large_logs_load_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "app.py").write_text(SOURCE)
    (tmp_path / "work" / "big.log").write_bytes(LARGE_LOG)
    with _started(tmp_path) as rig:
        rig.greet()
        assert rig.call("store_artifact", source="big.log").startswith("l1 big.log")
        assert "f2#A.m" in rig.call("outline_handle", handle="app.py")
        assert "return 2" in rig.call("read_handle", handles=["app.py#A.m", "big.log#L1-200"])
        assert "loaded: []" in _loaded(rig)


def test_the_parser_process_starts_with_the_server_and_is_replaced_when_it_dies(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "app.py").write_text(SOURCE)
    with _started(tmp_path) as rig:
        rig.greet()
        rig.call("read_handle", handles=["app.py#L1-2"])
        (parser,) = psutil.Process(rig.process.pid).children()
        parser.kill()
        while _lives(parser):
            pass
        # Neither a count nor a parse is lost with it.
        assert "f1#L5-7 L5-7 13t" in rig.call("read_handle", handles=["app.py#L5-7"])
        assert "f1#A.m" in rig.call("outline_handle", handle="app.py")
        assert "loaded: ['toktok']" in _loaded(rig)


def test_a_large_log_is_acknowledged_first_and_its_outline_tells_the_rest(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "small.log").write_bytes(LARGE_LOG[: AT_ONCE_BYTES // 2])
    (tmp_path / "work" / "large.log").write_bytes(LARGE_LOG)
    with Rig(server_command(tmp_path), tmp_path / "work") as rig:
        rig.greet()
        small = rig.call("store_artifact", source="small.log").splitlines()
        assert small[0].endswith("t")
        assert len(small) > 2
        large = rig.call("store_artifact", source="large.log").splitlines()
        assert large == [f"l2 large.log {len(LARGE_LOG) // 50}L 262 kB", "... digest: outline l2"]
        outlined = rig.call("outline_handle", handle="l2").splitlines()
        assert outlined[0].endswith("t")
        assert len(outlined) > 2
        again = rig.call("store_artifact", source="large.log").splitlines()
        assert again[0].endswith("t unchanged")
