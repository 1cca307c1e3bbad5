from __future__ import annotations

import pytest

from mcp_offload.capture.notes import (
    LOST,
    Outcome,
    Started,
    outcome_line,
    read_outcome,
    read_started,
    started_line,
)

STARTED = Started(12, 34)
OUTCOME = Outcome(3, None, None, 1.5, ((0, 4), (9, 12)), stderr_cut=True, left_behind=True)


def test_notes_are_read_as_they_were_written() -> None:
    notes = started_line(STARTED) + outcome_line(OUTCOME)
    assert read_started(notes) == STARTED
    assert read_outcome(notes) == OUTCOME


def test_notes_that_were_cut_say_what_came_before() -> None:
    notes = started_line(STARTED) + outcome_line(OUTCOME)
    for end in range(len(started_line(STARTED)), len(notes)):
        assert read_started(notes[:end]) == STARTED
        assert read_outcome(notes[:end]) is None
    assert read_started(notes[:5]) is None


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome(0), 0),
        (Outcome(3), 3),
        (Outcome(None, signal=11), 139),
        (Outcome(0, ended_by="timeout"), 124),
        (Outcome(None, signal=9, ended_by="timeout"), 124),
        (Outcome(0, ended_by="cancelled"), 137),
        (Outcome(2, ended_by="cancelled"), 2),
        (Outcome(None, signal=15, ended_by="cancelled"), 143),
        (LOST, 137),
    ],
)
def test_the_exit_status_is_the_one_of_a_shell(outcome: Outcome, status: int) -> None:
    assert outcome.exit_status == status
