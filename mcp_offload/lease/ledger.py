"""The arithmetic of a lease: what is charged, what is left, what a reply may cost. Pure.

What a lease is charged with is what the server delivered and the client has, for all that is known,
still in its context. Lists and instructions are charged once. A report can free what was charged, never
raise what the terms grant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mcp_offload.lease.model import (
    STANDING,
    ContextSize,
    Delivery,
    Grant,
    Held,
    LeaseState,
    Report,
    Stage,
    Terms,
)

FULL_SHARE: Final = 0.6
"""Share of the lease up to which answers come in full."""

HEAD_SHARE: Final = 0.85
"""Share up to which they come as heads and outlines; above it, as cards."""

HEAD_TOKENS: Final = 640
CARD_TOKENS: Final = 240
"""What still comes in full in the two later stages, so that whoever narrows down gets the text."""

LEAST_TOKENS: Final = 160
"""Below this no reply with a handle and a sentence in it fits."""

MOST_HELD: Final = 1_000
"""Handles remembered; what older ones are charged stays charged, without its handle."""

CONFIRMED_SECONDS: Final = 600.0
"""How long a client's word that it holds a text is taken for true."""

MOST_RESERVED: Final = 2_000
LEAST_RESERVED: Final = 512
RESERVED_SHARE: Final = 8
"""A process sets aside this part of what is left, up to the most; less than the least is not worth it."""

_VERSION: Final = re.compile(r"([a-z][0-9]+)@[0-9]+")


def charged_tokens(terms: Terms, state: LeaseState) -> int:
    """What the lease is charged with, lists and instructions included, shares of sub-agents not."""
    sent = state.loose + sum(one.tokens for one in state.held.values())
    return _standing(terms, state) + sent + sum(state.reserved.values())


def granted_tokens(terms: Terms, state: LeaseState) -> int:
    """What the lease may be charged with in all."""
    return terms.lease_tokens if state.share is None else state.share


def left_tokens(terms: Terms, state: LeaseState) -> int:
    """What may still be delivered; negative where more is charged than granted."""
    shares = sum(state.agents.values())
    left = granted_tokens(terms, state) - charged_tokens(terms, state)
    if state.room is not None:
        left = min(left, state.room - sum(state.reserved.values()))
    return left - shares


def stage_of(terms: Terms, state: LeaseState) -> Stage:
    """The form in which answers come at this point."""
    granted, left = granted_tokens(terms, state), left_tokens(terms, state)
    if terms.mode == "off":
        return "full"
    if terms.mode == "hard" and left < LEAST_TOKENS:
        return "refused"
    used = 1 - left / max(1, granted)
    return "full" if used < FULL_SHARE else "head" if used < HEAD_SHARE else "card"


def grant(terms: Terms, state: LeaseState, asked_tokens: int, *, insisted: bool = False) -> Grant:
    """What the next reply may cost.

    ``insisted``: the caller named its budget itself. In advisory mode that is granted, since a person
    is there to see it; in hard mode no reply costs more than is left.
    """
    left, stage = left_tokens(terms, state), stage_of(terms, state)
    confirmed = any(one.confirmed_at is not None for one in state.held.values())
    if terms.mode == "off" or (terms.mode == "advisory" and insisted):
        return Grant("full", asked_tokens, left, confirmed)
    if stage == "refused":
        return Grant("refused", 0, left)
    most = {"full": asked_tokens, "head": HEAD_TOKENS, "card": CARD_TOKENS}[stage]
    if terms.mode == "hard":
        most = min(most, left)
    return Grant(stage, min(asked_tokens, most), left, confirmed)


def deliver(terms: Terms, state: LeaseState, delivery: Delivery, *, sent: bool = False) -> LeaseState | None:
    """The state after a reply, or None where it may not be delivered because the lease is hard.

    Lists, instructions and refusals are always delivered. ``sent``: the reply has been sent already.
    """
    counted = _counted(state, delivery)
    if delivery.kind == "refusal":
        return replace(counted, refusals=state.refusals + 1)
    if delivery.kind in STANDING:
        return _with_standing(terms, counted, delivery)
    if terms.mode == "hard" and not sent and delivery.tokens > left_tokens(terms, state):
        return None
    room = None if state.room is None else state.room - delivery.tokens
    return _charged(replace(counted, room=room), delivery)


def reserve(terms: Terms, state: LeaseState, owner: str) -> LeaseState:
    """The state with a part of what is left set aside for what ``owner`` sends next.

    It is a small part of a hard lease, and none where the lease is small or nears its end: there each
    reply is measured by itself.
    """
    if terms.mode != "hard" or stage_of(terms, state) != "full":
        return state
    tokens = min(MOST_RESERVED, left_tokens(terms, state) // RESERVED_SHARE)
    if tokens < LEAST_RESERVED:
        return state
    return replace(state, reserved={**state.reserved, owner: tokens})


def unreserved(state: LeaseState, owner: str) -> LeaseState:
    """The state without what is set aside for ``owner``."""
    if owner not in state.reserved:
        return state
    return replace(state, reserved={name: n for name, n in state.reserved.items() if name != owner})


def report(terms: Terms, state: LeaseState, told: Report, now: float) -> LeaseState:
    """The state after a report; its parts are taken in the order: event, gone, size, holds, agents."""
    if told.event is not None:
        agents = state.agents if told.event == "compacted" else dict[str, int]()
        state = replace(state, loose=0, held={}, room=None, context=None, agents=agents, reserved={})
    for handle in told.gone:
        state = _without(state, plain(handle))
    if told.context_tokens is not None:
        state = _sized(terms, state, told, now)
    if told.holds:
        named = frozenset(map(plain, told.holds))
        held = {h: replace(one, confirmed_at=now) if h in named else one for h, one in state.held.items()}
        state = replace(state, held=held)
    if told.agent_ended is not None:
        state = replace(state, agents={a: n for a, n in state.agents.items() if a != told.agent_ended})
    if told.agent_started is not None:
        state = _with_agent(terms, state, told.agent_started, told.share_tokens)
    return state


def is_held(state: LeaseState, handle: str, stamp: str, now: float, *, confirmed: bool = False) -> bool:
    """Whether exactly this text was delivered here last and the client says, or now confirms, it has it."""
    held = state.held.get(plain(handle))
    if held is None or held.stamp != stamp:
        return False
    return confirmed or (held.confirmed_at is not None and 0 <= now - held.confirmed_at <= CONFIRMED_SECONDS)


def plain(handle: str) -> str:
    """A handle without its version: a text is told to be the same by its stamp, whatever the version."""
    return _VERSION.sub(r"\1", handle, count=1)


def _standing(terms: Terms, state: LeaseState) -> int:
    if state.share is not None:
        return 0
    return max(terms.standing_tokens, sum(state.standing.values()))


def _counted(state: LeaseState, delivery: Delivery) -> LeaseState:
    before = state.delivered.get(delivery.kind, 0)
    return replace(state, delivered={**state.delivered, delivery.kind: before + delivery.tokens})


def _with_standing(terms: Terms, state: LeaseState, delivery: Delivery) -> LeaseState:
    name = f"{delivery.kind} {delivery.name}".rstrip()
    most = max(state.standing.get(name, 0), delivery.tokens)
    after = replace(state, standing={**state.standing, name: most})
    more = _standing(terms, after) - _standing(terms, state)
    return after if state.room is None else replace(after, room=state.room - more)


def _charged(state: LeaseState, delivery: Delivery) -> LeaseState:
    held, loose = dict(state.held), delivery.tokens
    for text in delivery.texts:
        tokens = min(text.tokens, loose)
        loose -= tokens
        handle = plain(text.handle)
        before = held.pop(handle, None)
        held[handle] = Held(tokens + (before.tokens if before else 0), text.stamp)
    while len(held) > MOST_HELD:
        loose += held.pop(next(iter(held))).tokens
    return replace(state, held=held, loose=state.loose + loose)


def _without(state: LeaseState, handle: str) -> LeaseState:
    gone = {h: one.tokens for h, one in state.held.items() if h == handle or _is_part(h, handle)}
    freed = sum(gone.values())
    room = None if state.room is None else state.room + freed
    return replace(state, held={h: one for h, one in state.held.items() if h not in gone}, room=room)


def _is_part(handle: str, whole: str) -> bool:
    return "#" not in whole and handle.startswith(f"{whole}#")


def _sized(terms: Terms, state: LeaseState, told: Report, now: float) -> LeaseState:
    """The context's true size bounds what of ours can be in it, and what is left beside it."""
    assert told.context_tokens is not None
    most = math.ceil(told.context_tokens / terms.factor)
    loose, held = _at_most(state.loose, state.held, most)
    return replace(
        state,
        loose=loose,
        held=held,
        room=terms.in_o200k(terms.limit_tokens - told.context_tokens) if state.share is None else None,
        context=ContextSize(told.context_tokens, told.source, now),
    )


def _at_most(loose: int, held: Mapping[str, Held], most: int) -> tuple[int, dict[str, Held]]:
    """Let go of what cannot be there any more, the oldest first."""
    kept = dict(held)
    excess = loose + sum(one.tokens for one in kept.values()) - most
    if excess <= 0:
        return loose, kept
    dropped = min(loose, excess)
    loose, excess = loose - dropped, excess - dropped
    while excess > 0:
        tokens = kept.pop(next(iter(kept))).tokens
        # What is left of a text that is there in part is charged, but no longer known by its handle.
        loose += max(0, tokens - excess)
        excess -= tokens
    return loose, kept


def _with_agent(terms: Terms, state: LeaseState, agent: str, share_tokens: int | None) -> LeaseState:
    others = {name: share for name, share in state.agents.items() if name != agent}
    free = max(0, left_tokens(terms, replace(state, agents=others)))
    share = free // 2 if share_tokens is None else min(free, share_tokens)
    return replace(state, agents={**others, agent: share})
