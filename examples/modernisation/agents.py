"""The five agents. Each is a task in words, the shape of its answer, and what it is given to read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .desk import Desk, handles_of
from .model import BadAnswer, Endpoint, Schema, ask

PARSER = (
    "You read outlines of COBOL and PL/SQL modules. Name the handles of the parts that compute, decide, "
    "or lay out what is read and written. Leave out what only opens files or logs."
)
EXTRACTOR = (
    "You state the rules of a legacy module so that they can be built anew without it: one entry a rule, "
    "with the handle of the part it stands in. Constants, rounding, widths of fields and what overflows "
    "are parts of a rule."
)
SYNTHESISER = (
    "You write Java 8 classes of the package bank from rules and legacy source. Money is BigDecimal. The "
    "result must behave as the legacy module to the byte. When a check failed, replace one part of the class."
)
CONFIGURATOR = (
    "You write a Spring 4 configuration class bank.BankConfiguration with a bean method for each class, in "
    "lite mode (no @Configuration, so that no proxy is made), and a main method that starts the context and "
    "calls Billing.run with the properties billing.input and billing.output, which system properties set."
)
TESTER = (
    "You write a JUnit 4 test class bank.RulesTest: at least one test for each rule, at its edges. When a "
    "check failed, replace one part of the class."
)


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(slots=True)
class Agent:
    """A role at its desk, and what it has cost so far."""

    name: str
    task: str
    desk: Desk
    endpoint: Endpoint
    questions: int = 0
    bad_answers: int = 0
    peak_prompt_tokens: int = 0
    notes: list[str] = field(default_factory=list[str])

    async def ask(self, text: str, schema: Schema) -> dict[str, Any]:
        """One question in a context of its own: nothing is carried along but what the text says."""
        self.questions += 1
        try:
            answer = await ask(self.endpoint, self.task, text, schema)
        except BadAnswer as error:
            self.bad_answers += 1
            self.notes.append(str(error))
            raise
        self.peak_prompt_tokens = max(self.peak_prompt_tokens, answer.prompt_tokens)
        return answer.value

    def text(self, at_most: int | None = None) -> Schema:
        """The schema of a text within the endpoint's bound."""
        return {
            "type": "string",
            "maxLength": min(at_most or self.endpoint.text_chars, self.endpoint.text_chars),
        }


async def choose_parts(agent: Agent, sources: list[str]) -> list[str]:
    """The legacy parser: from outlines alone, the handles of the parts worth reading."""
    outlines = [await agent.desk.outline(source, max_tokens=4000) for source in sources]
    known = [handle for outline in outlines for handle in handles_of(outline)]
    schema = _object(
        handles={"type": "array", "items": {"type": "string", "enum": known}, "minItems": 1, "maxItems": 24}
    )
    answer = await agent.ask("\n\n".join(outlines), schema)
    chosen = [handle for handle in dict.fromkeys(answer["handles"]) if handle in known]
    if not chosen:
        raise BadAnswer("the answer names no handle of the outlines")
    return chosen


async def extract_rules(agent: Agent, parts: list[str], to: Path) -> str:
    """The business-logic extractor: reads the parts, writes the rules to a file; the file's handle."""
    schema = _object(
        rules={
            "type": "array",
            "items": _object(
                name=agent.text(80), handle={"type": "string", "enum": parts}, rule=agent.text(1200)
            ),
            "minItems": 1,
            "maxItems": 30,
        }
    )
    answer = await agent.ask(await agent.desk.read(parts, max_tokens=6000), schema)
    _write(to, json.dumps(answer["rules"], indent=1) + "\n")
    return await agent.desk.store(to)


async def write_class(agent: Agent, wanted: str, read: list[str], outlined: list[str], to: Path) -> str:
    """Any agent that writes Java: reads some handles, sees the outlines of others; the file's handle."""
    texts = [wanted, await agent.desk.read(read, max_tokens=8000)] if read else [wanted]
    texts += [await agent.desk.outline(handle) for handle in outlined]
    answer = await agent.ask("\n\n".join(texts), _object(java=agent.text()))
    _write(to, answer["java"])
    return await agent.desk.store(to)


async def repair(agent: Agent, source: str, read: list[str], complaint: str) -> None:
    """Replace one part of a class that failed a check. Only the new text of that part travels.

    The agent sees the complaint and the class with its handles, not what it said before.
    """
    outline = await agent.desk.outline(source)
    code = await agent.desk.read([source], max_tokens=6000)
    texts = [complaint, outline, code]
    if read:
        texts.append(await agent.desk.read(read, max_tokens=4000))
    schema = _object(handle={"type": "string", "enum": handles_of(outline) or [source]}, text=agent.text())
    answer = await agent.ask("\n\n".join(texts), schema)
    await agent.desk.replace(answer["handle"], answer["text"])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
