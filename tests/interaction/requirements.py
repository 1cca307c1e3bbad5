"""What the server promises to clients, one sentence each, with where the promise comes from.

A test states which promises it keeps with :func:`covers`; ``test_requirements.py`` holds that every
promise has a test and that no test names a promise that is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

_Test = TypeVar("_Test", bound=Callable[..., object])


@dataclass(frozen=True)
class Requirement:
    """One promise and its source."""

    sentence: str
    source: str


_PROTOCOL: Final = "docs/reference/protocol.md"
_HTTP: Final = "docs/how-to/http.md"
_LEGACY: Final = "MCP 2025-11-25"
_MODERN: Final = "MCP 2026-07-28"
_JSONRPC: Final = "JSON-RPC 2.0"

REQUIREMENTS: Final[dict[str, Requirement]] = {
    "lifecycle-handshake": Requirement(
        "initialize is answered with a version both sides speak, or the newest one the server speaks.",
        f"{_LEGACY}, basic/lifecycle",
    ),
    "lifecycle-discover": Requirement(
        "server/discover is answered without a handshake, with versions and cache hints.",
        f"{_MODERN}, server/discover",
    ),
    "lifecycle-era": Requirement(
        "The first request decides the era; claims of the other era are refused.",
        f"{_MODERN}, basic/versioning",
    ),
    "lifecycle-before-greeting": Requirement(
        "A request before initialize is refused, a ping is not.", f"{_LEGACY}, basic/lifecycle"
    ),
    "lifecycle-end": Requirement(
        "The process ends by itself when its input ends, with status 0.", f"{_LEGACY}, basic/lifecycle"
    ),
    "lifecycle-signals": Requirement(
        "SIGINT, SIGTERM and SIGHUP end the process with status 128 + n.", f"{_PROTOCOL}, The end"
    ),
    "lifecycle-orphan": Requirement(
        "The process ends when its parent dies, even while its input stays open.", f"{_PROTOCOL}, The end"
    ),
    "lifecycle-children": Requirement(
        "No process that the server started outlives it.", f"{_PROTOCOL}, The end"
    ),
    "lifecycle-pending": Requirement(
        "Requests in flight at the end of input are answered with an error.", f"{_PROTOCOL}, The end"
    ),
    "wire-purity": Requirement(
        "Every line on standard output is one JSON-RPC message, whatever prints.",
        f"{_LEGACY}, basic/transports",
    ),
    "wire-malformed": Requirement(
        "A line that is not JSON is answered with -32700 and the connection goes on.",
        f"{_JSONRPC}, section 5.1",
    ),
    "wire-invalid": Requirement(
        "A message that is no request is answered with -32600 and its id where it has one.",
        f"{_JSONRPC}, section 5.1",
    ),
    "wire-framing": Requirement(
        "Blank lines, CR LF and a byte-order mark are accepted.", f"{_PROTOCOL}, Malformed input"
    ),
    "wire-surrogates": Requirement(
        "A lone surrogate in a request is answered like any other text.", f"{_PROTOCOL}, Malformed input"
    ),
    "wire-long-lines": Requirement(
        "A request of ten megabytes is answered.", f"{_PROTOCOL}, Malformed input"
    ),
    "wire-once": Requirement(
        "Every request is answered exactly once, whoever answers it.", f"{_JSONRPC}, section 5"
    ),
    "wire-unread": Requirement(
        "A client that does not read stops nothing but its own answers, and gets them all in the end.",
        f"{_PROTOCOL}, Replies",
    ),
    "tools-list": Requirement(
        "tools/list gives the profile's tools in a fixed order on one page.", f"{_LEGACY}, server/tools"
    ),
    "tools-cursor": Requirement(
        "A cursor that was never handed out is refused with -32602.",
        f"{_LEGACY}, server/utilities/pagination",
    ),
    "tools-unknown": Requirement(
        "A tool that is not listed is refused with a tool error that names those that are.",
        f"{_PROTOCOL}, Errors",
    ),
    "tools-arguments": Requirement(
        "Unknown arguments are refused, naming the allowed ones.", f"{_PROTOCOL}, Arguments"
    ),
    "tools-slips": Requirement(
        "A string for a list and numbers as strings are accepted.", f"{_PROTOCOL}, Arguments"
    ),
    "tools-named-exist": Requirement(
        "Every tool that a reply or an error names is listed.", f"{_PROTOCOL}, Errors"
    ),
    "resources-list": Requirement(
        "resources/list is short and never changes, whatever is stored.", f"{_PROTOCOL}, Resources"
    ),
    "resources-read": Requirement(
        "A resource is text or a blob with its media type; what is too large is refused by naming parts.",
        f"{_PROTOCOL}, Resources",
    ),
    "resources-cache": Requirement(
        "A resource that states its version may be cached, one that does not may not.",
        f"{_MODERN}, caching",
    ),
    "resources-not-found": Requirement(
        "A resource that is not there is answered with -32602, in both eras.", f"{_PROTOCOL}, Resources"
    ),
    "prompts": Requirement(
        "Prompts are listed and filled in; wrong names and arguments are refused.", f"{_PROTOCOL}, Prompts"
    ),
    "listed": Requirement(
        "All that is listed has a title; tools tell what they do to the world; prompts have icons.",
        f"{_PROTOCOL}, Prompts",
    ),
    "completion": Requirement(
        "Handles, versions, symbols and failures are completed from what is stored.",
        f"{_PROTOCOL}, Completion",
    ),
    "reply-text": Requirement(
        "A reply is one text block: no structured content, no links.", f"{_PROTOCOL}, Replies"
    ),
    "reply-budget": Requirement(
        "No reply exceeds max_tokens or the byte limit; what is left out is marked with a handle.",
        f"{_PROTOCOL}, Replies",
    ),
    "reply-visible": Requirement(
        "Control sequences and lone surrogates are made visible in replies, errors and progress.",
        f"{_PROTOCOL}, Replies",
    ),
    "reply-json": Requirement(
        "JSON goes into _meta where the request asks for it, and only there.", f"{_PROTOCOL}, Replies"
    ),
    "structured": Requirement(
        "With --structured the text is exactly the JSON of the structured content, which fits the schema.",
        f"{_PROTOCOL}, For programs",
    ),
    "resource-links": Requirement(
        "With --resource-links what was stored is linked after the text.", f"{_PROTOCOL}, For programs"
    ),
    "session": Requirement(
        "A session with a name goes on in the next process.", f"{_PROTOCOL}, For programs"
    ),
    "http-mcp": Requirement(
        "Over HTTP the same tools, resources and prompts are served, in both eras.", f"{_HTTP}, MCP"
    ),
    "http-principals": Requirement(
        "What one principal stores, another neither sees nor reaches.", f"{_HTTP}, Who may come"
    ),
    "http-admission": Requirement(
        "Wrong names, origins and tokens and too many requests are refused; only health is open.",
        f"{_HTTP}, Who may come",
    ),
    "http-oauth": Requirement(
        "Tokens that an authorization server signed for this server are taken; who has none is told where to "
        "get one.",
        f"{_HTTP}, OAuth",
    ),
    "http-quota": Requirement("A principal stores no more than its quota.", f"{_HTTP}, Who may come"),
    "http-transfer": Requirement(
        "Large artifacts are put and got as exact bytes beside MCP, whole or not at all.",
        f"{_HTTP}, Large artifacts",
    ),
    "http-end": Requirement(
        "On SIGTERM running requests end before the server does, with status 0.", f"{_HTTP}, The end"
    ),
    "error-tool": Requirement(
        "A failing tool answers with isError, what happened and the next step, without a traceback.",
        f"{_PROTOCOL}, Errors",
    ),
    "error-defect": Requirement(
        "A defect costs one call a short generic error; its traceback goes to standard error.",
        f"{_PROTOCOL}, Errors",
    ),
    "progress": Requirement(
        "A call that runs for over a second reports rising progress, if asked.",
        f"{_LEGACY}, basic/utilities/progress",
    ),
    "cancel": Requirement(
        "notifications/cancelled stops the work itself, and the request gets no answer.",
        f"{_LEGACY}, basic/utilities/cancellation",
    ),
    "cancel-late": Requirement(
        "Cancelling what has been answered does nothing.", f"{_LEGACY}, basic/utilities/cancellation"
    ),
    "job-store": Requirement("A file is stored by path and read back by handle.", "docs/reference/tools.md"),
    "job-outline": Requirement("A source file is outlined by symbol.", "docs/reference/tools.md"),
    "job-search": Requirement(
        "Stored text is searched, and symbols found by name.", "docs/reference/tools.md"
    ),
    "job-edit": Requirement("An edit by handle changes the file on disk.", "docs/reference/tools.md"),
    "job-diff": Requirement("Versions are compared.", "docs/reference/tools.md"),
    "job-export": Requirement("Exact bytes are exported to a path.", "docs/reference/tools.md"),
    "job-manage": Requirement("Artifacts are listed, pinned and released.", "docs/reference/tools.md"),
    "job-restart": Requirement("Handles survive a restart of the server.", "docs/reference/tools.md"),
}


def covers(*names: str) -> Callable[[_Test], _Test]:
    """State that a test keeps the promises ``names``; ``test_requirements.py`` reads the source."""

    def unchanged(test: _Test) -> _Test:
        return test

    return unchanged
