"""What `doctor` prints: for a terminal, as JSON, or as Markdown for an issue."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from tflint_gpu import __version__
from tflint_gpu.doctor import software
from tflint_gpu.doctor.diagnosis import Diagnosis
from tflint_gpu.doctor.facts import Facts
from tflint_gpu.doctor.machine_report import MachineReport
from tflint_gpu.reports.display import printable, styled

_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


def as_json(report: MachineReport) -> str:
    """Everything that was seen, and what follows."""
    seen = dataclasses.asdict(report.facts)
    entry = {
        "version": __version__,
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "next_step": report.next_step,
        "diagnoses": [_object(diagnosis) for diagnosis in report.diagnoses],
        "facts": {"surroundings" if name == "environment" else name: what for name, what in seen.items()},
    }
    return json.dumps(entry, indent=2) + "\n"


def _object(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "code": diagnosis.code,
        "name": diagnosis.name,
        "severity": diagnosis.severity,
        "seen": diagnosis.seen,
        "means": diagnosis.means,
        "command": diagnosis.command or None,
        "remedy": diagnosis.remedy,
        "filename": diagnosis.filename or None,
        "row": diagnosis.row or None,
    }


def as_text(report: MachineReport, colour: bool = False) -> str:
    """What was seen, what is wrong, the verdict, and what to do next."""
    facts = list(_seen(report.facts))
    width = max(len(name) for name, _ in facts)
    lines = [f"{styled(name.ljust(width), 'bold', colour)}  {printable(text)}" for name, text in facts]
    for diagnosis in report.diagnoses:
        place = f"{diagnosis.filename}:{diagnosis.row}: " if diagnosis.filename else ""
        head = styled(f"{diagnosis.code} {diagnosis.name}", _STYLES[diagnosis.severity], colour)
        lines += ["", f"{head}: {printable(place + diagnosis.seen)}", f"  {diagnosis.means}"]
        lines.append(f"  run: {diagnosis.command}" if diagnosis.command else f"  {diagnosis.remedy}")
    if report.facts.tensorflow is not None and any(diagnosis.code == "TFG923" for diagnosis in report.diagnoses):
        lines += ["", "TensorFlow's log:", *(f"  {printable(line)}" for line in _log(report.facts))]
    lines += ["", printable(report.verdict), styled(f"Next: {printable(report.next_step)}", "bold", colour)]
    return "\n".join(lines) + "\n"


def as_markdown(report: MachineReport) -> str:
    """The same for an issue or a pull request."""
    lines = ["| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(text)} |" for name, text in _seen(report.facts)]
    for diagnosis in report.diagnoses:
        place = f"`{diagnosis.filename}:{diagnosis.row}`: " if diagnosis.filename else ""
        lines += [
            "",
            f"**{diagnosis.code} {diagnosis.name}** ({diagnosis.severity}): {place}{_cell(diagnosis.seen)}. "
            f"{diagnosis.means}",
        ]
        lines += ["", "```", diagnosis.command, "```"] if diagnosis.command else ["", diagnosis.remedy]
    lines += ["", report.verdict, "", f"**Next:** {_cell(report.next_step)}"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _seen(facts: Facts) -> Iterator[tuple[str, str]]:
    around, tensorflow = facts.environment, facts.tensorflow
    where = [
        around.system,
        around.machine,
        "WSL" if around.wsl else "",
        f"in {around.container}" if around.container else "",
    ]
    yield "system", " ".join(part for part in where if part)
    driver = next((gpu.driver for gpu in facts.survey.gpus), around.kernel_driver)
    yield "driver", driver or facts.survey.note or "none"
    for gpu in facts.survey.gpus:
        persistence = {None: "", True: ", persistence on", False: ", persistence off"}[gpu.persistent]
        held = ", ".join(f"{pid}{'' if size is None else f' ({size >> 20} MiB)'}" for pid, size in gpu.holders)
        memory = f", {(gpu.free_memory or 0) >> 20} of {gpu.total_memory >> 20} MiB free" if gpu.total_memory else ""
        capability = f", compute capability {'.'.join(map(str, gpu.capability))}" if gpu.capability else ""
        mig = ", MIG" if gpu.mig else ""
        errors = "" if gpu.ecc_errors is None else f", {gpu.ecc_errors} memory errors"
        holders = f", held by processes {held}" if held else ""
        yield f"GPU {gpu.index}", f"{gpu.name}{capability}{memory}{holders}{mig}{persistence}{errors}"
    installation = facts.installation
    yield "Python", f"{installation.python} ({installation.executable})"
    if tensorflow is None or not tensorflow.version:
        yield "TensorFlow", tensorflow.error if tensorflow is not None else "not examined"
        return
    built = (
        f"built for CUDA {tensorflow.cuda} and cuDNN {tensorflow.cudnn}" if tensorflow.cuda else "built without CUDA"
    )
    yield "TensorFlow", f"{tensorflow.version}, {built}; Keras {tensorflow.keras}"
    yield "it lists", ", ".join(tensorflow.gpus) or "no GPU"
    if tensorflow.cuda and facts.libraries:
        missing = software.unloaded(facts)
        yield "libraries", f"cannot be opened: {', '.join(missing)}" if missing else "all CUDA libraries can be loaded"
    for name, value in around.variables.items():
        if name not in ("LD_LIBRARY_PATH", "CONDA_PREFIX", "LD_PRELOAD"):
            yield name, value or "(empty)"
    for operation in facts.operations:
        outcome = {"answered": f"ran on {operation.ran_on}", "failed": operation.message}.get(
            operation.status, "timed out"
        )
        yield f"{operation.name} on {operation.device}", outcome
    for setting in facts.settings:
        yield f"{setting.filename}:{setting.row}", f"sets {setting.name} to {setting.value or 'an empty value'}"


def _log(facts: Facts) -> list[str]:
    assert facts.tensorflow is not None
    return [line for line in facts.tensorflow.log.splitlines() if line.strip()][-30:]
