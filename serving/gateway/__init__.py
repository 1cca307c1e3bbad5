"""The reverse proxy before an engine: forwarding, keys, and the gate's own pages.

Nothing is imported here: what forwards needs the extra ``gate``, what tells of clients and keys does not.
"""

from __future__ import annotations
