"""Looks at a machine and an installation: each look in a process of its own, with a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflint_gpu.doctor import environment
from tflint_gpu.doctor.facts import Facts, Installation, Library, Operation, Setting, Shadow, Status, TensorFlow
from tflint_gpu.gpu.cards import Gpu, Survey
from tflint_gpu.lazy_dataclasses import dataclass

_PROBES = Path(__file__).parent / "probes"
_LOG_LIMIT = 20_000
_FATAL = re.compile(r"^F\d{4} [^\]\n]*\] (?:Check failed: .*? (?=Flag parsing))?(.*(?:\nusage: .*)?)", re.MULTILINE)
_TOO_LATE = ("LD_LIBRARY_PATH", "LD_PRELOAD")  # the loader reads them before a program could set them


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe said: its lines of JSON, its log, and how it ended."""

    status: Status
    lines: tuple[dict[str, Any], ...] = ()
    log: str = ""

    @property
    def reason(self) -> str:
        """Why there is no answer."""
        if self.status == "out of time":
            return "timed out"
        last = self.fatal or next((line for line in reversed(self.log.splitlines()) if line.strip()), "")
        return f"{self.status}{f': {last.strip()}' if last and self.status == 'failed' else ''}"

    @property
    def fatal(self) -> str:
        """What TensorFlow logs before it ends its process by itself; a list of all its flags may follow."""
        match = _FATAL.search(self.log)
        return " ".join(match[1].split()) if match else ""


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds each kind of look may take."""

    quick: float = 30.0
    tensorflow: float = 180.0
    operations: float = 300.0


def examine(
    python: Path,
    settings: Sequence[Setting] = (),
    patience: Patience | None = None,
    *,
    tries_operations: bool = True,
    folder: Path | None = None,
) -> Facts:
    """Look at this machine and at the TensorFlow of a Python.

    Arguments:
        python: the interpreter that runs the user's programs.
        settings: what a program sets by itself; its variables hold for the looks, too.
        patience: how long to wait.
        tries_operations: whether small operations are run on each GPU that TensorFlow lists.
        folder: of the program, where Python looks for modules first; None: it is not known.
    """
    limits = patience or Patience()
    variables = {
        setting.name: setting.value
        for setting in settings
        if setting.name not in _TOO_LATE and not setting.name.startswith("tf.")
    }
    silent: list[tuple[str, str]] = []

    def ask(what: str, command: Sequence[str], seconds: float) -> Answer:
        answer = _asked(command, seconds, variables)
        if answer.status != "answered":
            silent.append((what, answer.reason))
        return answer

    # By its path: with `-m` the user's folder comes first, and a `json.py` there would be imported.
    cards = ask("the GPUs", [sys.executable, str(_PROBES / "cards.py")], limits.quick)
    packages = ask("the packages", [str(python), str(_PROBES / "packages.py")], limits.quick)
    old = None if packages.lines else _asked([str(python), str(_PROBES / "old_python.py")], limits.quick, variables)
    if old is not None and old.lines:  # it has no other answer
        return _facts_of_an_old_python(old, cards, settings)
    looking = [str(python), str(_PROBES / "installed_tensorflow.py"), *([str(folder.resolve())] if folder else ())]
    imported = ask("TensorFlow", looking, limits.tensorflow)
    tensorflow = _tensorflow(imported)
    operations: list[Operation] = []
    for number in range(len(tensorflow.gpus) if tensorflow is not None and tries_operations else 0):
        device = f"/GPU:{number}"
        command = [str(python), str(_PROBES / "operations.py"), device]
        operations += _operations(run(command, limits.operations, variables))
    return Facts(
        survey=_survey(cards),
        environment=replace(environment.look(), forbidden=_forbidden(cards)),
        installation=_installation(packages, python),
        tensorflow=tensorflow,
        libraries=tuple(Library(**line) for line in (imported.lines[-1]["libraries"] if imported.lines else ())),
        shadows=tuple(Shadow(**line) for line in (imported.lines[-1]["shadows"] if imported.lines else ())),
        operations=tuple(operations),
        settings=tuple(settings),
        silent=tuple(silent),
    )


def _asked(command: Sequence[str], seconds: float, variables: Mapping[str, str]) -> Answer:
    answer = run(command, seconds, variables)
    if answer.status == "answered" and not answer.lines:
        return replace(answer, status="failed", log="the probe printed no result")
    return answer


def _facts_of_an_old_python(answer: Answer, cards: Answer, settings: Sequence[Setting]) -> Facts:
    """What is known where the Python is older than the probes' own language: its version."""
    error = "this Python is too old for `doctor` to examine"
    return Facts(
        survey=_survey(cards),
        environment=replace(environment.look(), forbidden=_forbidden(cards)),
        installation=Installation(**answer.lines[-1]),
        tensorflow=TensorFlow(error=error),
        settings=tuple(settings),
    )


def run(command: Sequence[str], seconds: float, variables: Mapping[str, str] | None = None) -> Answer:
    """Run a probe, and end it with all that it started when its time is over.

    Arguments:
        variables: of the environment, besides those of this process.
    """
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "PYTHONNOUSERSITE": os.environ.get("PYTHONNOUSERSITE", ""),
    }
    if not environment["PYTHONNOUSERSITE"]:
        del environment["PYTHONNOUSERSITE"]
    environment.update(variables or {})
    try:
        process = subprocess.Popen(
            [*command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return Answer("failed", log=str(error))
    status: Status = "answered"
    try:
        printed, log = process.communicate(timeout=seconds)
        if process.returncode != 0:
            status = "failed"
            log += f"\nexit code {process.returncode}" if not log.strip() or process.returncode < 0 else ""
    except subprocess.TimeoutExpired:
        _end(process)
        printed, log = process.communicate()
        status = "out of time"
    lines = [line for text in printed.splitlines() if (line := _parsed(text)) is not None]
    return Answer(status, tuple(lines), log[: _LOG_LIMIT // 2] + log[_LOG_LIMIT // 2 :][-_LOG_LIMIT // 2 :])


def _end(process: subprocess.Popen[str]) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _survey(answer: Answer) -> Survey:
    if not answer.lines:
        return Survey("error", note=f"NVML gave no answer ({answer.reason})")
    survey = answer.lines[-1]
    return Survey(survey["state"], tuple(map(_gpu, survey["gpus"])), survey["note"])


def _gpu(entry: dict[str, Any]) -> Gpu:
    capability = entry["capability"]
    lists = {
        "capability": None if capability is None else (capability[0], capability[1]),
        "holders": tuple((pid, held) for pid, held in entry["holders"]),
        "slowed": tuple(entry["slowed"]),
        "parts": tuple(map(_gpu, entry["parts"])),
        "mig_parts": None if entry["mig_parts"] is None else tuple(entry["mig_parts"]),
    }
    return Gpu(**{**entry, **lists})


def _forbidden(answer: Answer) -> tuple[str, ...]:
    return tuple(answer.lines[-1].get("forbidden", ())) if answer.lines else ()


def _installation(answer: Answer, python: Path) -> Installation:
    if not answer.lines:
        return Installation(executable=str(python))
    packages = answer.lines[-1]
    return Installation(**{**packages, "conda": tuple(packages["conda"])})


def _tensorflow(answer: Answer) -> TensorFlow | None:
    if not answer.lines:
        return TensorFlow(error=f"the process that imports it {_ended(answer)}", log=answer.log)
    tensorflow = answer.lines[-1]["tensorflow"]
    lists = {key: tuple(tensorflow[key]) for key in ("capabilities", "gpus") if key in tensorflow}
    return TensorFlow(**{**tensorflow, **lists, "log": answer.log})


def _ended(answer: Answer) -> str:
    if answer.status == "out of time":
        return "did not end in time"
    if answer.fatal:
        return f"was aborted by TensorFlow: {answer.fatal}"
    killed = re.search(r"exit code -(\d+)\s*$", answer.log)
    names = {number.value: number.name for number in signal.Signals}
    return (
        f"was ended by {names.get(int(killed[1]), killed[1])}"
        if killed
        else f"ended without an answer ({answer.reason})"
    )


def _operations(answer: Answer) -> list[Operation]:
    """Those that were done, and the one that was begun when the process ended."""
    done = [Operation(**line) for line in answer.lines if "status" in line]
    begun = [line for line in answer.lines if "begun" in line]
    if len(begun) > len(done):
        last = begun[-1]
        status: Status = "out of time" if answer.status == "out of time" else "failed"
        done.append(Operation(last["device"], last["name"], status, message=answer.reason))
    return done
