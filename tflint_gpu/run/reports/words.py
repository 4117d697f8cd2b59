"""Sentences and numbers of a run that several formats show."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_gpu.gpu.cards import gibibytes
from tflint_gpu.gpu.watch import LOW
from tflint_gpu.price import Price
from tflint_gpu.reports.amounts import duration
from tflint_gpu.run.charges import Doing, Line, lines, phases
from tflint_gpu.run.costs import Cost
from tflint_gpu.run.datasets import Step
from tflint_gpu.run.result import Report
from tflint_gpu.run.samples import Place
from tflint_gpu.run.steps import Slow, Training, slowest

WORTH_REPORTING = 0.005
_UNSEEN = 0.1
_MOST_STEPS, _MOST_BESIDE = 3, 3
_PHASES = {
    "": "your own code",
    "import": "imports",
    "trace": "tracing",
    "data": "the next batch",
    "data of evaluate": "the next batch of `evaluate`",
    "data of validation": "the next batch of validation",
    "input": "preparing the input",
    "fit": "training (`fit`)",
    "evaluate": "`evaluate`",
    "validation": "validation in `fit`",
    "predict": "`predict`",
    "callbacks": "callbacks",
    "checkpoint": "saving",
}
_WAITS = {"data": "waiting for the next batch", "feed": "feeding the input pipeline", "read": "waiting for a result"}
_STAGE = "the next batch is waiting for this stage of tf.data"


def phase(name: str) -> str:
    """What goes on, in words."""
    return _PHASES.get(name, name)


def colour(name: str) -> str:
    """The CSS variable of a phase's colour."""
    return f"--phase-{name.replace(' ', '-') or 'own'}" if name in _PHASES else "--phase-other"


def way(report: Report, line: Line, here: Path) -> str:
    """What a line costs its time with."""
    if line.way[1] == "stage":
        at = None if line.place is None else (line.place.file, line.place.row)
        stages = () if report.trace is None else report.trace.stages
        its = (stage for stage in stages if stage.place is not None and (stage.place.file, stage.place.row) == at)
        return next((f"{_STAGE}: {stage.chain}" for stage in its), _STAGE)
    return _way(*line.way, fed_by(report, line)[:_MOST_STEPS], here)


def _way(name: str, waits: str, fed: list[Step], here: Path) -> str:
    steps = ", ".join(f"`{step.name}` at {short(step.file, here)}:{step.first}" for step in fed)
    if waits in _WAITS:
        return f"{_WAITS[waits]} of {steps}" if steps and waits == "data" else _WAITS[waits]
    inside = {"execute": "operations", "blocked": "waiting without computing"}.get(waits, "Python")
    text = f"{inside} in {phase(name)}" if name else inside
    return f"{text}, or the next batch of {steps}" if steps else text


def fed_by(report: Report, line: Line) -> list[Step]:
    """The operations of the datasets for which a line waits, or may wait inside of TensorFlow's operations."""
    name, waits = line.way
    doing = Doing(() if line.place is None else (line.place,), name, waits)
    return list(dict.fromkeys(step for dataset in report.datasets if dataset.feeds(doing) for step in dataset.working))


def share_of(cost: Cost) -> str:
    """What the share next to a finding is of, where that is not itself."""
    return "" if cost.of == "its own lines" else f" ({cost.of})"


def is_worth_reporting(report: Report, cost: Cost) -> bool:
    """Whether a finding costs something, in the training or beside it."""
    shares = report.share(cost.idle), report.share_of_run(cost.beside)
    return max(shares) >= WORTH_REPORTING


def cost_beside(report: Report, cost: Cost) -> str:
    """What a finding costs before, after and between trainings; empty where that is nothing."""
    if report.share_of_run(cost.beside) < WORTH_REPORTING:
        return ""
    return f" (and {seconds(cost.beside)} outside of training)"


def percent(share: float) -> str:
    """A share as text."""
    return f"{share * 100:.0f}%" if share >= 0.1 else f"{share * 100:.1f}%"


def tenths(parts: Sequence[float], total: int) -> list[int]:
    """Shares in tenths of a percent, rounded so that they add up to a total."""
    rounded = [math.floor(part * 1000) for part in parts]
    left = total - sum(rounded)
    by_rest = sorted(range(len(parts)), key=lambda number: rounded[number] - parts[number] * 1000)
    for number in by_rest[: max(0, left)]:
        rounded[number] += 1
    for number in sorted(range(len(parts)), key=lambda number: -parts[number])[: max(0, -left)]:  # samples overlap
        rounded[number] -= 1
    return rounded


def share(part: float) -> str:
    """A share as text, to the tenth of a percent."""
    return f"{part * 100:.1f}%"


def seconds(amount: float) -> str:
    """A time of a run."""
    return f"{amount:.1f} s" if amount < 600 else f"{amount / 60:.1f} min"


def place(place: Place | None, here: Path) -> str:
    """A line and its function, by the shortest name of the file."""
    if place is None:
        return "no line of your code"
    name = short(place.file, here)
    return f"{name}:{place.row}" if place.function == "<module>" else f"{name}:{place.row} in {place.function}"


def short(file: str, here: Path) -> str:
    """The shortest name of a file."""
    path = Path(file)
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def ending(report: Report) -> str:
    """How the program ended."""
    if report.end:
        return report.end
    if report.code is None:
        return "is running"
    if report.code < 0:
        known = {number.value: number.name for number in signal.Signals}
        return f"was ended by {known.get(-report.code, f'signal {-report.code}')}"
    return f"ended with exit code {report.code}"


def head(report: Report) -> str:
    """What was run, for how long, on what."""
    what = ", ran for" if report.code is not None or report.end else ", has been running for"
    what = what if report.pid is None else "; watched for"
    return f"{report.program}: {ending(report)}{what} {seconds(report.seconds)}"


def device(report: Report) -> str:
    """The card, or why there is none."""
    if report.gpu is None:
        return f"the CPU ({report.note})" if report.note else "the CPU"
    return report.gpu.described


def verdict(report: Report, here: Path) -> str:
    """How long the GPU did nothing in the training, where one was under way, else in the run."""
    idle = percent(report.share(report.idle))
    if (training := report.training) is not None:
        did = f"the GPU did nothing for {idle} of the time" if report.knows_use else ""
        return f"In {of_training(training, here)} {did or f'a GPU would have waited for {idle} of the time'}."
    if report.knows_use:
        return f"The GPU did nothing for {idle} of the run (used under {LOW}% for {percent(low(report))} of it)."
    return f"For {idle} of the run a GPU would have waited for this program."


def of_training(training: Training, here: Path) -> str:
    """Which training it is."""
    return f"training ({'`fit` ' if training.kind == 'fit' else ''}at {place(training.place, here)})"


def steps(training: Training) -> str:
    """How fast the steady training is."""
    return (
        f"{training.per_second:.3g} steps per second; a step takes {duration(training.quantile(0.5))} (p50), "
        f"{duration(training.quantile(0.99))} (p99), over {training.steps} steps in {seconds(training.wall)}"
    )


def beside(report: Report) -> str:
    """What is not counted in the training; empty where none was under way."""
    training = report.training
    if training is None:
        return ""
    whole, inside = report.ledger.phases(), phases(training.spent)
    parts = [
        f"{phase(name)} {seconds(spent)}"
        for name in ("import", "trace")
        if name in whole and (spent := whole[name].seconds - (inside[name].seconds if name in inside else 0.0)) >= 0.05
    ]
    count, spent = training.warm_up
    parts.append(f"the first {count} steps {seconds(spent)}, with their tracing and compiling")
    return f"Not counted: {', '.join(parts)}; {seconds(report.seconds - training.wall)} of the run in total."


def slow(report: Report, here: Path) -> list[tuple[Slow, str]]:
    """The causes of slow steps that are worth reporting, each with its line and what it did there."""
    if report.training is None:
        return []
    told = []
    for cause, spent in slowest(report.training):
        if report.share(spent.excess) >= 2 * WORTH_REPORTING:
            what = "" if cause is None else f"{place(cause.place, here)}  {_way(cause.phase, cause.waits, [], here)}"
            told.append((spent, what or "not seen"))
    return told


def low(report: Report) -> float:
    """The part of the run in which the card was used under 10%."""
    return report.share_of_run(report.ledger.low)


def remarks(report: Report) -> Iterator[str]:
    """What a reader must know before the numbers are quoted."""
    if not report.knows_use:
        yield (
            "No GPU was watched: shares count the time in which the main thread either did not run TensorFlow "
            "operations, or waited for input or for a result."
        )
    elif report.note:
        yield f"{report.note}."
    if report.unused is not None:
        yield f"TensorFlow used no GPU: {report.unused.sentence.removesuffix('.')}."
    if report.pid is not None:
        yield (
            "It was watched from outside: it is not known how much GPU memory TensorFlow uses, or how much of a step "
            "in `fit` waits for the next batch."
        )
    if not report.ledger.samples:
        yield "Nothing was sampled: the program ended at once, or its interpreter could not run the sampler."
    elif (unseen := report.share_of_run(report.seconds - report.seen)) > _UNSEEN:
        yield f"{percent(unseen)} of the run was not seen: Python's startup and shutdown."
    if report.processes > 1:
        count = report.processes - 1
        which = "process that the program started was" if count == 1 else "processes that the program started were"
        yield f"{count} {which} also sampled, and are listed separately."


def memory(report: Report) -> str:
    """Memory held against memory used; empty where nothing is known."""
    held, used = report.ledger.held, report.ledger.memory
    if report.gpu is None or held is None:
        return ""
    text = f"memory: {gibibytes(held)} held"
    if report.gpu.total_memory:
        text += f" of {gibibytes(report.gpu.total_memory)}"
    return text if used is None else f"{text}, of which TensorFlow used up to {gibibytes(used.most, 2)}"


def expenses(report: Report) -> Iterator[str]:
    """What idle time costs, in money and in energy; nothing where neither is known."""
    if (price := report.price) is not None and report.seconds:
        idle, day = cost_of_idle(report)
        per_hour, what = f"At {price} per hour", "this program" if report.training is None else "training"
        if report.knows_use:
            run = price.times(report.seconds / 3600)
            cost = f"this run cost {run}, and {idle} of that was for an idle GPU: {day} for each day of {what}"
        else:
            cost = f"a GPU that waits for this program costs {idle} in this run, and {day} for each day of {what}"
        yield f"{per_hour} {cost}."
    for title, energy in sorted(report.ledger.energies.items()):
        if energy.spent is not None:
            idle_part = ""
            if energy.idle is not None:
                idle_part = f", {_kilowatt_hours(energy.idle)} of it while idle (at {energy.idle_watts:.0f} W)"
            yield f"{title} used {_kilowatt_hours(energy.spent)}{idle_part}."


def cost_of_idle(report: Report) -> tuple[Price, Price]:
    """What the idle time costs in this run, and in a day of training, or of what else it does."""
    price = report.price or Price(0.0)
    return price.times(report.ledger.idle / 3600), price.times(report.share(report.idle) * 24)


def _kilowatt_hours(amount: float) -> str:
    return f"{amount:,.3g} kWh" if amount >= 0.01 else f"{amount * 1000:.3g} Wh"


def native(report: Report) -> list[tuple[tuple[str, str, Place | None], float]]:
    """The main thread's native functions with their shares of its time, the most expensive first."""
    return sorted(report.ledger.native.items(), key=lambda item: (-item[1], item[0][:2]))


def most_expensive(report: Report) -> list[Line]:
    """The lines that are worth reporting, without imports, which no line can help."""
    known = [line for line in lines(report.entries) if line.way[0] != "import"]
    return [line for line in known if report.share(line.spent.idle) >= WORTH_REPORTING]


def other_lines(report: Report, shown: Sequence[Line]) -> float:
    """Idle seconds of the lines that are not shown, so that the shares add up to the verdict's."""
    return max(0.0, report.idle - sum(line.spent.idle for line in shown))


def alongside(report: Report) -> dict[str, list[Line]]:
    """What ran beside the main thread and is charged to nobody, under its title; the longest lines first."""
    feeding = (
        "Lines that fed the input pipeline while the main thread ran operations, or appeared to; a faster GPU may wait "
        "for them:"
    )
    holding = "Lines that held Python's global lock (GIL), so that no other thread ran Python:"
    tables = {
        feeding: report.ledger.feeding,
        "In addition, in the processes that the program started:": report.ledger.workers,
        holding: report.ledger.holders,
    }
    known = {}
    for title, entries in tables.items():
        ordered = sorted(lines(entries), key=lambda line: -line.spent.seconds)
        located = [line for line in ordered if line.place is not None]
        known[title] = [line for line in located if report.share_of_run(line.spent.seconds) >= WORTH_REPORTING][
            :_MOST_BESIDE
        ]
    return {title: rows for title, rows in known.items() if rows}


def codes(report: Report, line: Line, here: Path) -> str:
    """The findings on a line.

    Arguments:
        here: what the findings' names of files start from.
    """
    if line.place is None:
        return ""
    rows = {
        cost.diagnostic.code: None
        for cost in report.costs
        if Path(line.place.file).resolve() == (here / cost.diagnostic.filename).resolve()
        and cost.diagnostic.location.row
        <= line.place.row
        <= max(cost.diagnostic.end_location.row, cost.diagnostic.noqa_row)
    }
    return " ".join(rows)
