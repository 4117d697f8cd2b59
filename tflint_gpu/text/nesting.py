"""Refuses text on which libcst's native parser would end the process or take minutes.

The parser is recursive and written in Rust: too deep a tree overflows the stack, and no exception
can be caught. Measured with libcst 1.9.0: it dies at 3,000 nested parentheses and at a sum of
20,000 terms on a stack of 8 MB, takes time that grows with the square of a chain (1,000 calls
1.4 s, 2,000 calls 6.5 s), and twice the time for each further bracket in a `case` pattern
(16 brackets 0.13 s, so 30 would take an hour).

Everything here works on whole strings at the speed of C, and most files end at the first
question: they have fewer brackets and operators than any limit.
"""

from __future__ import annotations

import re
from array import array
from itertools import accumulate

from tflint_gpu.diagnostics import Location
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.lexical import bare_code
from tflint_gpu.text.source import UnreadableSource

MAX_BRACKETS = 200
"""Nested brackets; CPython itself stops here ("too many nested parentheses")."""
MAX_LINKS = 1000
"""Operators of one kind, or attributes, calls and subscripts, in one expression."""
MAX_FLAT = 2500
"""`elif` branches of one `if`, or string literals side by side: cheaper to parse than operators."""
MAX_PATTERN = 12
"""Nested brackets in the pattern of a `case`."""
MAX_INDENTS = 100
"""Nested blocks; CPython itself stops here ("too many levels of indentation")."""

_WORD = regex(rb"\b(?:not|and|or|if|else|lambda|in|is|for|await|yield)\b")
_WORDS = (b"not", b"and", b"or", b"if", b"else", b"lambda", b"in", b"is", b"for", b"await", b"yield")
_CASE = regex(r"^[ \t]*case\b[^\r\n]*", re.MULTILINE)
_BRANCH = regex(r"^([ \t]*)(if|elif)\b", re.MULTILINE)
_DEEP_INDENT = regex(rf"[\r\n][ \t]{{{MAX_INDENTS}}}")
_INDENT = regex(r"^([ \t]*)[^\s#]", re.MULTILINE)
_INNERMOST = regex(rb"\(([^()]*)\)")

# Reduced code has one byte for each thing that matters: a tree gets deep by links of one kind,
# so each kind keeps its own byte. Commas and, outside brackets, newlines end a chain.
_KINDS = {
    b"w": (b"\x01", "not, and, or, if, lambda, for"),
    b"=": (b"=!:", "comparisons or assignments"),
    b"<": (b"<>", "comparisons or shifts"),
    b"|": (b"&|^", "&, | and ^"),
    b"+": (b"+-~", "sums"),
    b"*": (b"*/%@", "products and powers"),
    b".": (b".", "attributes, calls and subscripts"),
    b'"': (b"\"'", "string literals side by side"),
}
_STRUCTURE = {b"(": b"([{", b")": b")]}", b",": b",;", b"\n": b"\r\n"}
_MEANING = {
    byte: ord(symbol)
    for symbol, members in [*_STRUCTURE.items(), *((kind, members) for kind, (members, _) in _KINDS.items())]
    for byte in members
}
_TABLE = bytes(_MEANING.get(byte, 0) for byte in range(256))
_MEANINGLESS = bytes(byte for byte in range(256) if byte not in _MEANING)
_NO_OPERATOR = bytes(byte for byte in range(256) if byte not in b"=!:<>&|^+-~*/%@.([{")
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"([{)]}")
_STEP = bytes(1 if byte in b"([{" else 255 for byte in range(256))  # 255 is -1 in a signed byte


def check_nesting(text: str) -> None:
    """Return if libcst can parse `text` safely.

    Raises:
        UnreadableSource: the text nests, or chains operators, deeper than the limits of this module.
    """
    data = text.encode("ascii", "replace")
    suspicious = (
        _count_operators(data) > MAX_LINKS
        or _depth(data) > MAX_BRACKETS  # with those in strings: enough for a file of few operators
        or _count_words(data) >= MAX_LINKS
        or data.count(b'"') + data.count(b"'") > MAX_FLAT
        or (b"case" in data and _CASE.search(text) is not None)
        or _DEEP_INDENT.search(text) is not None
    )
    if not suspicious:
        return
    bare = bare_code(text)
    _check_blocks(bare)
    _check_patterns(bare)
    code = bare.encode("ascii", "replace")
    if _count_words(code) >= MAX_LINKS:
        code = _WORD.sub(b"\x01", code)
    reduced = code.translate(_TABLE, _MEANINGLESS)
    if _depth(reduced) > MAX_BRACKETS:
        raise UnreadableSource(f"brackets are nested more than {MAX_BRACKETS} deep", _deepest(text, bare, MAX_BRACKETS))
    _check_chains(reduced)


def _count_operators(data: bytes) -> int:
    return len(data.translate(None, _NO_OPERATOR))


def _count_words(data: bytes) -> int:
    return sum(data.count(word) for word in _WORDS)


def _depth(code: bytes) -> int:
    """How deep the brackets of some code nest."""
    steps = array("b", code.translate(_STEP, _NO_BRACKET))
    return max(accumulate(steps), default=0)


def _check_blocks(bare: str) -> None:
    """Refuse long `elif` chains and deep indentation."""
    if bare.count("elif") > MAX_FLAT:
        branches: dict[str, int] = {}
        for branch in _BRANCH.finditer(bare):
            indent, keyword = branch.groups()
            branches[indent] = branches.get(indent, 0) + 1 if keyword == "elif" else 0
            if branches[indent] > MAX_FLAT:
                raise UnreadableSource(f"an `if` has more than {MAX_FLAT} `elif` branches")
    if _DEEP_INDENT.search(bare):
        widths = [0]
        for line in _INDENT.finditer(bare):
            width = len(line[1])
            while width < widths[-1]:
                widths.pop()
            if width > widths[-1]:
                widths.append(width)
            # Lines inside brackets count too; 100 of them, each indented deeper, are not written.
            if len(widths) > MAX_INDENTS:
                raise UnreadableSource(f"blocks are nested more than {MAX_INDENTS} deep")


def _check_patterns(bare: str) -> None:
    """Refuse `case` patterns in which brackets nest deeply."""
    if "case" not in bare:
        return
    for line in _CASE.finditer(bare):
        pattern = line[0].encode("ascii", "replace").translate(_TABLE, _MEANINGLESS)
        if pattern.count(b"(") > MAX_PATTERN and _depth(pattern) > MAX_PATTERN:
            raise UnreadableSource(f"a `case` pattern nests brackets more than {MAX_PATTERN} deep")


def _check_chains(reduced: bytes) -> None:
    """Refuse long chains: level by level from the innermost brackets, each then one link outside."""
    if len(reduced) < MAX_LINKS:
        return
    while True:
        # Inside brackets a newline ends nothing.
        innermost = b",".join(_INNERMOST.findall(reduced)).replace(b"\n", b"")
        _check_level(innermost)
        outer = _INNERMOST.sub(b".", reduced)
        if outer == reduced:
            break
        reduced = outer
    _check_level(reduced)


def _check_level(level: bytes) -> None:
    for stretch in re.finditer(rb"[^,\n()]{%d,}" % MAX_LINKS, level):
        for kind, (_, words) in _KINDS.items():
            limit = MAX_FLAT if kind == b'"' else MAX_LINKS
            if stretch[0].count(kind) > limit:
                raise UnreadableSource(f"an expression chains more than {limit} {words}")


def _deepest(text: str, bare: str, limit: int) -> Location:
    """Where the brackets first nest deeper than allowed: the row only, found in the bare code."""
    if bare.count("\n") != text.count("\n"):
        return Location(1, 1)
    depth, row = 0, 1
    for match in re.finditer(r"[(\[{]|[)\]}]|\n", bare):
        if match[0] == "\n":
            row += 1
        else:
            depth += 1 if match[0] in "([{" else -1
            if depth > limit:
                break
    return Location(row, 1)
