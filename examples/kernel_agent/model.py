"""Asks any OpenAI-compatible endpoint for an answer of a given shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

import httpx2 as httpx

Schema = dict[str, Any]
Message = dict[str, str]


class BadAnswer(Exception):
    """The model's answer was cut off or has not the shape that was asked for; the message says which."""


class NoAnswer(Exception):
    """The endpoint cannot be reached or refused the request: trying again would not help."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, and the tokens of the question and of the answer."""

    value: dict[str, Any]
    text: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is, and how it is asked.

    Attributes:
        constrained: the engine holds answers to a JSON schema; else the schema is told in words.
        session: sent as `x-mcp-offload-session`, by which the gate tells agents apart.
    """

    url: str
    model: str
    key: str = "none"
    constrained: bool = True
    temperature: float = 0.0
    seed: int | None = None
    answer_tokens: int = 2000
    timeout_seconds: float = 600
    session: str | None = None

    async def ask(self, messages: list[Message], schema: Schema) -> Answer:
        """One answer to a conversation, as JSON of the schema.

        Raises:
            BadAnswer: It was cut off, or is no JSON object with the properties that the schema requires.
            NoAnswer: The endpoint cannot be reached or refused the request.
        """
        reply = await self._post(self._body(messages, schema))
        choice, usage = reply["choices"][0], reply["usage"]
        if choice["finish_reason"] == "length":
            raise BadAnswer(f"the answer was cut off after {usage['completion_tokens']} tokens")
        text = choice["message"]["content"] or ""
        return Answer(_object(text, schema), text, usage["prompt_tokens"], usage["completion_tokens"])

    def _body(self, messages: list[Message], schema: Schema) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "max_tokens": self.answer_tokens,
            "temperature": self.temperature,
        }
        if self.seed is not None:
            body["seed"] = self.seed
        if self.constrained:
            shape = {"name": "answer", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        else:
            last = messages[-1]
            told = f"{last['content']}\nAnswer with one JSON object of this schema: {json.dumps(schema)}"
            body["messages"] = [*messages[:-1], {**last, "content": told}]
        return body

    async def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        address = f"{self.url}/chat/completions"
        headers = {"authorization": f"Bearer {self.key}"}
        if self.session is not None:
            headers["x-mcp-offload-session"] = self.session
        try:
            async with httpx.AsyncClient(timeout=self.timeout_seconds) as client:
                response = await client.post(address, json=body, headers=headers)
        except httpx.HTTPError as error:
            raise NoAnswer(f"{address} cannot be reached: {error}") from error
        if response.is_error:
            raise NoAnswer(f"{address} answered {response.status_code}: {response.text[:500]}")
        return response.json()


def _object(content: str, schema: Schema) -> dict[str, Any]:
    begin, end = content.find("{"), content.rfind("}")
    try:
        value: Any = json.loads(content[begin : end + 1])
    except ValueError as error:
        raise BadAnswer(f"the answer is no JSON: {error}") from error
    missing = [name for name in schema["required"] if name not in value]
    if missing:
        raise BadAnswer(f"the answer has no {missing[0]!r}")
    return cast(dict[str, Any], value)
