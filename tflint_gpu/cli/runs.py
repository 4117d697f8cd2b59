"""What `tflint-gpu run` does with several runs: `--compare` reads their reports, `--try` makes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tflint_gpu.cli.commands import FOUND
from tflint_gpu.text.replacement import replace_file

if TYPE_CHECKING:
    from tflint_gpu.run import Inspection, Place, Program

Inspect = Callable[[list[str]], "Inspection"]


def compare_reports(names: tuple[str, ...], given: dict[str, Any]) -> int:
    """Compare the reports of runs; returns 1 where a training is slower than asked for.

    Arguments:
        names: files, those of runs of one kind joined by commas.
        given: the options.
    """
    from tflint_gpu.ratios import FEWEST_FOR_INTERVAL
    from tflint_gpu.run.comparison import NotComparable, compare
    from tflint_gpu.run.reports import comparisons

    if len(names) < 2:
        raise click.UsageError("--compare needs two reports or more: tflint-gpu run --compare old.json new.json")
    render = {"full": comparisons.full, "json": comparisons.as_json}.get(given["output_format"])
    if render is None:
        raise click.UsageError(f"--compare writes full or json, not {given['output_format']}")
    groups = [(name, [Path(file) for file in name.split(",")]) for name in names]
    try:
        compared = compare(groups, given["slower_than"])
    except NotComparable as error:
        raise click.ClickException(str(error)) from error
    _write(render(compared, names[0], min(len(files) for _, files in groups) >= FEWEST_FOR_INTERVAL), given["output"])
    return FOUND if any(comparison.is_slower for comparison in compared) else 0


def try_settings(program: Program, given: dict[str, Any], here: Path, limit: int | None, inspect: Inspect) -> int:
    """Run a program with one setting after the other changed, and say what each brings.

    Arguments:
        given: the options.
        limit: bytes that TensorFlow may use of the GPU; None without one.
        inspect: what is known of the code in some files.
    """
    from tflint_gpu.run import Place, trials
    from tflint_gpu.run.reports import trials as reports

    render = {"full": reports.full, "json": reports.as_json}.get(given["output_format"])
    if render is None:
        raise click.UsageError(f"--try writes full or json, not {given['output_format']}")
    try:
        wanted = trials.settings(given["try_settings"])
    except trials.UnknownSetting as error:
        raise click.BadParameter(str(error), param_hint="--try") from error
    done: list[list[trials.Trial]] = []
    try:
        for trials_of_a_round in trials.tried(program, wanted, given["rounds"], _say):
            done.append(trials_of_a_round)
    except KeyboardInterrupt:
        if not done:
            raise
        _say(f"interrupted: {len(done)} of {given['rounds']} rounds were done")

    def where(setting: trials.Setting, trains: Place) -> tuple[Place, ...]:
        operations = [
            (step.name, Place(step.file, step.first, "<module>", step.first, step.last))
            for dataset in inspect([trains.file]).datasets
            for step in dataset.steps
        ]
        return trials.lines_to_change(setting, trains, operations)

    tries = trials.summarised(done, where)
    largest = None if limit is None else trials.largest_batch(tries, limit)
    _write(render(tries, largest, here), given["output"])
    return FOUND if tries[0].seconds is None else 0


def _say(line: str) -> None:
    click.echo(f"tflint-gpu: {line}", err=True)


def _write(text: str, output: Path | None) -> None:
    """Write a report; where the file cannot be written it goes to standard output, as it took long."""
    if output is None or not is_written(output, text):
        click.echo(text, nl=False)


def is_written(file: Path, text: str) -> bool:
    """Whether a report could be written; an error is told, and no exception: it took long, and exit codes say more."""
    try:
        replace_file(file, text.encode("utf-8"))
    except OSError as error:
        print(f"error: {file}: cannot be written: {error.strerror}", file=sys.stderr)
        return False
    return True
