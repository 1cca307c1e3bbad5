"""Gemini's generateContent. Source: its API reference, and what Gemini CLI sends."""

from __future__ import annotations

from collections.abc import Iterator

from tests.clients.model.turn import Answer, Body, Call, Result, Tool, Turn, text_of

DIALECT = "gemini"


def read(body: Body) -> Turn:
    """The request as a turn; calls and results have no ids of their own everywhere, so they are counted."""
    parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    tools = [
        Tool(
            one["name"],
            one.get("description", ""),
            one.get("parametersJsonSchema") or one.get("parameters") or {},
        )
        for group in body.get("tools", [])
        for one in group.get("functionDeclarations", [])
    ]
    return Turn(
        DIALECT,
        body,
        tuple(tools),
        tuple(Call(str(place), call["name"], call.get("args", {})) for place, call in enumerate(calls)),
        tuple(
            Result(str(place), text_of(result.get("response")), "error" in result.get("response", {}))
            for place, result in enumerate(results)
        ),
        text_of(body.get("systemInstruction")),
    )


def whole(answer: Answer, number: int, model: str) -> Body:
    """The answer as one object."""
    part: Body = {"text": answer.text}
    if answer.tool:
        part = {"functionCall": {"name": answer.tool.name, "args": answer.arguments}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105},
        "modelVersion": model,
        "responseId": f"r{number}",
    }


def events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Body]]:
    """The answer as a stream of one."""
    yield "", whole(answer, number, model)
