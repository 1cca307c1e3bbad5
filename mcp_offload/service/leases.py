"""Leases by session: what each may still be sent, what it was sent, and what is reported of it.

This is the one way in for whatever delivers text to an agent or knows its context::

    lease = service.leases.of("session:build-7")
    grant = lease.grant(2_000)                       # what the next reply may cost, and in which form
    lease.deliver(Delivery("result", tokens, "read_handle"))     # False: it may not be sent any more
    lease.report(Report(event="compacted"))
    service.report_context("build-7", 15_200, source="gateway")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_offload import lease as ledger
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.lease import ContextSource, Delivery, Grant, LeaseState, Report, Terms
from mcp_offload.models import LeaseResult
from mcp_offload.service.names import NAMED, session_name
from mcp_offload.settings import LeaseSettings, Settings
from mcp_offload.store import Ledger, NewContent, Posting, Use

IDLE_SECONDS = 1_800.0
"""Silence after which an unnamed session counts as a new one, unless its lease is hard."""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A text that is sent, and what counts it."""

    text: str
    count: Callable[[str], int]

    @property
    def most_tokens(self) -> int:
        """As many tokens as it can have: a token stands for at least one byte."""
        return len(self.text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class SessionLease:
    """The lease of one session or of one of its sub-agents. Thread-safe; holds nothing itself.

    Every method may raise ``StoreError``.
    """

    ledger: Ledger
    workspace: str
    session: str
    terms: Terms
    agent: str | None = None
    clock: Callable[[], float] = time.time

    def grant(self, asked_tokens: int, *, insisted: bool = False) -> Grant:
        """What the next reply may cost; ``insisted``: the caller named its budget itself."""
        if self.terms.mode == "off":
            return Grant("full", asked_tokens, asked_tokens)
        state = self._state(exact=False)
        granted = ledger.grant(self.terms, state, asked_tokens, insisted=insisted)
        if ledger.stage_of(self.terms, state) == "full" and granted.max_tokens == asked_tokens:
            return granted
        return ledger.grant(self.terms, self._state(), asked_tokens, insisted=insisted)

    def deliver(
        self,
        delivery: Delivery,
        *,
        text: Uncounted | None = None,
        artifacts: Mapping[int, int] | None = None,
        contents: Sequence[NewContent] = (),
    ) -> bool:
        """Count a reply before it is sent; False, and nothing counted, where a hard lease forbids it.

        Args:
            delivery: as sent, counted exactly unless ``text`` is given.
            text: what is sent; it is counted by the time that its count matters, and the delivery's
                tokens are passed over.
            artifacts: of its tokens those about single artifacts, by number.
            contents: what came into the session by this call.
        """
        share = self._share()
        if text is not None:
            delivery = replace(delivery, tokens=text.most_tokens)
        posting = Posting(
            self.terms,
            delivery,
            None if text is None else text.text,
            _exact if text is None else text.count,
            lambda state, used_at: self._current(state, used_at, share),
            lambda counted: _uses(counted, artifacts or {}),
            contents,
        )
        return self.ledger.deliver(self.workspace, self._key(share), posting)

    def report(self, told: Report) -> LeaseResult:
        """Take a report into account.

        Raises:
            InvalidArgumentError: a size or a share is negative, or a name is malformed.
        """
        _check(told)
        now = self.clock()

        share = self._share()

        def step(state: LeaseState, used_at: float) -> LeaseState:
            return ledger.report(self.terms, self._current(state, used_at, share), told, now)

        if told.agent_started is not None:
            self._forget(f"{self.session}/{told.agent_started}")
        after = self.ledger.change(self.workspace, self._key(share), step)
        assert after is not None
        return _result(self.session, self.terms, after)

    def show(self) -> LeaseResult:
        """The lease as it stands."""
        return _result(self.session, self.terms, self._state())

    def holds(self, handle: str, stamp: str, *, confirmed: bool = False) -> bool:
        """Whether exactly this text was delivered here and the client says it has it still.

        ``confirmed``: it says so with this very call.
        """
        return ledger.is_held(self._state(), handle, stamp, self.clock(), confirmed=confirmed)

    def _state(self, *, exact: bool = True) -> LeaseState:
        share = self._share()
        found = self.ledger.peek(self.workspace, self._key(share), exact=exact)
        return self._current(*(found or (LeaseState(), self.clock())), share)

    def _current(self, state: LeaseState, used_at: float, share: int | None) -> LeaseState:
        if self.agent is not None:
            return state if share is None else replace(state, share=share)
        idle = self.clock() - used_at > IDLE_SECONDS
        if idle and self.terms.mode != "hard" and not self.session.startswith(NAMED):
            return ledger.report(self.terms, state, Report(event="cleared"), self.clock())
        return state

    def _key(self, share: int | None) -> str:
        """The row that is charged: the agent's own while it has a share, else the session's."""
        return self.session if share is None else f"{self.session}/{self.agent}"

    def _share(self) -> int | None:
        if self.agent is None:
            return None
        found = self.ledger.peek(self.workspace, self.session)
        return None if found is None else found[0].agents.get(self.agent)

    def _forget(self, key: str) -> None:
        """Whoever starts under a name that was used before starts with an empty context."""

        def step(state: LeaseState, used_at: float) -> LeaseState:
            return LeaseState(delivered=state.delivered, refusals=state.refusals, terms=state.terms)

        if self.ledger.get(self.workspace, key) is not None:
            self.ledger.change(self.workspace, key, step)


class Leases:
    """The leases of one workspace."""

    def __init__(self, ledger: Ledger, settings: Settings, *, standing_tokens: int = 0) -> None:
        self._ledger = ledger
        self._settings = settings
        self._standing_tokens = standing_tokens

    def of(self, session: str, *, agent: str | None = None, names: Sequence[str] = ()) -> SessionLease:
        """The lease of a session.

        Args:
            session: ``session:NAME``, or any text that tells one context apart.
            agent: a sub-agent of it; while it has no share of its own it is charged to the session.
            names: of client, principal or agent; the first with terms of its own has those.
        """
        terms = self.terms((*((agent,) if agent else ()), *names))
        return SessionLease(self._ledger, self._settings.workspace, session, terms, agent)

    def known(self, session: str, agent: str | None = None) -> SessionLease | None:
        """The lease of a session under the terms of the server that counts for it; None: nothing counted."""
        row = self._ledger.get(self._settings.workspace, session)
        if row is None:
            return None
        terms = row.state.terms or self.terms()
        return SessionLease(self._ledger, self._settings.workspace, session, terms, agent)

    def terms(self, names: Sequence[str] = ()) -> Terms:
        """The terms for whoever has these names."""
        settings = lease_settings(self._settings.lease, self._settings.leases, names)
        return Terms(
            settings.mode,
            settings.limit_tokens,
            settings.reserve_tokens,
            settings.tokenizer_factor,
            self._standing_tokens,
        )

    def settle(self) -> None:
        """Write what was delivered, in any workspace, and is not in the ledger yet."""
        self._ledger.settle()

    def with_standing(self, tokens: int) -> Leases:
        """The same, for a server whose lists and instructions take so many tokens."""
        return Leases(self._ledger, self._settings, standing_tokens=tokens)


def lease_settings(
    default: LeaseSettings, named: Mapping[str, LeaseSettings], names: Sequence[str]
) -> LeaseSettings:
    """The settings of the first name that has any, else the default."""
    return next((named[name] for name in names if name in named), default)


def _exact(text: str) -> int:
    raise AssertionError("what is exact is not counted again")


def _uses(delivery: Delivery, artifacts: Mapping[int, int]) -> list[Use]:
    """The parts of a reply by artifact; what is about none, or several, stands under 0."""
    if not delivery.name:
        return []
    known = sum(artifacts.values())
    parts = dict(artifacts) if known <= delivery.tokens else {}
    if len(parts) == 1:
        parts = dict.fromkeys(parts, delivery.tokens)
    else:
        parts = {0: delivery.tokens - sum(parts.values()), **parts}
    return [
        Use(delivery.name, number, tokens, int(not at)) for at, (number, tokens) in enumerate(parts.items())
    ]


def report_context(leases: Leases, session: str, tokens: int, source: ContextSource) -> LeaseResult:
    """See :meth:`mcp_offload.service.OffloadService.report_context`."""
    name = session_name(session)
    lease = leases.known(name) or leases.of(name)
    return lease.report(Report(context_tokens=tokens, source=source))


def _check(told: Report) -> None:
    if told.context_tokens is not None and told.context_tokens < 0:
        raise InvalidArgumentError("The size of a context is not negative.")
    if told.share_tokens is not None and told.share_tokens < 0:
        raise InvalidArgumentError("A sub-agent's share is not negative.")
    for agent in (told.agent_started, told.agent_ended):
        if agent is not None:
            session_name(agent)


def _result(session: str, terms: Terms, state: LeaseState) -> LeaseResult:
    context = state.context
    return LeaseResult(
        session=session,
        mode=terms.mode,
        limit_tokens=terms.limit_tokens,
        reserve_tokens=terms.reserve_tokens,
        tokenizer_factor=terms.factor,
        lease_tokens=ledger.granted_tokens(terms, state),
        charged_tokens=ledger.charged_tokens(terms, state),
        left_tokens=ledger.left_tokens(terms, state),
        stage=ledger.stage_of(terms, state),
        delivered_tokens=sum(state.delivered.values()),
        delivered=dict(state.delivered),
        refusals=state.refusals,
        holds=tuple(state.held),
        agents=dict(state.agents),
        context_tokens=None if context is None else context.tokens,
        context_source=None if context is None else context.source,
        context_reported_at=None if context is None else context.at,
    )


def lease_line(told: LeaseResult) -> str:
    """What a model needs to know of its lease, on one line."""
    if told.mode == "off":
        return f"{told.charged_tokens:,}t delivered; no lease"
    return (
        f"{told.charged_tokens:,} of {told.lease_tokens:,}t delivered, {max(0, told.left_tokens):,}t left;"
        f" answers come {_FORMS[told.stage]}"
    )


def lease_text(told: LeaseResult) -> str:
    """One fact a line, for a person."""
    parts = ", ".join(f"{kind} {tokens:,}" for kind, tokens in told.delivered.items())
    lines = [
        f"lease of {told.session} ({told.mode})",
        f"{told.charged_tokens:,} of {told.lease_tokens:,} tokens charged, {told.left_tokens:,} left;"
        f" answers come {_FORMS[told.stage]}",
        f"delivered by this server: {told.delivered_tokens:,}" + (f" ({parts})" if parts else ""),
    ]
    if told.refusals:
        lines.append(f"refused {told.refusals} times")
    lines += [f"sub-agent {agent} has {share:,}" for agent, share in told.agents.items()]
    if told.context_tokens is not None:
        lines.append(f"whole context: {told.context_tokens:,} tokens, as the {told.context_source} reports")
    return "\n".join(lines)


_FORMS = {"full": "in full", "head": "as heads and outlines", "card": "as cards", "refused": "no more"}
