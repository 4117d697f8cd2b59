"""`json`: every sample of every result, for programs and for `check --verified`."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from tflint_gpu import __version__
from tflint_gpu.gpu.watch import Recording
from tflint_gpu.narrowing.measurements import key_of
from tflint_gpu.reports import View
from tflint_gpu.reports.locations import place
from tflint_gpu.verify.experiments.verification import Sample, Verification
from tflint_gpu.verify.reports import Report, figures
from tflint_gpu.verify.reports.conditions import repetition
from tflint_gpu.verify.statistics.statistics import REFERENCE

# Notes come from the checked code: no reader needs more levels than these, and a writer could run out of stack.
_DEEPEST = 20
_OF_CRASH = ("exception", "text", "during", "place")


def render(report: Report, view: View) -> str:
    """One object, also for no results; what is not a finite number is null."""
    document = {
        "version": __version__,
        "command": report.command,
        "date": report.date,
        "seconds": report.seconds,
        "synthetic": report.synthetic,
        "interrupted": report.interrupted or None,
        "device": _device(report),
        "host": None if report.host is None else asdict(report.host),
        "verdicts": {name: count for name, count in report.counts.items() if name != "reference"},
        "references": report.counts["reference"],
        "results": [_of_finding(report, result, view) for result in report.results],
        "joint": [_of_several(report, result, view) for result in report.joint],
    }
    return json.dumps(_plain(document), indent=2, allow_nan=False) + "\n"


def _of_finding(report: Report, result: Verification, view: View) -> dict[str, Any]:
    """A result with what its repair brings among others."""
    joint, share = report.joint_with(result), report.share(result)
    together = None
    if joint is not None:
        together = {
            "at": place(view.absolute(joint.case.diagnostic.filename), joint.case.diagnostic.location),
            "repairs": joint.case.variant,
            "ratio": joint.verdict.ratio,
            "low": joint.verdict.low,
            "high": joint.verdict.high,
            "share": None if share is None else asdict(share),
        }
    return {**_result(result, view), "joint": together, "again": repetition(report, result)}


def _of_several(report: Report, result: Verification, view: View) -> dict[str, Any]:
    """What several repairs bring together, and the keys of their findings."""
    keys = [key_of(part.diagnostic, view.line) for part in result.case.joined]
    return {**_result(result, view), "joins": keys, "again": repetition(report, result)}


def document_of(result: Verification, view: View) -> dict[str, Any]:
    """One result with all its samples, as JSON can hold it."""
    document: dict[str, Any] = _plain(_result(result, view))
    return document


def _device(report: Report) -> dict[str, Any]:
    gpu = report.gpu
    facts = {"name": None, "index": None, "uuid": None, "driver": None, "total_memory": None, "mig": None}
    if gpu is not None:
        facts = {name: getattr(gpu, name) for name in facts}
    return {
        "kind": "cpu" if gpu is None else "gpu",
        **facts,
        "note": report.device_note,
        "tensorflow": report.tensorflow or None,
        "sandbox": report.sandbox,
    }


def _result(result: Verification, view: View) -> dict[str, Any]:
    diagnostic, prediction, verdict = result.case.diagnostic, result.prediction, result.verdict
    return {
        "key": key_of(diagnostic, view.line),
        "code": diagnostic.code,
        "message": diagnostic.message,
        "filename": view.absolute(diagnostic.filename),
        "cell": diagnostic.location.cell or None,
        "location": {"row": diagnostic.location.row, "column": diagnostic.location.column},
        "variant": result.case.variant,
        "device": result.device,
        "predicted": {"kind": prediction.kind, "low": prediction.low, "high": prediction.high},
        "measured": {
            "ratio": verdict.ratio,
            "low": verdict.low,
            "high": verdict.high,
            "before": [sample.value for sample in result.before],
            "after": [sample.value for sample in result.after],
            "unit": result.unit,
            "of": result.case.of_what or None,
            "share_of_run": result.case.share,
        },
        "verdict": None if verdict.verdict == "reference" else verdict.verdict,
        "reference": REFERENCE if verdict.verdict == "reference" else None,
        "reason": verdict.reason,
        "gpu": {
            "before": figures.utilisation(result.before),
            "after": figures.utilisation(result.after),
            "unit": "percent",
            "notes": figures.gpu_notes(result),
        },
        "samples": {
            "before": [_sample(sample) for sample in result.before],
            "after": [_sample(sample) for sample in result.after],
        },
    }


def _sample(sample: Sample) -> dict[str, Any]:
    run = sample.run
    return {
        "value": sample.value,
        "steps": sample.steps,
        "blocks": run.blocks,
        "seconds": sample.seconds,
        "crash": None if run.crash is None else {name: getattr(run.crash, name) for name in _OF_CRASH},
        "failure": run.failure,
        "memory": run.memory,
        "wrong": run.wrong,
        "placement": None if run.placement is None else asdict(run.placement),
        "notes": sample.notes,
        "host_memory": sample.host_memory,
        "gpu": None if sample.recording is None else _recording(sample.recording),
    }


def _recording(recording: Recording) -> dict[str, Any]:
    return {
        "state": recording.state,
        "utilisation": recording.utilisation,
        "memory": recording.memory,
        "notes": recording.notes,
        "window": recording.window,
        "disturbances": recording.disturbances,
        "samples": [asdict(sample) for sample in recording.samples],
    }


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it, whatever a program put into its notes."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict | list | tuple) and depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return value
