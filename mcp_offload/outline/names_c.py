"""Names in C and C++, where the name sits inside the declarator."""

from __future__ import annotations

import re

from tree_sitter import Node

from mcp_offload.models import MEMBER
from mcp_offload.outline.found import Found, Place, text_of
from mcp_offload.outline.grammar import Rule

_NAMES = frozenset(
    (
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
        "template_function",
        "operator_cast",
        "primitive_type",
    )
)
_RECORDS = frozenset(("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"))
_INNER = ("declarator", "identifier")
_ARGUMENTS = re.compile(r"<[^<>]*>")


def find(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    """See ``names.find``."""
    if rule.naming == "record":
        return _record(node, rule, view)
    if rule.naming == "typedef":
        return _typedef(node, rule, place, view)
    found: list[Found] = []
    body = node.child_by_field_name("body")
    for declarator in node.children_by_field_name("declarator"):
        name, function = _unwrap(declarator)
        if name is None:
            continue
        path = _path(name, view)
        if not path:
            continue
        params = function.child_by_field_name("parameters") if function is not None else None
        kind = _kind(node, path, place, function is not None, rule.kind)
        listed = kind != "variable" or place.container == "top"
        found.append(Found(path, kind, place.container, params, body, listed))
    if node.type == "function_definition":
        return [Found(each.path, each.kind, None, each.params, body) for each in found]
    # A declaration may define the type it uses; that type stands beside the variables, not under them,
    # unless it has no other name than theirs.
    target = node.child_by_field_name("type")
    inner = found[0].path if found and target is not None and _is_unnamed(target) else ()
    return [*found, Found(inner, rule.kind, place.container, listed=False)]


def _kind(node: Node, path: tuple[str, ...], place: Place, function: bool, otherwise: str) -> str:
    if not function:
        return MEMBER if node.type == "field_declaration" and place.container == "class" else otherwise
    if node.type != "function_definition":
        return "prototype"
    around = place.path if place.container == "class" else ()
    owner, name = ("", *around, *path)[-2:]
    if not owner:
        return "function"
    if name == owner:
        return "constructor"
    return "destructor" if name.startswith("~") else "method"


def _unwrap(node: Node) -> tuple[Node | None, Node | None]:
    """The node that names a declarator, and the function declarator right around it (None for data)."""
    function: Node | None = None
    current: Node | None = node
    for _ in range(64):
        if current is None or current.type in _NAMES:
            break
        inner = current.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in current.named_children if child.type.endswith(_INNER)), None)
        if current.type == "function_declarator":
            function = current
        elif current.type == "pointer_declarator" and function is not None:
            function = None
        current = inner
    if current is not None and current.type not in _NAMES:
        current = None
    if current is not None and current.type == "operator_cast":
        function = _unwrap_cast(current)
    return current, function


def _unwrap_cast(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type != "abstract_function_declarator":
        inner = inner.child_by_field_name("declarator")
    return inner


def _path(node: Node, view: bytes) -> tuple[str, ...]:
    """``a::K<int>::m`` -> ``("a", "K", "m")``; operators keep their signs."""
    parts: list[str] = []
    current: Node | None = node
    while current is not None and current.type == "qualified_identifier":
        scope = current.child_by_field_name("scope")
        if scope is not None:
            parts.append(_without_arguments(text_of(scope, view)))
        current = current.child_by_field_name("name")
    if current is None:
        return tuple(parts)
    if current.type == "operator_cast":
        text = text_of(current, view)
        text = text.partition("(")[0].rstrip()
        scope, _, text = text.rpartition("::") if text.partition("operator")[0] else ("", "", text)
        parts.extend(part for part in scope.split("::") if part)
        parts.append(text)
    elif current.type == "operator_name":
        parts.append(" ".join(text_of(current, view).split()))
    else:
        parts.append("".join(_without_arguments(text_of(current, view)).split()))
    return tuple(part for part in parts if part)


def _without_arguments(text: str) -> str:
    previous = ""
    while previous != text and "<" in text:
        previous, text = text, _ARGUMENTS.sub("", text)
    return text.strip()


def _record(node: Node, rule: Rule, view: bytes) -> list[Found]:
    """A struct, union, enum or class with a body; a mere mention is no definition."""
    body = node.child_by_field_name("body")
    if body is None:
        return []
    name = node.child_by_field_name("name")
    if name is None:
        return [Found((), rule.kind, rule.inside, listed=False)]
    # A specialisation has the template's name; its arguments tell it apart like an overload's parameters.
    inner: Node | None = name
    while inner is not None and inner.type == "qualified_identifier":
        inner = inner.child_by_field_name("name")
    arguments = inner.child_by_field_name("arguments") if inner is not None else None
    path = tuple(part for part in _without_arguments(text_of(name, view)).split("::") if part.strip())
    return [Found(tuple("".join(part.split()) for part in path), rule.kind, rule.inside, arguments, body)]


def _typedef(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    kind, body = rule.kind, None
    target = node.child_by_field_name("type")
    if target is not None and _is_unnamed(target):
        body = target.child_by_field_name("body")
        kind = target.type.partition("_")[0] if body is not None else kind
    names = [_unwrap(each)[0] for each in node.children_by_field_name("declarator")]
    paths = [_path(name, view) for name in names if name is not None]
    found = [Found(path, kind, place.container, None, body) for path in paths if path]
    inner = found[0].path if found and body is not None else ()
    return [*found, Found(inner, kind, place.container, listed=False)]


def _is_unnamed(target: Node) -> bool:
    return target.type in _RECORDS and target.child_by_field_name("name") is None
