"""What a node is asked to carry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """Agents at work.

    Attributes:
        agents: live at once; each keeps its context between turns.
        depth_tokens: context of one, at the point that is planned for.
        floor_tokens_per_second: decode velocity that each must keep.
    """

    agents: int
    depth_tokens: int
    floor_tokens_per_second: float = 30.0

    @property
    def tokens(self) -> int:
        """All contexts together."""
        return self.agents * self.depth_tokens
