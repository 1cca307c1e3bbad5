"""The models that tests serve are what they are said to be."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.serving import environment, models

pytestmark = [pytest.mark.serving, pytest.mark.timeout(900)]

CHECK = Path(__file__).with_name("check_model.py")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run(
        [environment.python(), CHECK, models.smollm2()],
        env=environment.variables(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_the_real_model_knows_something(told: dict[str, object]) -> None:
    assert "Paris" in str(told["answer"])


def test_its_tokenizer_gives_back_what_it_is_given(told: dict[str, object]) -> None:
    assert told["lost"] == []


def test_its_template_renders_tools_calls_and_their_results(told: dict[str, object]) -> None:
    rendered = str(told["rendered"])
    assert '"name": "look_up"' in rendered.partition("<tools>")[2].partition("</tools>")[0]
    assert '<tool_call>\n{"name": "look_up", "arguments": {"word": "tree"}}\n</tool_call>' in rendered
    assert "<tool_response>\na plant\n</tool_response>" in rendered
    assert rendered.endswith("<|im_start|>assistant\n")


def test_a_draft_is_the_first_layers() -> None:
    whole = json.loads((models.smollm2() / "config.json").read_text())
    part = json.loads((models.draft(6) / "config.json").read_text())
    assert part["num_hidden_layers"] == 6
    assert {**part, "num_hidden_layers": 30} == whole
    with pytest.raises(ValueError, match="1 to 30"):
        models.draft(31)
