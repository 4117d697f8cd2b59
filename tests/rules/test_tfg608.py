"""TFG608: masks of sequences padded at their front that certainly reach a cuDNN layer are found; nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checks import NEWEST, codes, fixed, found

from tflint_gpu.model.library.keras_methods import PASSING_MASKS
from tflint_gpu.targets import Target

HEAD = """
from sklearn.model_selection import train_test_split
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.preprocessing.sequence import pad_sequences
x = pad_sequences(texts, 50{0})
"""
ROW = HEAD.splitlines().index("x = pad_sequences(texts, 50{0})") + 1
FIT = "net.compile('adam', 'mse')\nnet.fit({0}, y)\n"
CHAINS = {
    "at once": "layers.Embedding(900, 8, mask_zero=True), layers.GRU(6)",
    "both directions": "layers.Embedding(900, 8, mask_zero=True), layers.Bidirectional(layers.LSTM(6))",
    "behind others": (
        "layers.Embedding(900, 8, mask_zero=True), layers.SpatialDropout1D(0.2), layers.BatchNormalization(), layers.LSTM(6)"
    ),
    "a masking layer": "layers.Input((50, 1)), layers.Masking(), layers.LSTM(6)",
}
UNMASKED = {
    "no mask": "layers.Embedding(900, 8), layers.LSTM(6)",
    "dropped on the way": "layers.Embedding(900, 8, mask_zero=True), layers.Conv1D(6, 3), layers.LSTM(6)",
    "no recurrent layer": "layers.Embedding(900, 8, mask_zero=True), layers.GlobalAveragePooling1D()",
    "another kernel": "layers.Embedding(900, 8, mask_zero=True), layers.LSTM(6, activation='relu')",
    "told not to": "layers.Embedding(900, 8, mask_zero=True), layers.LSTM(6, use_cudnn=False)",
    "another value": "layers.Input((50, 1)), layers.Masking(mask_value=-1.0), layers.LSTM(6)",
}


def program(chain: str, told: str = "", data: str = "x") -> str:
    return HEAD.format(told) + f"net = keras.Sequential([{chain}, layers.Dense(1)])\n" + FIT.format(data)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("told", ["", ", padding='pre'", ", truncating='post'"])
def test_a_refused_mask_is_found(name: str, told: str, tmp_path: Path) -> None:
    assert ("TFG608", ROW) in found(program(CHAINS[name], told), tmp_path)


@pytest.mark.parametrize("data", ["x[:800]", "train"])
def test_a_part_of_the_sequences_is_found(data: str, tmp_path: Path) -> None:
    code = program(CHAINS["at once"], data=data)
    code = code.replace("net =", "train, held, y, held_y = train_test_split(x, y)\nnet =")
    assert ("TFG608", ROW) in found(code, tmp_path)


def test_layers_that_are_called_or_added_are_found(tmp_path: Path) -> None:
    added = "net = keras.Sequential()\n" + "".join(
        f"net.add({layer})\n"
        for layer in ("layers.Embedding(900, 8, mask_zero=True)", "layers.LSTM(6)", "layers.Dense(1)")
    )
    called = (
        "words = keras.Input((50,))\nh = layers.Embedding(900, 8, mask_zero=True)(words)\nh = layers.Dropout(0.1)(h)\n"
        "h = layers.LSTM(6)(h)\nnet = keras.Model(words, layers.Dense(1)(h))\n"
    )
    for model in (added, called):
        assert ("TFG608", ROW) in found(HEAD.format("") + model + FIT.format("x"), tmp_path)


TWO_INPUTS = """
photo, words = keras.Input((64,)), keras.Input((30,))
looked = layers.Dense(16)(photo)
said = layers.Embedding(900, 16, mask_zero=True)({0})
both = layers.add([looked, layers.LSTM(16)(layers.Dropout(0.2)(said))])
net = keras.Model([photo, words], layers.Dense(900)(both))
net.compile("adam", "mse")
"""
ROWS = """
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.preprocessing.sequence import pad_sequences
def begun(text, photo):
    photos, starts, ends = list(), list(), list()
    for end in range(1, len(text)):
        photos.append(photo)
        starts.append(pad_sequences([text[:end]], maxlen=30{0})[0])
        ends.append(text[end])
    return np.array(photos), np.array(starts), np.array(ends)
"""
PADDED_ROW = next(n for n, line in enumerate(ROWS.splitlines(), 1) if "pad_sequences(" in line)
BATCHES = {
    "a generator": (
        "def batches():\n    while True:\n        for text, photo in pairs:\n            seen, heard, y = begun(text, photo)\n"
        "            yield {0}, y\n",
        "net.fit(batches(), steps_per_epoch=9)\n",
    ),
    "lists": (
        "def batches():\n    for text, photo in pairs:\n        seen, heard, y = begun(text, photo)\n        yield [{0}, y]\n",
        "net.fit(x=batches())\n",
    ),
    "an object": (
        "class Batches(keras.utils.PyDataset):\n    def __len__(self):\n        return 9\n"
        "    def __getitem__(self, at):\n        seen, heard, y = begun(*pairs[at])\n        return {0}, y\n",
        "net.fit(Batches())\n",
    ),
    "arrays": ("seen, heard, y = begun(*pairs[0])\n", "net.fit({0}, y)\n"),
    "lists that grow by arrays": (
        "looks, words_said, goals = [], [], []\nfor pair in pairs:\n    look, word, goal = begun(*pair)\n"
        "    looks.extend(look)\n    words_said.extend(word)\n    goals.extend(goal)\n"
        "seen, heard, y = np.array(looks), np.array(words_said), np.array(goals)\n",
        "net.fit({0}, y)\n",
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_rows_of_batches_with_several_inputs_are_found(name: str, tmp_path: Path) -> None:
    """Protects programs that describe pictures: their generators pad row by row, for the second input."""
    head, fit = BATCHES[name]
    inputs = "(seen, heard)" if name == "an object" else "[seen, heard]"

    def code(told: str = "", given: str = inputs, masked: str = "words") -> str:
        return ROWS.format(told) + head.format(given) + TWO_INPUTS.format(masked) + fit.format(given)

    assert ("TFG608", PADDED_ROW) in found(code(), tmp_path)
    for other in (code(', padding="post"'), code(given="[heard, seen]"), code(masked="keras.Input((30,))")):
        assert "TFG608" not in codes(other, tmp_path)


@pytest.mark.parametrize("name", UNMASKED)
def test_what_cudnn_does_not_refuse_is_silent(name: str, tmp_path: Path) -> None:
    assert "TFG608" not in codes(program(UNMASKED[name]), tmp_path)


@pytest.mark.parametrize("told", [", padding='post'", ", padding=side", ", value=7.0", ", **how"])
def test_sequences_that_may_be_padded_otherwise_are_silent(told: str, tmp_path: Path) -> None:
    assert "TFG608" not in codes(program(CHAINS["at once"], told), tmp_path)


def test_a_model_that_runs_eagerly_is_silent(tmp_path: Path) -> None:
    code = program(CHAINS["at once"]).replace("'mse')", "'mse', run_eagerly=True)")
    assert "TFG608" not in codes(code, tmp_path)


@pytest.mark.parametrize("target", [Target((2, 15), 2, "settings"), replace(NEWEST, keras_release=(3, 1))])
def test_versions_that_leave_the_kernel_for_such_a_batch_are_silent(target: Target, tmp_path: Path) -> None:
    assert "TFG608" not in codes(program(CHAINS["at once"]), tmp_path, target=target)


def test_the_fix_pads_at_the_end(tmp_path: Path) -> None:
    assert 'pad_sequences(texts, 50, padding="post")' in fixed(program(CHAINS["at once"]), tmp_path, "TFG608")


def test_a_program_that_hides_the_gpus_is_silent(tmp_path: Path) -> None:
    code = "import tensorflow as tf\ntf.config.set_visible_devices([], 'GPU')\n" + program(CHAINS["at once"])
    assert "TFG608" not in codes(code, tmp_path)


def test_there_is_no_fix_where_more_is_padded(tmp_path: Path) -> None:
    """Protects what is evaluated from being padded on the other side than what was trained on."""
    code = program(CHAINS["at once"]) + "net.evaluate(pad_sequences(others, 50), marks)\n"
    assert ("TFG608", ROW) in found(code, tmp_path) and fixed(code, tmp_path, "TFG608") == code


@pytest.mark.parametrize("side", ["pre", "post"])
def test_keras_refuses_the_mask_of_the_front_alone(side: str) -> None:
    """Protects the claim: the assertion that Keras puts in front of its cuDNN kernel, in a graph."""
    keras, tf = pytest.importorskip("keras"), pytest.importorskip("tensorflow")
    refuse = getattr(pytest.importorskip("keras.src.backend.tensorflow.rnn"), "_assert_valid_mask", None)
    if refuse is None:
        pytest.skip("Keras before 3.2")
    rows = keras.utils.pad_sequences([[1, 2], [1, 2, 3, 4]], padding=side)
    mask = keras.layers.Embedding(9, 4, mask_zero=True).compute_mask(rows)
    if side == "post":
        tf.function(refuse)(mask)
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="right-padded sequences"):
            tf.function(refuse)(mask)


def test_layers_hand_their_mask_on() -> None:
    """Protects the row of layers behind which a mask is still there: each is asked."""
    keras, np = pytest.importorskip("keras"), pytest.importorskip("numpy")
    get_mask = pytest.importorskip("keras.src.backend").get_keras_mask
    needed = {"Activation": ("relu",), "TimeDistributed": (keras.layers.Dense(3),), "Dense": (3,)}
    for kind in sorted(PASSING_MASKS - {"SpatialDropout2D", "SpatialDropout3D"}):
        inner = (keras.layers.LSTM(3, return_sequences=True),) if kind == "Bidirectional" else ()
        more = {"return_sequences": True} if kind in ("LSTM", "GRU") else {}
        arguments = (3,) if more else needed.get(kind, inner or ((0.1,) if "Drop" in kind or "Noise" in kind else ()))
        words = keras.layers.Embedding(9, 4, mask_zero=True)(np.array([[0, 0, 1, 2], [0, 3, 1, 2]]))
        assert get_mask(getattr(keras.layers, kind)(*arguments, **more)(words)) is not None, kind
