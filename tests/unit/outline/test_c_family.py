"""C and C++ as they are written: macros, conditional branches, braces where none belong."""

from __future__ import annotations

import pytest

from mcp_offload.outline import outline
from mcp_offload.outline.c_family import skeleton
from tests.unit.outline.samples import DATA, listing


def c(source: str) -> list[str]:
    return listing(outline(source.encode(), "c"))


def cpp(source: str) -> list[str]:
    return listing(outline(source.encode(), "cpp"))


@pytest.mark.parametrize("path", sorted((DATA / "c").iterdir()) + sorted((DATA / "cpp").iterdir()))
def test_the_skeleton_is_as_long_as_the_text(path: object) -> None:
    view = (DATA / str(path)).read_bytes()
    text = skeleton(view, cpp=True).text
    assert len(text) == len(view)
    assert all(kept in (given, 0x20) for given, kept in zip(view, text, strict=True))


@pytest.mark.parametrize(
    "prefix",
    ["API", "API_A API_B", "static API", "API const", "API_CALL(1)", "__attribute__((unused))", "extern API"],
)
def test_macros_before_the_type(prefix: str) -> None:
    assert c(f"{prefix} int f(int a)\n{{\n}}\n") == ["f function 1-3"]
    assert c(f"{prefix} unsigned long f(int a);\n") == ["f prototype 1-1"]


def test_a_macro_on_a_line_of_its_own_belongs_to_the_function_below() -> None:
    assert cpp("DEPRECATED\nint f() { }\n") == ["f function 1-2"]
    assert cpp("NON_NULL(1)\nint f(char *p) { }\n") == ["f function 1-2"]


def test_a_type_in_capitals_is_not_taken_for_a_macro() -> None:
    assert c("FILE *open_it(DWORD a) { }\nBOOL check(void);\nHANDLE h;\n") == [
        "open_it function 1-1",
        "check prototype 2-2",
        "h variable 3-3",
    ]


def test_macros_the_text_defines_itself_may_have_any_name() -> None:
    source = "#define my_export\n#define my_cdecl\nmy_export void *my_cdecl f(int a) my_export;\n"
    assert c(source) == ["f prototype 3-3"]


def test_macros_after_the_parameters() -> None:
    assert c("int f(void) NOTHROW NONNULL(1)\n{\n}\n") == ["f function 1-3"]


def test_calls_without_semicolons_are_no_declarations() -> None:
    assert c("MODULE(a)\nMODULE(b)\nDECLARE_LIST(x);\nstatic DEFINE_LOCK(y);\nint v;\n") == ["v variable 5-5"]


def test_a_block_of_a_test_framework_is_a_function() -> None:
    assert cpp("TEST(Suite, Name) {\n  if (x) { }\n}\nTEST(Suite, Other)\n{\n}\n") == [
        "TEST function 1-3",
        "TEST function 4-6",
    ]


def test_a_block_behind_a_macro_call_is_a_function_in_c_too() -> None:
    source = "EXPORT(f);\nSYSCALL2(open, const char *, name)\n{\n  g();\n}\nstatic TEST(a, b) {\n}\nint z;\n"
    assert c(source) == ["SYSCALL2 function 2-5", "TEST function 6-7", "z variable 8-8"]


def test_functions_that_take_or_return_structs_are_functions() -> None:
    source = "int f(struct tm *t) {\n}\nstruct tm *g(void) {\n}\nvoid (*h(int a))(void) {\n}\n"
    assert c(source) == ["f function 1-2", "g function 3-4", "h function 5-6"]


def test_closing_braces_in_column_zero_end_nothing() -> None:
    assert c("int f(void) {\n  for (;;) {\nif (a) {\n}\n}\n}\nint g;\n") == [
        "f function 1-6",
        "g variable 7-7",
    ]


def test_braces_in_strings_comments_and_macros_count_for_nothing() -> None:
    source = (
        'int f(void) {\n  char *s = "{\\"{"; char c = \'{\'; // {\n  /* { */\n'
        "#define OPEN {\n#define LONG \\\n  { \\\n  {\n  return 1;\n}\nint g;\n"
    )
    assert c(source) == ["f function 1-9", "g variable 10-10"]


def test_raw_strings_and_digit_separators() -> None:
    source = 'auto s = R"x(}}} ")x";\nint n = 1\'000\'000;\nint f() { return n; }\n'
    assert cpp(source) == ["s variable 1-1", "n variable 2-2", "f function 3-3"]


def test_each_branch_that_balances_is_listed() -> None:
    source = "#if A\nint f(void) { }\n#elif B\nint f(int a) { }\n#else\nint g;\n#endif\nint h;\n"
    assert c(source) == ["f function 2-2", "f function 4-4", "g variable 6-6", "h variable 8-8"]


def test_of_branches_that_do_not_balance_the_first_counts() -> None:
    source = "#if A\nint f(int a) {\n#else\nint f(long b) {\n#endif\n  g();\n}\nint h;\n"
    assert c(source) == ["f function 2-7", "h variable 8-8"]


def test_nested_and_dead_branches() -> None:
    source = (
        "#if 0\nint dead(void) {\n#if B\n{\n#endif\n#else\nint alive(void) {\n#endif\n#ifdef C\n  if (x) {\n"
        "#else\n  if (y) {\n#ifdef D\n    { {\n#endif\n#endif\n  }\n}\nint last;\n"
    )
    assert c(source) == ["alive function 7-18", "last variable 19-19"]


def test_a_linkage_block_opened_and_closed_by_conditions() -> None:
    source = '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n'
    assert c(source) == cpp(source) == ["f prototype 4-4"]


def test_a_prototype_is_left_out_where_its_definition_is_listed() -> None:
    assert c("int f(int a);\nint g(void);\nint f(int b) { }\n") == ["g prototype 2-2", "f function 3-3"]
    assert cpp("int f(int a);\nint f(int a, int b);\nint f(int b) { }\n") == [
        "f prototype 2-2",
        "f function 3-3",
    ]


def test_macros_with_a_value_are_listed_outside_functions() -> None:
    source = (
        "#define GUARD\n#define SIZE 10\nint f(void) {\n#define INNER 1\n}\n#define ADD(a, b) \\\n  (a + b)\n"
    )
    assert c(source) == ["SIZE macro 2-2", "f function 3-5", "ADD macro 6-7"]


def test_constructors_destructors_operators_and_conversions() -> None:
    source = (
        "class API Box : public Base<int()> {\n public:\n"
        "  API_INLINE Box(int a) : a{a}, b(a) { }\n  ~Box() = default;\n"
        "  API_INLINE operator int() const NOEXCEPT { return 1; }\n"
        "  friend bool operator<(Box a, Box b) { return 1; }\n"
        " signals:\n  void changed();\n};\nns::Box::Box(int a) { }\nvoid ns::Box::changed() { }\n"
    )
    assert cpp(source) == [
        "Box class 1-9",
        "Box.Box constructor 3-3",
        "Box.~Box destructor 4-4",
        "Box.operator int method 5-5",
        "Box.operator< method 6-6",
        "Box.changed prototype 8-8",
        "ns.Box.Box constructor 10-10",
        "ns.Box.changed method 11-11",
    ]


def test_an_unclosed_parenthesis_in_a_body_marks_only_its_function() -> None:
    source = "int a(void) {\n  f((1;\n}\n\nint b(void) {\n}\n"
    assert c(source) == ["a function 1-3 ?", "b function 5-6"]


def test_an_unclosed_brace_costs_one_function_only() -> None:
    source = "int a(void) {\n}\n\nint b(void) {\n  if (x) {\n}\n\nint c(void) {\n}\n"
    assert c(source) == ["a function 1-2", "b function 4-6 ?", "c function 8-9"]


def test_a_brace_too_many_is_marked() -> None:
    assert c("int a(void) { }\n}\nint b(void) { }\nint c(void) { }\n")[-1] == "c function 4-4"
