"""Comments that suppress findings: `# noqa`, for a file `# tflint-gpu: noqa` and `# flake8: noqa`, and from
`# tflint-gpu: off` to `# tflint-gpu: on`. They list codes, prefixes or names of rules, or nothing, which means all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from tflint_gpu.diagnostics import Diagnostic, Edit
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.lexical import comment_spans
from tflint_gpu.text.source import SourceFile, UnreadableSource

_RULE = r"(?:[A-Z]+[0-9]+(?!\w)|[a-z][a-z0-9]*(?:-[a-z0-9]+)+)"
_CODES = rf"(?::\s*(?P<codes>{_RULE}(?:[,\s]+{_RULE})*)|(?P<malformed>:))?"
_INLINE = rf"(?i)#\s*noqa{_CODES}"
_FILE = rf"(?i)\s*#\s*(?:tflint-gpu|flake8)[:=]\s*noqa{_CODES}\s*$"
_SWITCH = rf"(?im)^[ \t]*(?P<start>#)[ \t]*tflint-gpu:[ \t]*(?P<way>off|on){_CODES}[ \t]*\r?$"
_ANY = rf"(?i)#\s*(?:(?:tflint-gpu|flake8)[:=]\s*)?noqa{_CODES}"
_CODE = rf"(?i){_RULE}"
_DIGITS = "0123456789"
# Not what describes data to `verify`: `# tflint-gpu: input=(32, 128) float32`.
_OWN = r"(?i)#[ \t]*tflint-gpu[ \t]*:(?!\s*input\s*=)[ \t]*(?P<names>(?:noqa|off|on)[ \t]*:)?"
# Few files have one of these words: the patterns of comments, which take milliseconds to compile, are for those.
_WORD = regex("noqa|tflint-gpu[ \\t]*:", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class WrittenCode:
    """A code, a prefix or a rule's name in a comment that suppresses findings.

    Arguments:
        text: a code in capitals, or a name.
        start, end: where it is in the file's text.
    """

    text: str
    start: int
    end: int

    def means(self, diagnostic: Diagnostic) -> bool:
        """Whether the finding is of its rule, or of one of its rules."""
        return diagnostic.code.startswith(self.text) or diagnostic.name == self.text


@dataclass(frozen=True, slots=True)
class Directive:
    """A comment that suppresses the codes it lists.

    Arguments:
        start, end: where it is in the file's text, from its `#` on, without other words of the same comment.
        codes: in their order; at least one.
        whole_file: whether it is on a line of its own and is about the whole file.
    """

    start: int
    end: int
    codes: tuple[WrittenCode, ...]
    whole_file: bool


class Suppressions:
    """What the comments of one file suppress. Nothing is read before it is needed."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source

    def hides(self, diagnostic: Diagnostic) -> bool:
        """Whether a comment suppresses the finding.

        As in flake8, a listed code also suppresses the codes that start with it. The comment may be on any row of the
        logical line (the statement, or the header of a block) that the finding begins on.
        """
        if not self._possible:
            return False
        return self._is_off(diagnostic) or next(self._suppressing(diagnostic), None) is not None

    def rows(self, diagnostic: Diagnostic) -> list[int]:
        """The rows on which a comment would suppress the finding."""
        row = self._source.row_of(diagnostic.location)
        return sorted({*self._source.lines.logical_rows(row), comment_row(self._source, diagnostic)})

    def suppressing_codes(self, diagnostic: Diagnostic) -> tuple[int, ...]:
        """Where the listed codes start that suppress the finding; a comment without codes lists none.

        Where a comment for the whole file suppresses it, those on its line are unused.
        """
        return tuple(
            code.start
            for match in (self._suppressing(diagnostic) if self._possible else ())
            for code in _written(match)
            if code.means(diagnostic)
        )

    def hides_everywhere(self, diagnostic: Diagnostic) -> bool:
        """Whether a comment on a line of its own suppresses the finding: in the whole file, or from its line on."""
        return self._possible and (
            any(_silences(match, diagnostic) for match in self._whole_file) or self._is_off(diagnostic)
        )

    def warnings(self, rules: Collection[str]) -> Iterator[str]:
        """What is wrong with comments that were meant to suppress something: the row, and a sentence.

        Arguments:
            rules: the codes and names that there are.
        """
        text = self._source.text
        if not self._possible or ":" not in text:
            return
        for start, end in comment_spans(self._source.code):
            for mistake in self._mistakes(start, end, rules):
                comment = text[start:end].strip()
                place = self._source.locate(start)
                row = f"cell {place.cell}:{place.row}" if place.cell else place.row
                yield f"{row}: {mistake.format(f'`{comment}`')}"

    def _mistakes(self, start: int, end: int, rules: Collection[str]) -> Iterator[str]:
        """What is wrong with the comment at a place, with {} for the comment."""
        text = self._source.text
        match = re.compile(_ANY).search(text, start, end)
        own = re.compile(_OWN).match(text, start, end)
        if own:
            row_start = self._source.line_starts[self._source.row(start) - 1]
            match = re.compile(_FILE).match(text, row_start, end) or re.compile(_SWITCH).match(text, row_start, end)
            if match is None and own["names"]:
                yield "{} names no rule, so it suppresses nothing"
            elif match is None:
                yield "{} must be `# tflint-gpu: noqa`, `off` or `on` on a separate line; it suppresses nothing"
        if match is None or (match["malformed"] is None and match["codes"] is None):
            return
        listed = list(_written(match))
        unknown = [written for written in listed if not _is_of_a_rule(written.text, rules)]
        if len(unknown) == len(listed):
            yield "{} names no rule, so it suppresses nothing"
            return
        for written in unknown:  # without a comma before it a word with hyphens may be the reason
            if "-" not in written.text or text[: written.start].rstrip()[-1] in ",:":
                yield f"`{text[written.start : written.end]}` in {{}} names no rule, so it suppresses nothing"

    def _is_off(self, diagnostic: Diagnostic) -> bool:
        row = self._source.row_of(diagnostic.location)
        return any(
            first <= row < last and (code is None or code.means(diagnostic)) for first, last, code in self._ranges
        )

    @cached_property
    def _ranges(self) -> list[tuple[int, int, WrittenCode | None]]:
        """What is off from a row on, up to another; None for all rules."""
        source = self._source
        matches = list(re.finditer(_SWITCH, source.text))
        comments = {start for start, _ in comment_spans(source.code)} if matches else set()
        ranges: list[tuple[int, int, WrittenCode | None]] = []
        off: dict[str, tuple[int, WrittenCode | None]] = {}
        for match in matches:
            if match.start("start") not in comments or match["malformed"] is not None:
                continue
            row = source.row(match.start("start"))
            codes = {code.text: code for code in _written(match)}
            if match["way"].lower() == "off":
                for key in codes or [""]:
                    off.setdefault(key, (row, codes.get(key)))
            else:
                ranges += ((off[key][0], row, off[key][1]) for key in codes or list(off) if key in off)
                off = {key: value for key, value in off.items() if codes and key not in codes}
        return [*ranges, *((row, len(source.line_starts) + 1, code) for row, code in off.values())]

    @cached_property
    def directives(self) -> tuple[Directive, ...]:
        """The comments that list codes and can suppress something, in their order."""
        text = self._source.text
        if not self._possible:
            return ()
        result = []
        of_file, inline = re.compile(_FILE), re.compile(_INLINE)
        for start, end in comment_spans(self._source.code):
            if text[start] != "#":  # a line that is no Python, and was made a comment
                continue
            row = self._source.row(start)
            offset = self._source.line_starts[row - 1]
            # Of a row only the first is looked at, even if it is in a string.
            match = of_file.match(text, offset, end) or inline.search(text, offset, end)
            if match is not None and any(_written(match)) and start <= match.start() + _indentation(match):
                whole_file = match.re is of_file
                codes = tuple(_written(match))
                result.append(Directive(match.start() + _indentation(match), codes[-1].end, codes, whole_file))
        return tuple(result)

    def _suppressing(self, diagnostic: Diagnostic) -> Iterator[re.Match[str]]:
        """The comments that suppress a finding, those for the whole file first and, if there are any, alone."""
        whole = [match for match in self._whole_file if _silences(match, diagnostic)]
        yield from whole
        if whole:
            return
        for row in self.rows(diagnostic):
            match = self._inline(row)
            if match is not None and _silences(match, diagnostic):
                yield match

    def _inline(self, row: int) -> re.Match[str] | None:
        source = self._source
        if not 1 <= row <= len(source.line_starts):
            return None
        start = source.line_starts[row - 1]
        return re.compile(_INLINE).search(source.text, start, start + len(source.line(row)))

    @cached_property
    def _possible(self) -> bool:
        lowered = self._source.text.lower()
        return ("noqa" in lowered or "tflint-gpu" in lowered) and _WORD.search(self._source.text) is not None

    @cached_property
    def _whole_file(self) -> list[re.Match[str]]:
        source = self._source
        of_file = re.compile(_FILE)
        rows = range(1, len(source.line_starts) + 1)
        spans = ((source.line_starts[row - 1], len(source.line(row))) for row in rows)
        return [match for start, length in spans if (match := of_file.match(source.text, start, start + length))]


def _silences(match: re.Match[str], diagnostic: Diagnostic) -> bool:
    if match["codes"] is None:
        return match["malformed"] is None
    return any(written.means(diagnostic) for written in _written(match))


def _written(match: re.Match[str]) -> Iterator[WrittenCode]:
    """The codes and names that a comment lists."""
    for word in re.finditer(_CODE, match["codes"] or ""):
        start = match.start("codes") + word.start()
        yield WrittenCode(word[0].lower() if "-" in word[0] else word[0].upper(), start, start + len(word[0]))


def _is_of_a_rule(written: str, rules: Collection[str]) -> bool:
    """Whether a name or a code in a comment is that of a rule, or may be a code of another linter."""
    if "-" in written:
        return written in rules
    alike = [rule for rule in rules if rule.rstrip(_DIGITS) == written.rstrip(_DIGITS)]
    return not alike or any(rule.startswith(written) for rule in alike)


def _indentation(match: re.Match[str]) -> int:
    return len(match[0]) - len(match[0].lstrip())


def noqa_row(source: SourceFile, row: int) -> int:
    """The row whose end can take a suppression comment for a finding that starts at `row`."""
    line = source.line(row)
    if not line.endswith("\\") and not source.may_have_long_strings:
        return row
    while row in source.continued_rows:
        row += 1
    return row


def suppression(source: SourceFile, diagnostic: Diagnostic) -> Edit | None:
    """The edit that suppresses a finding, as `suppressing` makes it; None if none would."""
    edits, _ = suppressing(source, [diagnostic])
    return edits[0] if edits else None


def suppressing(source: SourceFile, diagnostics: Sequence[Diagnostic]) -> tuple[list[Edit], list[Diagnostic]]:
    """The edits that suppress findings, and which findings, including those that a comment suppresses already.

    Each finding's code joins the `# noqa` of its row, or a new one at the row's end. Where that would suppress nothing,
    such as in a row that has the word in a string, there is no edit.
    """
    refused: set[int] = set()
    while True:
        wanted = [index for index in range(len(diagnostics)) if index not in refused]
        edits = _comments(source, [diagnostics[index] for index in wanted])
        comments = Suppressions(source.edited(edits) if edits else source)
        failed = [index for index in wanted if not comments.hides(diagnostics[index])]
        if not failed:
            return edits, [diagnostics[index] for index in wanted]
        refused.update(failed)


def _comments(source: SourceFile, diagnostics: Sequence[Diagnostic]) -> list[Edit]:
    """The edits that write each finding's code where no comment suppresses it yet."""
    known = Suppressions(source)
    planned: dict[int, list[str]] = {}
    for diagnostic in diagnostics:
        code = diagnostic.code
        if not known.hides(diagnostic) and not any(code in planned.get(row, ()) for row in known.rows(diagnostic)):
            planned.setdefault(comment_row(source, diagnostic), []).append(code)
    comments = {start for start, _ in comment_spans(source.code)} if planned else set()
    added = (_comment(source, row, codes, comments) for row, codes in sorted(planned.items()))
    return [edit for edit in added if source.is_writable(edit.start, edit.end)]


def comment_row(source: SourceFile, diagnostic: Diagnostic) -> int:
    """The row of the text whose end takes the comment that suppresses a finding."""
    return source.row_of(diagnostic.location) + diagnostic.noqa_row - diagnostic.location.row


def _comment(source: SourceFile, row: int, codes: Sequence[str], comments: Collection[int]) -> Edit:
    line, start = source.line(row), source.line_starts[row - 1]
    known = re.search(_INLINE, line)
    if (
        known is not None
        and known["codes"] is not None
        and _is_in_comment(source, row, start + known.start(), comments)
    ):
        first = last = start + known.end("codes")
        content = "".join(f", {code}" for code in codes)
    else:
        first, last = start + len(line.rstrip()), start + len(line)
        content = f"  # noqa: {', '.join(codes)}"
    return Edit(first, last, source.locate(first), source.locate(last), content)


def removal(source: SourceFile, directive: Directive, gone: Collection[WrittenCode]) -> Edit | None:
    """The edit that takes codes out of a comment, and the comment away if it has no others; as ruff does it.

    None where that would leave a notebook's cell without a word.
    """
    text, first, last = source.text, directive.start, directive.end
    row = source.row(first)
    line_start = source.line_starts[row - 1]
    line_end = line_start + len(source.line(row))
    rest = text[last:line_end]
    spaces = len(rest) - len(rest.lstrip())
    kept = [code for code in directive.codes if code not in gone]
    content = ""
    if kept:
        first = directive.codes[0].start
        separators = {text[code.end : two.start] for code, two in pairwise(directive.codes)}
        separator = separators.pop() if len(separators) == 1 else ", "
        content = separator.join(text[code.start : code.end] for code in kept)
    elif not text[line_start:first].strip() and not rest.strip():
        first, last = line_start, source.end_of_line(first)
    elif not rest.strip():
        first, last = line_start + len(text[line_start:first].rstrip()), line_end
    elif rest.lstrip().startswith("#"):
        last += spaces
    else:  # other words of the comment: it stays one
        last += spaces
        content = "# "
    edit = Edit(first, last, source.locate(first), source.locate(last), content)
    try:
        source.edited([edit])
    except UnreadableSource:
        return None
    return edit


def _is_in_comment(source: SourceFile, row: int, offset: int, comments: Collection[int]) -> bool:
    """Whether a comment of a row starts at an offset or before it.

    Arguments:
        comments: where those of the text start.
    """
    return any(start in comments for start in range(source.line_starts[row - 1], offset + 1))
