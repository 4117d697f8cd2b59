"""Why a TensorFlow that ran used no GPU: the looks and codes of `doctor`, for `verify` and `run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tflint_gpu.doctor import environment
from tflint_gpu.doctor.examination import examine
from tflint_gpu.doctor.facts import Facts, Setting
from tflint_gpu.doctor.machine import has_card
from tflint_gpu.doctor.machine_report import MachineReport, report_on
from tflint_gpu.gpu.cards import Survey


def why_unused(survey: Survey, python: str | Path, settings: Sequence[Setting] = ()) -> MachineReport:
    """Judge the machine, and where that has a card and shows nothing wrong, the installation.

    Nothing is computed on a card, which may be in use; the installation is looked at last, for it takes the time of an
    import of TensorFlow.

    Arguments:
        survey: the cards, as NVML reported them.
        python: the interpreter that ran TensorFlow.
        settings: what the program sets by itself.
    """
    machine = report_on(Facts(survey, environment.look(), settings=tuple(settings)))
    if not has_card(machine.facts) or any(diagnosis.severity == "error" for diagnosis in machine.diagnoses):
        return machine
    return report_on(replace(examine(Path(python), settings, tries_operations=False), survey=survey))
