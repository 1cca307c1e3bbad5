"""Puts the fixtures of the conformance suite in front of the real handlers of a real server.

A name or URI of the suite is answered here; everything else, and everything about transports, sessions,
eras and errors, is the server's own.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from tests.clients.conformance import content

Context = ServerRequestContext[Any, Any]
CAPABILITY_OF = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
PAUSE_SECONDS = 0.05  # the suite wants these messages apart


def add_fixtures(server: Server[Any]) -> None:
    """Add them all, and what the suite asks of a server besides: logging, subscriptions, signed state."""
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience="conformance"))
    _extend(server, "tools/list", lambda found: found.tools.extend(map(content.tool, TOOLS)))
    _extend(server, "prompts/list", lambda found: found.prompts.extend(content.PROMPTS))
    _extend(server, "resources/list", lambda found: found.resources.extend(content.RESOURCES))
    _extend(
        server, "resources/templates/list", lambda found: found.resource_templates.append(content.TEMPLATE)
    )
    _before(server, "tools/call", CallToolRequestParams, _call)
    _before(server, "prompts/get", GetPromptRequestParams, _prompt)
    _before(server, "resources/read", ReadResourceRequestParams, _read)
    _before(server, "completion/complete", CompleteRequestParams, _complete)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, _empty)
    server.add_request_handler("resources/subscribe", SubscribeRequestParams, _empty)
    server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, _empty)


def _extend(server: Server[Any], method: str, extend: Callable[[Any], None]) -> None:
    """Have a list's own handler answer, and add to its answer."""
    entry = server.get_request_handler(method)
    assert entry is not None

    async def handle(ctx: Context, params: Any) -> Any:
        found: Any = await entry.handler(ctx, params)
        extend(found)
        return found

    server.add_request_handler(method, entry.params_type, handle)  # type: ignore[type-var]


def _before(
    server: Server[Any], method: str, kind: Any, answer: Callable[[Context, Any], Awaitable[Any]]
) -> None:
    """Have ``answer`` asked first; where it gives None, the server's own handler answers."""
    entry = server.get_request_handler(method)
    assert entry is not None

    async def handle(ctx: Context, params: Any) -> Any:
        found = await answer(ctx, params)
        return await entry.handler(ctx, params) if found is None else found

    server.add_request_handler(method, kind, handle)


async def _empty(ctx: Context, params: object) -> EmptyResult:
    return EmptyResult()


async def _complete(ctx: Context, params: CompleteRequestParams) -> CompleteResult | None:
    if isinstance(params.ref, PromptReference) and params.ref.name.startswith("test_"):
        return CompleteResult(completion=Completion(values=["paris", "park"], total=2, has_more=False))
    return None


async def _read(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult | None:
    found = content.resource(params.uri)
    return None if found is None else ReadResourceResult(contents=[found], ttl_ms=0, cache_scope="private")


async def _prompt(
    ctx: Context, params: GetPromptRequestParams
) -> GetPromptResult | InputRequiredResult | None:
    if params.name not in {prompt.name for prompt in content.PROMPTS}:
        return None
    if params.name in content.ROUNDS:
        asked = _asked(ctx, params.name, params)
        if asked is not None:
            return asked
    return content.prompt(params.name, params.arguments or {})


# --- tools ----------------------------------------------------------------------------------------


async def _call(ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult | None:
    name, given = params.name, params.arguments or {}
    if name in content.ANSWERS:
        return CallToolResult(content=list(content.ANSWERS[name]))
    if name in content.ROUNDS:
        return _asked(ctx, name, params) or _told(params)
    act = ACTS.get(name)
    return None if act is None else await act(ctx, given)


def _result(said: str, *, error: bool = False) -> CallToolResult:
    return CallToolResult(content=[content.text(said)], is_error=error)


async def _fail(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    return _result(content.ERROR, error=True)


async def _log(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
        await anyio.sleep(PAUSE_SECONDS)
    return _result("Logged three messages.")


async def _progress(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(PAUSE_SECONDS)
    return _result("Reported three times.")


async def _sample(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    message = SamplingMessage(role="user", content=content.text(given["prompt"]))
    answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return _result(f"LLM response: {getattr(answer.content, 'text', answer.content)}")


async def _elicit(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    return await _elicited(ctx, given["message"], content.PERSON, "User response")


async def _elicit_defaults(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    return await _elicited(ctx, *content.ELICITATIONS["test_elicitation_sep1034_defaults"])


async def _elicit_enums(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    return await _elicited(ctx, *content.ELICITATIONS["test_elicitation_sep1330_enums"])


async def _elicited(
    ctx: Context, message: str, schema: dict[str, Any], label: str = "Elicitation completed"
) -> CallToolResult:
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return _result(f"{label}: action={answer.action}, content={json.dumps(answer.content)}")


async def _need_sampling(ctx: Context, given: dict[str, Any]) -> CallToolResult:
    _require(ctx, ["sampling"])
    return _result("The client can sample.")


async def _stream(ctx: Context, given: dict[str, Any]) -> InputRequiredResult:
    await ctx.session.report_progress(1, 2)
    return InputRequiredResult.model_validate({"inputRequests": {"user_name": content.NAME}})


ACTS: dict[str, Callable[[Context, dict[str, Any]], Awaitable[CallToolResult | InputRequiredResult]]] = {
    "test_error_handling": _fail,
    "test_tool_with_logging": _log,
    "test_logging_tool": _log,
    "test_tool_with_progress": _progress,
    "test_sampling": _sample,
    "test_elicitation": _elicit,
    "test_elicitation_sep1034_defaults": _elicit_defaults,
    "test_elicitation_sep1330_enums": _elicit_enums,
    "test_missing_capability": _need_sampling,
    "test_streaming_elicitation": _stream,
}
TOOLS = [*content.ANSWERS, *ACTS, *(name for name in content.ROUNDS if not name.endswith("_prompt"))]


# --- input of the client, in rounds ---------------------------------------------------------------


def _declared(ctx: Context) -> set[str]:
    found = ctx.session.client_capabilities
    return set() if found is None else set(found.model_dump(exclude_none=True))


def _require(ctx: Context, capabilities: Iterable[str]) -> None:
    """Refuse a client that has not declared all of them. Source: MCP 2026-07-28, SEP-2575."""
    missing = [name for name in capabilities if name not in _declared(ctx)]
    if missing:
        required = {"requiredCapabilities": {name: {} for name in missing}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"The client needs {', '.join(missing)}", required)


def _asked(
    ctx: Context, name: str, params: CallToolRequestParams | GetPromptRequestParams
) -> InputRequiredResult | None:
    """What is to be asked now, or None where all has been answered. The state is the number of the round."""
    rounds = content.ROUNDS[name]
    number = _round(params.request_state, rounds)
    answers = params.input_responses or {}
    if number < len(rounds) and _answered(rounds[number], answers, ctx):
        number += 1
    if number >= len(rounds):
        return None
    requests = {key: one for key, one in rounds[number].items() if _may_ask(one, ctx)}
    _require(ctx, () if requests else {CAPABILITY_OF[one["method"]] for one in rounds[number].values()})
    return InputRequiredResult.model_validate({"inputRequests": requests, "requestState": str(number)})


def _round(state: str | None, rounds: list[Any]) -> int:
    if state is None:
        return 0
    if state.isdecimal() and int(state) < len(rounds):
        return int(state)
    raise MCPError(INVALID_PARAMS, "Not a state of this tool")


def _may_ask(request: dict[str, Any], ctx: Context) -> bool:
    return CAPABILITY_OF[request["method"]] in _declared(ctx)


def _answered(asked: dict[str, Any], answers: Any, ctx: Context) -> bool:
    return all(key in answers for key, one in asked.items() if _may_ask(one, ctx))


def _told(params: CallToolRequestParams) -> CallToolResult:
    answers = params.input_responses or {}
    told = {key: getattr(one, "model_dump", lambda one=one: one)() for key, one in answers.items()}
    state = "; state-ok" if params.request_state is not None else ""
    return _result(f"Answered: {json.dumps(told, default=str)}{state}")
