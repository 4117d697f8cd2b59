"""What `verify` says before it runs anything, and the question that it asks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tflint_gpu.reports.summary import plural

if TYPE_CHECKING:
    from tflint_gpu.verify.experiments.verification import Case, Setup


def announce(cases: Sequence[Case], setup: Setup, note: str, budget: float, *, consented: bool) -> None:
    """Say what is about to be executed, what keeps it in, how long it takes, and ask.

    Arguments:
        note: on the device.
        budget: seconds for everything.
        consented: there is no need to ask.

    Raises:
        click.ClickException: nobody agreed.
    """
    from tflint_gpu.verify.execution.sandbox import protection_of
    from tflint_gpu.verify.experiments.sharing import measured_with
    from tflint_gpu.verify.experiments.verification import blocker

    ready = [case for case in cases if not blocker(case, setup)]
    if not ready:
        return
    own = any(case.experiment is not None and not case.experiment.only_workload for case in ready)
    what = "code extracted from the checked files" if own else "workloads of the rules, and none of the checked code"
    where = "the CPU" if setup.gpu is None else f"GPU {setup.gpu.index} ({setup.gpu.name})"
    _tell(f"About to run {what} on {where}{f' ({note})' if note else ''}; {protection_of(setup.sandbox)}:")
    for case, owner in zip(ready, measured_with(ready), strict=True):
        once = "" if ready[owner] is case else f" (measured together with {_place(ready[owner])})"
        _tell(f"  {_named(case, setup)}{once}")
    for line in (*_dropped(setup), _duration(ready, setup, budget)):
        _tell(line)
    if consented:
        return
    if not sys.stdin.isatty():
        raise click.ClickException("verify runs code from the checked files: pass --yes if nobody can answer")
    if not click.confirm("Run it?", err=True):
        raise click.ClickException("nothing was run")


def _named(case: Case, setup: Setup) -> str:
    from tflint_gpu.verify.statistics.statistics import REFERENCE

    own = case.experiment is not None and case.experiment.only_workload and not setup.synthetic
    remarks = [case.variant, REFERENCE if own else ""]
    named = f"{_place(case)} {case.diagnostic.code}"
    return named + "".join(f" ({remark})" for remark in remarks if remark)


def _place(case: Case) -> str:
    return f"{case.diagnostic.filename}:{case.diagnostic.location}"


def _dropped(setup: Setup) -> Iterator[str]:
    """The variables that the programs do not get, though they would change what is measured."""
    from tflint_gpu.verify.execution.sandbox import DROPPED_VARIABLES

    names = [name for name in DROPPED_VARIABLES if name in os.environ and name not in setup.sandbox.variables]
    if names:
        variables, it = ("variable", "it") if len(names) == 1 else ("variables", "one")
        without = f"without the environment {variables} {', '.join(names)}"
        yield f"The programs run {without}; --env {names[0]} passes {it} on."


def _duration(ready: Sequence[Case], setup: Setup, budget: float) -> str:
    from tflint_gpu.verify.experiments.scheduling import estimate

    start = _import_seconds(setup.python)
    cost = estimate(ready, setup, start)
    runs = plural(cost.most, "run") if cost.least == cost.most else f"{cost.least} to {plural(cost.most, 'run')}"
    times = f"{minutes(cost.low)} to {minutes(cost.high)} if importing TensorFlow takes {start:.0f} s"
    return f"{runs} of programs take {times}, and at most the budget, {minutes(budget)}."


def _import_seconds(python: str) -> float:
    """How long a program takes until it has TensorFlow.

    Raises:
        click.ClickException: it cannot be imported.
    """
    from tflint_gpu.verify.execution.worker import LONGEST_IMPORT

    began = time.monotonic()
    try:
        done = subprocess.run(
            [python, "-c", "import tensorflow"],
            capture_output=True,
            text=True,
            timeout=LONGEST_IMPORT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"--python {python}: TensorFlow cannot be imported: {error}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise click.ClickException(f"--python {python}: TensorFlow cannot be imported: {reason}; see tflint-gpu doctor")
    return time.monotonic() - began


def minutes(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
