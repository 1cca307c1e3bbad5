"""Encodings recognised from the first bytes, transcribed to UTF-8 and back."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import NotEditableError
from mcp_offload.outline.encoding import Encoding, encode_back, sniff, transcode

FRENCH = "Le café est déjà fermé.\nL'élève a reçu une réponse très brève à Noël.\n"
GERMAN = "Die Größe der Tür.\nÄpfel und Öl für Müller.\n"
RUSSIAN = "Привет, мир! Это обычный русский текст.\nЕщё одна строка текста о погоде и о природе.\n" * 3
JAPANESE = "これは日本語のテキストです。\n文字コードの判定をテストします。\n" * 3
CHINESE = "这是一个中文文本，用来测试编码检测功能是否正常工作。\n再来一行中文。\n" * 3


def text_of(stored: bytes, encoding: Encoding) -> str:
    return b"".join(transcode([stored], encoding)).decode()


@pytest.mark.parametrize(
    "text", ["plain\n", FRENCH, JAPANESE, "a\rb\rc\r", "tab\tbell\a\x1b[31mred\x1b[0m\b\f\n", ""]
)
def test_utf_8_needs_no_view(text: str) -> None:
    assert sniff(text.encode(), whole=True) == Encoding("utf-8")


def test_a_byte_order_mark_of_utf_8_is_counted_and_stays_in_the_view() -> None:
    assert sniff(codecs.BOM_UTF8 + b"x", whole=True) == Encoding("utf-8", bom_bytes=3)


@pytest.mark.parametrize("text", [FRENCH, RUSSIAN, JAPANESE, "x = 1\r\n"])
@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("marked", [True, False])
def test_wide_encodings_with_and_without_a_mark(text: str, name: str, marked: bool) -> None:
    mark = "\ufeff".encode(name) if marked else b""
    stored = mark + text.encode(name)
    found = sniff(stored, whole=True)
    assert found == Encoding(name, needs_view=True, bom_bytes=len(mark))
    assert text_of(stored, found) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (FRENCH, "latin-1"),
        (GERMAN, "latin-1"),
        ("He said \u201chello\u201d \u2014 it\u2019s fine\u2026\n", "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gb18030"),
        (CHINESE, "big5"),
    ],
)
def test_legacy_encodings_are_read_right_whatever_they_are_called(text: str, name: str) -> None:
    text = "".join(char for char in text if char.encode(name, "ignore"))
    stored = text.encode(name)
    found = sniff(stored, whole=True)
    assert found.needs_view
    assert text_of(stored, found) == text
    assert encode_back(text.encode(), found) == stored


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"# -*- coding: iso-8859-15 -*-\nprice = '5 \xa4'\n", "iso8859-15"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\nx = '\xc1\xc2'\n", "koi8-r"),
        (b'<?xml version="1.0" encoding="windows-1251"?><a>\xcf\xf0</a>', "cp1251"),
        (b'<html><meta charset="iso-8859-2"><p>\xb1\xea</p>', "iso8859-2"),
        # A third line, an unknown codec, and codecs that run code are no declarations.
        (b"a\nb\n# coding: koi8-r\ncaf\xe9\n", "latin-1"),
        (b"# coding: no-such-codec\ncaf\xe9\n", "latin-1"),
        (b"# coding: unicode_escape\ncaf\xe9\n", "latin-1"),
        (b"# coding: utf-8\ncaf\xe9\n", "latin-1"),
        # What the declaration says is only asked where the text is no UTF-8.
        ("# coding: latin-1\ncafé\n".encode(), "utf-8"),
    ],
)
def test_a_declaration_comes_first_where_it_can_be_true(head: bytes, name: str) -> None:
    assert sniff(head, whole=True).name == name


def test_a_log_with_a_few_bad_bytes_stays_utf_8() -> None:
    log = b"".join(b"2024-01-01 10:00:%02d step done\n" % (n % 60) for n in range(500))
    assert sniff(log + b"bad \xff byte\n", whole=True) == Encoding("utf-8")
    bars = "progress ━━━━━━━━ 50%\n".encode() * 20
    assert sniff(bars + b"cut \xe2\x94\n" + bars, whole=True) == Encoding("utf-8")


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cc", "Cs"]))
)
def test_a_cut_inside_a_character_does_not_matter(text: str) -> None:
    stored = ("x" * 8 + text).encode()
    for end in range(max(0, len(stored) - 4), len(stored) + 1):
        assert sniff(stored[:end], whole=False) == Encoding("utf-8")


def test_a_cut_inside_a_wide_character_does_not_matter() -> None:
    stored = codecs.BOM_UTF16_LE + ("x" * 30 + "\U0001f601" * 4).encode("utf-16-le")
    for end in range(8, len(stored)):
        assert sniff(stored[:end], whole=False).name == "utf-16-le"
        assert sniff(stored[2:end], whole=False).name == "utf-16-le"


@pytest.mark.parametrize(
    "head",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"\x7fELF\x02\x01\x01",
        b"PK\x03\x04\x14\x00",
        b"\x1f\x8b\x08\x00",
        b"%PDF-1.7\n%\xe2\xe3",
        b"SQLite format 3\x00",
        b"\xca\xfe\xba\xbe\x00\x00\x00\x41",
        b"\x00",
        b"a\x00b",
        bytes(range(256)) * 4,
        b"\x01\x02\x03\x04" * 10 + b"text",
        bytes((n * 197 + n * n * 31) % 255 + 1 for n in range(3000)),
    ],
)
def test_what_is_no_text_is_binary(head: bytes) -> None:
    found = sniff(head, whole=True)
    assert found == Encoding("binary")
    assert found.binary


def test_a_nul_in_much_text_is_an_accident() -> None:
    assert sniff(b"one line of text\n" * 10 + b"\x00" + b"more text\n" * 10, whole=True) == Encoding("utf-8")


@pytest.mark.parametrize("name", ["utf-16-le", "utf-32-be", "shift_jis", "latin-1", "utf-8"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_pieces_may_cut_anywhere(name: str, size: int) -> None:
    text = "".join(char for char in FRENCH + JAPANESE + "\U0001f600" if char.encode(name, "ignore"))
    mark = "\ufeff".encode(name) if name.startswith("utf") else b""
    stored = mark + text.encode(name)
    pieces = [stored[at : at + size] for at in range(0, len(stored), size)]
    encoding = Encoding(name, needs_view=True, bom_bytes=len(mark))
    assert b"".join(transcode(pieces, encoding)).decode() == text


def test_what_cannot_be_decoded_becomes_a_replacement_character() -> None:
    lone = "a".encode("utf-16-le") + b"\x00\xd8" + "b".encode("utf-16-le") + b"\x63"
    assert text_of(lone, Encoding("utf-16-le", needs_view=True)) == "a\ufffdb\ufffd"


def test_text_that_the_encoding_cannot_hold_is_refused() -> None:
    with pytest.raises(NotEditableError, match="latin-1"):
        encode_back("5 €".encode(), Encoding("latin-1", needs_view=True))
    with pytest.raises(NotEditableError):
        encode_back(b"\xff", Encoding("utf-16-le", needs_view=True))
    with pytest.raises(NotEditableError):
        encode_back(b"x", Encoding("binary"))


def test_utf_8_goes_back_as_it_is_even_where_it_is_invalid() -> None:
    assert encode_back(b"a\xff", Encoding("utf-8")) == b"a\xff"


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_have_an_encoding_that_reads_them(head: bytes, whole: bool) -> None:
    found = sniff(head, whole=whole)
    text_of(head, found)
