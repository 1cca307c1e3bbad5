"""Load a model with transformers and tell what it answers; run by vLLM's Python."""

from __future__ import annotations

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = sys.argv[1]
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
question = [{"role": "user", "content": "What is the capital of France?"}]
inputs = tokenizer.apply_chat_template(
    question, add_generation_prompt=True, return_tensors="pt", return_dict=True
)
written = model.generate(**inputs, max_new_tokens=12, do_sample=False)[0]
texts = ["def f(x):\n\treturn x**2  # äöü €\n", "12345 6", "<|im_start|>user\nhi<|im_end|>", " \n\n  x"]
call = {"name": "look_up", "arguments": {"word": "tree"}}
tool = {"type": "function", "function": {"name": "look_up", "description": "d", "parameters": {}}}
conversation = [
    *question,
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]},
    {"role": "tool", "tool_call_id": "1", "content": "a plant"},
]
told = {
    "answer": tokenizer.decode(written[inputs["input_ids"].shape[1] :]),
    "lost": [text for text in texts if tokenizer.decode(tokenizer.encode(text)) != text],
    "rendered": tokenizer.apply_chat_template(
        conversation, tools=[tool], add_generation_prompt=True, tokenize=False
    ),
}
sys.stdout.write("\n" + json.dumps(told) + "\n")
