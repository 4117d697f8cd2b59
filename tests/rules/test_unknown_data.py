"""A model that a loop calls with its own element runs eagerly, whatever the data are: nothing has to define them."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found

HEAD = "import tensorflow as tf\n"
LOADED = HEAD + "net = tf.keras.models.load_model('net.keras')\n"
SHOWN = HEAD + "net = ...\n"
USED = "gradients = tape.gradient(gap, net.trainable_variables)\n"
LOOPS = {
    "a name that nothing defines": LOADED + "for sheets, marks in held_out:\n    answers = net(sheets)\n",
    "a model that its use shows": SHOWN + "for sheets, marks in held_out:\n    answers = net(sheets)\n" + USED,
    "a model that has weights": HEAD
    + "net = read_net()\nprint(len(net.trainable_variables))\nfor sheets in held_out:\n    answers = net(sheets)\n",
    "a parameter that has weights": HEAD
    + "def judge(net, held_out):\n    size = sum(tf.size(w) for w in net.trainable_weights)\n"
    + "    for sheets in held_out:\n        answers = net(sheets)\n    return size\n",
    "a model that another function trains": HEAD
    + "from nets import read_net\n"
    + "def learn(net, sheets, marks):\n    with tf.GradientTape() as tape:\n        gap = distance(marks, net(sheets))\n"
    + "    descent.apply_gradients(zip(tape.gradient(gap, net.trainable_variables), net.trainable_variables))\n"
    + "def judge(net, held_out):\n    for sheets in held_out:\n        answers = net(sheets)\n"
    + "def run():\n    net = read_net()\n    learn(net, *first)\n    judge(net, held_out)\nrun()\n",
    "a parameter": LOADED + "def judge(held_out):\n    for sheets in held_out:\n        answers = net(sheets)\n",
    "what an unknown function gives": LOADED + "for sheets, _ in make_pages('test'):\n    answers = net(sheets)\n",
    "a module that is not there": LOADED + "from pages import held_out\nfor s in held_out:\n    print(net(s)[0])\n",
    "an attribute of one": LOADED + "import pages\nfor s in pages.held_out:\n    print(net(s)[0])\n",
    "counted": LOADED + "for place, (sheets, marks) in enumerate(held_out):\n    answers = net(sheets)\n",
    "until its results say so": LOADED
    + "for sheets in held_out:\n    answers = net(sheets)\n    if answers[0, 0] > 0.9:\n        break\n",
    "until a key is pressed": LOADED
    + "import cv2\nfor sheets in held_out:\n    show(net(sheets))\n    if cv2.waitKey(1) == ord('q'):\n        break\n",
    "until somebody asked": LOADED
    + "for n, sheets in enumerate(held_out):\n    answers = net(sheets)\n    if stopped or n > 500:\n        break\n",
    "replicas that get a pair by its name": LOADED
    + "spread = tf.distribute.MirroredStrategy()\ndef judged(sheets, marks):\n    return distance(marks, net(sheets))\n"
    + "for pair in spread.experimental_distribute_dataset(held_out):\n    spread.run(judged, args=pair)\n",
    "a part of a dictionary": LOADED + "for page in held_out:\n    answers = net(page['sheets'])\n",
}
OTHERS = {
    "a network that is being built": HEAD
    + "def assembled(inputs):\n    trunk = tf.keras.Sequential([tf.keras.layers.Dense(3)])\n    outs = []\n"
    + "    for each in inputs:\n        outs.append(trunk(each))\n    return tf.keras.Model(inputs, outs)\n",
    "parts of a network that goes on": LOADED
    + "def assembled(sources):\n    outs = []\n    for each in sources:\n        outs += [net(each)]\n"
    + "    outs = tf.keras.layers.Dense(1)(outs[0])\n    return tf.keras.Model(inputs=sources, outputs=outs)\n",
    "inputs of Keras": LOADED
    + "for each in [tf.keras.Input((3,)), tf.keras.Input((4,))] * 9:\n    answers = net(each)\n",
    "a few": LOADED + "for sheets in [first, second]:\n    answers = net(sheets)\n",
    "a glance": LOADED + "for n, x in enumerate(held_out):\n    print(net(x))\n    if 3 <= n:\n        break\n",
    "a glance, or less": LOADED
    + "for n, x in enumerate(held_out):\n    print(net(x))\n    if n == 3 or stopped:\n        break\n",
    "a glance while it is tried": "TRIED = True\n"
    + LOADED
    + "for x in held_out:\n    print(net(x))\n    if TRIED:\n        break\n",
    "traced from outside": LOADED
    + "@tf.function\ndef judge(held_out):\n    for sheets in held_out:\n        answers = net(sheets)\njudge(pages)\n",
    "names of Python's own library": LOADED + "import string\nfor letter in string.printable:\n    net(letter)\n",
    "another value than the one that has weights": HEAD
    + "def learn(net):\n    print(net.trainable_variables)\n"
    + "def run():\n    net = read_net()\n    clean = read_cleaner()\n    learn(net)\n"
    + "    for sheets in held_out:\n        answers = clean(sheets)\nrun()\n",
    "layers whose weights are counted": HEAD
    + "for layer in stack.layers:\n    print(layer.trainable_weights)\nfor value in values:\n    layer(value)\n",
    "layers, one after another": HEAD
    + "def stack(layers, value):\n    for layer in layers:\n        value = layer(value)\n    return value\n",
}


@pytest.mark.parametrize("case", LOOPS)
def test_a_model_over_unknown_data_is_found(case: str, tmp_path: Path) -> None:
    """Protects the answer to "why is my GPU idle during validation?" for a snippet as people ask it."""
    assert "TFG207" in codes(LOOPS[case], tmp_path)


@pytest.mark.parametrize("case", OTHERS)
def test_other_loops_are_not_found(case: str, tmp_path: Path) -> None:
    """Protects precision: construction, a few elements, traced loops, and loops over something else than data."""
    assert {"TFG202", "TFG207", "TFG214"}.isdisjoint(codes(OTHERS[case], tmp_path))


def test_a_batch_of_one_is_a_batch_in_a_function_too(tmp_path: Path) -> None:
    """Protects loops over datasets that are batched by one, whose body is in a method: no other rule names them."""
    code = """import tensorflow as tf
class Painter:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3)])
    def show(self, picture, number):
        tf.io.write_file(f"{number}.png", tf.io.encode_png(tf.cast(self.net(picture)[0], tf.uint8)))
    def show_all(self, pictures):
        for number, (picture, _) in pictures.enumerate():
            self.show(picture, number)
pictures = tf.data.Dataset.list_files("*.png").map(load).batch(1)
Painter().show_all(pictures)
"""
    assert [row for code, row in found(code, tmp_path) if code == "TFG207"] == [6]


LEFT = """import tensorflow as tf
class Folded(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.half = tf.keras.Sequential([tf.keras.layers.Dense(9)])
    def squeezed(self, sheet):
        return self.half(sheet)
    def gap(self, sheet):
        return tf.reduce_mean(self.squeezed(sheet) - sheet)
sheets = tf.data.Dataset.from_tensor_slices(pages).batch(8)
net = Folded()
for number, held in zip(range(700), sheets):
    print(number)
held_out = tf.data.Dataset.from_tensor_slices(more_pages).batch(8)
"""


@pytest.mark.parametrize(
    ("loop", "is_found"),
    {
        "for sheet in held_out:\n    gaps.append(net.gap(held))\n": True,
        "one = next(iter(sheets))\nfor sheet in held_out:\n    gaps.append(net.gap(one))\n": True,
        "for turn in range(700):\n    gaps.append(net.gap(held))\n": False,
        "for n, sheet in enumerate(held_out):\n    if n % 90 == 0:\n        gaps.append(net.gap(held))\n": False,
        "for sheet in held_out:\n    gaps.append(net.gap(tf.zeros((8, 9))))\n": False,
        "for sheet in held_out.take(3):\n    gaps.append(net.gap(held))\n": False,
        "net.gap = tf.function(net.gap)\nfor sheet in held_out:\n    gaps.append(net.gap(held))\n": False,
        "def all():\n    for sheet in held_out:\n        gaps.append(net.gap(held))\ntraced = tf.function(all)\ntraced()\n": False,
    }.items(),
)
def test_a_batch_that_another_loop_left_is_one(loop: str, is_found: bool, tmp_path: Path) -> None:
    """Protects loops over data that by mistake give the model another batch than their own."""
    assert [row for code, row in found(LEFT + loop, tmp_path) if code == "TFG207"] == [7] * is_found
