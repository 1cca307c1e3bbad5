"""The texts of ``--help``: what each command does, and how it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXIT_STATUSES: Final = """exit statuses:
  0    done
  1    the request failed; standard error says why and what to do
  2    wrong usage, a malformed handle or pattern, or a wrong setting
  130  interrupted"""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    "": """Keep files, logs and build artifacts out of an agent's context, and work with them through
handles: f12#Invoice.total names a symbol, l2#L100-140 lines, t7#%3 a failure. A path is a handle
too: src/app.py#Parser.parse.""",
    "store": """Store content and print its handle.

A directory or glob stores every file that git would see, in one transaction. Storing a path again makes
a new version where the file has changed, and nothing where it has not.""",
    "outline": """List the symbols of an artifact, or of one symbol, each with the handle that names it.""",
    "read": """Print what handles name, each under a line that says where it stands.

No model's context is at stake in a shell, so all of it is printed unless --max-tokens says otherwise.
When the file has moved on, the line also says what became of the symbol.""",
    "query": """Print the rows that a query gives, one JSON value a line.

A JSONPath asks JSON, JSON lines, CSV and the JSON within other text. Steps may follow it behind bars, or be
given as options: where EXPR, sort FIELD or -FIELD, group FIELD sum(FIELD), fields A B, distinct, limit N,
skip N, count, json. SQL asks JSON, JSON lines, CSV and Parquet, with the rows in the table t; it needs
the extra sql. The same queries stand in a handle: read 'f3#?$.rows[*].name'.""",
    "search": """Find the lines that match, or with --symbols the definitions by name.

Patterns have RE2's syntax: no backreferences and no look-around, and time linear in the text.""",
    "diff": """Compare two contents: a unified diff, and the symbols that were added, removed or changed.

With one handle, its version is compared with the file on disk, or with the newest version where there is
no file.""",
    "edit": """Replace what a handle names, or insert before or after it; only the new text travels.

The file is written too, atomically, if it still holds what the handle's version says; otherwise nothing
is written and the conflict is told. Mode, line endings, BOM and final newline are kept.""",
    "export": """Write the bytes that a handle names to a file, exactly as stored.""",
    "list": """List what is stored in this workspace, most recently used first.""",
    "release": """Give up the bytes of artifacts now. Their numbers are never used again.""",
    "pin": """Keep artifacts from eviction and expiry until they are unpinned or released.""",
    "unpin": """Let pinned artifacts be evicted and expire again.""",
    "purge": """Remove everything stored in this workspace. Numbers are never used again.

At a terminal it asks first.""",
    "gc": """Remove what has expired or exceeds the quota, and sweep what crashed processes left.""",
    "stats": """Tell what the store holds, where it is, and which crashes what it holds survives.""",
    "lease": """Tell what this server delivered to a session's context and what it may still deliver, or
report what it cannot see: that the context was compacted or cleared, how much it holds, which handles'
texts are gone from it or still in it, which sub-agents share it.

A client's hook needs no --session where the client names its session to the programs it starts, or is
itself a process above them.""",
    "serve": """Speak MCP on standard input and output until the client closes them.

An agent client starts this; nothing is listened to and nothing is sent anywhere.""",
    "wrap": """Stand in front of another MCP server.

Large results are stored and replaced by a card, a digest or an outline, and handles; everything else
passes as it is.

SERVER is started as the client would have started it, and again where it ends. read_handle, search_handles
and outline_handle are added to its tools, unless --no-tools says that the client has mcp-offload serve as
well.""",
    "run": """Run a command and print the digest of what it printed, or that itself where it is short.

All of it is stored while it arrives; the handle reads it, also while the command runs. What looks like a
secret is kept from its environment. The exit status is the command's: 128 and the signal where one ended
it, 124 after a timeout, 125 where mcp-offload itself failed, 126 and 127 where the command cannot be run or
found. Ctrl-C is passed on; pressed again, it ends all that the command started.""",
    "doctor": """Start the server as a client would, speak both protocol eras to it, time it, and check the
store, the disk, the parsers, the token counter and ripgrep. Exit status 1 where something needs fixing.""",
    "demo": """Store a real package's sources, a failing test log and a build artifact; then find, read, edit,
diff and export through the official MCP client, and print the tokens that an agent would have seen.""",
    "install": """Register the server with agent clients, in their own configuration; status lists them.

The former file is kept as a backup, and everything else in it stays byte for byte as it is. What is typed
here as --root, --store, --state or --workspace is passed to the server; the environment is not. With --hooks
the client also has the long output of builds and tests offloaded, without its model asking for it; look at
the difference with --dry-run first.""",
    "hook": """Answer an event of an agent client: its JSON on standard input, the answer on standard output.

`install --hooks` puts this into the client's configuration. Builds, tests and the like have their long output
stored, and the model sees its digest and handle; all else is left as it is. Nothing is approved by it, and
where something fails the client does what it would have done without it.""",
    "capture": """Pass standard input through where it is short; else store it and print its digest.

The end of a pipe: what fails leaves the output as it came, and the exit status is 0, so that with pipefail
the status is that of the command before it.""",
    "uninstall": """Take the server out of agent clients.

A file that was not changed since it was installed becomes what it was before, byte for byte.""",
    "status": """Tell which agent clients are found, which of them start the server, and with which version of
a client its entry was tried.""",
    "completion": """Print a completion script for a shell.""",
}

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        "make 2>&1 | mcp-offload store - --name build.log",
        "mcp-offload outline src/app.py",
        "mcp-offload read 'src/app.py#Parser.parse'",
        "mcp-offload search 'error|warning' l2",
    ),
    "store": (
        "mcp-offload store src/app.py",
        "mcp-offload store 'src/**/*.py'",
        "make 2>&1 | mcp-offload store - --name build.log",
        "pytest 2>&1 | mcp-offload store - --name pytest.log --kind test",
        "mcp-offload --json store dist/report.json",
    ),
    "outline": (
        "mcp-offload outline f12",
        "mcp-offload outline 'f12#Invoice'",
        "mcp-offload outline src/app.py --max-tokens 500",
    ),
    "read": (
        "mcp-offload read 'f12#Invoice.total'",
        "mcp-offload read 'f12#Invoice:sig' 'f12@3#L10-44' 'l2#L-20'",
        "mcp-offload read --raw 'src/app.py#Parser.parse' > parse.py",
    ),
    "query": (
        "mcp-offload query report.json '$.rows[?@.size > 100].name'",
        "mcp-offload query f3 '$.rows[*]|group city|sort -count|limit 5'",
        "mcp-offload query sales.csv --where '@.total > 100' --sort=-total --columns id,total --limit 5",
        "mcp-offload query sales.csv --sql 'select city, sum(total) from t group by city'",
    ),
    "search": (
        "mcp-offload search 'timed? out' l2",
        "mcp-offload search --literal 'a[0]' f12 f13",
        "mcp-offload search --symbols total",
        "mcp-offload search -i todo --limit 20",
    ),
    "diff": (
        "mcp-offload diff f12",
        "mcp-offload diff f12@1 f12@3",
        "mcp-offload diff l2 l5 --max-tokens 1000",
    ),
    "edit": (
        "mcp-offload edit 'f12#Invoice.total' --from total.py",
        "printf 'import math\\n' | mcp-offload edit 'src/app.py#L1' --before",
        "mcp-offload edit 'f12#Invoice' --after --no-write < helper.py",
    ),
    "export": (
        "mcp-offload export b3 build/report.json",
        "mcp-offload export f12@1 src/app.py --force",
    ),
    "list": (
        "mcp-offload list",
        "mcp-offload list app --kind file --limit 20",
    ),
    "release": ("mcp-offload release l2 b3",),
    "pin": ("mcp-offload pin f12 l2",),
    "unpin": ("mcp-offload unpin f12",),
    "purge": (
        "mcp-offload purge",
        "mcp-offload purge --all --yes",
    ),
    "gc": ("mcp-offload gc",),
    "stats": (
        "mcp-offload stats",
        "mcp-offload --json stats",
    ),
    "lease": (
        "mcp-offload lease",
        "mcp-offload lease report --compacted --context 9000",
        "mcp-offload lease report --gone f12 --session build-7",
        "mcp-offload --json lease report --agent-start reviewer --share 4000",
    ),
    "serve": (
        "mcp-offload serve",
        "mcp-offload serve --root ~/project --tools all",
        "mcp-offload serve --allow-run pytest --allow-run 'npm' --allow-run scripts/",
        "claude mcp add offload -- mcp-offload serve",
    ),
    "wrap": (
        "mcp-offload wrap -- npx -y @modelcontextprotocol/server-filesystem ~/project",
        "mcp-offload wrap --threshold-tokens 1000 --tool git_diff=always -- uvx mcp-server-git",
        "mcp-offload wrap --resolve write_file -- node server.js",
        "mcp-offload wrap --url https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'",
    ),
    "run": (
        "mcp-offload run -- pytest -q",
        "mcp-offload run --timeout 600 --name build.log -- make -j4",
        "mcp-offload run --shell -- 'make && make check'",
        "mcp-offload run --env 'AWS_*' -- ./deploy.sh",
    ),
    "doctor": (
        "mcp-offload doctor",
        "mcp-offload --json doctor",
    ),
    "demo": ("mcp-offload demo",),
    "install": (
        "mcp-offload install claude-code",
        "mcp-offload install cursor vscode --scope project",
        "mcp-offload install codex --approve-reads --dry-run",
        "mcp-offload install claude-code --hooks --dry-run",
        "mcp-offload install claude-desktop --root ~/project",
        "mcp-offload install zed --print",
        "mcp-offload install cursor --wrap --dry-run",
    ),
    "hook": ("mcp-offload hook claude-code PreToolUse < event.json",),
    "capture": ("set -o pipefail; make 2>&1 | mcp-offload capture --name make",),
    "uninstall": (
        "mcp-offload uninstall claude-code",
        "mcp-offload uninstall cursor --scope project",
        "mcp-offload uninstall cursor --wrap",
    ),
    "status": ("mcp-offload status", "mcp-offload --json status claude-code codex"),
    "completion": (
        "mcp-offload completion bash > ~/.local/share/bash-completion/completions/mcp-offload",
        "mcp-offload completion zsh > ~/.zfunc/_mcp-offload",
    ),
}
