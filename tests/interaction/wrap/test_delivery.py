"""What is delivered under a lease, and what the ledger says of it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.settings import LeaseSettings
from tests.interaction.wrap.harness import Json, relayed

HARD = LeaseSettings(mode="hard", limit_tokens=9_000, reserve_tokens=6_000)
ADVISORY = LeaseSettings(mode="advisory", limit_tokens=18_000, reserve_tokens=6_000)


def tokens_of(client: object, result: Json) -> int:
    return sum(client.service.count_tokens(block["text"]) for block in result["content"])  # type: ignore[attr-defined]


def test_results_that_pass_and_results_that_are_replaced_are_counted_as_sent(tmp_path: Path) -> None:
    with relayed(tmp_path, lease=ADVISORY) as client:
        client.greet()
        small = client.call("say", text="a few words ", times=20)
        large = client.call("say", text="a line of words\n", times=5_000)
        client.desk.join()
        lease = client.service.leases.of("session:test").show()
        delivered = client.service.stats().delivered
        passed, stored = tokens_of(client, small), client.service.count_tokens("a line of words\n" * 5_000)
        expected = passed + tokens_of(client, large)
    assert lease.delivered["result"] == expected
    assert lease.delivered["instructions"] > 0
    # What passed would have cost the same without us; of the large one all is kept out but its notice.
    assert delivered.inline_tokens == passed + stored
    assert [one.name for one in delivered.artifacts] == ["say.log"]


def test_the_added_tools_count_against_the_same_lease(tmp_path: Path) -> None:
    with relayed(tmp_path, lease=ADVISORY) as client:
        client.greet()
        client.call("say", text="a line of words\n", times=5_000)
        before = client.service.leases.of("session:test").show().delivered["result"]
        read = client.call("read_handle", handles=["l1#L1-20"])
        after = client.service.leases.of("session:test").show().delivered["result"]
        assert after - before == tokens_of(client, read)


def test_a_client_s_own_name_for_the_conversation_is_its_session(tmp_path: Path) -> None:
    with relayed(tmp_path, lease=ADVISORY, identity="process:1") as client:
        client.call("say", meta={"threadId": "abc"}, text="a line of words\n", times=5_000)
        assert client.service.leases.of("session:abc").show().delivered["result"] > 0


def test_a_hard_lease_refuses_without_losing_anything(tmp_path: Path) -> None:
    with relayed(tmp_path, lease=HARD) as client:
        texts = [client.text("say", text=f"round {n}: some words to fill it. ", times=60) for n in range(40)]
        refused = [text for text in texts if text.startswith("Done, but the context lease is used up")]
        assert refused
        assert texts[-1] == refused[-1]
        delivered = client.service.leases.of("session:test").show().delivered
        assert delivered["result"] <= 3_000
        found = client.service.search("round 39: some")
        assert len(found.hits) == 1


def test_as_the_lease_fills_smaller_results_are_stored_as_well(tmp_path: Path) -> None:
    with relayed(tmp_path, lease=ADVISORY, threshold_tokens=1_500) as client:
        texts = [client.text("say", text=f"{n} and more words of it ", times=200) for n in range(12)]
    assert texts[0].startswith("0 and more")
    assert texts[-1].startswith("Stored, not shown")
    assert len(texts[-1]) < len(texts[0])


@settings(max_examples=8)
@given(sizes=st.lists(st.integers(0, 900), min_size=1, max_size=14))
def test_what_is_delivered_never_exceeds_a_hard_lease(tmp_path_factory: object, sizes: list[int]) -> None:
    folder = tmp_path_factory.mktemp("hard")  # type: ignore[attr-defined]
    with relayed(folder, lease=HARD, tools={"whole": None}) as client:
        total = 0
        for place, size in enumerate(sizes):
            tool = "whole" if place % 3 == 0 else "say"
            result = client.call(tool, text=f"word{place} ", times=size)
            if "lease is used up" not in result["content"][0]["text"]:
                total += tokens_of(client, result)
        assert total <= 3_000
