"""Runs side by side: a slower training is found, noise is not, and what cannot be compared says why."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tflint_gpu.cli.run import command


def training(step: float, *, row: int = 9, began: float = 3.0, blocks: int = 40, noise: float = 0.05) -> dict[str, Any]:
    draw = random.Random(f"{step} {row}")
    each = [step * (1 + draw.uniform(-noise, noise)) for _ in range(blocks)]
    quantiles = {"p50": step, "p90": step, "p99": 2 * step}
    return {
        "filename": "/project/train.py", "row": row, "kind": "fit", "began": began, "seconds": sum(each) * 10,
        "idle": sum(each) * 5, "steps": 10 * blocks, "step_seconds": quantiles,
        "blocks": [{"steps": 10, "seconds": 10 * seconds} for seconds in each],
    }  # fmt: skip


def report(path: Path, *trainings: dict[str, Any]) -> str:
    path.write_text(json.dumps({"kind": "run", "trainings": list(trainings), "memory": {"most_used": 3 << 30}}))
    return str(path)


def compared(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["--compare", *arguments], standalone_mode=False)
    if done.exception is not None:
        return 2, str(done.exception)
    return done.return_value, done.output


def test_a_slower_training_is_a_failure(tmp_path: Path) -> None:
    """Protects a job that is to stop a slower training."""
    old, new = report(tmp_path / "old.json", training(0.010)), report(tmp_path / "new.json", training(0.013))
    code, text = compared(old, new)
    assert code == 1 and "slower by more than 1.1 times" in text, text
    assert "`fit` at train.py:9" in text and "50%" in text and "3.00 GiB" in text
    code, text = compared("--slower-than", "1.5", old, new)
    assert code == 0 and "slower, but by less than" in text, text
    assert compared(new, old)[0] == 0 and "faster" in compared(new, old)[1]


def test_noise_is_no_difference(tmp_path: Path) -> None:
    old = report(tmp_path / "old.json", training(0.0100, noise=0.3))
    new = report(tmp_path / "new.json", training(0.0101, noise=0.3))
    code, text = compared(old, new)
    assert code == 0 and "no measurable difference" in text, text


def test_few_steps_are_never_a_failure(tmp_path: Path) -> None:
    old = report(tmp_path / "old.json", training(0.01, blocks=4))
    new = report(tmp_path / "new.json", training(0.09, blocks=4))
    code, text = compared(old, new)
    assert code == 0 and "too few steps for an interval" in text and "repeat both runs" in text, text


def test_several_runs_are_a_table_and_several_of_one_kind_are_pairs(tmp_path: Path) -> None:
    names = [
        report(tmp_path / f"{name}{step}.json", training(step)) for name in "abc" for step in (0.010, 0.0101, 0.0102)
    ]
    groups = [",".join(names[number : number + 3]) for number in (0, 3)]
    slow = ",".join(report(tmp_path / f"slow{step}.json", training(step)) for step in (0.020, 0.0201, 0.0202))
    code, text = compared(*groups, slow)
    assert code == 1 and len(text.splitlines()) == 4
    assert "no measurable difference" in text.splitlines()[2] and "slower by more" in text.splitlines()[3]


def test_each_training_of_a_program_is_compared_with_the_same(tmp_path: Path) -> None:
    """Protects from comparing a pretraining with a fine-tuning; lines may have moved."""
    early, late = training(0.01), training(0.03, row=20, began=60.0)
    old = report(tmp_path / "old.json", late, early)
    new = report(tmp_path / "new.json", training(0.01, row=12), training(0.05, row=23, began=50.0))
    code, text = compared("--output-format", "json", old, new)
    found = json.loads(text)["comparisons"]
    assert [one["slower"] for one in found] == [False, True] and code == 1
    assert [one["training"] for one in found] == ["`fit` at train.py:12", "`fit` at train.py:23"]


def test_validation_between_epochs_hides_no_slower_step(tmp_path: Path) -> None:
    """Protects the ratio: it is of the steps, as its interval is."""
    slow = {**training(0.015), "seconds": 60.0}
    code, text = compared(
        report(tmp_path / "old.json", {**training(0.010), "seconds": 58.0}), report(tmp_path / "new.json", slow)
    )
    assert code == 1 and "1.5 times" in text, text


def test_reports_that_would_be_left_out_are_refused(tmp_path: Path) -> None:
    names = [report(tmp_path / f"{number}.json", training(0.01)) for number in range(5)]
    for old, new in ((names[:2], names[2:4]), (names[:1], names[1:4])):
        code, said = compared(",".join(old), ",".join(new))
        assert code == 2 and "each argument needs the same number of reports: one, or three or more" in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "cannot be read: No such file"),
        ("x", "not a JSON report: write one with `run --output-format json`"),
        ('{"kind": "verify"}', "not a report of `run`"),
        ('{"kind": "run", "trainings": []}', "it contains no training"),
        ('{"kind": "run", "version": "0.0.9"}', "by another version of tflint-gpu (0.0.9): run it again"),
        ('{"kind": "run", "trainings": [{"began": 0.0, "seconds": 0.0}]}', "by another version"),
    ],
)
def test_what_cannot_be_compared_names_the_file(text: str | None, reason: str, tmp_path: Path) -> None:
    good = report(tmp_path / "good.json", training(0.01))
    if text is not None:
        (tmp_path / "bad.json").write_text(text)
    code, said = compared(good, str(tmp_path / "bad.json"))
    assert code == 2 and reason in said and "bad.json" in said
    assert "two reports" in compared(good)[1]
    assert "full or json" in compared("--output-format", "html", good, good)[1]
