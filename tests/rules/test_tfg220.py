"""TFG220: shapes that change from call to call of a `tf.function`, and those that stay or of which one trace is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import codes, findings

from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
"""
STEP = "@tf.function\ndef rate(pages):\n    return net(pages)\n"
PAGES = "pages = [np.random.rand(n, 6) for n in np.random.randint(5, 900, size=400)]\n"
MADE = (
    "def read():\n    for text in open('texts.txt'):\n        yield [ord(letter) for letter in text]\n"
    "letters = tf.data.Dataset.from_generator(read, output_signature=tf.TensorSpec([None], tf.int32))\n"
)
PAIRS = MADE.replace("tf.TensorSpec([None], tf.int32)", "(tf.TensorSpec([None]), tf.TensorSpec([None]))")
FOUND = {
    "arrays of many lengths": STEP + PAGES + "for page in pages:\n    rate(page)\n",
    "with a new axis": STEP + PAGES + "for turn in range(20):\n    for page in pages:\n        rate(page[None])\n",
    "padded batches": STEP + MADE + "for some in letters.padded_batch(8):\n    rate(some)\n",
    "padded to open lengths": STEP
    + MADE
    + "for some in letters.padded_batch(8, padded_shapes=[None]):\n    rate(some)\n",
    "the other part is padded to one length": STEP
    + PAIRS
    + "for some, more in letters.padded_batch(8, padded_shapes=([40], [None])).prefetch(2):\n    rate(more)\n",
    "parts that a map changes": STEP
    + PAIRS
    + "rows = letters.padded_batch(8, padded_shapes=([40], [None])).map(swapped)\n"
    + "for some, more in rows:\n    rate(some)\n",
    "a window that grows": STEP + "rows = np.load('rows.npy')\nfor end in range(1, 300):\n    rate(rows[:end])\n",
    "by a call": "def rate(pages):\n    return net(pages)\nfast = tf.function(rate)\n"
    + PAGES
    + "for page in pages:\n    fast(page)\n",
    "what a factory returns": "def make():\n    @tf.function\n    def rate(pages):\n        return net(pages)\n"
    "    return rate\nfast = make()\n" + PAGES + "for page in pages:\n    fast(page)\n",
    "compiled": STEP.replace("function", "function(jit_compile=True)") + PAGES + "for page in pages:\n    rate(page)\n",
    "compiled, with one trace": STEP.replace("function", "function(jit_compile=True, reduce_retracing=True)")
    + PAGES
    + "for page in pages:\n    rate(page)\n",
}
SILENT = {
    "relaxed": STEP.replace("function", "function(reduce_retracing=True)")
    + PAGES
    + "for page in pages:\n    rate(page)\n",
    "relaxed by the old name": STEP.replace("function", "function(experimental_relax_shapes=True)")
    + PAGES
    + "for page in pages:\n    rate(page)\n",
    "a signature": STEP.replace("function", "function(input_signature=[tf.TensorSpec([None, 6])])")
    + PAGES
    + "for page in pages:\n    rate(page)\n",
    "a smaller last batch": STEP
    + "rows = tf.data.Dataset.from_tensor_slices(np.load('rows.npy')).batch(32)\nfor some in rows:\n    rate(some)\n",
    "slices of one length": STEP
    + "rows = np.load('rows.npy')\nfor at in range(0, len(rows), 32):\n    rate(rows[at:at + 32])\n",
    "padded to one length": STEP + MADE + "for some in letters.padded_batch(8, padded_shapes=[40]):\n    rate(some)\n",
    "this part is padded to one length": STEP
    + PAIRS
    + "shapes = ([size[0], 40, 3], [None])\n"
    + "for some, more in letters.padded_batch(8, padded_shapes=shapes).prefetch(2):\n    rate(some)\n",
    "a part by its name": STEP
    + PAIRS
    + "shapes = {'more': [None], 'some': [40]}\n"
    + "for both in letters.padded_batch(8, padded_shapes=shapes):\n    rate(both['some'])\n",
    "what nothing is known of": STEP + "for some in held_out:\n    rate(some)\n",
    "a parameter": STEP + "def rated(held_out):\n    return [rate(some) for some in held_out]\n",
    "a few": STEP + "for page in [np.zeros((3, 6)), np.zeros((4, 6)), np.zeros((5, 6))]:\n    rate(page)\n",
    "not traced": STEP.replace("@tf.function\n", "") + PAGES + "for page in pages:\n    rate(page)\n",
    "now and then": STEP + PAGES + "for n, page in enumerate(pages):\n    if n % 100 == 0:\n        rate(page)\n",
    "arrays of one length": STEP
    + "pages = [np.random.rand(40, 6) for _ in range(90)]\nfor page in pages:\n    rate(page)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_changing_shapes_are_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG220") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_other_calls_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG220" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize(("options", "offers"), [("", True), ("(jit_compile=True)", False)])
def test_the_help_is_right_under_xla(options: str, offers: bool, tmp_path: Path) -> None:
    """Protects the advice: under `jit_compile=True` each shape is compiled, whatever is traced."""
    program = (
        HEAD + STEP.replace("tf.function", f"tf.function{options}") + PAGES + "for page in pages:\n    rate(page)\n"
    )
    (found,) = [finding for rule, finding in findings(program, tmp_path) if rule.code == "TFG220"]
    assert (found.help or "").startswith("make it `@tf.function(reduce_retracing=True)`") is offers


def test_relaxed_shapes_need_few_traces() -> None:
    """Protects the finding and its advice, by TensorFlow itself: a trace for each length, and two."""
    import numpy as np
    import tensorflow as tf

    def traces(**options: bool) -> int:
        step = tf.function(lambda rows: tf.reduce_sum(rows), **options)
        for length in range(3, 15):
            step(np.zeros((length, 2), "float32"))
        return int(step.experimental_get_tracing_count())

    assert traces() == 12
    assert traces(reduce_retracing=True) == 2


FITTED = {
    "by itself": "net.compile('sgd', 'mse')\nnet.fit(letters.padded_batch(8))\n",
    "asked": "net.compile('sgd', 'mse', jit_compile=True)\nnet.fit(x=letters.padded_batch(8).prefetch(2), epochs=3)\n",
    "buckets": (
        "net.compile('sgd', 'mse')\nnet.fit(letters.bucket_by_sequence_length(tf.size, [9, 20], [32, 16, 8]))\n"
    ),
}
FITTED_ONCE = {
    "not compiled": "net.compile('sgd', 'mse', jit_compile=False)\nnet.fit(letters.padded_batch(8))\n",
    "run eagerly": "net.compile('sgd', 'mse', run_eagerly=True)\nnet.fit(letters.padded_batch(8))\n",
    "one length": "net.compile('sgd', 'mse')\nnet.fit(letters.padded_batch(8, [40]))\n",
    "filled buckets": (
        "net.compile('sgd', 'mse')\n"
        "net.fit(letters.bucket_by_sequence_length(tf.size, [9, 20], [32, 16, 8], pad_to_bucket_boundary=True))\n"
    ),
    "of one length already": (
        "net.compile('sgd', 'mse')\nnet.fit(tf.data.Dataset.from_tensor_slices(np.zeros((90, 7))).padded_batch(8))\n"
    ),
    "a layer that XLA cannot compile": (
        "net.add(tf.keras.layers.LSTM(3))\nnet.compile('sgd', 'mse')\nnet.fit(letters.padded_batch(8))\n"
    ),
    "rows that a batch joins": "net.compile('sgd', 'mse')\nnet.fit(letters.batch(8))\n",
    "a generator of which nothing is known": (
        "from source import clips\nnet.compile('sgd', 'mse')\n"
        "net.fit(tf.data.Dataset.from_generator(clips, (tf.float32, tf.int32)))\n"
    ),
    "a generator whose rows are batched, so of one shape": (
        "net.compile('sgd', 'mse')\nnet.fit(tf.data.Dataset.from_generator(Clips('films'), tf.float32).batch(4))\n"
    ),
    "unknown data": "net.compile('sgd', 'mse')\nnet.fit(data)\n",
}


@pytest.mark.parametrize("name", FITTED)
def test_batches_for_which_xla_compiles_again_are_found(name: str, tmp_path: Path) -> None:
    code = HEAD + MADE + FITTED[name]
    [text] = [finding.message for rule, finding in findings(code, tmp_path) if rule.code == "TFG220"]
    assert ("Keras 3 compiles" in text) == (name != "asked")


@pytest.mark.parametrize("name", FITTED_ONCE)
def test_batches_of_a_model_that_is_compiled_once_are_not(name: str, tmp_path: Path) -> None:
    assert "TFG220" not in codes(HEAD + MADE + FITTED_ONCE[name], tmp_path)


def test_keras_2_compiles_only_what_is_asked_for(tmp_path: Path) -> None:
    code = HEAD + MADE + FITTED["by itself"]
    assert "TFG220" not in codes(code, tmp_path, target=Target((2, 15), 2, "settings"))


def test_xla_compiles_for_each_length() -> None:
    """Protects the claim: one trace serves all lengths, and XLA compiles for each of them all the same."""
    tf, np = pytest.importorskip("tensorflow"), pytest.importorskip("numpy")

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec((None, 4), tf.float32)])
    def total(rows: Any) -> Any:
        return tf.reduce_sum(rows * 2.0)

    def compiled(length: int) -> str:
        return str(total.experimental_get_compiler_ir(tf.zeros((length, 4)))(stage="hlo"))

    assert float(total(np.ones((3, 4), "float32"))) == 24.0
    assert total.experimental_get_tracing_count() == 1
    assert "f32[3,4]" in compiled(3) and "f32[5,4]" in compiled(5)
    assert total.experimental_get_tracing_count() == 1
