"""An agent's context over its run, in closed form, and the memory that follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from serving.profile.memory import SequenceBytes


@dataclass(frozen=True)
class ToolReturn:
    """What a tool is expected to put into the context over a whole run.

    Attributes:
        calls: expected number, or the probability of one.
        mean_tokens: of what it returns.
    """

    calls: float
    mean_tokens: float


@dataclass(frozen=True)
class Course:
    """How a run's context grows.

    Attributes:
        base_tokens: instructions, tools and the task, before the first step.
        steps: of the run.
        expansion_tokens: that the model writes and that stay in the context, over all steps.
        tool_tokens: that tools return, over all steps.
    """

    base_tokens: float
    steps: int
    expansion_tokens: float
    tool_tokens: float = 0.0

    def context_tokens(self, step: float) -> float:
        """L(t) = L0 + t / N (E + sum P mu): the context after ``step`` of N steps.

        Growth is taken as even over the run; the peak, at the last step, does not depend on that.
        Source: our own consistent form of the model in arXiv 2608.15117, whose equation we have not seen.

        Raises:
            ValueError: the step is not within the run.
        """
        if not 0 <= step <= self.steps:
            raise ValueError(f"step {step} is not within a run of {self.steps}")
        grown = self.expansion_tokens + self.tool_tokens
        return self.base_tokens + (step / self.steps * grown if self.steps else 0.0)

    @property
    def peak_tokens(self) -> float:
        """The context after the last step."""
        return self.context_tokens(self.steps)


def expected_tool_tokens(tools: Iterable[ToolReturn]) -> float:
    """Sum over the tools of expected calls x mean tokens."""
    return sum(tool.calls * tool.mean_tokens for tool in tools)


def memory_bytes(
    course: Course, step: float, sequence: SequenceBytes, *, weights_bytes: float, activation_bytes: float
) -> float:
    """M(t) = weights + KV cache of L(t) by kind of layer + activations.

    Args:
        course: of the run.
        step: of it.
        sequence: bytes of a sequence by kind of layer; KV heads are counted, not query heads.
        weights_bytes: measured after loading, or computed.
        activation_bytes: measured while generating.
    """
    return weights_bytes + sequence.at(course.context_tokens(step)) + activation_bytes


def blocks(tokens: float, block_tokens: int) -> int:
    """Whole blocks that so many tokens take."""
    return math.ceil(tokens / block_tokens)
