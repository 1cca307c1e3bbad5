"""How a definition is named from its syntax node, for each way a table asks for."""

from __future__ import annotations

from tree_sitter import Node

from mcp_offload.outline import names_c, names_js
from mcp_offload.outline.found import Found, Place, first_child_of, text_of, unquoted
from mcp_offload.outline.grammar import Rule

_CLASS_BODY = frozenset(("class_body",))
_IDENTIFIERS = frozenset(("identifier",))
_PATTERNS = frozenset(
    ("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "expression_list")
)
_NAME_LIKE = ("identifier", "name", "constant")
_NAMED_BY_JS = frozenset(("variable", "pair", "assigned", "callback", "default", "member", "module"))
_NAMED_BY_C = frozenset(("declarator", "record", "typedef"))


def find(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    """The definitions the node makes: usually one, several for ``a, b = 1, 2``, none where it makes none."""
    if rule.naming == "name":
        return _named(node, rule, place, view)
    if rule.naming in _NAMED_BY_JS:
        return names_js.find(node, rule, place, view)
    if rule.naming in _NAMED_BY_C:
        return names_c.find(node, rule, place, view)
    if rule.naming == "targets":
        return _targets(node, rule, place, view)
    if rule.naming == "names":
        names = node.children_by_field_name("name")
        return [Found((text_of(name, view),), rule.kind) for name in names if text_of(name, view) != "_"]
    return _special(node, rule, place, view)


def _special(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    if rule.naming == "receiver":
        return _with_receiver(node, rule, view)
    if rule.naming == "impl":
        return _impl(node, rule, view)
    if rule.naming == "type":
        return _go_type(node, rule, view)
    if rule.naming == "new":
        return _anonymous_class(node, rule, view)
    return _named(node, rule, place, view)


def _named(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    name = text_of(
        _guessed(node) if rule.naming == "guessed" else node.child_by_field_name("name"), view
    ).strip()
    if not name:
        return []
    kind = rule.member_kind if rule.member_kind and place.container == "class" else rule.kind
    listed = place.container in rule.only
    if node.type == "enum_constant":
        listed = node.child_by_field_name("body") is not None
    return [
        Found(
            (name,),
            kind,
            rule.inside,
            node.child_by_field_name("parameters"),
            node.child_by_field_name("body"),
            listed,
        )
    ]


def _guessed(node: Node) -> Node | None:
    """The first child that looks like a name, for grammars that do not say which one it is."""
    named = node.child_by_field_name("name")
    if named is not None:
        return named
    current = node
    for _ in range(4):
        if not current.named_children:
            return None
        for child in current.named_children:
            if child.type.endswith(_NAME_LIKE):
                return child
        current = current.named_children[0]
    return None


def _targets(node: Node, rule: Rule, place: Place, view: bytes) -> list[Found]:
    """Names an assignment binds, through chains and unpacking; attributes and items are not names."""
    kind = rule.member_kind if rule.member_kind and place.container == "class" else rule.kind
    if place.container not in rule.only:
        return []
    if node.type == "type_alias_statement":
        name = text_of(node.child_by_field_name("left"), view).partition("[")[0].strip()
        return [Found((name,), kind)] if name else []
    pending: list[Node] = [node]
    names: list[str] = []
    while pending:
        current = pending.pop()
        if current.type == "assignment":
            value, target = current.child_by_field_name("right"), current.child_by_field_name("left")
            pending.extend([value] if value is not None and value.type == "assignment" else [])
            pending.extend([target] if target is not None else [])
        elif current.type in _PATTERNS:
            pending.extend(reversed(current.named_children))
        elif current.type in _IDENTIFIERS:
            names.append(text_of(current, view))
    return [Found((name,), kind) for name in dict.fromkeys(names) if name != "_"]


def _with_receiver(node: Node, rule: Rule, view: bytes) -> list[Found]:
    name = text_of(node.child_by_field_name("name"), view)
    receiver = text_of(node.child_by_field_name("receiver"), view).strip("() \t\n")
    owner = receiver.partition("[")[0].replace("*", " ").split()
    path = (owner[-1], name) if owner else (name,)
    params, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
    return [Found(path, rule.kind, None, params, body)] if name else []


def _impl(node: Node, rule: Rule, view: bytes) -> list[Found]:
    """An implementation block: its members stand under the type, and under the trait where there is one."""
    body = node.child_by_field_name("body")
    target = node.child_by_field_name("type")
    if target is not None and target.type == "generic_type":
        target = target.child_by_field_name("type")
    owner = "".join(text_of(target, view).split()).rpartition("::")[2]
    trait = node.child_by_field_name("trait")
    if not owner or body is None:
        return []
    if trait is None:
        label, path = f"<impl:{owner}>", (owner,)
    else:
        name = _last_segment("".join(text_of(trait, view).split()))
        label, path = f"<impl:{name}-for-{owner}>", (owner, name)
    return [Found((label,), rule.kind, None, None, body), Found(path, rule.kind, rule.inside, listed=False)]


def _last_segment(path: str) -> str:
    """``fmt::Display`` -> ``Display``; generic arguments stay as they are."""
    head, bracket, rest = path.partition("<")
    return head.rpartition("::")[2] + bracket + rest


def _go_type(node: Node, rule: Rule, view: bytes) -> list[Found]:
    name = text_of(node.child_by_field_name("name"), view)
    body = node.child_by_field_name("type")
    kind = {"struct_type": "struct", "interface_type": "interface"}.get(body.type if body else "", rule.kind)
    return [Found((name,), kind, rule.inside, None, body)] if name else []


def _anonymous_class(node: Node, rule: Rule, view: bytes) -> list[Found]:
    body = first_child_of(node, _CLASS_BODY)
    if body is None:
        return []
    name = unquoted(text_of(node.child_by_field_name("type"), view)).partition("<")[0]
    return [Found((f"<new:{name}>",), rule.kind, rule.inside, None, body)]
