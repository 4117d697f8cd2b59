"""What the language server finds while somebody types is what a check from scratch finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typing_in import edited_again

from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.integrations.editor import Checker, Document, OpenText
from tflint_gpu.text.source import SourceFile

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
PROGRAMS = [_ROOT / "examples" / "train.py", *sorted((_ROOT / "fixtures").rglob("*.py"))[::40]]


def found(checker: Checker, path: Path, text: str, *, all_fixes: bool) -> tuple[Diagnostic, ...]:
    """The diagnostics of a text."""
    source = SourceFile.decode(text.encode(), path, path.name)
    document = Document.of("file:///a.py", (OpenText("file:///a.py", 1),), source, path.parent)
    checked = with_large_stack(
        lambda: checker.check(document, {path: document.content}, at_rest=False, all_fixes=all_fixes)
    )
    assert checked.errors == ()
    return checked.diagnostics


def without_costly_parts(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic without what is left out while somebody types."""
    prediction = diagnostic.prediction and replace(diagnostic.prediction, on_cpu=None)
    notes = tuple(note for note in diagnostic.related if not note.message.startswith("no fix: "))
    return replace(diagnostic, fix=None, prediction=prediction, related=notes)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_findings_after_any_edits_are_those_of_a_check_from_scratch(program: Path, tmp_path: Path) -> None:
    """Protects who types: nothing of a former text is left in what is found, also after one that did not parse."""
    path = tmp_path / "a.py"
    typed, complete = Checker(tmp_path), Checker(tmp_path)
    for text in edited_again(program.read_text("utf-8"), len(program.name), 12):
        expected = found(Checker(tmp_path), path, text, all_fixes=True)
        assert found(complete, path, text, all_fixes=True) == expected
        quick = found(typed, path, text, all_fixes=False)
        assert [without_costly_parts(one) for one in quick] == [without_costly_parts(one) for one in expected]
        pairs = [(one.fix, other.fix) for one, other in zip(quick, expected, strict=True)]
        assert all(fix is None or fix.is_untried or fix == made for fix, made in pairs)


LARGE = """\
import tensorflow as tf

dataset = tf.data.Dataset.from_tensor_slices(features).batch(256)
network = tf.keras.Sequential([tf.keras.Input((8192,)), tf.keras.layers.Dense(8192), tf.keras.layers.Dense(8192)])
for rows in dataset:
    save(network(rows, training=False).numpy())
"""


def test_a_prediction_by_size_waits_until_nobody_types(tmp_path: Path) -> None:
    """Protects who types: a program is not carried out, to say how large its steps are, at every keystroke."""
    path, checker = tmp_path / "a.py", Checker(tmp_path)
    for all_fixes in (False, True):
        (diagnostic,) = found(checker, path, LARGE, all_fixes=all_fixes)
        assert diagnostic.prediction is not None
        assert (diagnostic.prediction.on_cpu is not None) == all_fixes


CALLER = """\
import tensorflow as tf

from helper import wave


@tf.function
def step(x: tf.Tensor):
    return wave(x)
"""
HELPER = "import numpy as np\n\n\ndef wave(x):\n    return np.abs(x)\n"


@pytest.mark.parametrize("seed", range(2))
def test_findings_after_any_edits_of_another_file_are_those_of_a_check_from_scratch(tmp_path: Path, seed: int) -> None:
    """Protects the names, imports and trees of other files that are kept: they go with the text that they are of."""
    path, helper = tmp_path / "a.py", tmp_path / "helper.py"
    checker = Checker(tmp_path)
    square = "\n\ndef square(x):\n    print(x)\n    y = wave(x)\n    return y * wave(x)\n"
    for text in edited_again(HELPER + square + square.replace("square", "other") + "\n" * 8, seed, 12):
        helper.write_text(text)
        calling = CALLER.replace("wave", "square" if len(text) % 2 else "wave")
        assert found(checker, path, calling, all_fixes=True) == found(Checker(tmp_path), path, calling, all_fixes=True)


def test_other_files_that_come_change_and_go_are_seen(tmp_path: Path) -> None:
    """Protects what is kept of other files from one check to the next: it holds while they are the same."""
    path, helper = tmp_path / "a.py", tmp_path / "helper.py"
    checker, seen = Checker(tmp_path), list[list[tuple[str, str]]]()

    def check() -> None:
        diagnostics = found(checker, path, CALLER, all_fixes=True)
        assert diagnostics == found(Checker(tmp_path), path, CALLER, all_fixes=True)
        seen.append([(one.code, one.filename) for one in diagnostics])

    check()
    helper.write_text(HELPER)
    check()
    helper.write_text(HELPER.replace("np.abs(x)", "tf.abs(x)").replace("numpy as np", "tensorflow as tf"))
    check()
    helper.unlink()
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper" / "__init__.py").write_text(HELPER)
    check()
    (tmp_path / "helper" / "__init__.py").write_text("from .waves import wave\n")
    check()
    (tmp_path / "helper" / "waves.py").write_text(HELPER)
    check()
    assert seen == [
        [],
        [("TFG101", "helper.py")],
        [],
        [("TFG101", "helper/__init__.py")],
        [],
        [("TFG101", "helper/waves.py")],
    ]
