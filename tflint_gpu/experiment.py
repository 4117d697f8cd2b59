"""What `verify` is to run for a finding: where the program must get to, what to change in it, and what to look at.

A rule says this in the same terms in which it reports and fixes: syntax nodes and edits on them. The edits call
functions of `tflint_measure`, the module that `verify` lays beside each program (tflint_gpu/verify/tflint_measure.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tflint_gpu.diagnostics import Prediction

if TYPE_CHECKING:
    from libcst import CSTNode

    from tflint_gpu.model import Model
    from tflint_gpu.rule import Edit

Requirement = Literal["any device", "no GPU", "a GPU", "two GPUs"]


@dataclass(frozen=True, slots=True)
class Change:
    """An edit in some file of the program."""

    model: Model
    edit: Edit


@dataclass(frozen=True, slots=True)
class Workload:
    """Two complete programs of the rule's own, which run no code of the user."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """One way to see what a finding predicts.

    Arguments:
        model: the file of `node`.
        node: what the program must reach: a loop, a call, or a function that must be called.
        probes: edits in both programs: they measure, and end the program when that is done.
        flaw: edits in the flagged program only, for a probe that must look different there.
        repair: edits in the repaired program only.
        prediction: what must be seen; None: the finding's own.
        variant: what is special about this experiment, where a finding has several: "default optimizations off".
        exceptions: for a crash, the names of the types that may be raised; none: any.
        requires: where it can be seen at all.
        unit: of what is measured.
        opening: statements for the repaired program's beginning, before anything of the user's runs.
        workload: the same without the user's code, for `--synthetic`.
        only_workload: the finding does not depend on the user's code, so the workload says all.
        calibrates: the program measures first how long its producer takes, and is told in later runs.
    """

    model: Model
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
    workload: Workload | None = None
    only_workload: bool = False
    calibrates: bool = False


@dataclass(frozen=True, slots=True)
class NoExperiment:
    """Why a finding cannot be run, as a sentence without a full stop."""

    reason: str
