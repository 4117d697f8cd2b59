"""Random programs of tensors and arrays: what the model says of each statement, held against what it gives when it runs.

    python tests/benchmarks/values_fuzz.py [--seed 1] [--programs 100]

A statement computes with the results of those before it; what raises is left out. Prints each value that is known
otherwise than it is, with what it was computed from, and how much is known. tests/PEER_TENSORS.md has the results.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst

from tflint_gpu.model.model import Model
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.values.value import TensorValue, text
from tflint_gpu.model.values.values import Values
from tflint_gpu.targets import Target
from tflint_gpu.text.source import SourceFile

HEAD = "import numpy as np\nimport tensorflow as tf\n"
STATEMENTS = 40
LARGEST = 20_000  # numbers of one result
_DTYPES = ("'float32'", "tf.int32", "tf.int64", "np.float64", "'uint8'", "tf.float16", "tf.bool", "np.int8")
_MADE = """
tf.ones(SHAPE)|tf.zeros(SHAPE, DTYPE)|np.ones(SHAPE)|np.zeros(SHAPE, np.float32)|np.zeros(SHAPE, int)
np.zeros(SHAPE, bool)|np.zeros(SHAPE, 'uint8')|tf.random.normal(SHAPE)|tf.constant([1, 2, 3])|tf.constant([[1.0, 2]])
tf.constant(3)|tf.constant(2.5)|tf.constant([[1], [2]])|tf.constant([True])|np.arange(4)|tf.range(3)|np.array([1, 2.0])
np.array([[1, 2], [3, 4]])|np.array(5)|np.array([True, False])|tf.Variable([1.0, 2.0])|tf.Variable(tf.ones((2, 3)))
tf.Variable(np.zeros((2, 2)))|tf.Variable(1)|tf.fill((2, 3), 1)|tf.fill((1, 2), 2.0)|tf.eye(2)|np.linspace(0, 1, 4)|2|2.5
"""
_COMPUTED = """
A + B|A * B|A / B|A - B|A // B|A @ B|A > B|A == B|-A|A ** 2|A[0]|A[1:]|A[..., None]|A[:, 0]|A[None]|A[-1]|A[::2]
A[0, ..., 1:]|A[[0]]|A[B]|tf.reduce_sum(A)|tf.reduce_mean(A, axis=AXIS)|tf.reduce_max(A, AXIS, True)|np.sum(A, axis=AXIS)
np.mean(A)|np.max(A, axis=AXIS, keepdims=True)|tf.argmax(A, AXIS)|np.argmax(A, axis=AXIS)|tf.argmax(A)
tf.concat([A, B], AXIS)|np.concatenate([A, B], axis=AXIS)|np.concatenate([A, B])|tf.stack([A, B], axis=AXIS)
np.stack([A, B], AXIS)|np.vstack([A, B])|np.hstack([A, B])|tf.reshape(A, (-1,))|tf.reshape(A, SHAPE)
np.reshape(A, (-1, 1))|tf.expand_dims(A, AXIS)|np.expand_dims(A, AXIS)|tf.squeeze(A)|np.squeeze(A, axis=AXIS)
tf.transpose(A)|np.transpose(A)|tf.transpose(A, [1, 0])|tf.cast(A, DTYPE)|tf.matmul(A, B)|np.dot(A, B)|np.matmul(A, B)
tf.maximum(A, B)|np.maximum(A, B)|tf.where(A > 0, A, B)|np.where(A > 0, A, B)|tf.sqrt(A)|np.sqrt(A)|np.exp(A)|tf.abs(A)
np.abs(A)|tf.tile(A, [2, 1])|np.tile(A, (2, 1))|np.tile(A, 2)|tf.pad(A, [[1, 0], [0, 2]])|np.pad(A, 1)|tf.gather(A, B)
tf.gather(A, [0, 0], axis=AXIS)|np.take(A, [0])|np.take(A, [0], axis=AXIS)|tf.repeat(A, 2, axis=AXIS)|np.repeat(A, 2)
tf.one_hot(A, 3)|tf.zeros_like(A)|np.ones_like(A)|np.zeros_like(A, dtype=int)|tf.shape(A)|tf.size(A)|tf.rank(A)
tf.convert_to_tensor(A)|np.array(A)|np.array([A, B])|tf.constant([1, 2], dtype=DTYPE)|tf.clip_by_value(A, 0, 1)
np.clip(A, 0, 1)|tf.split(A, 2, axis=AXIS)[0]|tf.unstack(A)[0]|tf.cumsum(A)|np.cumsum(A)|tf.sort(A)|tf.nn.softmax(A)
tf.einsum('ij,jk->ik', A, B)|tf.tensordot(A, B, 1)|A.numpy()|A.astype('float32')|A.reshape(-1)|A.sum(axis=AXIS)|A.mean()
A.T|A.flatten()|A.max()|A.assign_add(B)|A.read_value()|abs(A)|sum([A, B])|tf.add(A, B)|tf.divide(A, B)|np.add(A, B)
np.divide(A, B)|np.power(A, 2)|tf.pow(A, 2)|tf.math.top_k(A, 1)[0]|tf.linspace(A, B, 3)|np.round(A)|np.argsort(A)
tf.broadcast_to(A, SHAPE)|tf.ensure_shape(A, None)|tf.boolean_mask(A, A > 0)|tf.argsort(A)|tf.roll(A, 1, 0)|np.float32(A)
np.int64(A)|tf.math.reduce_std(A)|np.std(A, axis=AXIS)|np.any(A > 0)|tf.reduce_any(A > 0, AXIS)|tf.keras.layers.Dense(3)(A)
tf.keras.ops.sum(A, AXIS)|tf.keras.ops.concatenate([A, B], axis=AXIS)|tf.norm(A)|tf.stop_gradient(A)|(A, B)[1]|[A, B][0]
next(iter(tf.data.Dataset.from_tensor_slices(A)))|next(iter(tf.data.Dataset.from_tensor_slices((A, B)).batch(2)))[0]
next(iter(tf.data.Dataset.from_tensors(A).repeat(2).batch(2)))
next(iter(tf.data.Dataset.from_tensor_slices(A).map(lambda row: row + B)))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    choose = random.Random(options.seed)
    for _ in range(options.programs):
        for difference in differences(choose, counts):
            print(difference)
    print(json.dumps(counts))
    return 0


def differences(choose: random.Random, counts: Counter[str]) -> Iterator[str]:
    """What is known otherwise than it is of one random program."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    lines, results = program(choose)
    with tempfile.TemporaryDirectory() as folder:
        source = SourceFile.decode((HEAD + "\n".join(lines) + "\n").encode(), Path(folder) / "x.py", "x.py")
        model = Model.open(source, Project(Path(folder), Target(tensorflow=(2, 21), keras=3, source="newest")))
        values = model.once(Values)
        assigned = {line.partition(" ")[0]: node for line, node in zip(lines, _values(model), strict=True)}
        for line in lines:
            name, _, expression = line.partition(" = ")
            value, result = values.of(model.file, assigned[name]), results[name]
            counts["statements"] += 1
            if not isinstance(value, TensorValue) or (value.is_number and not hasattr(result, "shape")):
                continue
            counts["known"] += 1
            counts["with dtype"] += bool(value.dtype)
            counts["with shape"] += value.shape is not None
            if not holds(value, result):
                counts["known otherwise"] += 1
                given = {part: text(values.of(model.file, assigned[part])) for part in re.findall(r"x\d+", expression)}
                yield f"{line}: {text(value)}, but {described(result)}; {given}"


def _values(model: Model) -> Iterator[cst.BaseExpression]:
    for statement in model.file.tree.module.body:
        inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
        if isinstance(inner, cst.Assign):
            yield inner.value


def program(choose: random.Random) -> tuple[list[str], dict[str, Any]]:
    """The statements of a program that runs, and what its names are then."""
    results: dict[str, Any] = {}
    exec(HEAD, results)
    made, computed = (_templates(part) for part in (_MADE, _COMPUTED))
    lines: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(lines) < STATEMENTS:
            names = [line.partition(" ")[0] for line in lines][-8:]
            templates = made if len(names) < 3 or choose.random() < 0.15 else computed
            expression = _filled(choose, choose.choice(templates), names or ["1"])
            try:
                result = eval(expression, results)
            except Exception:  # it does not go together
                continue
            if _is_kept(result):
                lines.append(f"x{len(lines)} = {expression}")
                results[f"x{len(lines) - 1}"] = result
    return lines, results


def _templates(part: str) -> list[str]:
    return part.strip().replace("\n", "|").split("|")


def _filled(choose: random.Random, template: str, names: list[str]) -> str:
    lengths = [choose.choice((1, 2, 3, 4)) for _ in range(choose.choice((0, 1, 2, 2, 3)))]
    shape = f"({', '.join(map(str, lengths))}{',' * (len(lengths) == 1)})"
    filled = template.replace("SHAPE", shape).replace("DTYPE", choose.choice(_DTYPES))
    filled = filled.replace("AXIS", str(choose.choice((-2, -1, 0, 1, 2))))
    first, second = choose.choice(names), choose.choice(names)
    return re.sub(r"\bB\b", second, re.sub(r"\bA\b", first, filled))


def _is_kept(result: Any) -> bool:
    """Whether a result is a number, a tensor or an array, and not too large."""
    if not hasattr(result, "dtype") or not hasattr(result, "shape"):
        return isinstance(result, int | float)
    size = 1
    for length in result.shape:
        size *= length
    return size <= LARGEST


def holds(value: TensorValue, result: Any) -> bool:
    """Whether what is known of a value is so."""
    kind, dtype, shape = _kind(result)
    if value.kind != kind or value.dtype not in ("", dtype):
        return False
    if value.shape is None:
        return True
    lengths = zip(value.shape, shape, strict=False)
    return len(value.shape) == len(shape) and all(known in (None, length) for known, length in lengths)


def _kind(result: Any) -> tuple[str, str, tuple[int, ...]]:
    if not hasattr(result, "dtype"):
        return "number", type(result).__name__, ()
    dtype = result.dtype if isinstance(result.dtype, str) else getattr(result.dtype, "name", str(result.dtype))
    is_array = type(result).__module__.startswith("numpy")
    kind = "array" if is_array else "variable" if "Variable" in type(result).__name__ else "tensor"
    return kind, dtype, tuple(result.shape)


def described(result: Any) -> str:
    """A result as what is known of it is written."""
    kind, dtype, shape = _kind(result)
    return f"{kind} {dtype} {shape}"


if __name__ == "__main__":
    raise SystemExit(main())
