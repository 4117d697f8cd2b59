"""What `verify` is to run for a finding: where the program must get to, what to change in it, and what to measure.

A rule says this in the same terms in which it reports and fixes: syntax nodes and edits on them. The edits call
functions of `tflint_measure`, the module that `verify` puts next to each program
(tflint_gpu/verify/harness/tflint_measure.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule.finding import span_of

if TYPE_CHECKING:
    from libcst import Call, CSTNode

    from tflint_gpu.model import Model
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.python.syntax.syntax import LoopNode
    from tflint_gpu.rule.finding import Finding

HARNESS = "tflint_measure"
HARNESS_PREFIX = "tflint_"
"""The names of all modules that are put next to programs start with this."""
Requirement = Literal["any device", "no GPU", "a GPU", "two GPUs"]


@dataclass(frozen=True, slots=True)
class Change:
    """An edit in some file of the program: what an `Edit` of a fix is, with the file that it changes.

    Arguments:
        optional: it may go with code that the program does not need.
        last: what is replaced goes up to the end of this node.
    """

    file: File
    node: CSTNode
    text: str
    where: Literal["replace", "lines", "before", "after", "below", "above", "tail", "commented lines"] = "replace"
    optional: bool = False
    last: CSTNode | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The characters of the file's text that the edit is about."""
        return span_of(self.file, self.node, self.where, self.last)


@dataclass(frozen=True, slots=True)
class Workload:
    """A program of the rule's own, which runs no code of the user.

    Arguments:
        before: the flagged program, indented as one likes.
        changes: what to replace in it, once each, for the repaired one.
    """

    before: str
    changes: tuple[tuple[str, str], ...]

    def text(self, *, repaired: bool) -> str:
        """The program.

        Raises:
            ValueError: a text to be replaced is not there exactly once.
        """
        text = inspect.cleandoc(self.before) + "\n"
        for old, new in self.changes if repaired else ():
            if text.count(old) != 1:
                raise ValueError(f"{old!r} occurs {text.count(old)} times in the workload")
            text = text.replace(old, new)
        return text


@dataclass(frozen=True, slots=True)
class Experiment:
    """One way to see what a finding predicts.

    Arguments:
        file: of `node`.
        node: what the program must reach: a loop, a call, or a function that must be called.
        probes: edits in both programs: they measure, and end the program when that is done.
        flaw: edits in the flagged program only, for a probe that must look different there.
        repair: edits in the repaired program only.
        prediction: what must be seen; None: the finding's own.
        variant: what is special about this experiment, where a finding has several: "default optimizations off".
        exceptions: for a crash, the names of the types that may be raised; none: any.
        requires: where it can be seen at all.
        unit: of what is measured.
        opening: a statement for the beginning of both programs, before anything of the user's runs.
        opening_of_repair: one more, for the repaired program only.
        workload: the same without the user's code, for `--synthetic`.
        only_workload: the finding does not depend on the user's code, so the workload says all.
        keeps: what must run before, in the same file, though nothing that is used comes of it.
        calibrates: the program measures first how long its producer takes, and gets that time in later runs.
        patch: what users can do to their files, where that is not the repair as it is; none: nothing.
        same_outputs: whether the repair must compute what the flagged code computes.
        flagged: the statements on which the findings are, where the measured loop may pass them by; both programs tell
            that each ran.
    """

    file: File
    node: CSTNode
    probes: tuple[Change, ...] = ()
    flaw: tuple[Change, ...] = ()
    repair: tuple[Change, ...] = ()
    prediction: Prediction | None = None
    variant: str = ""
    exceptions: tuple[str, ...] = ()
    requires: Requirement = "any device"
    unit: str = "seconds per step"
    opening: str = ""
    opening_of_repair: str = ""
    workload: Workload | None = None
    only_workload: bool = False
    keeps: tuple[CSTNode, ...] = ()
    calibrates: bool = False
    patch: tuple[Change, ...] | None = None
    same_outputs: bool = True
    flagged: tuple[tuple[File, CSTNode], ...] = ()

    @property
    def user_edits(self) -> tuple[Change, ...]:
        """What users can do to their own files; none where the repair can only be measured."""
        edits = self.repair if self.patch is None else self.patch
        return () if any(HARNESS in edit.text for edit in edits) else edits

    @property
    def is_of_pipeline(self) -> bool:
        """Whether only reading is measured, and no training that reads."""
        return any(f"{HARNESS}.consume" in probe.text for probe in self.probes)


class NoExperiment(Exception):
    """A finding cannot be run; the text says why, as a sentence without a full stop."""


def wrap(file: File, node: CSTNode, function: str, *arguments: str) -> tuple[Change, ...]:
    """Put a call of `tflint_measure` around an expression: `model.fit` becomes `tflint_measure.fit(model.fit)`."""
    closing = "".join(f", {argument}" for argument in arguments) + ")"
    return Change(file, node, f"{HARNESS}.{function}(", "before"), Change(file, node, closing, "after")


def next_statement(file: File, statement: CSTNode, text: str) -> Change:
    """Put a statement below another one of its block."""
    return Change(file, statement, f"{file.indentation(statement)}{text}\n", "below")


def measured_loop(
    model: Model, file: File, loop: LoopNode, samples: int = 1, *, reads: bool = False
) -> tuple[Change, ...]:
    """Time the iterations of a loop; see `tflint_measure.steps` for the arguments."""
    import libcst as cst  # late: listing the rules should not wait for it

    from tflint_gpu.model import Consumers, iterable

    sources = (wrap(*source, "endless") for source in model.once(Consumers).iterated_by_next(file, loop))
    endless = tuple(change for changes in sources for change in changes)
    if isinstance(loop, cst.BaseComp) and loop.for_in.inner_for_in is not None:
        raise NoExperiment("a comprehension with several `for` cannot be measured iteration by iteration")
    if not isinstance(loop, cst.While):
        over = iterable(loop)
        if over is None:
            raise NoExperiment("what the loop iterates over is not known")
        return (*wrap(file, over, "steps", f"samples={samples}", f"reads={reads}"), *endless)
    function = file.tree.function(loop)
    around = [node for node in file.tree.ancestors(loop) if isinstance(node, cst.For | cst.While)]
    around = [node for node in around if file.tree.function(node) is function]
    if around:  # it begins again, as episodes do
        lasting = wrap(file, around[0].iter, "lasting") if isinstance(around[0], cst.For) else ()
        return (*wrap(file, loop.test, "iterates", f"samples={samples}"), *lasting, *endless)
    return (Change(file, loop.test, f"{HARNESS}.iterates(samples={samples})"), *endless)


def eager_against_traced(
    model: Model,
    loop_file: File,
    loop: LoopNode,
    finding: Finding,
    calls: Sequence[tuple[File, Call]],
    workload: Workload,
) -> Experiment:
    """The user's loop, with the models that calls in it run as they are, and under `tf.function`.

    As the finding's fix does it, in functions of their own; or else, to measure it, the first call where it is. What is
    compared is of the first call that is traced.
    """
    patch = fix_changes(finding)
    edited = [change.node for change in patch]
    call = next((call for _, call in calls if call.func in edited), calls[0][1])
    probes, eager = measured_loop(model, loop_file, loop), wrap(finding.file, call.func, "eager")
    from tflint_gpu.model import TracedCalls  # late, as libcst

    relaxed = () if patch or not model.once(TracedCalls).options(finding.file, call) else ("reduce_retracing=True",)
    return Experiment(
        loop_file,
        loop,
        probes=(*probes, *(eager if patch else ())),
        flaw=() if patch else eager,
        repair=patch or wrap(finding.file, call.func, "traced", *relaxed),
        patch=patch,
        workload=workload,
    )


def fix_changes(finding: Finding) -> tuple[Change, ...]:
    """The edits of a finding's own fix; none where it has no fix."""
    edits = finding.fix.edits if finding.fix is not None else ()
    return tuple(Change(finding.file, edit.node, edit.text, edit.where, last=edit.last) for edit in edits)
