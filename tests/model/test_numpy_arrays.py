"""Arrays that the source makes have the size that NumPy gives them."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import numpy as np
import pytest
from checks import model_of

from tflint_gpu.model import NumpyArrays

HEAD = "import numpy as np\nrng = np.random.default_rng(0)\nold = np.random.RandomState(0)\nbytes_ = np.ones((3, 4), np.uint8)\n"
EXACT = (
    # a type at its place
    "np.zeros((3, 4), np.float32)",
    "np.ones((3, 4), 'uint8')",
    "np.empty(7, bool)",
    "np.full((3, 4), 1.0, np.float16)",
    "np.arange(9, dtype='i2')",
    "np.eye(3, 4, 0, np.uint8)",
    "np.linspace(0.0, 1.0, 9, True, False, np.float32)",
    "np.random.randint(0, 5, (3, 4), np.int16)",
    "rng.integers(0, 5, (3, 4), np.uint8)",
    "rng.random((3, 4), np.float32)",
    "rng.standard_normal((3, 4), 'float32')",
    "old.randint(0, 5, (3, 4), np.int32)",
    "np.array(np.ones((3, 4)), np.float32)",
    "np.asarray(np.ones((3, 4)), dtype=np.int8)",
    "np.ones((3, 4)).astype(np.uint16, 'C')",
    # none
    "np.zeros((3, 4))",
    "np.full((3, 4), 2)",
    "np.full((3, 4), True)",
    "np.full((3, 4), 2.5)",
    "np.arange(9)",
    "np.random.randint(5, size=(3, 4))",
    "rng.normal(size=(3, 4))",
    "np.copy(bytes_)",
    # computed
    "np.abs(bytes_)",
    "np.clip(bytes_, 0, 3)",
    "np.square(np.random.randint(5, size=(3, 4)))",
    "np.sqrt(bytes_)",
    "np.log1p(np.ones(4, np.int16))",
    "np.exp(np.arange(9))",
    "np.sin(np.ones(4, np.float16))",
    "bytes_ * 2",
    "bytes_ / 255.0",
    "bytes_ * 0.5",
    "np.ones((3, 4), np.float32) * 0.5",
    "np.ones((3, 4), np.float32) * bytes_",
    "np.ones(4, np.float32) * np.ones(4, np.int32)",
    "np.ones(4, np.float16) + np.ones(4, np.int16)",
    "np.ones(9, np.float32) - np.arange(9)",
    "np.ones(4, np.float32) + np.ones(4)",
)  # fmt: skip
AT_LEAST = ("np.full((3, 4), x)", "np.zeros((3, 4), *rest)", "np.zeros((3, 4), kind)", "np.array(bytes_, kind)")


def size_of(expression: str, folder: Path) -> int:
    """How many bytes the model gives to an array at least."""
    model = model_of(f"{HEAD}array = {expression}\n", folder)
    values = {node.targets[0].target.value: node.value for node in model.file.tree.nodes(cst.Assign)}  # type: ignore[union-attr]
    array = model.once(NumpyArrays).of(model.file, values["array"])
    assert array is not None
    return array.bytes


@pytest.mark.parametrize("expression", EXACT)
def test_the_size_is_the_one_that_numpy_gives(expression: str, tmp_path: Path) -> None:
    names: dict[str, object] = {"np": np}
    exec(HEAD, names)
    assert size_of(expression, tmp_path) == eval(expression, names).nbytes  # type: ignore[attr-defined]


@pytest.mark.parametrize("expression", AT_LEAST)
def test_a_type_that_is_not_known_has_at_least_one_byte(expression: str, tmp_path: Path) -> None:
    assert size_of(expression, tmp_path) == 12
