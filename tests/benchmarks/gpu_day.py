"""All that needs a GPU, for the day one is at hand: run it again until it says that nothing is left.

    python tests/benchmarks/gpu_day.py [--minutes 8] [--device gpu:0] [--only KIND] [--first NAME ...] [--retry] [--list]

It checks NVML's figures against TensorFlow's own, asks `doctor`, lets `run` watch a program with planted waits and
`verify` judge programs with known factors, runs `verify` on each program of `fixtures/`, and each workload of
`rules/EVIDENCE.md`. Each piece of it is kept in `--results` as soon as it is done, so that a call which ends, or is
ended, loses at most the piece that it was at, and the next one goes on from there. No call takes longer than
`--minutes`: no piece begins that might not end in time. `tests/GPU.md` is written at the end of each.

Exit code 0: all is done; 3: something is left; 2: there is no GPU that can be used, and nothing was run or written.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, get_args

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from gpu_day_page import page
from verdicts import known

from tflint_gpu.gpu.cards import Gpu, choose, shown_devices, survey
from tflint_gpu.gpu.watch import Watch
from tflint_gpu.text.replacement import replace_file
from tflint_gpu.verify.execution.sandbox import Limits, Sandbox, choose_sandbox
from tflint_gpu.verify.execution.worker import Place, run_program
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.verification import Setup
from tflint_gpu.verify.slicing.extract import HARNESS, Program, harness_modules

ROOT = Path(__file__).parents[2]
EVIDENCE = Path(__file__).with_name("evidence")
PAGE = ROOT / "tests" / "GPU.md"
DONE, NO_GPU, LEFT = 0, 2, 3
_GIB = 1 << 30
_SLACK = 20.0  # seconds that ending a piece and writing the page may take
_OF_FIXTURES = "4GiB"  # the card of those who ask in `fixtures/`

_COMMAND = (sys.executable, "-m", "tflint_gpu")
_EXAMINED = ("verdict", "exit_code", "next_step", "diagnoses")  # of doctor's report
_WATCHED = ("seconds", "idle", "utilisation", "energy")  # of run's
_KNOWN = ("1", "1.2", "1.5")  # factors between two programs

_SETTINGS = "batch=64,128,256,mixed_precision,xla,prefetch"  # that `run --try` is asked for

Kind = Literal["memory", "doctor", "run", "trace", "try", "known", "verify", "evidence"]
Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """What is run at a time.

    Arguments:
        what: bytes, a path below the repository, a factor, or a file of workloads.
        limit: seconds that it may take.
    """

    kind: Kind
    what: str
    limit: float

    @property
    def name(self) -> str:
        """Of the file that keeps its result."""
        return f"{self.kind}-{self.what.replace('/', '-')}"


Do = Callable[[Piece], Found]


def pieces(budget: float, only: str | None = None) -> list[Piece]:
    """Everything, what needs a GPU most first.

    Arguments:
        budget: seconds of `verify` for each program.
    """
    checks = [Piece("memory", str(size), 60.0) for size in (_GIB, 4 * _GIB, 16 * _GIB)]
    checks += [Piece("doctor", "tests/run/planted.py", 120.0), Piece("run", "tests/run/planted.py", 120.0)]
    checks.append(Piece("trace", "tests/run/stages.py", 180.0))
    checks.append(Piece("try", "tests/run/batches.py", 420.0))
    checks += [Piece("known", factor, budget + 60.0) for factor in _KNOWN]
    folders = ("fails_on_gpu", "not_used", "idle_in_validation", "validation_only", "no_faster", "no_longer_runs")
    fixtures = [
        Piece("verify", path.relative_to(ROOT).as_posix(), budget + 60.0)
        for folder in folders
        for path in sorted((ROOT / "fixtures" / folder).iterdir())
        if (path.is_dir() or path.suffix in (".py", ".ipynb")) and not path.stem.endswith(("_clean", "__pycache__"))
    ]
    workloads = [Piece("evidence", path.name, 240.0) for path in sorted(EVIDENCE.glob("tfg*.py"))]
    return [piece for piece in (*checks, *fixtures, *workloads) if only in (None, piece.kind)]


@dataclass(frozen=True, slots=True)
class Day:
    """The pieces, and the folder that keeps what came of them.

    Arguments:
        retries: whether a piece that failed counts as not done.
    """

    pieces: Sequence[Piece]
    results: Path
    clock: Callable[[], float] = time.monotonic
    retries: bool = False

    def left(self) -> list[Piece]:
        """What has no result yet."""
        return [piece for piece in self.pieces if not self._is_done(piece)]

    def _is_done(self, piece: Piece) -> bool:
        file = self._file(piece)
        return file.exists() and not (self.retries and json.loads(file.read_text("utf-8"))["found"]["fault"])

    def work(self, seconds: float, do: Do, tell: Callable[[str], object] = print) -> None:
        """Do as many of the pieces that are left as surely end in this time, and keep each result at once."""
        end = self.clock() + seconds - _SLACK
        for piece in self.left():
            if self.clock() + piece.limit > end:
                continue
            tell(f"{piece.kind} {piece.what}")
            began = self.clock()
            found = {**do(piece), "seconds": round(self.clock() - began, 1)}
            document = {**dataclasses.asdict(piece), "date": _today(), "found": found}
            replace_file(self._file(piece), (json.dumps(document, indent=1) + "\n").encode())

    def known(self) -> list[Found]:
        """The results that there are, in the order of the pieces."""
        return [json.loads(file.read_text("utf-8")) for piece in self.pieces if (file := self._file(piece)).exists()]

    def _file(self, piece: Piece) -> Path:
        return self.results / f"{piece.name}.json"


def _today() -> str:
    return datetime.now(tz=timezone.utc).date().isoformat()


@dataclass(frozen=True, slots=True)
class Bench:
    """Does pieces on a card.

    Arguments:
        python: the interpreter that has TensorFlow without any variable of the environment.
        harness: the modules that programs measure with, by the names of their files.
    """

    gpu: Gpu
    python: str
    device: str
    budget: float
    sandbox: Sandbox
    harness: dict[str, str]

    def do(self, piece: Piece) -> Found:
        """What came of a piece; never an exception of its own making."""
        if piece.kind == "memory":
            return self.hold(int(piece.what), piece.limit)
        if piece.kind == "known":
            return self.judge(piece.what)
        ways = {
            "doctor": self.examine,
            "run": self.watch,
            "trace": self.trace,
            "try": self.try_settings,
            "verify": self.verify,
            "evidence": self.measure,
        }
        return ways[piece.kind](piece)

    def hold(self, size: int, limit: float) -> Found:
        """Let a program hold so many bytes in one tensor: what TensorFlow says of it, and NVML."""
        code = (
            f"import {HARNESS}\nimport tensorflow as tf\n{HARNESS}.grow_memory()\n"
            f"held = tf.ones(({size // 4},), tf.float32)\n{HARNESS}.reached(hold=2.0)\n"
        )
        with tempfile.TemporaryDirectory(prefix="tflint-gpu-day-") as folder:
            script = Program("hold.py", {"hold.py": code, **self.harness}).write(Path(folder))
            limits = Limits(seconds=limit, memory_bytes=None)
            with Watch(self.gpu) as watch:
                place = Place(self.python, f"gpu:{self.gpu.uuid}", self.sandbox)
                outcome = run_program(script, limits, place, on_start=lambda pid: watch.follow([pid]))
        seen = watch.recording
        told = {} if outcome.result is None else outcome.result.notes.get("memory", {})
        peaks = [held["peak"] for held in told.values()]
        return {
            "asked": size,
            "tensorflow": sum(peaks) if peaks else None,
            "nvml": seen.memory,
            "growth": seen.card_growth,
            "hidden": seen.is_hidden,
            "sandbox": self.sandbox.kind,
            "notes": [*seen.notes, *seen.disturbances],
            "fault": "" if peaks else f"{outcome.status}: {outcome.text or 'TensorFlow lists no GPU'}",
        }

    def examine(self, piece: Piece) -> Found:
        """`tflint-gpu doctor` on a program."""
        command = [*_COMMAND, "doctor", "--python", self.python, "--output-format", "json", piece.what]
        printed, fault = _run(command, piece.limit, {"PYTHONPATH": _with(ROOT)})
        return _kept(printed, fault, _EXAMINED)

    def watch(self, piece: Piece) -> Found:
        """`tflint-gpu run` on a program with planted waits: what it says of each, and what the program says itself."""
        with tempfile.TemporaryDirectory(prefix="tflint-gpu-day-") as name:
            folder, installed = Path(name), Path(name) / "site-packages"
            installed.mkdir()
            program = Path(shutil.copy(ROOT / piece.what, folder))
            shutil.copy((ROOT / piece.what).with_name("waits.py"), installed)
            (folder / "card").write_bytes(bytes(24))  # three numbers that a made-up card would read
            output, truth = folder / "report.json", folder / "truth.json"
            variables = {"WAITS_CARD": str(folder / "card"), "WAITS_TRUTH": str(truth)}
            variables["PYTHONPATH"] = _with(ROOT, installed)
            command = [*_COMMAND, "run", "--python", self.python, "--isolated", "--output-format", "json"]
            fault = _run([*command, "-o", str(output), str(program)], piece.limit, variables)[1]
            report = output.read_text("utf-8") if output.exists() else ""
            found = _kept(report, fault, (*_WATCHED, "lines"))
            if found["fault"]:
                return found
            waits, text = json.loads(truth.read_text("utf-8")), program.read_text("utf-8").splitlines()
        lines = [
            (text[line["row"] - 1], line["idle"]) for line in found.pop("lines") if line["filename"] == str(program)
        ]
        charged = {wait: sum(idle for code, idle in lines if f"# planted: {wait}" in code) for wait in waits}
        return {**found, "waits": waits, "charged": charged}

    def trace(self, piece: Piece) -> Found:
        """`tflint-gpu run --trace` on a program with a slow stage: its name, and what is told of kernels and memory."""
        with tempfile.TemporaryDirectory(prefix="tflint-gpu-day-") as name:
            folder, output = Path(name), Path(name) / "report.json"
            program = Path(shutil.copy(ROOT / piece.what, folder))
            command = [*_COMMAND, "run", "--python", self.python, "--isolated", "--output-format", "json"]
            command += ["-o", str(output), "--trace", "20", "--trace-output", str(folder / "trace")]
            variables = {"SLEPT": str(folder / "slept.json"), "PYTHONPATH": _with(ROOT)}
            fault = _run([*command, str(program), "operations", "200"], piece.limit, variables)[1]
            found = _kept(output.read_text("utf-8") if output.exists() else "", fault, ("trace",))
        trace = found.pop("trace", None) or {}
        kept = {key: trace.get(key) for key in ("steps", "note", "gpus", "memory")}
        stages = [stage for pipeline in trace.get("pipelines", ()) for stage in pipeline["stages"]]
        return {**found, **kept, "stage": stages[0]["chain"] if stages else None}

    def try_settings(self, piece: Piece) -> Found:
        """`tflint-gpu run --try` on a program, and whether batches of 0.9 and 1.2 times the largest one fit."""
        found = _kept(*self._tried(piece, _SETTINGS, 1, piece.limit * 0.7), ("settings", "largest_batch"))
        if found["fault"] or not found["largest_batch"]:
            return found
        sizes = [int(found["largest_batch"] * factor) for factor in (0.9, 1.2)]
        wanted = f"batch={sizes[0]},{sizes[1]}"
        checked = _kept(*self._tried(piece, wanted, 1, piece.limit * 0.3), ("settings",))
        fits = {each["batch"] or each["setting"]: not each["failure"] for each in checked.get("settings", ())}
        return {**found, "fits": fits}

    def _tried(self, piece: Piece, settings: str, rounds: int, limit: float) -> tuple[str, str]:
        command = [*_COMMAND, "run", "--python", self.python, "--isolated", "--output-format", "json"]
        command += ["--try", settings, "--rounds", str(rounds), piece.what]
        return _run(command, limit, {"PYTHONPATH": _with(ROOT)})

    def judge(self, factor: str) -> Found:
        """`verify` on two programs of which one takes a known factor of the time of the other."""
        setup = Setup(gpu=self.gpu, python=self.python, sandbox=self.sandbox)
        result = list(verify(known(factor, "slowdown"), setup, self.budget))[-1].verdict
        fault = "" if result.ratio is not None else result.reason
        return {
            "fault": fault,
            **{name: getattr(result, name) for name in ("verdict", "ratio", "low", "high", "reason")},
        }

    def verify(self, piece: Piece) -> Found:
        """`tflint-gpu verify` on a program, as a user runs it."""
        with tempfile.TemporaryDirectory(prefix="tflint-gpu-day-") as folder:
            output = Path(folder) / "report.json"
            command = [*_COMMAND, "verify", "--yes", "--isolated", "--device", self.device]
            command += ["--python", self.python, "--budget", f"{self.budget:.0f}s", "--gpu-memory", _OF_FIXTURES]
            command += ["--output-format", "json", "-o", str(output), piece.what]
            fault = _run(command, piece.limit, {"PYTHONPATH": _with(ROOT)})[1]
            if not output.exists():
                return {"fault": fault or "it wrote no report", "results": []}
            report = json.loads(output.read_text("utf-8"))
        return {"fault": "", "device": report["device"], "results": [_short(one) for one in report["results"]]}

    def measure(self, piece: Piece) -> Found:
        """The workloads of a rule, as evidence.py measures them, on this card."""
        script = str(EVIDENCE.with_suffix(".py"))
        command = [self.python, script, "--measure", str(EVIDENCE / piece.what), "--repeat", "5"]
        variables = {"PYTHONPATH": str(EVIDENCE), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": self.gpu.uuid}
        printed, fault = _run(command, piece.limit, variables)
        last = (printed.splitlines() or [""])[-1]
        try:
            return {"fault": "", **json.loads(last)}
        except (ValueError, TypeError):
            return {"fault": fault or "it printed no result"}


def _kept(report: str, fault: str, names: Sequence[str]) -> Found:
    """Of a report in JSON what the page shows."""
    try:
        document = json.loads(report)
        return {"fault": "", **{name: document[name] for name in names}}
    except (ValueError, KeyError):
        return {"fault": fault or "it wrote no report"}


def _run(command: Sequence[str], limit: float, variables: Mapping[str, str]) -> tuple[str, str]:
    """What a command printed, and why it is of no use, empty where it is."""
    environment = {**os.environ, **variables}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return "", f"it was not done after {limit:.0f} s"
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return done.stdout, f"exit code {done.returncode}: {said[-1] if said else 'nothing was said'}"


def _with(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def _short(one: Found) -> Found:
    """Of a result of `verify` what the page shows."""
    kept = ("code", "variant", "device", "predicted", "verdict", "reason")
    measured = {name: one["measured"][name] for name in ("ratio", "low", "high", "unit")}
    use = {name: one["gpu"][name] for name in ("before", "after", "notes")}
    devices = {
        side: sorted({name for sample in one["samples"][side] for name in sample["notes"].get("ran_on") or ()})
        for side in ("before", "after")
    }
    rest = {"place": one["location"], "measured": measured, "gpu": use, "ran_on": devices}
    return {**{name: one[name] for name in kept}, **rest}


def interpreter(results: Path) -> str:
    """An interpreter that has TensorFlow without PYTHONPATH, which `verify` does not pass on.

    Arguments:
        results: where a virtual environment is made, if TensorFlow comes from that variable.
    """
    spec = importlib.util.find_spec("tensorflow")
    entries = [Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    origin = Path(sys.prefix) if spec is None or spec.origin is None else Path(spec.origin).resolve()
    if not any(origin.is_relative_to(entry) for entry in entries):
        return sys.executable
    folder = results / "python"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.EnvBuilder(system_site_packages=True, symlinks=True).create(folder)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "tensorflow.pth").write_text("".join(f"{entry}\n" for entry in entries), "utf-8")
    return str(python)


def _turn(piece: Piece, first: Sequence[str]) -> int:
    """The place in the order: that of the first word that is in the name."""
    return next((place for place, word in enumerate(first) if word in piece.name), len(first))


def main(arguments: Sequence[str] | None = None) -> int:
    """Go on for some minutes, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=8.0, help="that this call may take")
    parser.add_argument("--budget", type=float, default=150.0, help="seconds of verify for each program")
    parser.add_argument("--device", default="gpu", help="as for verify")
    parser.add_argument("--only", choices=get_args(Kind))
    parser.add_argument("--first", nargs="+", default=[], metavar="NAME", help="what is done first: words in names")
    parser.add_argument("--results", type=Path, default=ROOT / "tests" / "gpu_day", help="where results are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="what is written")
    parser.add_argument("--retry", action="store_true", help="do again what failed, too")
    parser.add_argument("--list", action="store_true", help="what is left, and nothing else")
    given = parser.parse_args(arguments)
    choice = choose(survey(), given.device, *shown_devices())
    card = "no GPU" if choice.gpu is None else choice.gpu.name
    results = given.results.resolve() / re.sub(r"\W+", "-", card)  # another card is another day
    everything = Day(pieces(given.budget), results)
    chosen = sorted(pieces(given.budget, given.only), key=lambda piece: _turn(piece, given.first))
    day = Day(chosen, results, retries=given.retry)
    if given.list:
        print("".join(f"{piece.kind} {piece.what}\n" for piece in day.left()), end="")
        return LEFT if day.left() else DONE
    longest = max((piece.limit for piece in day.left()), default=0.0) + _SLACK
    if longest > 60 * given.minutes:
        parser.error(f"--minutes {given.minutes:g}: the longest piece that is left may take {longest / 60:.1f}")
    if choice.gpu is None:
        print(f"there is no GPU: {choice.note or given.device}", file=sys.stderr)
        return NO_GPU
    if choice.note:
        print(choice.note)
    results.mkdir(parents=True, exist_ok=True)
    python = interpreter(results)
    bench = Bench(choice.gpu, python, given.device, given.budget, choose_sandbox("auto"), harness_modules())
    try:
        day.work(60 * given.minutes, bench.do)
    finally:
        text = page(everything.known(), choice.gpu, len(everything.pieces))
        replace_file(given.page, text.encode("utf-8"))
    print(f"{len(day.pieces) - len(day.left())} of {len(day.pieces)} done")
    return LEFT if day.left() else DONE


if __name__ == "__main__":
    sys.exit(main())
