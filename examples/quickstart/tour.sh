#!/bin/sh
# The sixty-second tour: outline, read and edit a file by handle, then find one line in a log of 5,000.
# Works in a temporary folder with a store of its own and leaves nothing behind.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
cp "$(dirname "$0")/invoice.py" "$folder"
cd "$folder"
export MCP_OFFLOAD_STORE="$folder/store" MCP_OFFLOAD_STATE="$folder/state"

show() { # show COMMAND: print it as one would type it, and run it
    printf '$ %s\n' "$1"
    sh -c "$1"
}

show "mcp-offload outline invoice.py"
show "mcp-offload read invoice.py#Invoice.total"
show "printf 'def total(self, rate=0):\n    return round(sum(self.lines) * (1 - rate), 2)\n' > new.txt"
show "mcp-offload edit 'f1#Invoice.total' --from new.txt"
show "mcp-offload diff f1@1 f1@2"
show "seq -f 'compile unit %g ok' 5000 | sed '4321s/ok/error: no rule/' | mcp-offload store - --name build.log"
show "mcp-offload search error l2"
show "mcp-offload read l2#L4320-4322"
