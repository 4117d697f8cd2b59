"""From a case to its verdict, with programs that take no TensorFlow and a card that is not there."""

# ruff: noqa: N802 - the fake has NVML's own names.

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from fake_nvml import GIB, FakeNvml
from verified import case, program

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.gpu import watch as gpu_module
from tflint_gpu.gpu.cards import Gpu, choose, survey
from tflint_gpu.verify.execution.sandbox import Limits
from tflint_gpu.verify.execution.worker import Outcome, run_program
from tflint_gpu.verify.experiments import bench as bench_module
from tflint_gpu.verify.experiments.bench import Bench, verify
from tflint_gpu.verify.experiments.scheduling import measure
from tflint_gpu.verify.experiments.verification import Case, Setup, Verification
from tflint_gpu.verify.slicing.extract import OLD_KERAS, NotExtractable, Pair, Program, harness_modules
from tflint_gpu.verify.slicing.routes import Start
from tflint_gpu.verify.statistics.statistics import Verdict

pytestmark = pytest.mark.slow


def verdict(one: Case, setup: Setup | None = None, seconds: float = 60.0) -> Verification:
    return list(verify(one, setup or Setup(), seconds))[-1]


def test_what_is_known_is_told_after_every_round() -> None:
    known = list(verify(case(program(step=0.1), program(step=0.01)), Setup(runs=4), 60.0))
    assert [len(one.before) for one in known] == [1, 2, 3, 4]
    assert known[-1].verdict.verdict == "confirmed" and known[-1].verdict.ratio == pytest.approx(10.0)
    assert known[0].verdict.verdict == "inconclusive", "never from one run"


def test_rounds_go_on_until_they_decide(tmp_path: Path) -> None:
    """Protects both time and power: no round more than a verdict needs, and as many as it needs."""
    clear = verdict(case(program(step=0.1), program(step=0.01)))
    assert (clear.verdict.verdict, len(clear.before)) == ("confirmed", 3)
    count = f"time.sleep(0.1); file = open({str(tmp_path / 'count')!r}, 'a'); file.write('x'); file.flush(); odd = file.tell() % 2"
    code = program(step=0.04, line=count).files["p.py"]
    swaying = code.replace("}')", "}'.replace('0.04', '0.02' if odd else '0.005'))")
    unclear = verdict(case(Program("p.py", {"p.py": swaying}), program(step=0.01)), seconds=2.0)
    assert unclear.verdict.verdict == "inconclusive" and "the budget ended" in unclear.verdict.reason


def test_two_programs_that_do_not_fit_at_once_are_run_one_by_one() -> None:
    """Protects verdicts on a machine with little memory: what died beside the other is run alone."""
    line = "('TFLINT_GPU_QUESTIONS' in os.environ) and os.kill(os.getpid(), 9)"
    alone = verdict(case(program(step=0.1, line=line), program(step=0.01)), Setup(runs=3))
    assert (alone.verdict.verdict, len(alone.before)) == ("confirmed", 3)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("raise RuntimeError('no data')", "RuntimeError: no data"),
        ("import a_module_that_nobody_has.part", "`pip install a_module_that_nobody_has` in TensorFlow's environment"),
        ("import cv2000; import sklearn", "`pip install cv2000`"),
        ("raise ModuleNotFoundError(\"No module named 'sklearn.svm'\")", "`pip install scikit-learn`"),
        ("raise ModuleNotFoundError(\"No module named 'distutils'\")", "named 'distutils'"),
        ("os.environ['SOME_FOLDER']", "; `--env SOME_FOLDER` passes your variable on"),
        ("open('rows.csv')", "tflint-gpu: input=(32, 128) float32"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("os._exit(0)", "before it reached the flagged code"),
    ],
)
def test_a_program_that_fails_is_not_run_again(line: str, reason: str) -> None:
    result = verdict(case(program(line=line), program()))
    assert result.verdict.verdict == "not run" and reason in result.verdict.reason
    assert "flagged program" in result.verdict.reason and len(result.before) == 1


def test_keras_2_that_is_not_installed_is_named() -> None:
    """Protects who has code for Keras 2 from looking for what is missing."""
    without = "import importlib.util as u\nfind = u.find_spec\n"
    without += "u.find_spec = lambda name, *more: None if name == 'tf_keras' else find(name, *more)\n"
    files = {
        **harness_modules("tflint_keras2"),
        "p.py": f"{without}import tflint_keras2, tflint_measure\nraise KeyError(3)\n",
    }
    result = verdict(case(Program("p.py", files), program()))
    assert (
        result.verdict.verdict == "not run"
        and "`pip install tf_keras` in TensorFlow's environment" in result.verdict.reason
    )


@pytest.mark.slow
def test_importing_tensorflow_is_not_the_programs_time() -> None:
    """Protects a verdict on a machine that takes a minute for the import, however short `--time-limit` is."""
    files = harness_modules()
    slow = "import time; time.sleep(4)\nimport tflint_measure\ntflint_measure.finish([0.1] * 5)\n"
    one = case(Program("p.py", {**files, "p.py": slow}), Program("p.py", {**files, "p.py": slow}))
    limits = Limits(seconds=3.5)
    assert verdict(one, Setup(runs=1, limits=limits)).verdict.verdict == "inconclusive"
    late = Program("p.py", {**files, "p.py": "import time, tflint_measure\ntime.sleep(100)\n"})
    stopped = verdict(case(late, late), Setup(runs=1, limits=limits))
    assert stopped.verdict.verdict == "not run" and "still running after 3.5 s" in stopped.verdict.reason


def test_what_keeps_several_programs_from_running_is_tried_once(tmp_path: Path) -> None:
    """Protects minutes: eight findings of one file whose import fails are eight starts of TensorFlow otherwise."""
    tried = tmp_path / "tried"
    line = f"open({str(tried)!r}, 'a').write('.')\nraise OSError('no such share')"
    programs = [program(line=line, step=0.01 * number) for number in (1, 2, 3)]
    others = [
        program(line=line.replace("OSError", "ValueError"), step=0.04),
        program(line="def f():\n    raise OSError('no such share')", step=1),
    ]
    cases = [case(one, program()) for one in (*programs, *others)]
    last = {known.number: known.verification for known in measure(cases, Setup(runs=1), 120.0)}
    assert tried.read_text() == "..", "the first one, and the one that fails at another line"
    assert [last[number].verdict.verdict for number in range(5)] == 4 * ["not run"] + ["inconclusive"]
    assert last[0].verdict.reason == last[2].verdict.reason and "no such share" in last[2].verdict.reason


def test_a_repair_that_fails_is_named() -> None:
    result = verdict(case(program(), program(line="raise TypeError('tf__step')")))
    assert result.verdict.verdict == "not run" and "the fixed program" in result.verdict.reason


def test_a_predicted_crash_is_no_fault() -> None:
    crash = case(program(line="raise ValueError('gpu0')"), program(), Prediction("crash"), exceptions=("ValueError",))
    assert verdict(crash).verdict.verdict == "crash confirmed"
    missing = case(program(line="import nobody_has_it"), program(), Prediction("crash"), exceptions=("ValueError",))
    assert verdict(missing).verdict.verdict == "not run"


def test_the_budget_ends_in_the_middle() -> None:
    result = verdict(case(program(step=0.1), program()), Setup(runs=1000), seconds=5.0)
    assert 1 <= len(result.before) < 1000 and "of 1000 rounds" in result.verdict.reason
    assert verdict(case(program(), program()), seconds=0.0).verdict.verdict == "not run"


def test_the_pipelines_producer_is_measured_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both programs then get the same time for their consumer."""
    seen = []

    def pair(one: Case, opening: str = "") -> Pair:
        seen.append(opening)
        return Pair(program(step=0.1), program())

    monkeypatch.setattr("tflint_gpu.verify.experiments.bench.pair_of", pair)
    calibrated = case(program(notes={"producer": 0.025}), program(), calibrates=True)
    assert verdict(calibrated, Setup(runs=3)).verdict.verdict == "confirmed"
    assert seen == ["tflint_measure.CONSUMER_SECONDS = 0.025000"]


FAILS_IN_KERAS = Program(
    "p.py", {"p.py": "import keras\nkeras.f()", "keras/__init__.py": "def f(): raise ValueError('no such argument')"}
)


def test_what_keras_3_refuses_runs_with_keras_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects old code that shows its age only when it runs; the report says why another Keras was taken."""
    seen: list[Case] = []

    def pair(one: Case, opening: str = "") -> Pair:
        seen.append(one)
        return Pair(program(step=0.1), program())

    monkeypatch.setattr("tflint_gpu.verify.experiments.bench.pair_of", pair)
    result = verdict(case(FAILS_IN_KERAS, program()), Setup(runs=3))
    assert result.verdict.verdict == "confirmed" and len(result.before) == 3
    assert [one.old_keras for one in seen] == ["the error with Keras 3: ValueError: no such argument"]


def test_what_no_keras_runs_is_told_as_keras_3_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tflint_gpu.verify.experiments.bench.pair_of", lambda *_: Pair(program(line="1 / 0"), program())
    )
    result = verdict(case(FAILS_IN_KERAS, program()), Setup(runs=3))
    assert result.verdict.verdict == "not run" and "no such argument" in result.verdict.reason
    other = verdict(case(program(line="1 / 0"), program()), Setup(runs=3))
    assert "ZeroDivisionError" in other.verdict.reason and not other.case.old_keras


@pytest.mark.parametrize("runs", [True, False])
def test_another_way_to_the_place_is_taken_where_one_does_not_run(runs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects findings that several programs reach, of which one fails by itself; if all do, the first is told."""
    ways = [(Path(name), Start(())) for name in ("first.py", "second.py", "third.py")]
    lines = ["1 / 0", "2 / 0", "" if runs else "3 / 0"]
    pairs = [Pair(program(step=0.1, line=line), program(), (), way) for line, way in zip(lines, ways, strict=True)]

    def pair(one: Case, opening: str = "") -> Pair:
        left = [each for each in pairs if each.approach not in one.failed]
        if not left:
            raise NotExtractable("")
        return left[0]

    monkeypatch.setattr("tflint_gpu.verify.experiments.bench.pair_of", pair)
    result = verdict(dataclasses.replace(case(program(), program()), pair=pairs[0]), Setup(runs=3))
    assert result.verdict.verdict == ("confirmed" if runs else "not run")
    assert result.case.failed == (tuple(ways[:2]) if runs else ())


@pytest.mark.parametrize("package", ["", "keras", "tf_keras"])
def test_another_way_is_taken_with_the_keras_that_came_further(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the budget: what Keras 3 refuses on one way it refuses on the next, if Keras 2 went past it."""
    refused = {"p.py": f"import {package}\n{package}.f()", f"{package}/__init__.py": "def f(): raise ValueError('no')"}
    second = Program("p.py", {**refused, f"{OLD_KERAS}.py": ""}) if package else program(line="open('model.pb')")
    seen: list[Case] = []

    def pair(one: Case, opening: str = "") -> Pair:
        seen.append(one)
        flagged = program(step=0.1) if one.failed else second
        return Pair(flagged, program(), (), (Path("second.py" if one.failed else "first.py"), Start(())))

    monkeypatch.setattr("tflint_gpu.verify.experiments.bench.pair_of", pair)
    assert verdict(case(FAILS_IN_KERAS, program()), Setup(runs=3)).verdict.verdict == "confirmed"
    assert [bool(one.failed) for one in seen] == [False, True]
    assert bool(seen[1].old_keras) is not bool(package)


@pytest.mark.parametrize("message", ["This model has not yet been built.", "it is broken"])
def test_what_has_not_learned_is_trained(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects models that their training builds, which is left out at first; other failures do not ask for it."""
    seen: list[Case] = []

    def pair(one: Case, opening: str = "") -> Pair:
        seen.append(one)
        return Pair(program(step=0.1), program(), (), None)

    monkeypatch.setattr("tflint_gpu.verify.experiments.bench.pair_of", pair)
    answer = verdict(case(program(line=f"raise ValueError('{message}')"), program()), Setup(runs=3)).verdict
    is_untrained = "built" in message
    assert answer.verdict == ("confirmed" if is_untrained else "not run")
    assert [one.trains for one in seen] == [True] * is_untrained


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_second_keras_that_got_no_time_is_asked_again(is_cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects old code on a busy machine: it was not refused but cut short, and the budget may have more for it."""
    one = case(program(), program())
    attempts = iter(
        [
            Verification(one, Verdict("not run", "refused"), "cpu"),
            Verification(one, Verdict("not run", "the second"), "cpu", is_cut=is_cut),
        ]
    )
    monkeypatch.setattr(Bench, "_attempt", lambda *_: iter([next(attempts)]))
    answers = iter([True, False])
    monkeypatch.setattr(Bench, "_turns_to_keras_2", lambda _: next(answers))
    assert verdict(one).verdict.reason == ("the second" if is_cut else "refused")


@pytest.mark.parametrize(
    ("requires", "cards", "runs"),
    [("a GPU", 0, 0), ("two GPUs", 1, 0), ("no GPU", 1, 1), ("a GPU", 1, 1), ("two GPUs", 2, 1)],
)
def test_what_a_case_requires(requires: str, cards: int, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(free=(70 * GIB,) * cards)
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    found = survey(nvml).gpus if cards else ()
    one = case(program(step=0.1), program(), requires=requires)
    result = verdict(one, Setup(gpu=found[0] if found else None, others=found[1:], runs=3))
    assert (len(result.before) > 0) == bool(runs)
    if runs:
        assert result.device == {"no GPU": "cpu", "a GPU": "gpu:0", "two GPUs": "gpu:0,1"}[requires]


class Growing(FakeNvml):
    """A card on which the flagged processes (the 1st, 4th, 5th) take 60 GiB, the others 2; whose they are is hidden."""

    opened = 0
    samples = 0

    def nvmlInit(self) -> None:
        super().nvmlInit()
        self.opened += 1
        self.samples = 0

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> object:
        self.samples += 1
        held = 0 if self.samples == 1 else (60 if self.opened % 4 in (0, 1) else 2) * GIB
        return dataclasses.replace(MEMORY, used=5 * GIB + held)


@dataclasses.dataclass
class _Memory:
    total: int
    free: int
    used: int


MEMORY = _Memory(80 * GIB, 70 * GIB, 0)


def test_memory_on_a_card_is_judged_by_its_growth_where_processes_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Gpu(0, "Fake", "GPU-000-abc", "580", 80 * GIB, 70 * GIB)
    nvml = Growing(processes=())
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    one = case(program(), program(), Prediction("memory"), unit="bytes", requires="a GPU")
    result = verdict(one, Setup(gpu=card, runs=3))
    assert result.verdict.verdict == "memory confirmed" and result.verdict.ratio == pytest.approx(30.0)
    assert [sample.value for sample in result.before] == [60 * GIB] * 3
    assert result.before[0].recording is not None and result.before[0].recording.utilisation is not None


def test_memory_that_is_clear_gets_no_more_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the budget on a card, where each program takes seconds to start: three rounds decide, not five."""
    nvml = Growing(processes=())
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    card = Gpu(0, "Fake", "GPU-000-abc", "580", 80 * GIB, 70 * GIB)
    one = case(program(), program(), Prediction("memory"), unit="bytes", requires="a GPU")
    result = verdict(one, Setup(gpu=card))
    assert (result.verdict.verdict, len(result.before)) == ("memory confirmed", 3)


@pytest.mark.parametrize("cards", [0, 1])
@pytest.mark.parametrize(("applies", "is_told"), [(("host",), True), ((), False)])
def test_memory_of_the_machine_is_judged_where_a_prediction_is_of_it(
    applies: tuple[str, ...], is_told: bool, cards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects predictions of host memory from what a card holds, which is as much with the repair."""
    nvml = FakeNvml(free=(70 * GIB,) * cards)
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    found = survey(nvml).gpus if cards else ()

    def run(script: Path, *arguments: object, **options: object) -> Outcome:
        held = 6 * GIB if script.parent.name == "before" else 2 * GIB
        return dataclasses.replace(run_program(script, *arguments, **options), peak_memory=held)  # type: ignore[arg-type]

    monkeypatch.setattr(bench_module, "run_program", run)
    one = case(program(), program(), Prediction("memory", applies), unit="bytes")
    result = verdict(one, Setup(gpu=found[0] if found else None, runs=3))
    assert (result.verdict.verdict == "memory confirmed") == is_told
    assert [sample.value == 6 * GIB for sample in result.before] == [is_told] * len(result.before)


def test_programs_are_kept_where_they_are_wanted(tmp_path: Path) -> None:
    verdict(case(program(step=0.1), program()), Setup(runs=1, keep=tmp_path))
    kept = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("p.py"))
    assert kept == ["train.py/1_1_TFG202/after/p.py", "train.py/1_1_TFG202/before/p.py"]


def test_a_program_that_fails_before_the_measurement_is_kept_too(tmp_path: Path) -> None:
    """Protects who wants to see why a pipeline could not be calibrated."""
    broken = case(program(line="raise RuntimeError('no data')"), program(), calibrates=True)
    result = verdict(broken, Setup(keep=tmp_path))
    assert result.verdict.verdict == "not run" and "the pipeline" in result.verdict.reason
    assert "RuntimeError" in (tmp_path / "train.py" / "1_1_TFG202" / "before" / "p.py").read_text()


def test_a_card_that_tensorflow_does_not_use_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects users from a ratio of the CPU under the name of a GPU that only NVML sees."""
    nvml = FakeNvml()
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    blind = program(step=0.1, notes={"gpus": []})
    result = verdict(case(blind, program(notes={"gpus": []})), Setup(gpu=survey(nvml).gpus[0], runs=3))
    assert (result.verdict.verdict, result.device, result.gpu_unused) == ("not run", "cpu", True)
    assert "lists none" in result.verdict.reason
    seen = program(step=0.1, notes={"gpus": ["/device:GPU:0"]})
    result = verdict(case(seen, program(notes={"gpus": ["/device:GPU:0"]})), Setup(gpu=survey(nvml).gpus[0], runs=3))
    assert (result.device, result.gpu_unused) == ("gpu:0", False)


@pytest.mark.parametrize("is_repaired", [True, False])
def test_code_that_hides_the_card_from_itself_is_what_was_predicted(
    is_repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects TFG503 on a machine with a card: its flagged program lists none, that is the finding."""
    nvml = FakeNvml()
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    placed = {kind: f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("CPU", "GPU")}
    hidden = program(devices=[placed["CPU"]], notes={"gpus": [], "asked": "/GPU:0"})
    shown = program(devices=[placed["GPU"]], notes={"gpus": ["/device:GPU:0"], "asked": "/GPU:0"})
    one = case(hidden, shown if is_repaired else hidden, Prediction("wrong-device"), requires="a GPU")
    result = verdict(one, Setup(gpu=survey(nvml).gpus[0]))
    assert (result.verdict.verdict, result.gpu_unused) == (
        ("confirmed", False) if is_repaired else ("not run", True)
    ), result.verdict.reason


@pytest.mark.parametrize(
    ("before", "after", "device"),
    [
        ({"CPU:0": 9, "GPU:0": 2}, {"CPU:0": 9}, "gpu:0"),
        ({"CPU:0": 9}, {"CPU:0": 9}, "cpu"),
        (None, None, "gpu:0"),
    ],
    ids=["one did", "none did", "not told"],
)
def test_the_device_of_a_result_is_the_one_that_the_programs_used(
    before: object, after: object, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a card from the time of a pipeline that only the CPU ran, while TensorFlow had the card."""
    nvml = FakeNvml()
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    gpus = ["/device:GPU:0"]
    one, other = (program(step=s, notes={"gpus": gpus, "ran_on": told}) for s, told in ((0.1, before), (0.01, after)))
    result = verdict(case(one, other), Setup(gpu=survey(nvml).gpus[0], runs=3))
    assert (result.verdict.verdict, result.device, result.gpu_unused) == ("confirmed", device, False)


@pytest.mark.parametrize(
    ("nvml", "device", "requires", "shown"),
    [
        (FakeNvml(free=(1, 9)), "auto", "a GPU", "GPU-111-abc"),
        (FakeNvml(free=(1, 9)), "auto", "two GPUs", "GPU-000-abc,GPU-111-abc"),
        (FakeNvml(free=(9, 1), parts={0: (2,)}), "gpu:0", "a GPU", "MIG-02-abc"),
        (FakeNvml(free=(9, 1)), "auto", "no GPU", "-1"),
    ],
)
def test_a_program_is_shown_the_card_that_is_watched(
    nvml: FakeNvml, device: str, requires: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from measuring one card and watching another: a UUID means the same to CUDA and to NVML."""
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    tells = "told = os.environ['CUDA_VISIBLE_DEVICES']; print(told); assert told == " + repr(shown)
    choice = choose(survey(nvml), device)
    one = case(program(line=tells), program(), requires=requires)
    result = verdict(one, Setup(gpu=choice.gpu, others=choice.others, runs=1))
    assert len(result.before) == 1 and result.before[0].run.fault is None


def test_the_use_of_the_card_is_that_of_the_time_in_which_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the utilisation from the seconds in which TensorFlow is imported and functions are traced."""
    nvml = FakeNvml()
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    measures = (
        "import time as t\nbegan = t.monotonic()\nt.sleep(0.4)\n"
        "end = t.monotonic()\n"
        "text = json.dumps({'steps': [0.1], 'notes': {'measured': [began, end]}})\n"
        "open(os.environ['TFLINT_GPU_RESULT'], 'w').write(text)\nos._exit(0)"
    )
    result = verdict(case(program(line=measures), program()), Setup(gpu=survey(nvml).gpus[0], runs=1))
    recording = result.before[0].recording
    assert recording is not None and recording.window is not None
    assert 0.0 < recording.window[0] < recording.window[1] and len(recording.measured) < len(recording.samples)
    assert result.before[0].host_memory > 0


MADE_UP = {"notes": {"made_up": ["a table with the columns a, b"]}}


def test_what_was_made_up_is_told_and_refutes_nothing() -> None:
    """Protects findings from data that is unlike the user's: no effect with it is no proof that there is none."""
    same = case(program(step=0.01, **MADE_UP), program(step=0.01, **MADE_UP))
    result = verdict(same)
    assert result.verdict.verdict == "inconclusive" and "a table with the columns a, b" in result.verdict.reason
    assert verdict(case(program(step=0.01), program(step=0.01))).verdict.verdict == "refuted"
    slower = verdict(case(program(step=0.1, **MADE_UP), program(step=0.01, **MADE_UP)))
    assert slower.verdict.verdict == "confirmed" and "synthetic: a table" in slower.verdict.reason


def test_a_crash_with_made_up_input_is_no_verdict() -> None:
    """Protects from stubs that do not fit: neither the flagged code nor the repair is to blame."""
    early = "open(os.environ['TFLINT_GPU_RESULT'], 'w').write(json.dumps({'steps': [], 'notes': {'made_up': ['x'], 'unfinished': True}}));"
    fails = program(line=f"{early} raise ValueError('shape')")
    one = case(fails, fails, Prediction("crash"), exceptions=("NotImplementedError",))
    result = verdict(one)
    assert (
        result.verdict.verdict == "not run"
        and "ValueError: shape" in result.verdict.reason
        and "synthetic: x" in result.verdict.reason
    )
    ends = case(program(line=f"{early} os._exit(0)"), program())
    assert "before it reached the flagged code" in verdict(ends).verdict.reason


def test_a_predicted_crash_with_made_up_input_is_one_after_one_round_too() -> None:
    raised = program(
        line=f"open(os.environ['TFLINT_GPU_RESULT'], 'w').write({json.dumps(MADE_UP)!r}); raise ValueError"
    )
    one = case(raised, program(), Prediction("crash"), exceptions=("ValueError",))
    assert verdict(one, Setup(runs=1)).verdict.verdict == "inconclusive"
    assert verdict(one).verdict.verdict == "crash confirmed"


def test_results_that_differ_with_made_up_input_are_no_verdict() -> None:
    """Protects from made-up numbers that make two right programs differ."""
    before, after = (program(outputs=[number], dtype="float32", **MADE_UP) for number in (1.0, 2.0))
    result = verdict(case(before, after, Prediction("wrong-result")))
    assert result.verdict.verdict == "not run" and "perhaps because of that data" in result.verdict.reason
    told = program(outputs=[1.0], dtype="float32", notes={**MADE_UP["notes"], "wrong": "still the old one"})
    assert verdict(case(told, after, Prediction("wrong-result"))).verdict.verdict == "wrong result confirmed"
