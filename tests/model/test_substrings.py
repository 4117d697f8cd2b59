"""Tests of a file's bytes: they hold for every file that may have what a rule looks for."""

from __future__ import annotations

import pytest

from tflint_gpu.model.library.substrings import gives_a_function, may_grow, shuffles

_GROWING = [
    "x = tf.concat([x, y], 0)",
    "    self.rows = tf.concat([self.rows, new], axis=0)",
    "x: tf.Tensor = tf.concat([x, y], 0)",
    "x = (\n    tf.concat([x, y], 0)\n)",
    "x = \\\n    tf.concat([x, y], 0)",
    "x = y if x is None else tf.concat([x, y], 0)",
    "x = y if len(x) == 0 else tf.concat([x, y], 0)",
    "x = (\n    y\n    if x is None\n    else tf.concat([x, y], axis=0)\n)",
    "x = tf.concat([x, y], axis=0) if a else tf.concat([x, z], axis=0)",
    "x, n = tf.concat([x, y], 0), n + 1",
    "n, x = (n + 1, tf.concat([x, y], 0))",
    "rows['a'] = np.concatenate([rows['a'], new])",
    "rows[key] = np.vstack((rows[key], new))",
    "if new: x = np.append(x, f(y)(1))",
    "if f(a=1): x = np.hstack([x, y])",
    "x = K.concatenate(\n    [\n        x,  # so far (\n        y,\n    ],\n    axis=0,\n)",
    "x = tf.concat([f(')'), x], 0)",
    "x = y if (a and b) else(tf.concat([x, y], 0))",
]
_NOT_GROWING = [
    "x = tf.concat([a, b], 0)",
    "return tf.concat([x, y], 0)",
    "x = 1\nrows.append(tf.concat([x, y], 0))",
    "x = dense(tf.concat([x, y], 0))",
    "x = np.mean([x])",
]


@pytest.mark.parametrize("code", _GROWING)
def test_what_may_grow_is_seen(code: str) -> None:
    assert may_grow(f"x = start()\nfor y in data:\n    {code}\nprint(x)\n".encode())


@pytest.mark.parametrize("code", _NOT_GROWING)
def test_what_grows_nothing_is_no_reason_to_parse(code: str) -> None:
    assert not may_grow(f"{code}\n".encode())


_GIVEN = [
    "model.compile(loss=mine)",
    "model.compile(loss=lambda a, b: a - b)",
    "model.compile(loss=make('mse'))",
    "model.compile('adam', mine, metrics=['mae'])",
    "model.compile(loss='mse', metrics=['mae', mine])",
    "model.compile(loss='mse', metrics=[mine])",
    "model.compile(loss='mse', metrics = [mine])",
    "model.compile(loss='mse', metrics=list_of_mine)",
    "model.compile(loss='mse')\nother.compile('adam', mine, metrics=['mae'])",
    "model.compile(loss=keras.losses.get(mine), metrics=[])" + "\nmodel.compile(loss=mine)",
    "model.compile(loss='m' if quick else mine)",
    "model.compile(loss='m'\n  if quick else mine)",
    "settings = dict(loss=mine)",
]
_NONE_GIVEN = [
    "model.compile('adam', loss='mse', metrics=['mae'])",
    "model.compile('adam', loss='mse', metrics=['mae', tf.keras.metrics.AUC()])",
    "model.compile(loss=keras.losses.MeanSquaredError(reduction='sum'))",
    "model.compile(\n    loss='mse',\n    metrics=[\n        'mae',\n    ],\n)",
    "model.fit(x, y)",
]


@pytest.mark.parametrize("code", _GIVEN)
def test_functions_given_to_keras_are_seen(code: str) -> None:
    assert gives_a_function(f"{code}\n".encode())


@pytest.mark.parametrize("code", _NONE_GIVEN)
def test_texts_given_to_keras_are_no_reason_to_parse(code: str) -> None:
    assert not gives_a_function(f"{code}\n".encode())


@pytest.mark.parametrize(
    "code", ["ds.shuffle(9)", "ds.batch(2)\\\n  .shuffle(9)", "random_ds.shuffle(9)", "my_random.shuffle(9)"]
)
def test_datasets_that_are_shuffled_are_seen(code: str) -> None:
    assert shuffles(f"random.shuffle(x)\n{code}\n".encode())


def test_shuffled_lists_are_no_reason_to_parse() -> None:
    assert not shuffles(b"random.shuffle(x)\nnp.random.shuffle(y)\n")
