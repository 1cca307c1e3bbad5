"""Find the source line that a stack trace points at, skipping the frames of runtimes and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple


class Frame(NamedTuple):
    """One frame of a stack trace; ``function`` is empty where the trace does not name it."""

    file: str
    line: int | None
    function: str = ""


_LIBRARY: Final = re.compile(
    r"""^(?:node:|internal/|<|\.\./sysdeps|\.\./csu|\.\./\.\./\.\./|/rustc/|\./nptl|\./stdlib|\./string)
    |node_modules/|node_modules\\|/site-packages/|/dist-packages/|/lib/python\d|\\lib\\|/usr/(?:include|lib|src|share)/
    |/include/c\+\+/|/lib/gcc/|/lib/clang/
    |/vendor/bundle/|/gems/|/\.cargo/registry/|/sysroot|libsanitizer|compiler-rt|/go/src/(?:runtime|testing)/
    |/vendor/phpunit/|^phar:|/opt/(?:python|conda)[^/]*/lib/|/lib/ruby/|/(?:usr/local/)?go/src/|/golang/src/
    |\.asm$|/libexec/|/xunit/|^eval at|/library/(?:std|core|alloc|test)/src/|sanitizer_common""",
    re.X,
)
_HEADER: Final = re.compile(r"\.(?:h|hh|hpp|hxx|inc|inl|tcc|ipp)$")
_JVM_LIBRARY: Final = re.compile(
    r"^(?:java\.base/|jdk\.|java\.|javax\.|sun\.|com\.sun\.|kotlin\.|scala\.|org\.junit|org\.testng|junit\."
    r"|org\.hamcrest|org\.assertj|org\.mockito|org\.apache\.maven|org\.gradle|org\.opentest4j|app//org\.junit"
    r"|groovy\.|org\.codehaus\.groovy|org\.spockframework|org\.scalatest|io\.kotest|worker\.org\.gradle)"
)
_FORMS: Final[tuple[re.Pattern[str], ...]] = (
    re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:,? in (?P<function>.*))?'),
    re.compile(
        r"^\s*at (?P<function>[^()]*?)\(?(?P<file>[\w$.-]+\.(?:java|kt|kts|scala|groovy|clj)):(?P<line>\d+)\)"
    ),
    re.compile(
        r"^\s*at (?:(?P<function>.*?) \()?(?:file://)?(?P<file>(?:[A-Za-z]:)?[^():]+?):(?P<line>\d+):\d+\)?$"
    ),
    re.compile(r"^\s*at (?P<function>.*?) in (?P<file>.+?):(?:line )?(?P<line>\d+)$"),
    re.compile(
        r"^\s*#\d+\s+(?:0x[0-9a-f]+ )?(?:in )?(?P<function>.*?) \(?(?P<file>/?[\w./+~@-]+\.\w+):(?P<line>\d+)"
    ),
    re.compile(r"^\s*#\d+\s+(?P<file>/[^\s(]+\.php)\((?P<line>\d+)\): (?P<function>.*)"),
    re.compile(
        r"^\s*(?:at )?(?P<file>(?:[A-Za-z]:)?[\w./\\+~@-]+\.\w{1,5}):(?P<line>\d+)(?::\d+)?(?:"
        r":in [`'](?P<function>.*)')?(?:[:\s]|$)"
    ),
    re.compile(r"^\s*❯ (?:(?P<function>.+) )?(?P<file>[^\s:]+):(?P<line>\d+):\d+$"),
    re.compile(r"^\s*\((?:in test file|from function .* in file) (?P<file>[^,]+), line (?P<line>\d+)\)?"),
    re.compile(r"^\s+(?P<file>(?:[A-Za-z]:)?[\w./\\+~@-]+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?"),
)


def whole(text: str) -> int:
    """Return the number that digits of a log stand for; 0 for one that is no count or line."""
    return int(text) if len(text) < 10 else 0


def is_library(frame: Frame) -> bool:
    """Tell whether a frame lies in a runtime, a test framework or an installed package."""
    if _LIBRARY.search(frame.file):
        return True
    return bool(frame.function) and bool(_JVM_LIBRARY.match(frame.function))


def frames(lines: Iterable[str]) -> Iterator[Frame]:
    """Yield the frames that the lines of a trace show, in their order."""
    for text in lines:
        if len(text) > 2000:
            continue
        for form in _FORMS:
            match = form.match(text)
            if match:
                found = match.groupdict()
                yield Frame(
                    found["file"].strip(), whole(found["line"]), (found.get("function") or "").strip()
                )
                break


def choose(found: Iterable[Frame], *, last: bool = False, prefer: str = "") -> Frame | None:
    """Pick the frame to show: the first (``last``: the last) one of the user's own code.

    ``prefer`` names a class or file; a frame of it wins. Headers count only where nothing else does.
    """
    items = list(found)
    if last:
        items.reverse()
    own = [frame for frame in items if not is_library(frame)]
    if prefer:
        for frame in own:
            if prefer in frame.file or prefer in frame.function:
                return frame
    for frame in own:
        if not _HEADER.search(frame.file):
            return frame
    return own[0] if own else None


def locate(text: str, *, last: bool = False, prefer: str = "") -> tuple[str | None, int | None]:
    """Return file and line of the frame that ``choose`` picks from a multi-line text."""
    frame = choose(frames(text.split("\n")), last=last, prefer=prefer)
    return (frame.file, frame.line) if frame else (None, None)
