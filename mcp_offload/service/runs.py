"""What changed between two stored runs of the same tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_offload.digest.compare import compare
from mcp_offload.models import Artifact, Monitor, RunDiff, RunTest, Version
from mcp_offload.service.context import Context, handle_of, has_digest
from mcp_offload.service.digests import digest_of, failure_handle

Run = tuple[Artifact, Version]


def run_diff(ctx: Context, before: Run, after: Run, monitor: Monitor) -> RunDiff | None:
    """Newly failing, fixed, still failing and so on; None where the two are not both runs of tests.

    Handles are those of the later run's failures; of what was fixed, those of the earlier run's.
    """
    if not (has_digest(*before) and has_digest(*after)):
        return None
    old, new = digest_of(ctx, *before, monitor), digest_of(ctx, *after, monitor)
    found = compare(old, new)
    if not found.comparable or not (old.totals and new.totals):
        return None
    old_handles = _handles(before, [failure.name for failure in old.failures])
    new_handles = _handles(after, [failure.name for failure in new.failures])
    return RunDiff(
        before=f"{handle_of(before[0], before[1].version)} {found.verdicts[0].value}",
        after=f"{handle_of(after[0], after[1].version)} {found.verdicts[1].value}",
        newly_failing=_tests(found.newly_failing, new_handles),
        fixed=_tests(found.fixed, old_handles),
        still_failing=_tests((*found.still_failing_elsewhere, *found.still_failing), new_handles),
        newly_skipped=_tests(found.newly_skipped, {}),
        flaky=_tests(found.flaky, new_handles),
        missing=_tests(found.gone, old_handles),
        before_seconds=found.before_seconds,
        after_seconds=found.after_seconds,
    )


def _handles(run: Run, names: Iterable[str]) -> dict[str, str]:
    handles: dict[str, str] = {}
    for index, name in enumerate(names):
        handles.setdefault(name, failure_handle(run[0], run[1], index))
    return handles


def _tests(names: Iterable[str], handles: Mapping[str, str]) -> tuple[RunTest, ...]:
    return tuple(RunTest(name, handles.get(name)) for name in names)
