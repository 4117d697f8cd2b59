"""`json`: the whole account, for programs and for `check --measured`."""

from __future__ import annotations

import json
from typing import Any

from tflint_gpu import __version__
from tflint_gpu.narrowing.measurements import key_of
from tflint_gpu.price import Price
from tflint_gpu.reports import View
from tflint_gpu.run.charges import Line, lines
from tflint_gpu.run.reports import profile, words
from tflint_gpu.run.result import NoGpu, Report
from tflint_gpu.run.samples import Place
from tflint_gpu.run.steps import Training, slowest

_MOST_LINES = 500


def render(report: Report, view: View) -> str:
    """One object."""
    ledger, gpu = report.ledger, report.gpu
    document = {
        "kind": "run",
        "version": __version__,
        "program": report.program,
        "process": report.pid,
        "command": report.command,
        "date": report.date,
        "seconds": round(report.seconds, 3),
        "exit_code": report.code,
        "device": {
            "kind": "cpu" if gpu is None else "gpu",
            "name": None if gpu is None else gpu.name,
            "driver": None if gpu is None else gpu.driver,
            "total_memory": None if gpu is None else gpu.total_memory,
            "note": report.note,
        },
        "gpu_unused": None if report.unused is None else _unused(report.unused),
        "shares_of": {
            "what": "run" if report.training is None else "training",
            "seconds": round(report.whole, 3),
            "idle": round(report.idle, 3),
        },
        "trainings": [_training(report, training) for training in ledger.trainings.steady()],
        "idle": {
            "measured_by": "NVML" if report.knows_use else "stacks",
            "seconds": round(ledger.idle, 3),
            "share": round(report.share_of_run(ledger.idle), 4),
            "share_under_10_percent": round(words.low(report), 4) if report.knows_use else None,
        },
        "utilisation": round(100 * ledger.busy / ledger.watched, 2) if report.knows_use else None,
        "memory": {
            "held": ledger.held,
            "used": None if ledger.memory is None else ledger.memory.used,
            "most_used": None if ledger.memory is None else ledger.memory.most,
        },
        "energy": [
            {"gpu": title, "kilowatt_hours": energy.spent, "idle": energy.idle, "idle_watts": energy.idle_watts}
            for title, energy in ledger.energies.items()
            if energy.spent is not None
        ],
        "cost": None if report.price is None else _cost(report, report.price),
        "samples": ledger.samples,
        "processes": report.processes,
        "phases": [
            {"phase": name, "seconds": round(spent.seconds, 3), "idle": round(spent.idle, 3)}
            for name, spent in ledger.phases().items()
        ],
        "lines": [_line(report, line, report.seconds) for line in ledger.lines()[:_MOST_LINES]],
        "beside_operations": [
            _line(report, line, report.seconds) for line in ledger.lines(ledger.feeding)[:_MOST_LINES]
        ],
        "lock_holders": [_line(report, line, report.seconds) for line in ledger.lines(ledger.holders)[:_MOST_LINES]],
        "native_functions": [
            {"library": library, "function": function, **_place(place), "share": round(share, 4)}
            for (library, function, place), share in words.native(report)[:_MOST_LINES]
        ],
        "workers": [_line(report, line, report.seconds) for line in ledger.lines(ledger.workers)[:_MOST_LINES]],
        "findings": [
            {
                "key": key_of(cost.diagnostic, view.line),
                "code": cost.diagnostic.code,
                "name": cost.diagnostic.name,
                "message": cost.diagnostic.message,
                "filename": view.absolute(cost.diagnostic.filename),
                "location": {"row": cost.diagnostic.location.row, "column": cost.diagnostic.location.column},
                "seconds": round(cost.idle, 3),
                "share": _share(report, cost.idle),
                "of": cost.of,
                "seconds_beside": round(cost.beside, 3),
            }
            for cost in report.costs
        ],
        "trace": None if report.trace is None else profile.document(report, report.trace),
        "timeline": {
            "seconds_each": ledger.timeline.width,
            "bins": [
                {
                    "seconds": round(interval.seconds, 3),
                    "idle": round(interval.idle, 3),
                    "utilisation": None if interval.utilisation is None else round(interval.utilisation, 1),
                    "memory": interval.memory,
                    "others": {title: round(total / count, 1) for title, (total, count) in interval.others.items()},
                    "steps": interval.steps,
                    "step_seconds": round(interval.stepping, 6),
                    "phases": {name: round(amount, 3) for name, amount in interval.phases.items()},
                }
                for interval in ledger.timeline.bins
            ],
        },
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _training(report: Report, training: Training) -> dict[str, Any]:
    count, spent = training.warm_up
    return {
        **_place(training.place),
        "kind": training.kind,
        "began": round((training.began or 0.0) - report.ledger.began, 3),
        "seconds": round(training.wall, 3),
        "idle": round(training.idle, 3),
        "steps": training.steps,
        "steps_per_second": float(f"{training.per_second:.6g}"),
        "step_seconds": {
            name: round(training.quantile(share), 6) for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
        },
        "blocks": [{"steps": number, "seconds": round(seconds, 6)} for number, seconds in training.blocks],
        "warm_up": {"steps": count, "seconds": round(spent, 3)},
        "lines": [_line(report, line, training.wall) for line in lines(training.spent)[:_MOST_LINES]],
        "slow_steps": [
            {
                **_place(None if cause is None else cause.place),
                "phase": "" if cause is None else cause.phase,
                "waits": "" if cause is None else cause.waits,
                "steps": slow.count,
                "excess": round(slow.excess, 4),
                "longest": {"step": slow.number, "seconds": round(slow.longest, 4)},
            }
            for cause, slow in slowest(training)
        ],
    }


def _unused(gpu: NoGpu) -> dict[str, Any]:
    return {
        "diagnoses": [
            {"code": diagnosis.code, "name": diagnosis.name, "severity": diagnosis.severity, "seen": diagnosis.seen}
            for diagnosis in gpu.diagnoses
        ],
        "next_step": gpu.next_step,
    }


def _cost(report: Report, price: Price) -> dict[str, Any]:
    run, day = words.cost_of_idle(report)
    amounts = {"per_hour": price.amount, "idle": run.amount, "idle_of_a_day": day.amount}
    return {"currency": price.currency, **{name: round(amount, 6) for name, amount in amounts.items()}}


def _share(report: Report, seconds: float) -> float:
    return round(report.share(seconds), 4)


def _place(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {"filename": None, "row": None, "function": None}
    return {"filename": place.file, "row": place.row, "function": place.function}


def _line(report: Report, line: Line, whole: float) -> dict[str, Any]:
    """A line, with its share of the run or of a training, in seconds."""
    return {
        **_place(line.place),
        "seconds": round(line.spent.seconds, 3),
        "idle": round(line.spent.idle, 3),
        "share": round(min(1.0, line.spent.idle / whole), 4) if whole else 0.0,
        "ways": [
            {"phase": phase, "waits": waits, "seconds": round(spent.seconds, 3), "idle": round(spent.idle, 3)}
            for (phase, waits), spent in sorted(line.ways.items(), key=lambda item: -item[1].seconds)
        ],
        "next_batch_of": [
            {"filename": step.file, "row": step.first, "operation": step.name} for step in words.fed_by(report, line)
        ],
    }
