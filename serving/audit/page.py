"""Audits as an HTML page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from serving.audit.finding import Judged, Verdict
from serving.audit.rendering import held
from serving.audit.standards import Standard, Status

_STYLE: Final = """
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --text: #1b2028; --quiet: #5a6472;
  --line: #e1e5ea; --good: #1d7a45; --bad: #b3261e; --open: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171c; --card: #1d2128; --text: #e6e9ee;
  --quiet: #9aa4b2; --line: #323944; --good: #5fc48a; --bad: #f28b82; --open: #e5ab3d; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; background: var(--ground); color: var(--text); }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.35rem; margin: 0 0 .2rem; } h2 { font-size: 1rem; margin: 0; }
.quiet { color: var(--quiet); } header p { margin: 0 0 1.2rem; }
section { background: var(--card); border: 1px solid var(--line); border-left: .35rem solid var(--tone);
  border-radius: 8px; padding: .9rem 1.1rem; margin-bottom: .8rem; }
.head { display: flex; gap: .8rem; align-items: baseline; justify-content: space-between; }
.verdict { color: var(--tone); font-weight: 600; white-space: nowrap; }
.good { --tone: var(--good); } .bad { --tone: var(--bad); } .open { --tone: var(--open); }
p { margin: .3rem 0 0; } ul { margin: .5rem 0 0; padding-left: 1.2rem; } li { margin: .15rem 0; }
footer { color: var(--quiet); font-size: .85rem; margin-top: 1.5rem; overflow-wrap: anywhere; }
@media print { body { background: none; } section { break-inside: avoid; } }
"""

_TONES: Final = {
    Status.PASSED: "good",
    Status.FAILED: "bad",
    Status.NOT_MEASURABLE: "open",
    Verdict.POSSIBLE: "good",
    Verdict.IMPOSSIBLE: "bad",
    Verdict.CONTRADICTORY: "bad",
    Verdict.DOUBTFUL: "open",
    Verdict.UNCHECKED: "open",
}


def standards_html(standards: Iterable[Standard], made_by: str) -> str:
    """The five standards as a page.

    Args:
        standards: what was found.
        made_by: the command and version, for the foot of the page.
    """
    found = list(standards)
    cards = [
        _card(
            standard.name.replace("_", " ").capitalize().replace("kv", "KV"),
            standard.status,
            standard.requires,
            [*standard.evidence, *(f"missing: {told}" for told in standard.missing)],
        )
        for standard in found
    ]
    counted = _counted([standard.status.value for standard in found])
    return _page("Audit of a node", counted, cards, made_by)


def claims_html(judged: Sequence[Judged], made_by: str) -> str:
    """Claims as a page, worst first."""
    order = list(Verdict)
    ranked = sorted(judged, key=lambda claim: order.index(claim.verdict))
    cards = [
        _card(
            claim.name,
            claim.verdict,
            claim.says,
            [held(finding) for finding in claim.findings],
            claim.source,
        )
        for claim in ranked
    ]
    return _page("Audit of claims", _counted([claim.verdict.value for claim in ranked]), cards, made_by)


def _card(name: str, verdict: Status | Verdict, says: str, told: Iterable[str], source: str = "") -> str:
    return "".join(_card_parts(name, verdict, says, list(told), source))


def _card_parts(
    name: str, verdict: Status | Verdict, says: str, told: Sequence[str], source: str
) -> Iterator[str]:
    yield f'<section class="{_TONES[verdict]}"><div class="head"><h2>{escape(name)}</h2>'
    yield f'<span class="verdict">{escape(verdict.value)}</span></div>'
    if says:
        yield f"<p>{escape(says)}</p>"
    if told:
        yield "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in told) + "</ul>"
    if source:
        yield f'<p class="quiet">{escape(source)}</p>'
    yield "</section>\n"


def _counted(values: Sequence[str]) -> str:
    return ", ".join(f"{values.count(value)} {value}" for value in dict.fromkeys(values)) or "nothing"


def _page(title: str, counted: str, cards: Iterable[str], made_by: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n'
        f'<main>\n<header><h1>{escape(title)}</h1><p class="quiet">{escape(counted)}</p></header>\n'
        f"{''.join(cards)}<footer>{escape(made_by)}</footer>\n</main>\n</html>\n"
    )
