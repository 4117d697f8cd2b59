"""What a rule found: syntax nodes and words, before they become rows and columns (`tflint_gpu.diagnostics`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeVar

from tflint_gpu.diagnostics import Applicability, Prediction
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.severity import Severity

if TYPE_CHECKING:
    from libcst import CSTNode

    from tflint_gpu.model.model import Model
    from tflint_gpu.model.python.execution.walks import Frame
    from tflint_gpu.model.python.names.imports import Spelling
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.tensorflow.effects.blockers import Blocker
    from tflint_gpu.model.tensorflow.runtime.runtime import Initialiser

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `node`, or its whole `lines`, by `text`; or insert `text` before it, after it, above or below its lines.

    What goes above or below is whole lines: with their indentation and the end of the last one. "commented lines" are
    its lines with the comments right above them, and empty lines that would be too many then.

    Of "tail" what is after the node, up to the end of `last`, is replaced.

    What goes above a statement goes above its comments, too.

    Arguments:
        last: what is replaced goes up to the end of this node.
    """

    node: CSTNode
    text: str
    where: Literal["replace", "lines", "before", "after", "below", "above", "tail", "commented lines"] = "replace"
    last: CSTNode | None = None

    def span_in(self, file: File) -> tuple[int, int]:
        """The characters of the file's text that the edit is about."""
        return span_of(file, self.node, self.where, self.last)


def span_of(file: File, node: CSTNode, where: str, last: CSTNode | None) -> tuple[int, int]:
    """The characters of a node, up to the last one; of a "tail" those after the node."""
    start, end = file.span(node)
    return end if where == "tail" else start, end if last is None else file.span(last)[1]


def importing(spelling: Spelling) -> tuple[Edit, ...]:
    """The edit that adds the import which a name needs; none where the file has it."""
    return () if spelling.after is None else (Edit(spelling.after, f"{spelling.statement}\n", "below"),)


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits on syntax nodes that together fix one finding.

    Arguments:
        defines: the names of the functions that they define: another fix that defines one has to take another name.
    """

    message: str
    applicability: Applicability
    edits: tuple[Edit, ...]
    defines: tuple[str, ...] = ()


UNTRIED = Fix("", "unsafe", ())
"""Stands for a fix that nobody asked for: to find out whether there is one takes longer than the check."""


def tried(model: Model, make: Callable[[], Fix | Blocker | None]) -> Fix | Blocker | None:
    """A fix for which the file is analysed as it would be then, where somebody asks for fixes."""
    return make() if model.tries_fixes else UNTRIED


@dataclass(frozen=True, slots=True)
class Note:
    """A related place: a node of some file, and what it has to do with the finding."""

    file: File
    node: CSTNode
    message: str


def offered(made: Fix | Blocker | None) -> tuple[Fix | None, tuple[Note, ...]]:
    """A fix for a finding, and a note that says why it has none: a fix that is withheld carries its reason.

    Arguments:
        made: what a maker of fixes gives; None where nobody asked it, or the finding says it already.
    """
    if made is None or isinstance(made, Fix):
        return made, ()
    return None, (Note(made.file, made.node, f"no fix: {made.reason}"),)


def notes_on(frames: Iterable[Frame]) -> tuple[Note, ...]:
    """A note for each call on the way to some code."""
    return tuple(Note(frame.file, frame.node, frame.text) for frame in frames)


def notes_before(before: Initialiser, text: str) -> tuple[Note, ...]:
    """A note at what initialises the runtime, and one at the line of the imported module that does it."""
    note = Note(before.file, before.node, text)
    inner = before.within
    return (
        (note,) if inner is None else (note, Note(inner.file, inner.node, "caused by this line of the imported module"))
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found.

    Arguments:
        file: in which the finding lies (not always the file being checked).
        node: the syntax node that the user must change.
        message: one sentence that is true for the target version.
        prediction: what will happen, testable by `verify`.
        help: one line that says what to do instead; a table may follow below it.
        subject: what `check` had found, for `experiments` to start from.
    """

    file: File
    node: CSTNode
    message: str
    prediction: Prediction
    help: str = ""
    severity: Severity | None = None
    notes: tuple[Note, ...] = ()
    fix: Fix | None = None
    subject: object = field(default=None, repr=False, compare=False)

    def subject_as(self, kind: type[_T]) -> _T:
        """The subject, which is of this class."""
        assert isinstance(self.subject, kind)
        return self.subject
