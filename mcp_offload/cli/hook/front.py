"""``mcp-offload hook``: answers one event of a client's. It ends with 0, since others can mean a refusal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from mcp_offload.cli.hook.events import SMALL_BYTES, Json, Output, Replace, Report, task

_STDIN: Final = 0
_STDOUT: Final = 1
_CHUNK_BYTES: Final = 1 << 20


def run_front(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Carry out ``hook CLIENT EVENT OPTIONS`` or ``capture OPTIONS``; returns the exit status, always 0."""
    if argv[0] == "capture":
        from mcp_offload.cli.hook.capture import run_capture

        return run_capture(argv[1:], environ)
    return run_hook(argv[1:], environ)


def run_hook(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Answer the event ``argv[1]`` of the client ``argv[0]``; no answer lets things take their course."""
    client, event = (*argv[:2], "", "")[:2]
    options = argv[2:]
    try:
        asked: object = json.loads(_read_all() or b"{}")
        if isinstance(asked, dict):
            answer = _answer(client, event, cast("Json", asked), options, environ)
            if answer is not None:
                _write(json.dumps(answer).encode() + b"\n")
    except Exception as exc:  # noqa: BLE001  (whatever goes wrong here must not reach the command)
        tell(f"the hook did nothing: {exc}")
    return 0


def tell(text: str) -> None:
    """Say something on standard error, which clients keep for their logs."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"mcp-offload: {text}\n")
        sys.stderr.flush()


def _answer(
    client: str, event: str, asked: Json, options: Sequence[str], environ: Mapping[str, str]
) -> Json | None:
    capture = [sys.executable, "-P", "-m", "mcp_offload", "capture", *options]
    found = task(client, event, asked, capture, _login_shell())
    if isinstance(found, Replace):
        told = _replacement(found.output, asked, options, environ)
        return None if told is None else found.answer(told)
    if isinstance(found, Report):
        from mcp_offload.cli.hook.reporting import report

        report(found.event, options, environ)
        return None
    return found


def _replacement(
    output: Output, asked: Mapping[str, Any], options: Sequence[str], environ: Mapping[str, str]
) -> str | None:
    """What to show instead of an output, or None to leave it."""
    if not output.file and len(output.text) <= SMALL_BYTES:
        return None
    from mcp_offload.cli.hook.spool import as_it_came
    from mcp_offload.cli.hook.storing import digest_of

    directory = asked.get("cwd")
    if isinstance(directory, str) and os.path.isdir(directory):
        os.chdir(directory)  # the workspace is found from it, as the server finds its own
    descriptor = _descriptor(output)
    try:
        told = digest_of(descriptor, output.name, options, environ, must=output.spool)
        if output.spool:
            os.unlink(output.file)
        return told
    except Exception as exc:
        if not output.spool:
            raise
        tell(f"not offloaded: {exc}")
        return as_it_came(descriptor, output.file)
    finally:
        os.close(descriptor)


def _descriptor(output: Output) -> int:
    """The whole output: from where it is kept, else from what the client sent.

    Raises:
        OSError: it is not there, or not this user's.
    """
    from mcp_offload.cli.hook.spool import open_own_file, open_spooled

    if output.spool:
        return open_spooled(output.file)
    if output.file:
        return open_own_file(output.file)
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(output.text.encode("utf-8", "surrogatepass"))
        file.flush()
        return os.dup(file.fileno())


def _login_shell() -> str:
    """Source: Codex CLI runs commands by the shell of the user's entry in the password database."""
    import pwd

    with suppress(KeyError):
        return os.path.basename(pwd.getpwuid(os.getuid()).pw_shell)
    return ""


def _read_all() -> bytes:
    parts: list[bytes] = []
    while chunk := os.read(_STDIN, _CHUNK_BYTES):
        parts.append(chunk)
    return b"".join(parts)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(_STDOUT, data) :]
