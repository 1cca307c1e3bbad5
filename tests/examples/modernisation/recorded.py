"""An OpenAI-compatible endpoint that gives recorded answers, and only to whoever was told enough for them.

An answer is found by the task of the agent that asks and by words that its question must contain: what the
answer is made of. Where a word is missing the endpoint refuses, so that a text which never reached an agent
cannot be used by it. Handles are not recorded: an answer names symbols, and they become handles through the
schema of the question.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from mcp_offload.tokens import TokenCounter

ANSWERS = Path(__file__).parent / "data" / "answers"


class Recorded(NamedTuple):
    """An answer: who gets it, the words that must be in the question, and what it says."""

    task: str
    words: tuple[str, ...]
    value: Mapping[str, Any]


def _text(name: str) -> str:
    return (ANSWERS / name).read_text(encoding="utf-8")


def good_answers() -> list[Recorded]:
    """Answers that lead to the end, two of them through a repair: one does not compile, one differs."""
    rules = json.loads(_text("rules.json"))
    fee_parts = ["current_fee", "business_fee", "monthly_fee(~hcl)'2", "fee_rules'2"]
    billing_parts = [
        "ACCOUNT-RECORD", "WS-AMOUNTS", "DETAIL-LINE", "REJECT-LINE", "TOTAL-LINE", "HANDLE-ACCOUNT",
        "CHECK-ACCOUNT", "COMPUTE-INTEREST", "COMPUTE-FEE", "WRITE-DETAIL", "WRITE-REJECT", "WRITE-TOTALS",
    ]  # fmt: skip
    return [
        Recorded("You read outlines", ("monthly_fee",), {"handles": fee_parts}),
        Recorded("You read outlines", ("COMPUTE-INTEREST", "ACCOUNT-RECORD"), {"handles": billing_parts}),
        Recorded("You state the rules", ("c_business_entry", "GREATEST"), {"rules": rules["fee_rules"]}),
        Recorded("You state the rules", ("0.01875", "ACC-ENTRIES * 0.085"), {"rules": rules["billing"]}),
        Recorded(
            "You write Java 8",
            ("cannot find symbol", "BUSINESS_ENTRY_FEE", "#FeeRules.businessFee"),
            {"handle": "businessFee", "text": _text("FeeRules.businessFee.java")},
        ),
        Recorded(
            "You write Java 8",
            ("+ bank.Billing", "1001614583.32", "9 digits", "#Billing.newBalance"),
            {"handle": "newBalance", "text": _text("Billing.newBalance.java")},
        ),
        Recorded(
            "You write Java 8",
            ("bank.FeeRules", "0.085 an entry", "l_fee + c_overdraft_fee"),
            {"java": _text("FeeRules.java")},
        ),
        Recorded(
            "You write Java 8",
            ("bank.Billing", "-(7)9.99", "0.01875", "#FeeRules.monthlyFee", "PIC ZZZZ9"),
            {"java": _text("Billing.java")},
        ),
        Recorded(
            "You write a Spring 4",
            ("#FeeRules.monthlyFee", "#Billing.run"),
            {"java": _text("BankConfiguration.java")},
        ),
        Recorded(
            "You write a JUnit 4",
            ("0.01875", "half away from zero", "No fee is above 95", "#Billing.newBalance"),
            {"java": _text("RulesTest.java")},
        ),
    ]


class Endpoint:
    """Gives each answer to who asks for it, and remembers which were given."""

    def __init__(self, answers: Sequence[Recorded]) -> None:
        self._answers = answers
        self.given: list[int] = []
        self.url = ""

    def answer(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and reply for a request."""
        system, question = (message["content"] for message in body["messages"])
        missing: list[str] = []
        for number, answer in enumerate(self._answers):
            if not system.startswith(answer.task):
                continue
            absent = [word for word in answer.words if word not in question]
            if not absent:
                self.given.append(number)
                content = json.dumps(_handles(answer.value, body["response_format"]["json_schema"]["schema"]))
                return 200, _reply(body, content)
            missing += absent
        return 422, {"error": {"message": f"nothing is recorded for this; it lacks {missing}: {question}"}}


@contextmanager
def recorded(answers: Sequence[Recorded]) -> Iterator[Endpoint]:
    """The endpoint on a port of its own."""
    endpoint = Endpoint(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, reply = endpoint.answer(body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()


def _reply(body: Mapping[str, Any], content: str) -> dict[str, Any]:
    prompt = "".join(message["content"] for message in body["messages"])
    return {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": TokenCounter().count(prompt),
            "completion_tokens": TokenCounter().count(content),
        },
    }


def _handles(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value with each symbol's name as the handle that the schema allows for it."""
    if "enum" in schema:
        ends = (f".{value}", f"#{value}")
        return next((handle for handle in schema["enum"] if handle.endswith(ends)), value)
    if schema["type"] == "array":
        return [_handles(item, schema["items"]) for item in value]
    if schema["type"] == "object":
        known = schema["properties"]
        return {name: _handles(item, known[name]) if name in known else item for name, item in value.items()}
    return value
