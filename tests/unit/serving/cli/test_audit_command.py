"""``audit`` as it is typed."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mcp_offload import Settings, open_service
from serving.cli.main import run


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run([*words], {"HOME": "/nowhere"})
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_shipped_claims(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "audit", "--claims", "design")
    assert status == 1
    assert "IMPOSSIBLE    kv-per-token" in out
    assert out.splitlines()[-1] == "11 impossible, 3 doubtful, 5 possible, 5 contradictory"


def test_the_shipped_claims_as_json_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = typed(capsys, "--json", "audit", "--claims", "design")
    claims = {claim["name"]: claim for claim in json.loads(out)["claims"]}
    assert claims["kv-per-token"]["verdict"] == "impossible"
    assert claims["kv-per-token"]["findings"][0]["bound"] == 327_680
    _, out, _ = typed(capsys, "audit", "--claims", "design", "--markdown")
    assert out.count("\n| ") == 24 + 1 - 0


def test_claims_that_can_be_true(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text("name,model,kv_bytes_per_token\nx,qwen3-coder-30b-a3b,98304\n")
    assert typed(capsys, "audit", "--claims", str(path))[0] == 0


def test_a_node(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text('vllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="30001"} 1.0\n')
    stats = tmp_path / "stats.json"
    stats.write_text('{"delivered": {"sessions": [], "kept_out_tokens": 0}}')
    node = ("--page", str(page), "--profile", "llama-3.1-70b-fp8-8xh100", "--offload-stats", str(stats))
    status, out, _ = typed(capsys, "--json", "audit", *node)
    found = {standard["name"]: standard["status"] for standard in json.loads(out)["standards"]}
    assert status == 1
    assert found == {
        "sustained_velocity": "not measurable",
        "paged_memory": "passed",
        "chunked_prefill": "not measurable",
        "low_bit_kv": "not measurable",
        "offloading": "failed",
    }


def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert typed(capsys, "audit", "--claims", "/nowhere.toml")[0] == 2
    assert "Name what to read" in typed(capsys, "audit")[2]
    syntax = tmp_path / "syntax.json"
    syntax.write_text("{}")
    status, _, err = typed(capsys, "audit", "--page", str(syntax), "--syntax", str(syntax))
    assert (status, "syntax counts need on.generations" in err) == (2, True)


PAGE = 'vllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="30001"} 1.0\n'


def standards(out: str) -> dict[str, dict[str, object]]:
    return {standard["name"]: standard for standard in json.loads(out)["standards"]}


def test_generations_are_parsed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, on, off = tmp_path / "page.txt", tmp_path / "on.jsonl", tmp_path / "off.jsonl"
    page.write_text(PAGE)
    good, bad = ({"text": f"```python\n{code}\n```"} for code in ("x = 1", "x = = 1"))
    on.write_text("\n".join(json.dumps(line) for line in [bad] * 40 + [good] * 260))
    off.write_text("\n".join(json.dumps(line) for line in [bad] * 3 + [good] * 297))
    words = ("audit", "--page", str(page), "--profile", "llama-3.1-70b-fp8-8xh100")
    both = ("--generations-on", str(on), "--generations-off", str(off))
    status, out, _ = typed(capsys, "--json", *words, *both)
    found = standards(out)["low_bit_kv"]
    assert (status, found["status"]) == (1, "failed")
    assert "40 of 300 generations do not parse with it, 3 of 300 without" in str(found["evidence"])
    assert "go together" in typed(capsys, *words, "--generations-on", str(on))[2]


def test_the_ledger_of_a_workspace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Storing alone keeps nothing out of anybody's context."""
    page, work, store = tmp_path / "page.txt", tmp_path / "work", tmp_path / "store"
    page.write_text(PAGE)
    work.mkdir()
    (work / "large.py").write_text("".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(3000)))
    words = ("audit", "--page", str(page), "--workspace", str(work), "--store", str(store))
    assert "is no store" in typed(capsys, *words)[2]
    settings = Settings(
        store_dir=str(store), state_dir=str(tmp_path / "state"), roots=(str(work),), base_dir=str(work),
        workspace=str(work),
    )  # fmt: skip
    with open_service(settings) as service:
        assert service.store("large.py").handle
    _, out, _ = typed(capsys, "--json", *words)
    assert standards(out)["offloading"]["status"] == "failed"
    assert standards(out)["offloading"]["evidence"] == ["no session was served by handle"]
    assert "is no folder" in typed(capsys, "audit", "--page", str(page), "--workspace", "/nowhere")[2]


class Outside(HTMLParser):
    """What a page would fetch, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        self.fetched += [
            value or "" for name, value in attrs if name in {"src", "href"} and value != "data:,"
        ]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("words", [("--claims", "design"), ("--page",)], ids=["claims", "a node"])
def test_a_page_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    page = tmp_path / "page.txt"
    page.write_text(PAGE)
    more = (str(page),) if words == ("--page",) else ()
    _, out, _ = typed(capsys, "audit", *words, *more, "--html")
    read = Outside()
    read.feed(out)
    assert read.fetched == []
    assert "url(" not in out
    text = "".join(read.text)
    assert ("impossible" in text) == (words[0] == "--claims")
    assert ("missing:" in text) == (words[0] == "--page")
    assert "mcp-offload-serving audit" in text
