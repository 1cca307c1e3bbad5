"""The scan for literals must find every line that any trigger of any family matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_offload.digest.digester import ROWS
from mcp_offload.digest.needles import DIGIT, needles
from mcp_offload.digest.prefilter import Prefilter

FILTER = Prefilter(ROWS)
TRIGGERS = [(index, trigger) for index, row in enumerate(ROWS) for trigger in row.triggers]


def _python(trigger: str) -> str:
    """RE2's spelling of code points in Python's."""
    return re.sub(r"\\x\{([0-9a-fA-F]+)\}", lambda found: re.escape(chr(int(found[1], 16))), trigger)


@pytest.mark.parametrize(("index", "trigger"), TRIGGERS)
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(data=st.data())
def test_a_line_that_a_trigger_matches_reaches_its_family(
    index: int, trigger: str, data: st.DataObject
) -> None:
    own = "".join(char for char in _python(trigger) if not char.isascii())
    alphabet = st.characters(min_codepoint=32, max_codepoint=126, include_characters=own)
    line = data.draw(st.from_regex(_python(trigger), alphabet=alphabet))
    if "\n" in line or "\r" in line:
        return
    assert index in FILTER.families_of(line)
    raw = b"before\n2026-01-01T00:00:00.0Z " + line.encode() + b"\r\nafter\n"
    hit = FILTER.next_hit(raw, 0, len(raw))
    assert 7 <= hit <= raw.index(b"\r\n")


@pytest.mark.parametrize(("index", "trigger"), TRIGGERS)
def test_a_trigger_anchors_all_of_its_alternatives(index: int, trigger: str) -> None:
    depth = 0
    for token in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|[()|]", trigger):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        assert not (token.group() == "|" and depth == 0 and trigger.startswith("^"))


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"^FAIL: ", ["FAIL: "]),
        (r"^(?:ok|not ok) \d+", [f"not ok {DIGIT}", f"ok {DIGIT}"]),
        (r"^=+ (?:ERRORS|FAILURES) =+$", ["= ERRORS =", "= FAILURES ="]),
        (r"(?i:segmentation) fault", ["segmentation"]),
        (r"^-{5}$", ["-----"]),
        (r"colou?r!", ["color!", "colour!"]),
        (r"a*b?", []),
        (r"\S+:\d+", []),
    ],
)
def test_needles_are_the_rarest_texts_a_match_must_hold(pattern: str, texts: list[str]) -> None:
    assert [needle.text for needle in needles(pattern)] == texts


def test_only_some_lines_of_an_ordinary_build_log_are_of_interest() -> None:
    line = (
        b"2026-01-01T00:00:00.0Z gcc -Werror=format -c src/error_log.c -o obj/error_log.o -fno-exceptions\n"
    )
    raw = line * 100
    assert FILTER.next_hit(raw, 0, len(raw)) == -1
