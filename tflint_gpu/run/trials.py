"""What a setting would bring: the program's own steady steps with it, in turns with those of the program as it is.

Each trial is a process of the program, which is interrupted (as by Ctrl-C) when enough steps were steady. In each round
all settings run once, in an order that is turned around in the next one; a setting's ratio is that of its rounds, with
verify's interval.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.ratios import Interval, paired_ratio
from tflint_gpu.run.inside.tflint_steps import WARM_UP
from tflint_gpu.run.program import Program, samples_taken
from tflint_gpu.run.samples import Decoder, Memory, Place, StepDone, Told
from tflint_gpu.run.steps import Training

STEPS, SECONDS = 50, 2.0
"""A trial ends with this many steady steps, and after so many seconds of them at the least."""
_PATIENCE = 10.0
_LEAST = 5  # steady steps
_SETTINGS = {
    "xla": r"(off)?",
    "mixed_precision": r"(mixed_\w+)?",
    "batch": r"[1-9]\d*",
    "workers": r"[1-9]\d*",
    "prefetch": r"",
}


class UnknownSetting(Exception):
    """A setting that cannot be tried."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One change; without a name the program as it is."""

    name: str = ""
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name or "unchanged"


UNCHANGED = Setting()


def settings(text: str) -> list[Setting]:
    """The settings of `xla,mixed_precision,batch=64,128,workers=4,prefetch`.

    Raises:
        UnknownSetting: one is not known, or has a wrong value.
    """
    known: list[Setting] = []
    for word in text.split(","):
        name, equals, value = word.strip().partition("=")
        if not equals and name.isdigit() and known and known[-1].value:
            name, value = known[-1].name, name
        if name not in _SETTINGS or not re.fullmatch(_SETTINGS[name], value):
            raise UnknownSetting(f"{word!r}: settings are xla, mixed_precision, batch=64,128, workers=4 and prefetch")
        known.append(Setting(name, value))
    return list(dict.fromkeys(known))


@dataclass(slots=True)
class Trial:
    """One process of the program with a setting.

    Attributes:
        training: its steady steps; None before there is one.
        is_changed: whether the setting changed something.
        has_it: whether the program has it already.
        batch: the samples of a step; None where they are not known.
        batched: the file and row at which the dataset that is trained on is batched.
        memory: the most that TensorFlow used of the GPU, else the most that the process held, in bytes.
        is_of_gpu: whether that is the GPU's.
        losses: the loss after how many samples.
        failure: why it has no steady steps.
    """

    setting: Setting
    training: Training | None = None
    is_changed: bool = False
    has_it: bool = False
    batch: int | None = None
    batched: tuple[str, int] | None = None
    memory: int | None = None
    is_of_gpu: bool = False
    losses: dict[int, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        """Of a sample; of a step, where its samples are not known."""
        if self.failure or self.training is None or self.training.steps < _LEAST:
            return None
        return self.training.seconds / self.training.steps / (self.batch or 1)


@dataclass(frozen=True, slots=True)
class Tried:
    """What all trials of a setting say together.

    Arguments:
        ratio: how many times as fast as the program as it is; None where that is not known.
        loss: after `samples`, which all settings reached.
        is_of_gpu: whether the memory is the GPU's.
        has_it: whether the program has the setting already.
        where: for a setting that nothing took: the lines that would have to change.
    """

    setting: Setting
    seconds: float | None
    ratio: Interval | None
    batch: int | None
    memory: int | None
    loss: float | None
    samples: int | None
    failure: str
    is_of_gpu: bool = False
    has_it: bool = False
    where: tuple[Place, ...] = ()


def tried(
    program: Program, wanted: Sequence[Setting], rounds: int, say: Callable[[str], None]
) -> Iterator[list[Trial]]:
    """Run all settings in turns; each round is given when it is done, the program as it is first.

    Arguments:
        say: gets a line before each trial.
    """
    batched: tuple[str, int] | None = None
    for number in range(rounds):
        order = [UNCHANGED, *wanted]
        trials = []
        for setting in order if number % 2 == 0 else reversed(order):
            say(f"round {number + 1} of {rounds}: {setting}")
            trials.append(run_trial(program, setting, batched))
            batched = batched or trials[-1].batched
        yield sorted(trials, key=lambda trial: order.index(trial.setting))


def run_trial(program: Program, setting: Setting, batched: tuple[str, int] | None = None) -> Trial:
    """Run the program until enough steps were steady, or to its end.

    Arguments:
        batched: the file and row at which the dataset that is trained on is batched, where that is known.
    """
    trial, enough, has_enough = Trial(setting), threading.Event(), False
    decoder, by_place = Decoder(), dict[Place, Training]()

    def take(line: bytes) -> None:
        nonlocal has_enough
        seen = None if has_enough else decoder.read(line)  # a second epoch would begin the account again
        if isinstance(seen, Told):
            _take_told(trial, seen, has_begun=bool(by_place))
        elif isinstance(seen, Memory):
            trial.memory, trial.is_of_gpu = seen.most, True
        elif isinstance(seen, StepDone):
            training = by_place.setdefault(seen.place, Training(seen.place, seen.kind))
            if seen.kind == "epoch":
                training.begin_epoch()
                return
            training.add(seen.began, seen.seconds)
            if training.steps >= STEPS and training.seconds >= SECONDS:
                has_enough = True
                enough.set()

    environment = {**os.environ, "TFLINT_GPU_TRY": json.dumps([setting.name, setting.value, batched])}
    with tempfile.TemporaryFile() as errors:
        with samples_taken(take) as pipe:
            process = subprocess.Popen(
                program.command(pipe), pass_fds=(pipe,), env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
            threading.Thread(target=_tell_the_end, args=(process, enough), daemon=True).start()
            try:
                enough.wait()
            finally:
                if trial.memory is None:
                    trial.memory = _most_held(process.pid)
                code = process.poll()
                _interrupt(process)
        trial.training = max(by_place.values(), key=lambda training: training.seconds, default=None)
        if code or trial.seconds is None:
            errors.seek(0)
            trial.failure = _failure(trial, code, errors.read().decode("utf-8", "replace"))
    return trial


def _failure(trial: Trial, code: int | None, said: str) -> str:
    """Why a trial is of no use."""
    steps = 0 if trial.training is None else trial.training.warm_up[0] + trial.training.steps
    if not code:
        return f"it ended after {steps} steps; a trial needs {WARM_UP + _LEAST} or more"
    last = (said.strip().splitlines() or [""])[-1][:200]
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return f"it {how} after {steps} steps" + (f": {last}" if last else "")


def summarised(done: Sequence[Sequence[Trial]], where: Callable[[Setting, Place], tuple[Place, ...]]) -> list[Tried]:
    """What the rounds say of each setting, the program as it is first.

    Arguments:
        where: the lines that a setting would have to change, for the line that trains.
    """
    samples = _samples_of_all(done)
    return [_summary([trials[0] for trials in done], column, samples, where) for column in zip(*done, strict=True)]


def _summary(
    base: Sequence[Trial],
    trials: Sequence[Trial],
    samples: int | None,
    where: Callable[[Setting, Place], tuple[Place, ...]],
) -> Tried:
    setting, last = trials[0].setting, trials[-1]
    known = [trial.seconds for trial in trials if trial.seconds is not None]
    pairs = [
        (before.seconds, after.seconds)
        for before, after in zip(base, trials, strict=True)
        if before.seconds is not None and after.seconds is not None
        if (before.batch is None) == (after.batch is None)
    ]
    is_untouched = bool(setting.name) and not any(trial.is_changed for trial in trials)
    has_it = is_untouched and any(trial.has_it for trial in trials)
    places = () if not is_untouched or has_it or last.training is None else where(setting, last.training.place)
    return Tried(
        setting,
        min(known, default=None) if len(known) < 3 else sorted(known)[len(known) // 2],
        paired_ratio(pairs) if pairs and setting.name and not is_untouched else None,
        last.batch,
        max((trial.memory for trial in trials if trial.memory is not None), default=None),
        _loss(last, samples),
        samples,
        next((trial.failure for trial in trials if trial.failure), ""),
        any(trial.is_of_gpu for trial in trials),
        has_it,
        places,
    )


def largest_batch(tries: Sequence[Tried], limit: int) -> int | None:
    """The samples of a batch that fits, by a line through the two largest that were measured; None without two.

    Arguments:
        limit: bytes that TensorFlow may use of the GPU.
    """
    of_batches = [tried for tried in tries if tried.setting.name in ("", "batch") and tried.is_of_gpu]
    known = {(tried.batch, tried.memory) for tried in of_batches if tried.batch and tried.memory and not tried.failure}
    sizes = sorted(known)[-2:]
    if len(sizes) < 2 or sizes[0][0] == sizes[1][0] or sizes[1][1] <= sizes[0][1]:
        return None
    (small, less), (large, more) = sizes
    each = (more - less) / (large - small)
    return int(large + (limit - more) / each)


def lines_to_change(setting: Setting, trains: Place, operations: Sequence[tuple[str, Place]]) -> tuple[Place, ...]:
    """Where the code would have to be changed: at the operations of its datasets, else at the line that trains.

    Arguments:
        operations: of the datasets of the files that ran, by name.
    """
    changed = "map" if setting.name == "workers" else setting.name
    return tuple(place for operation, place in operations if operation == changed) or (trains,)


def _take_told(trial: Trial, told: Told, *, has_begun: bool) -> None:
    """What the program's side tells; the batches are those of the dataset that was begun last before the training."""
    if told.name == "changed":
        trial.is_changed = True
    elif told.name == "same":
        trial.has_it = True
    elif told.name == "batched" and not has_begun:
        trial.batched = str(told.value[0]), int(told.value[1])
    elif told.name == "batch" and not has_begun:
        trial.batch = int(told.value)
    elif told.name == "loss":
        samples, loss = told.value
        trial.losses[int(samples)] = float(loss)


def _samples_of_all(done: Sequence[Sequence[Trial]]) -> int | None:
    """The most samples after which the loss of each setting is known."""
    reached = [max(trial.losses) for trials in done for trial in trials if trial.losses]
    return min(reached, default=None)


def _loss(trial: Trial, samples: int | None) -> float | None:
    if samples is None or not trial.losses:
        return None
    return trial.losses[min(trial.losses, key=lambda count: abs(count - samples))]


def _most_held(pid: int) -> int | None:
    """The most memory that a process held; None on other systems than Linux."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    match = re.search(r"VmHWM:\s*(\d+) kB", text)
    return None if match is None else int(match[1]) * 1024


def _tell_the_end(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    process.wait()
    ended.set()


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """End a program as Ctrl-C does; one that does not end is killed."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                continue
