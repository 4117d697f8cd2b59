"""What is kept of an experiment: where it lies, and that somebody else can repeat it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.verify.experiments.archive import kept_folder


def finding(filename: str, **place: int) -> Diagnostic:
    location = Location(3, 7, **place)
    return Diagnostic("TFG207", "eager-validation-loop", "", filename, location, location, 3, "warning")


@pytest.mark.parametrize(
    ("filename", "cell", "variant", "folder"),
    [
        ("src/train.py", 0, "", "src/train.py/3_7_TFG207"),
        ("a.ipynb", 4, "", "a.ipynb/cell4_3_7_TFG207"),
        ("a.py", 0, "with tf.data's default optimizations off", "a.py/3_7_TFG207_with_tf.data_s_default_optimizations_off"),
        ("../other/a b.py", 0, "", "up/other/a_b.py/3_7_TFG207"),
        ("/abs/a.py", 0, "", "abs/a.py/3_7_TFG207"),
    ],
)  # fmt: skip
def test_each_finding_has_a_folder_of_its_own_below_the_one_asked_for(
    filename: str, cell: int, variant: str, folder: str
) -> None:
    """Two files of one name, two cells with the same rows, and two experiments on one finding do not meet."""
    assert kept_folder(Path("kept"), finding(filename, cell=cell), variant) == Path("kept", folder)
