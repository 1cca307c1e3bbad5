"""YAML by keys and items, block scalars and several documents included."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.yaml import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "yaml/workflow.yml": [
        "name key 2-2",
        "on mapping 3-5",
        "on.push mapping 4-5",
        "on.push.branches key 5-5",
        "env key 6-7",
        "jobs mapping 9-34",
        "jobs.test mapping 10-29",
        "jobs.test.runs-on key 12-12",
        "jobs.test.strategy mapping 13-15",
        "jobs.test.strategy.matrix mapping 14-15",
        "jobs.test.strategy.matrix.python key 15-15",
        "jobs.test.steps sequence 16-29",
        "jobs.test.steps.0 item 17-17",
        "jobs.test.steps.0.uses key 17-17",
        "jobs.test.steps.Install deps item 18-23",
        "jobs.test.steps.Install deps.name key 18-18",
        "jobs.test.steps.Install deps.run key 19-23",
        "jobs.test.steps.Test item 24-29",
        "jobs.test.steps.Test.name key 24-24",
        "jobs.test.steps.Test.id key 25-25",
        "jobs.test.steps.Test.run key 26-27",
        "jobs.test.steps.Test.env mapping 28-29",
        "jobs.test.steps.Test.env.CI key 29-29",
        "jobs.quoted job mapping 30-34",
        "jobs.quoted job.steps sequence 31-34",
        "jobs.quoted job.steps.0 item 32-32",
        "jobs.quoted job.steps.0.run key 32-32",
        "jobs.quoted job.steps.1 item 33-34",
        "jobs.quoted job.steps.1.0 item 33-33",
        "jobs.quoted job.steps.1.1 item 34-34",
        "text key 35-37",
        "url key 38-38",
        "plain words with spaces key 39-39",
    ],
    "yaml/objects.yaml": [
        "Deployment/web document 2-11",
        "Deployment/web.apiVersion key 2-2",
        "Deployment/web.kind key 3-3",
        "Deployment/web.metadata mapping 4-5",
        "Deployment/web.metadata.name key 5-5",
        "Deployment/web.spec mapping 6-11",
        "Deployment/web.spec.containers sequence 7-11",
        "Deployment/web.spec.containers.main item 8-9",
        "Deployment/web.spec.containers.main.name key 8-8",
        "Deployment/web.spec.containers.main.image key 9-9",
        "Deployment/web.spec.containers.1 item 10-11",
        "Deployment/web.spec.containers.1.name key 10-10",
        "Deployment/web.spec.containers.1.image key 11-11",
        "Service/web document 13-15",
        "Service/web.kind key 13-13",
        "Service/web.metadata mapping 14-15",
        "Service/web.metadata.name key 15-15",
        "2 document 18-18",
        "2.just key 18-18",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_a_key_takes_the_comment_above_and_all_below_it() -> None:
    view = sample("yaml/workflow.yml")
    job = named(scanned("yaml/workflow.yml").symbols, "jobs", "test")
    assert text_of(view, job.span).startswith(b"  # Runs the tests.\n  test:")
    assert text_of(view, job.span).endswith(b'CI: "true"')


def test_a_list_may_stand_at_the_indentation_of_its_key() -> None:
    symbols = scan(b"a:\n- b: 1\n- b: 2\nc: 3\n")
    assert [(s.path, s.start_line, s.end_line) for s in symbols] == [
        (("a",), 1, 3),
        (("a", "0"), 2, 2),
        (("a", "0", "b"), 2, 2),
        (("a", "1"), 3, 3),
        (("a", "1", "b"), 3, 3),
        (("c",), 4, 4),
    ]


def test_urls_times_and_colons_in_words_are_no_keys() -> None:
    assert [s.path for s in scan(b"- http://a.b/c\n- 12:30:00\nplain\n")] == [("0",), ("1",)]
