"""What is told of a run: findings by their cost, the same numbers in each format, a page that needs no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tflint_gpu.cli.verify import Verify
from tflint_gpu.diagnostics import Diagnostic, Location, Prediction, Related
from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.narrowing.measurements import MeasurementError, read_run, with_measurements
from tflint_gpu.reports import View
from tflint_gpu.run.costs import Cost, costs
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.reports import FORMATS, renderer
from tflint_gpu.run.result import Report
from tflint_gpu.run.samples import Memory, Place, Sample, Waits
from tflint_gpu.verify.experiments.verification import Case

PROGRAM = """\
import tensorflow as tf


def load(row):
    row = 1
    return row


def train(model, data):
    data = data.map(load)
    for x in data:
        model(x)
        print(x)


def other():
    pass
"""
EAGER = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
for x in tf.data.Dataset.from_tensor_slices(rows).batch(32):
    model(x)
"""
GPU = Gpu(0, "Fake <H100>", "GPU-0", "580.65", 80 << 30, 70 << 30)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def finding(row: int, code: str = "TFG900", kind: str = "slowdown", notes: tuple[int, ...] = ()) -> Diagnostic:
    related = tuple(Related("train.py", Location(one, 1), Location(one, 9), "there") for one in notes)
    place, prediction = Location(row, 5), Prediction(kind, basis="a test")  # type: ignore[arg-type]
    return Diagnostic(
        code, "slow", f"slow <{row}>", "train.py", place, Location(row, 9), row, "warning", prediction, related=related
    )


def ledger(project: Path, *spent: tuple[float, str, Waits, tuple[tuple[int, str], ...]], card: bool = False) -> Ledger:
    """An account of samples: seconds, phase, what was waited for, and rows with their functions."""
    functions = {"load": (4, 6), "train": (9, 13), "other": (16, 17), "<module>": (1, 17)}
    file, now, result = str(project / "train.py"), 0.0, Ledger(card, 0.0)
    for seconds, phase, waits, rows in spent:
        now += seconds
        stack = tuple(Place(file, row, name, *functions[name]) for row, name in rows)
        feeds = waits == "feed"
        result.take_card(now, CardSample(now, 0, memory=3 << 30)) if card else None
        result.take(Sample(now, seconds, () if feeds else stack, phase, waits, (stack,) if feeds else ()))
    result.take(Memory(1 << 30, 2 << 30))
    result.finish()
    return result


TRAIN, LOAD = ((12, "train"), (17, "<module>")), ((5, "load"),)


def cost_of(project: Path, known: Ledger, *found: Diagnostic) -> list[tuple[int, float, bool]]:
    told = costs(found, known.entries, View(project))
    return [(cost.diagnostic.location.row, round(cost.idle, 3), cost.of.startswith("the function")) for cost in told]


def test_a_finding_costs_what_its_lines_do(project: Path) -> None:
    known = ledger(project, (1.0, "", "", TRAIN), (2.0, "data", "feed", LOAD), (4.0, "", "", ((13, "train"),)))
    assert cost_of(project, known, finding(12)) == [(12, 1.0, False)]
    assert cost_of(project, known, finding(10)) == [(10, 2.0, False)], "the function that is mapped there"
    assert cost_of(project, known, finding(17)) == [(17, 1.0, False)], "a caller"
    assert cost_of(project, known, finding(11)) == [(11, 5.0, False)], "the loop that it is the head of"
    assert cost_of(project, known, finding(9)) == [(9, 5.0, True)], "the function around"
    assert cost_of(project, known, finding(11, notes=(4,))) == [(11, 2.0, False)], "the function that a note names"
    assert cost_of(project, known, finding(1)) == []
    assert cost_of(project, known, finding(12, kind="memory")) == [], "speed is not what it is about"
    ranked = cost_of(project, known, finding(11), finding(12), finding(10))
    assert [row for row, _, _ in ranked] == [11, 10, 12]
    ranked = cost_of(project, known, finding(9), finding(12))
    assert [row for row, _, _ in ranked] == [12, 9], "its own lines count more than those around it"


EAGER_STEP = """\
import tensorflow as tf

for x, y in data:
    with tf.GradientTape() as tape:
        loss = model(x)
    gradients = tape.gradient(loss, weights)
    optimizer.apply(gradients, weights)
    for weight in weights:
        print(weight)
print("done")
"""


def test_a_finding_on_the_head_of_a_step_costs_what_its_loop_does(project: Path) -> None:
    """Protects the rank of TFG202, whose line itself takes no time, in a loop that is in no function."""
    (project / "train.py").write_text(EAGER_STEP)
    spent = [(1.0, "", "", ((row, "<module>"),)) for row in (4, 5, 6, 9, 10)]
    known = ledger(project, *spent)  # type: ignore[arg-type]
    told = costs([finding(4), finding(8), finding(5)], known.entries, View(project))
    assert [(cost.diagnostic.location.row, cost.idle, cost.of) for cost in told] == [
        (4, 4.0, "the loop around it"), (5, 1.0, "its own lines"), (8, 1.0, "the loop around it"),
    ]  # fmt: skip
    (project / "train.py").write_text("for :\n" * 9)
    assert cost_of(project, known, finding(4)) == [(4, 1.0, False)]


def report(project: Path, card: bool = True, code: int | None = 0) -> Report:
    known = ledger(
        project, (6.0, "validation", "", TRAIN), (3.0, "data", "feed", LOAD), (1.0, "import", "", ()), card=card
    )
    told = costs([finding(12), finding(10)], known.entries, View(project))
    return Report("train.py --x '<b>'", 10.0, code, known, GPU if card else None, "" if card else "no driver", told, 2)


def test_full(project: Path) -> None:
    text = renderer("full")(report(project), View(project))
    assert "The GPU did nothing for 100% of the run (used under 10% for 100% of it)." in text
    assert re.search(r"60%  6\.0 s  train\.py:12 in train  Python in validation in `fit` +TFG900", text)
    assert re.search(r"30%  3\.0 s  train\.py:5 in load    feeding the input pipeline", text)
    assert "memory: 3.0 GiB held of 80.0 GiB, of which TensorFlow used up to 2.00 GiB" in text
    assert text.index("train.py:12:5 TFG900 slow") < text.index("train.py:10:5 TFG900 slow")
    assert "\x1b" not in text


def test_findings_that_cost_next_to_nothing_are_counted(project: Path) -> None:
    """Protects the part on findings from being absent where a busy machine makes the rest of a run longer."""
    known = ledger(project, (0.04, "", "", TRAIN), (99.96, "import", "", ()))
    told = costs([finding(12), finding(3)], known.entries, View(project))
    text = renderer("full")(Report("train.py", 100.0, 0, known, costs=told, findings=2), View(project))
    assert "What `check` finds on these lines" in text and "train.py:12:5" not in text
    assert "\n2 findings cost less than 0.5%, or had no measured cost (`check` shows all)\n" in text
    text = renderer("full")(Report("train.py", 4.0, 0, known, costs=told, findings=2), View(project))
    assert "train.py:12:5" in text and "\n1 finding more cost less than 0.5%, or had no measured cost" in text


def test_full_without_a_card_says_so(project: Path) -> None:
    text = renderer("full")(report(project, card=False, code=-9), View(project))
    assert "on the CPU (no driver)\nNo GPU was watched: " in text and "was ended by SIGKILL" in text
    assert "a GPU would have waited" in text and "memory:" not in text


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_run_of_which_nothing_was_seen(project: Path, output_format: str) -> None:
    if output_format == "html":
        pytest.importorskip("jinja2")
    empty = Report("train.py", 0.0, None, Ledger(False, 0.0))
    text = renderer(output_format)(empty, View(project))
    assert "Nothing was sampled" in text or output_format == "json"


def test_json_is_what_check_reads(project: Path) -> None:
    path = project / "run.json"
    path.write_text(renderer("json")(report(project), View(project)))
    document = json.loads(path.read_text())
    assert [one["share"] for one in document["findings"]] == [0.6, 0.3]
    assert document["idle"] == {"measured_by": "NVML", "seconds": 10.0, "share": 1.0, "share_under_10_percent": 1.0}
    (one,) = with_measurements([finding(12)], read_run(path), View(project).line)
    text = "the GPU did nothing here for 60% of the run (10 s) on Fake <H100>: a fix saves at most that"
    assert one.measured == text
    changed = PROGRAM.replace("print(x)", "print(x, x)")
    (project / "train.py").write_text(changed)
    (one,) = with_measurements([finding(12)], read_run(path), View(project).line)
    assert one.measured == "", "it is no longer the code that ran"


@pytest.mark.slow
def test_check_shows_what_a_finding_cost(project: Path) -> None:
    (project / "train.py").write_text(EAGER)
    row = EAGER.splitlines().index("    model(x)") + 1
    place, prediction = Location(row, 5), Prediction("slowdown")
    one = Diagnostic("TFG207", "eager", "slow", "train.py", place, Location(row, 10), row, "warning", prediction)
    known = ledger(project, (10.0, "", "", ((row, "<module>"),)))
    told = costs([one], known.entries, View(project))
    text = renderer("json")(Report("train.py", 40.0, 0, known, costs=told), View(project))
    (project / "run.json").write_text(text)
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--select", "TFG207"]

    def check(*options: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.run([*command, *options], cwd=project, capture_output=True, text=True, env=environment)

    done = check("--measured", "run.json", "--output-format", "json")
    assert "a GPU would have waited here for 25% of the run (40 s) on the CPU" in done.stdout, done.stderr
    done = check("--measured", "run.json", "--estimate")
    assert " = estimate: saves 4% to 20% of the run: 25% of the measured run is spent there" in done.stdout, done.stdout
    assert done.stdout.endswith("Fix first: train.py:5:5 TFG207.\n")
    done = check("--estimate")
    assert (
        f"as predicted, in each iteration of the loop over the dataset at train.py:{row - 1}; no run was measured"
        in done.stdout
    )
    done = check("--measured", "none.json")
    assert done.returncode == 2 and "--measured" in done.stderr


def verified_order(project: Path, measured: str | None, order: str | None) -> list[int]:
    """The rows of findings in the order in which `verify` takes them."""
    verify = Verify((), {"measured": measured, "order": order}, project)
    cases = [Case(finding(row), Prediction("slowdown", basis="a test")) for row in (1, 10, 12)]
    return [case.diagnostic.location.row for case in verify._ordered(verify._with_shares(cases))]


def test_verify_starts_with_the_most_expensive(project: Path) -> None:
    (project / "run.json").write_text(renderer("json")(report(project), View(project)))
    assert verified_order(project, "run.json", None) == [12, 10, 1]
    assert verified_order(project, None, None) == [1, 10, 12]
    assert verified_order(project, "run.json", "file") == [1, 10, 12]
    (project / "run.json").rename(project / "tflint-gpu-run.json")
    assert verified_order(project, None, "cost") == [12, 10, 1]
    (project / "tflint-gpu-run.json").unlink()
    with pytest.raises(click.ClickException, match=r"--order cost: .*tflint-gpu-run.json: cannot be read"):
        verified_order(project, None, "cost")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": [], "device": {}}', '{"findings": [], "device": {}}'])
def test_what_is_no_report_of_a_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(MeasurementError):
        read_run(tmp_path / "run.json")


def test_costs_of_nothing() -> None:
    assert costs([finding(1)], {}, View(Path("/"))) == ()
    assert Cost(finding(1), 1.0).of == "its own lines"
