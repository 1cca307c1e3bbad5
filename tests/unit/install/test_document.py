"""No edit is made that would not read as it was meant."""

from __future__ import annotations

import pytest

from mcp_offload.errors import RegistrationError
from mcp_offload.install.document import Drop, Put, edited, read
from mcp_offload.install.model import Element, Format

SAFELY = "cannot be edited safely; edit it by hand"


@pytest.mark.parametrize(
    ("form", "data", "edit"),
    [
        # Behind the entry that is taken out, an older one of the same name would come to light.
        ("json", b'{"s": {"offload": 1, "offload": 2}}', Drop(("s", "offload"))),
        ("toml", b's = {x = {command = "a"}}\n', Put(("s", "offload"), {"a": 1})),
        ("yaml", b"s: [{name: a},]\n", Put(("s", Element("offload")), {"name": "offload"})),
        ("yaml", b"s: &all\n  x: 1\nother: *all\n", Put(("s", "offload"), {"a": 1})),
    ],
)
def test_an_edit_with_another_result_is_refused(form: Format, data: bytes, edit: Put | Drop) -> None:
    with pytest.raises(RegistrationError, match=SAFELY):
        edited(form, data, [edit])


def test_a_mark_at_the_start_is_kept() -> None:
    after = edited("json", b"\xef\xbb\xbf{}", [Put(("a",), 1)])
    assert after.startswith(b"\xef\xbb\xbf{")
    assert read("json", after) == {"a": 1}


@pytest.mark.parametrize(("form", "data"), [("json", b"[1]"), ("yaml", b"- 1\n"), ("yaml", b"text\n")])
def test_what_is_not_an_object_is_refused(form: Format, data: bytes) -> None:
    with pytest.raises(RegistrationError, match="outermost value is not an object"):
        read(form, data)


def test_other_encodings_are_refused() -> None:
    with pytest.raises(RegistrationError, match="not UTF-8 at byte 1"):
        read("json", '"é"'.encode("latin-1"))
