"""Which texts a step replaces, and that choices are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.compaction.choice import Candidate, Form, Stage, choose
from serving.compaction.decisions import KEPT_SECONDS, Decision, Decisions
from serving.compaction.settings import CompactionSettings
from serving.errors import CompactionError

SETTINGS = CompactionSettings(threshold_tokens=100, keep_tokens=300)
candidates = st.lists(st.builds(Candidate, st.integers(0, 500), st.sampled_from(Form)), max_size=12)


def test_the_most_recent_stay_while_that_is_enough() -> None:
    texts = [Candidate(tokens, Form.WHOLE) for tokens in (50, 400, 90, 200, 99)]
    assert choose(texts, Stage.OLD, SETTINGS) == {1: Form.NOTICE}
    assert choose(texts, Stage.AGED, SETTINGS) == {1: Form.NOTICE, 3: Form.NOTICE}
    short = {2: Form.LINE, 4: Form.LINE}
    assert choose(texts, Stage.SHORT, SETTINGS) == {1: Form.NOTICE, 3: Form.NOTICE, **short}
    noticed = [Candidate(400, Form.NOTICE), Candidate(400, Form.LINE)]
    assert choose(noticed, Stage.AGED, SETTINGS) == {}
    assert choose(noticed, Stage.LINES, SETTINGS) == {0: Form.LINE}


@given(candidates, st.sampled_from(Stage))
def test_a_text_only_takes_less_room_and_later_stages_go_further(
    texts: list[Candidate], stage: Stage
) -> None:
    chosen = choose(texts, stage, SETTINGS)
    assert all(form > texts[index].form for index, form in chosen.items())
    if stage is not Stage.OLD:
        assert set(choose(texts, Stage(stage - 1), SETTINGS)) <= set(chosen)


def decision(form: Form = Form.NOTICE, handle: str = "f1") -> Decision:
    return Decision(form, handle, f"notice of {handle}", f"line of {handle}", 10)


def test_choices_are_kept_and_go_one_way(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "choices.sqlite3"
    first, second = Decisions(path), Decisions(path)
    first.keep("w", {b"a": decision()})
    assert second.find("w", [b"a", b"b"]) == {b"a": decision()}
    assert second.find("other", [b"a"]) == {}
    second.keep("w", {b"a": decision(Form.LINE)})
    first.keep("w", {b"a": decision()})
    assert first.find("w", [b"a"])[b"a"].shown == "line of f1"
    first.keep("w", {b"a": decision(handle="f2")})
    assert second.find("w", [b"a"])[b"a"] == decision(handle="f2")
    assert path.stat().st_mode & 0o077 == 0
    first.keep_served("w", "c1", "[]")
    assert second.find_served("w", ["c0", "c1"]) == {"c1": "[]"}
    first.close()
    second.close()


def test_choices_nobody_used_are_forgotten(tmp_path: Path) -> None:
    now = 1_000_000.0
    made = Decisions(tmp_path / "c", clock=lambda: now)
    made.keep("w", {b"a": decision(), b"b": decision()})
    now += KEPT_SECONDS * 0.75
    made.find("w", [b"a"])
    made.close()
    now += KEPT_SECONDS * 0.75
    again = Decisions(tmp_path / "c", clock=lambda: now)
    assert set(again.find("w", [b"a", b"b"])) == {b"a"}
    again.close()


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("no database" * 100)
    with pytest.raises(CompactionError, match=r"cannot be kept in .*c: file is not a database"):
        Decisions(tmp_path / "c")
