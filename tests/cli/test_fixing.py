"""Protects `--fix` over several files: what fails stays as it was, what was not asked for is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixing import fix

from tflint_gpu.text.source import SourceFile

TF = "import tensorflow as tf\n"


def test_each_file_is_mended_and_counted(tmp_path: Path, write_files: Any, make_rule: Any) -> None:
    paths = write_files({"a.py": TF + "BAD\nBAD\n", "b.py": TF + "x = BAD # noqa\n", "c.py": TF + "x = BAD\n"})
    fixing = fix(tmp_path, make_rule())
    assert [path.read_text() for path in paths] == [TF + "GOOD\nGOOD\n", TF + "x = BAD # noqa\n", TF + "x = GOOD\n"]
    assert (len(fixing.fixed), len(fixing.diffs), fixing.failures) == (3, 2, [])
    assert not any(result.diagnostics for result in fixing.results)


def test_dry_changes_nothing(tmp_path: Path, write_files: Any, make_rule: Any) -> None:
    [path] = write_files({"a.py": TF + "BAD\n"})
    fixing = fix(tmp_path, make_rule(), dry=True)
    assert path.read_text() == TF + "BAD\n"
    assert "-BAD\n+GOOD\n" in fixing.diffs[0]


def test_code_that_would_not_parse_is_never_written(tmp_path: Path, write_files: Any, make_rule: Any) -> None:
    [path] = write_files({"a.py": TF + "BAD\n"})
    fixing = fix(tmp_path, make_rule(replacement="("))
    assert path.read_text() == TF + "BAD\n"
    [failure] = fixing.failures
    assert (failure.filename, failure.rule) == ("a.py", "TFG901")
    assert "does not parse" in failure.detail
    assert [one.code for one in fixing.results[0].diagnostics] == ["TFG901"], "it is still reported"


def test_unsafe_fixes_wait_to_be_asked_for(tmp_path: Path, write_files: Any, make_rule: Any) -> None:
    [path] = write_files({"a.py": TF + "BAD\n"})
    assert fix(tmp_path, make_rule(applicability="unsafe")).fixed == []
    assert len(fix(tmp_path, make_rule(applicability="unsafe"), unsafe=True).fixed) == 1
    assert path.read_text() == TF + "GOOD\n"


def test_only_files_that_are_checked_are_changed(tmp_path: Path, write_files: Any, make_rule: Any) -> None:
    library, train = write_files({"library.py": "BAD\n", "train.py": TF})

    class InLibrary(type(make_rule())):  # type: ignore[misc]
        def check(self, model: Any) -> Iterator[Any]:
            if model.source.path == train:
                fake = type("Fake", (), {"source": SourceFile.decode(library.read_bytes(), library)})
                yield from super().check(fake)

    fixing = fix(tmp_path, InLibrary(), "train.py")
    assert (library.read_text(), fixing.fixed) == ("BAD\n", [])
    fixing = fix(tmp_path, InLibrary())
    assert (library.read_text(), len(fixing.fixed)) == ("GOOD\n", 1)
    assert not any(result.diagnostics for result in fixing.results)


@pytest.mark.slow
def test_a_finding_that_a_program_leads_to_has_the_fix_of_its_own_file(tflint: Any, write_files: Any) -> None:
    """Protects `--fix .`: the check of the program finds the step in the library, too, and has no fix for it."""
    library, _ = write_files(
        {
            "steps.py": (
                "import tensorflow as tf\n\n\ndef learn(rounds):\n    net = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
                "    adam = tf.keras.optimizers.Adam()\n    for _ in range(rounds):\n"
                "        batch = tf.random.normal([4, 3])\n        with tf.GradientTape() as tape:\n"
                "            loss = tf.reduce_mean(net(batch))\n"
                "        slopes = tape.gradient(loss, net.trainable_variables)\n"
                "        adam.apply_gradients(zip(slopes, net.trainable_variables))\n    return net\n"
            ),
            "the_program.py": "import tensorflow as tf\n\nimport steps\n\nsteps.learn(100).save('net.keras')\n",
        }
    )
    checked = ("check", "--isolated", "--no-cache", "--select", "TFG202", "--output-format", "concise")
    assert "TFG202" in tflint(*checked, "the_program.py").stdout
    tflint(*checked, "--fix", "--unsafe-fixes", ".")
    assert "@tf.function" in library.read_text()
