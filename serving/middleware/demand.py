"""How many tokens a request comes to, exactly, as the engine itself would make it up."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from serving.compaction.dialects import Dialect, output_limit, sequences
from serving.middleware.asgi import App, Scope, call

_log = logging.getLogger(__name__)

_REMEMBERED: Final = 4096
_NO_ROUTE: Final = frozenset({403, 404, 405, 501})
_ITS_OWN_FAULT: Final = frozenset({400, 413, 422})
"""Statuses with which an engine refuses the request itself; it will refuse to run it too."""
_AWAY: Final = frozenset({502, 503, 504})
"""Statuses of a forwarder that reaches no engine, and of an engine that is not ready."""
_NOT_THE_PROMPT: Final = frozenset({
    "stream", "stream_options", "temperature", "top_p", "top_k", "seed", "n", "stop", "user", "metadata",
    "max_tokens", "max_completion_tokens", "max_output_tokens", "logprobs", "top_logprobs", "store",
    "presence_penalty", "frequency_penalty", "prompt_cache_key", "safety_identifier", "service_tier",
})  # fmt: skip
"""Fields that change nothing of the prompt's tokens."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Tokens of a request; ``output_limit_tokens`` is what the engine would let it write."""

    prompt_tokens: int
    output_limit_tokens: int | None


class CountError(Exception):
    """The engine did not count: it refused the request, or has no way to.

    Attributes:
        refused: whether the request itself is at fault, so that the engine should say why.
        away: whether the engine did not answer at all.
    """

    def __init__(self, message: str, *, refused: bool, away: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        self.away = away


class Counter:
    """Counts prompts with the engine's own code; one count a prompt, however often it is sent.

    ``PATH/render`` makes up the prompt of any request without running it. An engine that was started
    without ``--enable-scale-out`` has no such route; then ``/tokenize`` and ``/v1/messages/count_tokens``
    serve all dialects but responses.

    Source: vLLM 0.32 and 0.33, ``entrypoints/scale_out/render``, ``entrypoints/serve/tokenize``,
    ``entrypoints/anthropic``.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._known: OrderedDict[bytes, Demand] = OrderedDict()
        self._renders = True
        self._model_tokens: int | None = None

    async def count(self, path: str, dialect: Dialect, body: Mapping[str, Any], like: Scope) -> Demand:
        """Tokens of a request's prompts, all answers of ``n`` counted apart.

        Raises:
            CountError: the engine refused it or cannot count.
        """
        key = _key(path, body)
        demand = self._known.get(key)
        if demand is None:
            demand = await self._ask(path, dialect, body, like)
            self._known[key] = demand
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        several = sequences(body)
        limit = output_limit(dialect, body)
        allowed = demand.output_limit_tokens
        if limit is not None:
            allowed = limit if allowed is None else min(limit, allowed)
        return Demand(demand.prompt_tokens * several, None if allowed is None else allowed * several)

    async def _ask(self, path: str, dialect: Dialect, body: Mapping[str, Any], like: Scope) -> Demand:
        if self._renders:
            demand = await self._rendered(path, body, like)
            if demand is not None:
                return demand
            self._renders = False
            _log.warning(
                "the engine renders no prompts; start it with --enable-scale-out to lease every route"
            )
        tokens = await self._tokenized(dialect, body, like)
        room = await self._model_limit(like)
        return Demand(tokens, max(1, room - tokens) if room else None)

    async def _rendered(self, path: str, body: Mapping[str, Any], like: Scope) -> Demand | None:
        """The demand as the engine renders it; None where it has no such route."""
        asked = _prompt_of(body)
        if path == "/v1/messages":
            # Required; as sent where a thinking budget must stay below it, else as small as may be.
            asked["max_tokens"] = body.get("max_tokens") if body.get("thinking") else 1
        status, answer = await call(self._app, "POST", f"{path}/render", json.dumps(asked).encode(), like)
        if status in _NO_ROUTE:
            return None
        _check(status, f"{path}/render")
        rendered: Any = json.loads(answer)
        prompts = cast("list[dict[str, Any]]", rendered if isinstance(rendered, list) else [rendered])
        tokens = sum(len(prompt["token_ids"]) for prompt in prompts)
        limits = [_limit(prompt) for prompt in prompts]
        known = [limit for limit in limits if limit is not None]
        return Demand(tokens, sum(known) if known and path != "/v1/messages" else None)

    async def _tokenized(self, dialect: Dialect, body: Mapping[str, Any], like: Scope) -> int:
        if dialect is Dialect.RESPONSES:
            raise CountError("start the engine with --enable-scale-out to use /v1/responses", refused=False)
        if dialect is Dialect.MESSAGES:
            told = await self._json("/v1/messages/count_tokens", _prompt_of(body), like)
            return int(told["input_tokens"])
        if dialect is Dialect.CHAT:
            told = await self._json("/tokenize", _prompt_of(body), like)
            return int(told["count"])
        prompt: Any = body.get("prompt")
        texts = cast("list[Any]", prompt if isinstance(prompt, list) else [prompt])
        if texts and all(isinstance(token, int) for token in texts):
            return len(texts)
        tokens = 0
        for text in texts:
            if isinstance(text, list):
                tokens += len(cast("list[Any]", text))
            else:
                told = await self._json("/tokenize", {"model": body.get("model"), "prompt": text}, like)
                tokens += int(told["count"])
        return tokens

    async def _json(self, path: str, asked: Mapping[str, Any], like: Scope) -> dict[str, Any]:
        status, answer = await call(self._app, "POST", path, json.dumps(asked).encode(), like)
        _check(status, path)
        return json.loads(answer)

    async def _model_limit(self, like: Scope) -> int | None:
        """What the model's prompt and output may come to; None where the engine does not say."""
        if self._model_tokens is None:
            status, answer = await call(self._app, "GET", "/v1/models", like=like)
            if status == 200:
                limits = [model.get("max_model_len") for model in json.loads(answer).get("data", [])]
                known = [limit for limit in limits if isinstance(limit, int)]
                self._model_tokens = min(known) if known else None
        return self._model_tokens


def _check(status: int, path: str) -> None:
    if status != 200:
        message = f"the engine answered {status} to {path}"
        raise CountError(message, refused=status in _ITS_OWN_FAULT, away=status in _AWAY)


def _prompt_of(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _NOT_THE_PROMPT}


def _limit(prompt: Mapping[str, Any]) -> int | None:
    params = prompt.get("sampling_params")
    limit = cast("dict[str, Any]", params).get("max_tokens") if isinstance(params, dict) else None
    return limit if isinstance(limit, int) else None


def _key(path: str, body: Mapping[str, Any]) -> bytes:
    text = json.dumps(_prompt_of(body), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(f"{path}\n{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
