"""How many tokens a request comes to, exactly, as the engine itself would make it up."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from serving.compaction.dialects import Dialect, output_limit, sequences
from serving.middleware.asgi import App, Scope, call

_REMEMBERED: Final = 4096
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
    """

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


class Counter:
    """Counts prompts with the engine's own renderer; one count a prompt, however often it is sent.

    Source: vLLM 0.32 and 0.33, ``entrypoints/scale_out/render/api_router.py``: ``PATH/render`` makes up
    the prompt of a request without running it.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._known: OrderedDict[bytes, Demand] = OrderedDict()

    async def count(self, path: str, dialect: Dialect, body: Mapping[str, Any], like: Scope) -> Demand:
        """Tokens of a request's prompts, all answers of ``n`` counted apart.

        Raises:
            CountError: the engine refused it or cannot count.
        """
        key = _key(path, body)
        demand = self._known.get(key)
        if demand is None:
            demand = await self._ask(path, body, like)
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

    async def _ask(self, path: str, body: Mapping[str, Any], like: Scope) -> Demand:
        asked = {name: value for name, value in body.items() if name not in _NOT_THE_PROMPT}
        if path == "/v1/messages":
            # Required; as sent where a thinking budget must stay below it, else as small as may be.
            asked["max_tokens"] = body.get("max_tokens") if body.get("thinking") else 1
        status, answer = await call(self._app, "POST", f"{path}/render", json.dumps(asked).encode(), like)
        if status == 404 or status >= 500:
            raise CountError(f"the engine answered {status} to {path}/render", refused=False)
        if status != 200:
            raise CountError(f"the engine refused the request with status {status}", refused=True)
        rendered: Any = json.loads(answer)
        prompts = cast("list[dict[str, Any]]", rendered if isinstance(rendered, list) else [rendered])
        tokens = sum(len(prompt["token_ids"]) for prompt in prompts)
        limits = [_limit(prompt) for prompt in prompts]
        known = [limit for limit in limits if limit is not None]
        return Demand(tokens, sum(known) if known and path != "/v1/messages" else None)


def _limit(prompt: Mapping[str, Any]) -> int | None:
    params = prompt.get("sampling_params")
    limit = cast("dict[str, Any]", params).get("max_tokens") if isinstance(params, dict) else None
    return limit if isinstance(limit, int) else None


def _key(path: str, body: Mapping[str, Any]) -> bytes:
    kept = {name: value for name, value in body.items() if name not in _NOT_THE_PROMPT}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(f"{path}\n{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
