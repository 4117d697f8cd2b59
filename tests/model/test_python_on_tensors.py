"""What Python's functions do with tensors in a traced function: the tables, asked of the installed TensorFlow."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.library.tensor_functions import COMPARING, DYNAMIC, ITERATING, NAMED_SECOND

ROWS = {
    "dict": "dict(rows)",
    "filter": "list(filter(None, rows))",
    "map": "list(map(abs, rows))",
    "iter": "next(iter(rows))",
    "enumerate": "list(enumerate(rows))",
    "zip": "list(zip(rows, rows))",
    "reversed": "list(reversed(rows))",
    "sorted": "sorted([rows[0, 0], rows[1, 1]])",
}
PYTHON = {
    "comprehension": "[row for row in rows]",
    "comprehension over a range": "[rows[i] for i in range(tf.shape(rows)[0])]",
    "star": "[*rows]",
    "arguments": "tf.add_n(*rows)",
    "in": "rows[0, 0] in [1.0, 2.0]",
    "index": "[1.0, 2.0, 3.0][tf.argmax(rows[0])]",
    "two to compare": "max(rows[0, 0], 0.5)",
    "some to compare": "any([rows[0, 0] > 1, rows[0, 1] > 2])",
}
MASKED = {
    "boolean_mask": "tf.boolean_mask(rows, mask)",
    "unique": "tf.unique(rows[:, 0]).y",
    "unique_with_counts": "tf.unique_with_counts(rows[:, 0])[0]",
    "dynamic_partition": "tf.dynamic_partition(rows, tf.cast(mask, tf.int32), 2)[0]",
    "where": "tf.where(mask)",
    "image.non_max_suppression": "tf.image.non_max_suppression(tf.zeros([3, 4]), rows[:, 0], 2)",
}


def traced(code: str) -> Any:
    """What code gives in a `tf.function` that gets rows and a mask."""
    tf = pytest.importorskip("tensorflow")

    def step(rows: Any, mask: Any) -> Any:
        return eval(code, {"tf": tf, "rows": rows, "mask": mask})

    rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return tf.function(step, autograph=False)(rows, rows[:, 0] > 2)


@pytest.mark.parametrize("code", [*(ROWS.get(name, f"{name}(rows)") for name in sorted(ITERATING)), *PYTHON.values()])
def test_what_is_left_to_python_raises(code: str) -> None:
    """Protects programs from `@tf.function` around what needs the elements, or the value, of a tensor."""
    with pytest.raises(Exception, match=r"(?i)symbolic"):
        traced(code)


def test_what_compares_is_known_to_iterate() -> None:
    assert COMPARING <= ITERATING


def test_second_arguments_are_names() -> None:
    """Protects `tf.sqrt(x, tf.float32)`, which only runs eagerly."""
    tf = pytest.importorskip("tensorflow")
    functions = [
        getattr(folder, name) for name in NAMED_SECOND for folder in (tf, tf.math, tf.nn) if hasattr(folder, name)
    ]
    assert all(list(inspect.signature(function).parameters)[1] == "name" for function in functions)
    with pytest.raises(TypeError, match="DType"):
        traced("tf.sqrt(rows, tf.float32)")


@pytest.mark.parametrize(
    "name", sorted({name.removeprefix("tf.") for name in DYNAMIC if ".sets." not in name} | {"where"})
)
def test_shapes_that_depend_on_values_are_not_known(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    shapes = []

    @tf.function(autograph=False)
    def step(rows: Any, mask: Any) -> Any:
        shapes.append(eval(MASKED[name], {"tf": tf, "rows": rows, "mask": mask}).shape[0])
        return rows

    rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    step(rows, rows[:, 0] > 2)
    assert shapes == [None]


ROW_WISE = """
    abs cast exp expand_dims gather gather_nd identity maximum minimum negative nn.relu nn.sigmoid nn.softmax nn.tanh pow
    sigmoid sqrt square stop_gradient tanh math.log math.abs math.square math.sqrt clip_by_value one_hot
"""


@pytest.mark.parametrize("name", ROW_WISE.split())
def test_functions_that_keep_rows_keep_that_they_are_unknown(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    assert name.startswith("gather") or operation_named(f"tf.{name}").keeps_rows
    more = {
        "clip_by_value": (0.0, 1.0),
        "one_hot": (3,),
        "cast": (tf.float64,),
        "expand_dims": (-1,),
        "maximum": (0.0,),
        "minimum": (0.0,),
        "pow": (2.0,),
    }
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    shapes = []

    @tf.function(autograph=False)
    def step(rows: Any) -> Any:
        kept = tf.boolean_mask(rows, rows > 2)
        kept = tf.cast(kept, tf.int32) if name == "one_hot" else kept
        given = (rows, tf.where(rows > 2)) if name.startswith("gather") else (kept, *more.get(name, ()))
        shapes.append((function(*given)).shape[0])
        return rows

    step(tf.constant([1.0, 3.0, 5.0]))
    assert shapes == [None]
