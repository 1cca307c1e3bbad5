"""What a client's hooks run: plain shell commands have their long output stored, and its digest shown.

Two ways, as the client allows: the command is rewritten so that its output goes through ``mcp-offload
capture``, or the output is replaced after the command has run. Everything fails open: where something is
unknown or goes wrong, the client shows what it would have shown. Nothing here approves of a command.

A client waits for its hooks, so only the standard library is loaded until there is something to store.
"""
