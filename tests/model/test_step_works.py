"""The work of a step that is read from source is what TensorFlow's profiler counts in the graph of the same network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import model_of
from network_programs import HEAD

from tflint_gpu.model import StepWorks, Work

BATCH = 4
COUNTED = ["MatMul", "BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput"]
NETWORKS = {
    "dense": "[keras.Input((64,)), layers.Dense(128, activation='relu'), layers.Dense(10, use_bias=False)]",
    "dense on each step": "[keras.Input((12, 64)), layers.Dense(32), layers.Flatten(), layers.Dense(10)]",
    "convolutions": (
        "[keras.Input((32, 32, 3)), layers.Conv2D(16, 3, padding='same'), layers.BatchNormalization(), layers.ReLU(),"
        " layers.Conv2D(32, 5, strides=2), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10)]"
    ),
    "dilated and without bias": "[keras.Input((32, 32, 3)), layers.Conv2D(8, 3, dilation_rate=2, use_bias=False)]",
    "one axis": "[keras.Input((100, 8)), layers.Conv1D(16, 5), layers.GlobalAveragePooling1D(), layers.Dense(2)]",
    "three axes": "[keras.Input((8, 16, 16, 2)), layers.Conv3D(4, 3), layers.Flatten(), layers.Dense(2)]",
    "transposed": "[keras.Input((8, 8, 16)), layers.Conv2DTranspose(8, 4, strides=2, padding='same')]",
    "depthwise": "[keras.Input((16, 16, 8)), layers.DepthwiseConv2D(3, depth_multiplier=2)]",
    "separable": "[keras.Input((16, 16, 8)), layers.SeparableConv2D(12, 3, padding='same')]",
}


def counted(code: str) -> int:
    """Half of the floating-point operations of the products and convolutions in the forward pass, by the profiler."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    variables: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "program", "exec"), variables)
    network = variables["model"]
    spec = tf.TensorSpec((BATCH, *network.input_shape[1:]))
    graph = convert_variables_to_constants_v2(tf.function(network).get_concrete_function(spec)).graph
    builder = tf.compat.v1.profiler.ProfileOptionBuilder
    options = builder(builder.float_operation()).with_accounted_types(COUNTED).with_empty_output().build()
    told = tf.compat.v1.profiler.profile(graph, options=options)
    return int(told.total_float_ops) // 2


def read(code: str, folder: Path) -> tuple[Work, ...]:
    """What is read of the only call of `model` in a program."""
    model = model_of(code, folder)
    (call,) = [call for call in model.file.calls_in[None] if model.file.code(call.func) == "model"]
    return model.once(StepWorks).of_call(model.file, call)


def program(layers: str) -> str:
    """A program with a network."""
    return f"{HEAD}model = keras.Sequential({layers})\n"


@pytest.mark.parametrize("name", NETWORKS)
def test_multiply_adds_are_those_that_tensorflow_counts(name: str, tmp_path: Path) -> None:
    code = program(NETWORKS[name])
    (work,) = read(f"{code}model(x)\n", tmp_path)
    assert work.of(BATCH) == counted(code) > 0


def test_multiply_adds_by_hand(tmp_path: Path) -> None:
    (work,) = read(program(NETWORKS["convolutions"]) + "model(x)\n", tmp_path)
    first, second = 32 * 32 * 3 * 3 * 3 * 16, 14 * 14 * 5 * 5 * 16 * 32
    assert work.multiply_adds == first + second + 7 * 7 * 32 * 10
    assert (work.layers, work.rows, work.is_whole_batch) == (7, None, True)


def test_the_weights_are_those_of_keras(tmp_path: Path) -> None:
    code = program(NETWORKS["convolutions"])
    variables: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "program", "exec"), variables)
    (work,) = read(f"{code}model(x)\n", tmp_path)
    assert work.weights == variables["model"].count_params()


def test_data_tell_rows_and_the_shape_of_a_first_layer(tmp_path: Path) -> None:
    code = f"{HEAD}model = keras.Sequential([layers.Dense(8)])\ny = model(tf.zeros((5, 3)))\n"
    (work,) = read(code, tmp_path)
    assert (work.multiply_adds, work.rows) == (3 * 8, 5)


@pytest.mark.parametrize(
    "layers",
    [
        "[keras.Input((10, 4)), layers.LSTM(8)]",
        "[keras.Input((None, None, 3)), layers.Conv2D(8, 3)]",
        "[keras.Input((4,)), layers.Dense(8, dtype='float64')]",
        "[layers.Dense(8)]",
    ],
)
def test_what_was_not_counted_is_not_known(layers: str, tmp_path: Path) -> None:
    assert read(program(layers) + "model(x)\n", tmp_path) == ()


def test_each_tape_has_what_it_records(tmp_path: Path) -> None:
    """Protects tapes with equal contents from each other: which is left first does not matter."""
    code = program(NETWORKS["dense"]) + (
        "with tf.GradientTape() as one, tf.GradientTape() as two:\n    model(x)\nwith tf.GradientTape() as three:\n"
        "    model(x)\n    with tf.GradientTape() as four:\n        model(x)\n    model(x)\n"
    )
    model = model_of(code, tmp_path)
    tapes = model.file.calls("tf.GradientTape")
    works = [model.once(StepWorks).under_tape(model.file, tape) for tape in tapes]
    per_call = 64 * 128 + 128 * 10
    assert [work.multiply_adds // per_call for (work,) in works] == [1, 1, 3, 1]
