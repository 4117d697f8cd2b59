"""One experiment for all repairs of what is measured as one: the findings of a loop, a pipeline or a training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tflint_gpu.checking.fixes import conflict
from tflint_gpu.diagnostics import Diagnostic, Edit, Prediction
from tflint_gpu.reports.locations import place
from tflint_gpu.rule.experiment import Change, Experiment
from tflint_gpu.verify.experiments.planning import pair_of
from tflint_gpu.verify.experiments.verification import Case, Verification
from tflint_gpu.verify.slicing.extract import NotExtractable, Readings
from tflint_gpu.verify.slicing.inputs import InputError
from tflint_gpu.verify.slicing.pieces import placed

NAME = "joint-repair"


def with_joint(cases: Sequence[Case]) -> list[Case]:
    """The cases, and before the first one of each loop, pipeline or training with several repairs that of all of them.

    Arguments:
        cases: with their programs, cut out of the user's code.
    """
    readings = Readings()
    groups: dict[object, list[Case]] = {}
    for case in cases:
        if (key := _key(case)) is not None:
            groups.setdefault(key, []).append(case)
    joint = [known for group in groups.values() if (known := _joint(group, readings)) is not None]
    before = {id(known.joined[0]): known for known in joint}
    return [each for case in cases for each in (before.get(id(case)), case) if each is not None]


def among_others(case: Case, results: Iterable[Verification]) -> Case:
    """A case as it is to be measured: against all repairs with only its own left out, where these run together.

    Where another mistake takes most of the time, the repair alone would be lost in that.

    Arguments:
        results: what is known, that of the joint case with it.
    """
    joint = next((result for result in results if result.joins(case)), None)
    if joint is None or joint.verdict.verdict == "not run" or case.experiment is None:
        return case
    everything, own = joint.case.experiment, case.experiment
    assert everything is not None
    if own.calibrates:  # a consumer as slow as another pipeline: what is lost in it is no part of what all save
        return case
    repairs = [part.experiment.repair for part in joint.case.joined if part.experiment is not None]
    made = _each_once(repair for repair in repairs if repair != own.repair)
    if set(own.repair) <= set(made):  # another repair contains it
        return case
    experiment = dataclasses.replace(
        own,
        probes=everything.probes,
        flaw=_each_once((own.flaw, made)),
        repair=everything.repair,
        patch=own.user_edits,
        flagged=everything.flagged,
    )
    asked = joint.case
    left_out = dataclasses.replace(
        case, experiment=experiment, old_keras=asked.old_keras, failed=asked.failed, among=asked
    )
    try:
        pair = pair_of(left_out)
    except (NotExtractable, InputError):
        return case
    remark = f"with the other fixes at {_at(joint.case.diagnostic)} applied"
    return dataclasses.replace(left_out, pair=pair, remarks=(remark,))


def _key(case: Case) -> object:
    """What cases have in common that measure the same; None for one whose repair cannot be joined with others."""
    experiment = case.experiment
    if case.pair is None or experiment is None or case.prediction.kind != "slowdown":
        return None
    if experiment.only_workload or experiment.variant or experiment.opening_of_repair or not experiment.repair:
        return None
    how = (experiment.unit, experiment.requires, experiment.calibrates, experiment.opening)
    return (id(experiment.file), id(experiment.node), *how)


def _joint(group: Sequence[Case], readings: Readings) -> Case | None:
    """The case of those repairs that go together; None where that is not more than one."""
    parts: list[Case] = []
    edits: dict[Path, list[Edit]] = {}
    left_out: list[Diagnostic] = []
    repairs = 0
    for case in group:
        if not _is_measured_alike(case, parts):
            continue
        files = _edits(case)
        new = {path: [edit for edit in some if edit not in edits.get(path, ())] for path, some in files.items()}
        if any(conflict(some, edits.get(path, ())) for path, some in new.items()):
            left_out.append(case.diagnostic)
            continue
        parts.append(case)
        repairs += any(new.values())
        for path, some in new.items():
            edits.setdefault(path, []).extend(some)
    return _with_programs(parts, repairs, left_out, readings) if repairs > 1 else None


def _edits(case: Case) -> Mapping[Path, Sequence[Edit]]:
    assert case.experiment is not None
    return {path: change.edits for path, change in placed(case.experiment.repair).items()}


def _is_measured_alike(case: Case, parts: Sequence[Case]) -> bool:
    """Whether the probes of a case say nothing else than those of others where both change the same code."""
    experiments = [part.experiment for part in (*parts, case) if part.experiment is not None]
    texts: dict[object, str] = {}
    changes = [change for experiment in experiments for change in (*experiment.probes, *experiment.flaw)]
    return all(texts.setdefault((id(change.node), change.where), change.text) == change.text for change in changes)


def _with_programs(parts: Sequence[Case], repairs: int, left_out: Sequence[Diagnostic], readings: Readings) -> Case:
    experiment = _experiment(parts, repairs)
    assert experiment.prediction is not None
    case = Case(_diagnostic(parts, repairs), experiment.prediction, experiment, parts[0].entries, joined=tuple(parts))
    try:
        pair = pair_of(case, readings=readings)
    except (NotExtractable, InputError) as error:
        return dataclasses.replace(case, reason=str(error))
    without = [f"without the fix for {_at(d)} {d.code}, which changes the same code" for d in left_out]
    return dataclasses.replace(case, pair=pair, remarks=tuple(without))


def _experiment(parts: Sequence[Case], repairs: int) -> Experiment:
    experiments = [part.experiment for part in parts if part.experiment is not None]
    return dataclasses.replace(
        experiments[0],
        probes=_each_once(e.probes for e in experiments),
        flaw=_each_once(e.flaw for e in experiments),
        repair=_each_once(e.repair for e in experiments),
        prediction=Prediction("slowdown", basis="the sum of what each fix saves alone"),
        variant=f"{repairs} fixes together",
        keeps=tuple(node for e in experiments for node in e.keeps),
        patch=None,
        same_outputs=all(e.same_outputs for e in experiments),
        flagged=tuple(dict.fromkeys(flagged for e in experiments for flagged in e.flagged)),
    )


def _each_once(groups: Iterable[Sequence[Change]]) -> tuple[Change, ...]:
    return tuple(dict.fromkeys(change for changes in groups for change in changes))


def _diagnostic(parts: Sequence[Case], repairs: int) -> Diagnostic:
    """Where the code lies that is measured, and whose repairs are joined."""
    experiment = parts[0].experiment
    assert experiment is not None
    source = experiment.file.source
    start, end = map(source.locate, experiment.file.span(experiment.node))
    findings = [part.diagnostic for part in parts]
    named = ", ".join(f"{d.code} at {_at(d)}" for d in findings)
    return dataclasses.replace(
        findings[0],
        code="+".join(sorted({diagnostic.code for diagnostic in findings})),
        name=NAME,
        message=f"{repairs} fixes together: {named}",
        filename=source.name,
        location=start,
        end_location=end,
        prediction=None,
        help="",
        related=(),
        fix=None,
    )


def _at(diagnostic: Diagnostic) -> str:
    return place(diagnostic.filename, diagnostic.location)
