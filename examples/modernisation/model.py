"""Ask any OpenAI-compatible endpoint for an answer of a given shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

import httpx2 as httpx

Schema = dict[str, Any]


class BadAnswer(Exception):
    """The model's answer was cut off or has not the shape that was asked for; the message says which."""


class NoAnswer(Exception):
    """The endpoint cannot be reached or refused the request: trying again would not help."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, and how many tokens it read for that."""

    value: dict[str, Any]
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is, and the bounds of one answer.

    `text_chars` is the most characters of a text inside an answer. A schema states it, so that an engine
    which constrains its output by the schema always comes to an end.
    """

    url: str
    model: str
    key: str = "none"
    answer_tokens: int = 8000
    text_chars: int = 20_000
    timeout_seconds: float = 600


async def ask(endpoint: Endpoint, system: str, text: str, schema: Schema) -> Answer:
    """One answer to one message, as JSON of the schema.

    Raises:
        BadAnswer: It was cut off, or is no JSON object with the properties that the schema requires.
        NoAnswer: The endpoint cannot be reached or refused the request.
    """
    body = {
        "model": endpoint.model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": True},
        },
        "max_tokens": endpoint.answer_tokens,
        "temperature": 0,
    }
    reply = await _post(endpoint, body)
    choice = reply["choices"][0]
    if choice["finish_reason"] == "length":
        raise BadAnswer(f"the answer was cut off after {endpoint.answer_tokens} tokens")
    return Answer(_object(choice["message"]["content"], schema), reply["usage"]["prompt_tokens"])


async def _post(endpoint: Endpoint, body: dict[str, Any]) -> dict[str, Any]:
    address = f"{endpoint.url}/chat/completions"
    try:
        async with httpx.AsyncClient(timeout=endpoint.timeout_seconds) as client:
            headers = {"authorization": f"Bearer {endpoint.key}"}
            response = await client.post(address, json=body, headers=headers)
    except httpx.HTTPError as error:
        raise NoAnswer(f"{address} cannot be reached: {error}") from error
    if response.is_error:
        raise NoAnswer(f"{address} answered {response.status_code}: {response.text[:500]}")
    return response.json()


def _object(content: str, schema: Schema) -> dict[str, Any]:
    try:
        value: Any = json.loads(content)
    except ValueError as error:
        raise BadAnswer(f"the answer is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadAnswer("the answer is no JSON object")
    missing = [name for name in schema["required"] if name not in value]
    if missing:
        raise BadAnswer(f"the answer has no {missing[0]!r}")
    return cast(dict[str, Any], value)
