"""What changed between two runs of the same tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .model import Digest, Verdict

_BAD: Final = frozenset({"failed", "error", "crash", "timeout"})
_GOOD: Final = frozenset({"passed", "xfailed", "flaky"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Names in the order of the later run; ``comparable`` False where one run lists nothing.

    ``still_failing_elsewhere`` are failures in both runs whose message changed. ``flaky`` differ
    within reruns of one of the runs. ``gone`` failed before and are not in the later run at all.
    """

    newly_failing: tuple[str, ...]
    fixed: tuple[str, ...]
    still_failing: tuple[str, ...]
    still_failing_elsewhere: tuple[str, ...]
    newly_skipped: tuple[str, ...]
    flaky: tuple[str, ...]
    gone: tuple[str, ...]
    before_seconds: float | None
    after_seconds: float | None
    verdicts: tuple[Verdict, Verdict]
    comparable: bool


def _outcomes(digest: Digest) -> dict[str, str]:
    """Outcome by name; listed failures count even where the log lists no other tests."""
    found: dict[str, str] = dict(digest.tests)
    for failure in digest.failures:
        if not _alias(failure.name, found):
            found[failure.name] = "failed"
    return found


def _alias(name: str, known: Mapping[str, str]) -> bool:
    if name in known:
        return True
    short = name.split("::")[-1]
    if not short.endswith(")"):  # in "test_a (module.Class)" the last word is no test
        short = short.split(" ")[-1]
    return any(other.endswith(short) and outcome in _BAD for other, outcome in list(known.items())[:2000])


def compare(before: Digest, after: Digest) -> Comparison:
    """Compare two digests. A test missing from a run that ended well counts as passed there only if
    the runner lists passing tests by name; otherwise its absence from the failures does.
    """
    old, new = _outcomes(before), _outcomes(after)
    old_lists, new_lists = bool(before.tests), bool(after.tests)
    messages_old = {failure.name: failure.message for failure in before.failures}
    messages_new = {failure.name: failure.message for failure in after.failures}
    failing = [name for name, outcome in new.items() if outcome in _BAD]
    failed_before = [name for name, outcome in old.items() if outcome in _BAD]
    still = [name for name in failing if old.get(name) in _BAD]
    changed = [
        name
        for name in still
        if name in messages_old and name in messages_new and messages_old[name] != messages_new[name]
    ]
    ended = after.complete
    fixed = [
        name
        for name in failed_before
        if new.get(name) in _GOOD or (name not in new and ended and not _names_passes(new))
    ]
    return Comparison(
        newly_failing=tuple(name for name in failing if old.get(name) not in _BAD),
        fixed=tuple(fixed),
        still_failing=tuple(name for name in still if name not in set(changed)),
        still_failing_elsewhere=tuple(changed),
        newly_skipped=tuple(
            name
            for name, outcome in new.items()
            if outcome == "skipped" and old.get(name) not in {"skipped", None}
        ),
        flaky=tuple(dict.fromkeys(n for n, o in [*old.items(), *new.items()] if o == "flaky")),
        gone=tuple(name for name in failed_before if name not in new and name not in set(fixed)),
        before_seconds=before.duration_seconds,
        after_seconds=after.duration_seconds,
        verdicts=(before.verdict, after.verdict),
        comparable=bool(old_lists or before.failures or before.complete)
        and bool(new_lists or after.failures or after.complete),
    )


def _names_passes(outcomes: Mapping[str, str]) -> bool:
    return any(outcome in _GOOD for outcome in outcomes.values())
