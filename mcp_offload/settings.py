"""What an operator can set, as one frozen value.

The command line builds it once, from options and the environment, and passes it down; nothing else
reads the environment. Only the standard library is imported here: the server answers its first
request before anything heavy is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Durability = Literal["process", "host"]
ToolProfile = Literal["default", "all"]
LeaseMode = Literal["off", "advisory", "hard"]

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """Whose tokens are taken over HTTP.

    Attributes:
        issuer: URL of the authorization server, as its tokens name it.
        resource: URL at which clients reach this server's MCP endpoint.
        audience: whom a token must be meant for, or None for ``resource``.
        scopes: that a token must have, each of them.
    """

    issuer: str
    resource: str
    audience: str | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How MCP is served over HTTP.

    Attributes:
        host, port: to listen on; port 0 = any free one.
        token_file: absolute path of a private file with a principal's name and token on each line, or
            None for none.
        oauth: whose tokens are taken besides; without both, anybody who reaches the port may use the
            server.
        allowed_hosts: more names under which the server is reached, without port.
        requests_per_second: that one principal may make on average; ``burst`` of them at once.
        principal_bytes: that one principal may keep stored.
        grace_seconds: that running requests have to end in when the server stops.
    """

    host: str
    port: int
    token_file: str | None = None
    oauth: OAuthSettings | None = None
    allowed_hosts: tuple[str, ...] = ()
    requests_per_second: float = 50.0
    burst: int = 200
    principal_bytes: int = 1 * GIB
    grace_seconds: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapSettings:
    """How another MCP server is wrapped. Exactly one of ``command`` and ``url`` is given.

    Attributes:
        command: the server's program and arguments.
        url: the server's address, where it speaks streamable HTTP.
        headers: of requests to ``url``; they may hold secrets.
        environment: every variable that the server gets.
        threshold_tokens: a result that costs more is stored and replaced.
        tools: thresholds of single tools; None = never replaced, 0 = always.
        resolve: tools whose arguments may be ``handle:H``.
        with_tools: tools to read what was stored are added to the server's own.
        keep_all: results that pass are stored as well.
        silence_seconds: a call that gives no sign of life for so long is given up.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    threshold_tokens: int = 2_000
    tools: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    resolve: frozenset[str] = frozenset()
    with_tools: bool = True
    keep_all: bool = False
    silence_seconds: float = 3600.0

    def threshold(self, tool: str) -> int | None:
        """The most tokens that a result of ``tool`` may cost; None = any number."""
        return self.tools.get(tool, self.threshold_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """How much a server may deliver to one agent's context; see :mod:`mcp_offload.lease`.

    Attributes:
        mode: ``off`` counts alone; ``advisory`` shrinks and tells; ``hard`` also refuses.
        limit_tokens: of the model's whole context, in its own tokens.
        reserve_tokens: of that, for what the server cannot see.
        tokenizer_factor: tokens of the model for one o200k token.
    """

    mode: LeaseMode = "off"
    limit_tokens: int = 18_000
    reserve_tokens: int = 6_000
    tokenizer_factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, with its unit in its name.

    Attributes:
        store_dir: absolute directory of the ephemeral store.
        state_dir: absolute directory of what must outlive a wiped store (handle counters).
        roots: absolute directories that clients may read from and write to.
        base_dir: absolute directory against which relative paths are resolved.
        workspace: key of the workspace: the absolute path of the git root or worktree, else of the
            directory, or the identifier given.
        durability: ``process`` survives kill -9 of every process; ``host`` also survives a host
            crash, at the price of fsync on each acknowledgement.
        quota_bytes: of live blobs in the store, all workspaces together.
        max_artifact_bytes: of one artifact.
        ttl_seconds: idle time after which an unpinned artifact expires.
        reserve_bytes: free disk below which nothing more is stored.
        tools: which tools are listed.
        max_reply_bytes: of one reply's text.
        max_tokens: default budget of one reply.
        structured: results are JSON with a schema, for programs, instead of text for models.
        resource_links: links to what was stored or edited follow the text.
        session: name of a session that goes on in other processes, or None for one of this process.
        lease: what one session may be sent.
        leases: the same by the name of a client, principal or sub-agent, over ``lease``.
        identity: whose process this is, ``session:NAME`` or ``process:...``; empty = nobody's known.
        http: how to serve over HTTP, or None for standard input and output.
        wrap: which other server to stand in front of, or None.
        workspace_bytes: most bytes of live versions in the workspace, or None for the store's quota alone.
        run_allow: commands, or directories of commands, that clients may run; none where it is empty.
        run_environment: variables that commands are run with; what looks like a secret is not among them.
        run_withheld: names of the variables that were left out for that.
        rg_path: absolute path of ripgrep, or None to scan in process.
        failpoints: for tests: ``name=action`` pairs that stop or fail the process at a named step.
    """

    store_dir: str
    state_dir: str
    roots: tuple[str, ...]
    base_dir: str
    workspace: str
    durability: Durability = "process"
    quota_bytes: int = 4 * GIB
    max_artifact_bytes: int = 8 * GIB
    ttl_seconds: int = 7 * 24 * 3600
    reserve_bytes: int = 64 * MIB
    tools: ToolProfile = "default"
    max_reply_bytes: int = 10_000
    max_tokens: int = 2_000
    structured: bool = False
    resource_links: bool = False
    session: str | None = None
    lease: LeaseSettings = field(default_factory=LeaseSettings)
    leases: Mapping[str, LeaseSettings] = field(default_factory=dict[str, LeaseSettings])
    identity: str = ""
    http: HttpSettings | None = None
    wrap: WrapSettings | None = None
    workspace_bytes: int | None = None
    run_allow: tuple[str, ...] = ()
    run_environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    run_withheld: tuple[str, ...] = ()
    rg_path: str | None = None
    failpoints: tuple[str, ...] = field(default=())
