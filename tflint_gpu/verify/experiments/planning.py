"""From findings to cases: which experiments there are, and their programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.model import Model
from tflint_gpu.rule import Finding, Rule
from tflint_gpu.rule.experiment import Experiment, NoExperiment
from tflint_gpu.verify.experiments.verification import Case
from tflint_gpu.verify.slicing.conditional import flagged_statement
from tflint_gpu.verify.slicing.extract import NotExtractable, Pair, Readings, extract, workload_pair
from tflint_gpu.verify.slicing.inputs import InputError


def plan(
    flagged: Sequence[tuple[Rule, Finding, Diagnostic, Model]], others: Sequence[Model], *, synthetic: bool = False
) -> Iterator[Case]:
    """The cases of some findings, with their programs.

    Arguments:
        found: each with the model of the file in whose check it was found.
        others: files of the same project that may be the program that runs it.
        synthetic: take the rules' own workloads.
    """
    readings = Readings()
    for rule, finding, diagnostic, model in flagged:
        try:
            for experiment in rule.experiments(finding, model):
                entries = (model, *_running(experiment.file.source.path, model, others))
                yield _with_programs(diagnostic, finding, experiment, entries, synthetic, readings)
        except NoExperiment as error:
            yield Case(diagnostic, finding.prediction, reason=str(error))
        except Exception as error:  # one rule that fails must not keep the others from being verified
            reason = f"{rule.code} failed to plan its experiment: {error!r}"
            yield Case(diagnostic, finding.prediction, reason=reason)


def _running(path: Path, model: Model, others: Sequence[Model]) -> Iterator[Model]:
    """The other files of a model's project that may run a file: those whose imports reach it."""
    for other in others:
        is_other = other is not model and other.project is model.project
        if is_other and path in (other.source.path, *other.project.reached(other.source)):
            yield other


def _with_programs(
    diagnostic: Diagnostic,
    finding: Finding,
    experiment: Experiment,
    entries: tuple[Model, ...],
    synthetic: bool,
    readings: Readings,
) -> Case:
    statement = flagged_statement(experiment, finding.file, finding.node)
    only_workload = synthetic or experiment.only_workload
    flagged = ((finding.file, statement),) if statement is not None else ()
    prediction = experiment.prediction or finding.prediction
    experiment = dataclasses.replace(experiment, prediction=prediction, flagged=flagged, only_workload=only_workload)
    case = Case(diagnostic, experiment.prediction or finding.prediction, experiment, entries)
    try:
        return dataclasses.replace(case, pair=pair_of(case, readings=readings))
    except (NotExtractable, InputError) as error:
        return dataclasses.replace(case, reason=str(error))


def pair_of(case: Case, opening: str = "", readings: Readings | None = None) -> Pair:
    """The programs of a case.

    Arguments:
        opening: statements to begin with.
        readings: of files that were cut before.

    Raises:
        NotExtractable: there are none, or InputError; see `extract`.
    """
    experiment = case.experiment
    assert experiment is not None
    if experiment.only_workload:
        return workload_pair(experiment, opening)
    return extract(
        experiment, case.entries, opening, readings, old_keras=case.old_keras, trains=case.trains, failed=case.failed
    )
