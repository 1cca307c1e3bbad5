"""Names in JavaScript and TypeScript, where functions are mostly values of something."""

from __future__ import annotations

import re

from tree_sitter import Node

from mcp_offload.outline.found import Found, Place, first_child_of, squeezed, text_of, unquoted
from mcp_offload.outline.grammar import Container, Rule

_FUNCTIONS = frozenset(("function_expression", "generator_function", "arrow_function", "function"))
_VALUES = _FUNCTIONS | {"class", "object"}
_STRINGS = frozenset(("string", "template_string"))
_TEST_BLOCKS = frozenset(("describe", "context", "suite", "it", "test", "specify"))
_IMPORTS = frozenset(("require", "import"))
_PATTERN_NAMES = frozenset(("identifier", "shorthand_property_identifier_pattern"))
_DOTTED = re.compile(r"[\w$#]+(?:\.[\w$#]+)*")
_ROOTS = frozenset(("exports", "module", "window", "globalThis", "self", "this"))
_ARROW = frozenset(("identifier",))


def find(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    """See ``names.find``."""
    if rule.naming == "variable":
        return _variable(node, rule, place, view)
    if rule.naming == "pair":
        return _pair(node, rule, place, view)
    if rule.naming == "assigned":
        return _assigned(node, place, view)
    if rule.naming == "callback":
        return _callback(node, rule, view)
    if rule.naming == "default":
        return _default(node, place, view)
    if rule.naming == "member":
        return _member(node, rule, place, view)
    return _module(node, rule, view)


def _params(value: Node) -> Node | None:
    return value.child_by_field_name("parameters") or value.child_by_field_name("parameter")


def _kind(value: Node | None, otherwise: str, place: Place) -> str:
    if value is None:
        return otherwise
    if value.type in _FUNCTIONS:
        return "method" if place.container == "class" else "function"
    return "class" if value.type == "class" else otherwise


def _inside(value: Node | None, place: Place) -> Container:
    """What the content of a value stands in; members of objects are listed outside functions only."""
    if value is None:
        return "function"
    listed = value.type == "class" or (value.type == "object" and place.container != "function")
    return "class" if listed else "function"


def _defined(path: tuple[str, ...], kind: str, value: Node | None, place: Place, *, listed: bool) -> Found:
    if value is None:
        return Found(path, kind, "function", listed=listed)
    callable_ = value.type in _FUNCTIONS
    body = value.child_by_field_name("body") if callable_ or value.type == "class" else None
    return Found(path, kind, _inside(value, place), _params(value) if callable_ else None, body, listed)


def _variable(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    value = node.child_by_field_name("value")
    if name is None:
        return []
    function_like = value is not None and (value.type in _FUNCTIONS or value.type == "class")
    imported = value is not None and text_of(value.child_by_field_name("function"), view) in _IMPORTS
    listed = function_like or (place.container in rule.only and not imported)
    if name.type in ("object_pattern", "array_pattern"):
        names = [text_of(child, view) for child in name.named_children if child.type in _PATTERN_NAMES]
    else:
        names = [unquoted(text_of(name, view))]
    kind = _kind(value, rule.kind, place)
    return [_defined((each,), kind, value, place, listed=listed) for each in names if each]


def _pair(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    value = node.child_by_field_name("value")
    key = unquoted(text_of(node.child_by_field_name("key"), view))
    if value is None or value.type not in _VALUES or not key:
        return []
    return [_defined((key,), _kind(value, rule.kind, place), value, place, listed=value.type != "object")]


def _assigned(node: Node, place: Place, view: bytes) -> list[Found]:
    """``exports.a = function``, ``A.prototype.b = () =>``, ``module.exports = {...}``."""
    value = node.child_by_field_name("right")
    target = text_of(node.child_by_field_name("left"), view)
    if value is None or value.type not in _VALUES or not _DOTTED.fullmatch(target):
        return []
    parts = target.split(".")
    member = "prototype" in parts or parts[0] == "this"
    path = tuple(part for part in parts if part not in _ROOTS and part != "prototype")
    if not path and value.type != "object":
        path = (text_of(value.child_by_field_name("name"), view) or "exports",)
    kind = "method" if member and value.type in _FUNCTIONS else _kind(value, "variable", place)
    return [_defined(path, kind, value, place, listed=bool(path) and value.type != "object")]


def _callback(node: Node, rule: Rule, view: bytes) -> list[Found]:
    """The blocks of the usual test frameworks, named by their titles."""
    arguments = node.child_by_field_name("arguments")
    name = text_of(node.child_by_field_name("function"), view)
    block = name.partition(".")[0]
    if arguments is None or block not in _TEST_BLOCKS or len(name) > 40:
        return []
    title = first_child_of(arguments, _STRINGS)
    callback = first_child_of(arguments, _FUNCTIONS)
    if title is None or callback is None:
        return []
    label = f"<{block}:{squeezed(unquoted(text_of(title, view)))}>"
    return [Found((label,), rule.kind, "function", None, callback.child_by_field_name("body"))]


def _default(node: Node, place: Place, view: bytes) -> list[Found]:
    """An anonymous default export; a named one is found by its own rule."""
    value = node.child_by_field_name("value")
    if value is None or value.type not in _VALUES or node.child_by_field_name("declaration") is not None:
        return []
    if not any(child.type == "default" for child in node.children):
        return []
    name = text_of(value.child_by_field_name("name"), view) or "default"
    return [_defined((name,), _kind(value, "variable", place), value, place, listed=True)]


def _member(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    name = unquoted(squeezed(text_of(node.child_by_field_name("name"), view)))
    if not name or place.container == "function":
        return []
    kind = "constructor" if name == "constructor" else rule.kind
    params, body = _params(node), node.child_by_field_name("body")
    return [Found((name,), kind, rule.inside, params, body)]


def _module(node: Node, rule: Rule, view: bytes) -> list[Found]:
    """Namespaces of TypeScript (``A.B``, ``"pkg"``) and of C++ (``a::b``, none)."""
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    text = squeezed(text_of(name, view))
    if name is None:
        return [Found((), rule.kind, rule.inside, listed=False)]
    if name.type == "string":
        path: tuple[str, ...] = (unquoted(text),)
    else:
        parts = (part.strip().removeprefix("inline ") for part in re.split(r"::|\.", text))
        path = tuple(part for part in parts if part)
    return [Found(path, rule.kind, rule.inside, None, body)]
