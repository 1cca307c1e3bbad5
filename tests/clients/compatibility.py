"""What the tests of clients saw, and the part of docs/compatibility.md that tells it.

``make compatibility`` runs those tests, records what they saw in ``data/compatibility.json`` and writes the
page; ``python -m tests.clients.compatibility`` writes the page alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDED: Final = Path(__file__).resolve().parent / "data" / "compatibility.json"
PAGE: Final = ROOT / "docs" / "compatibility.md"
BEGIN: Final = "<!-- Recorded by the tests: `make compatibility` writes from here -->\n"
END: Final = "<!-- to here. -->\n"

Kind = Literal["checker", "client", "framework"]
HEADINGS: Final[dict[Kind, str]] = {
    "checker": "Checkers of the protocol",
    "client": "Clients",
    "framework": "Frameworks",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that a test saw.

    Attributes:
        test: the test's file and function, without parameters.
        kind: the table that it stands in.
        client, version: what ran.
        protocol: the revision that it spoke, or None where the test did not see it.
        transport: how it reached the server.
        what: what it did, as a phrase.
    """

    test: str
    kind: Kind
    client: str
    version: str
    protocol: str | None
    transport: str
    what: str

    def order(self) -> tuple[str, ...]:
        """What rows are sorted by."""
        heading = str(list(HEADINGS).index(self.kind))
        protocol = self.protocol or ""
        return (heading, self.client.lower(), self.version, self.transport, protocol, self.what, self.test)


def load(path: Path = RECORDED) -> list[Row]:
    """The rows of a file; none where there is no file."""
    if not path.exists():
        return []
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def merge(old: Iterable[Row], ran: set[str], new: Iterable[Row]) -> list[Row]:
    """What is known after a run: of the tests that ``ran`` the new rows alone, of others the old ones."""
    return sorted({*(row for row in old if row.test not in ran), *new}, key=Row.order)


def save(rows: Iterable[Row], path: Path = RECORDED) -> None:
    """Write the rows, one a line."""
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def tables(rows: Iterable[Row]) -> str:
    """The tables as they stand in the page."""
    rows = sorted(rows, key=Row.order)
    parts: list[str] = []
    for kind, heading in HEADINGS.items():
        lines = _lines([row for row in rows if row.kind == kind])
        if lines:
            head = ["| what | version | reached by | protocol | what it did |", "|---|---|---|---|---|"]
            parts.append("\n".join([f"### {heading}", "", *head, *lines, ""]))
    return "\n".join(parts)


def _lines(rows: list[Row]) -> list[str]:
    """One line for all that one version did over one transport in one revision."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        group = groups.setdefault((row.client, row.version, row.transport, row.protocol or "not told"), [])
        if row.what not in group:
            group.append(row.what)
    return [f"| {' | '.join(key)} | {'; '.join(did)} |" for key, did in groups.items()]


def page(text: str, rows: Iterable[Row]) -> str:
    """The page with its recorded part written anew; the rest of ``text`` stays as it is."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(rows)}\n{END}{after}"


def main() -> int:
    """Write the page from what is recorded."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
