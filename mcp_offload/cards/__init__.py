"""Cards: what builds produce, told in a line, with the parts that handles can name.

Facts are read from headers and tables of contents within limits of work and memory; nothing is
unpacked to disk, and damage becomes a note of the card.
"""

from __future__ import annotations

from mcp_offload.cards.build import card_of, has_members, open_member
from mcp_offload.cards.changes import Change, card_changes
from mcp_offload.cards.detect import HEAD_BYTES, format_of, needs_head
from mcp_offload.cards.model import CARD_VERSION, FACTS, Card, Entry, clean, dump_card, load_card

__all__ = [
    "CARD_VERSION",
    "FACTS",
    "HEAD_BYTES",
    "Card",
    "Change",
    "Entry",
    "card_changes",
    "card_of",
    "clean",
    "dump_card",
    "format_of",
    "has_members",
    "load_card",
    "needs_head",
    "open_member",
]
