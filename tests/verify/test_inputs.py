"""What stands in for data that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import model_of

from tflint_gpu.verify.slicing.inputs import InputError, stands


def replaced(code: str, folder: Path) -> str:
    """The code with what stands in."""
    model = model_of(code, folder)
    for one in sorted(stands(model.file, "t"), key=lambda one: one.start, reverse=True):
        code = code[: one.start] + one.text + code[one.end :]
    return code


COMMENTS = {
    "x = load()  # tflint-gpu: input=(32, 128) float32": 't.synthetic(((32, 128), "float32"))',
    "x = load()  #tflint-gpu:input=(32,)": 't.synthetic(((32,), "float32"))',
    "x = load()  # tflint-gpu: input=() int64": 't.synthetic(((), "int64"))',
    "x, y = load()  # tflint-gpu: input=(9, 2) uint8, (9,) int32": 't.synthetic(((9, 2), "uint8"), ((9,), "int32"))',
    "# tflint-gpu: input=(3) bool\nx = load()": 't.synthetic(((3,), "bool"))',
    "x = load(\n    1,\n)  # tflint-gpu: input=(2, 3)": 't.synthetic(((2, 3), "float32"))',
    "x: int = 1\nx = load(  # tflint-gpu: input=(2, 3)\n    1)": 't.synthetic(((2, 3), "float32"))',
    "x: T = load()  # tflint-gpu: input=(2, 3)": 't.synthetic(((2, 3), "float32"))',
    "größe = 'é'; x = load('é')  # tflint-gpu: input=(2, 3)": 't.synthetic(((2, 3), "float32"))',
    "if a:\r\n\tx = load()  # tflint-gpu: input=(2, 3)\r\n": 't.synthetic(((2, 3), "float32"))',
    "import tensorflow as tf\nx = tf.data.TFRecordDataset('a')  # tflint-gpu: input=(9, 2)": (
        't.tf.data.Dataset.from_tensor_slices(t.synthetic(((9, 2), "float32")))'
    ),
    "import tensorflow_datasets as tfds\nx = tfds.load('a')  # tflint-gpu: input=(9, 2)": (
        't.tf.data.Dataset.from_tensor_slices(t.synthetic(((9, 2), "float32")))'
    ),
}


@pytest.mark.parametrize(("code", "expected"), COMMENTS.items())
def test_comments(code: str, expected: str, tmp_path: Path) -> None:
    """Protects the comment as it is documented: on the assignment, above it, or after its last row."""
    text = replaced(code, tmp_path)
    assert f"= {expected}" in text and text.count("t.synthetic") == 1 and "load(" not in text


@pytest.mark.parametrize(
    "specs", ["big", "32, 128", "(2, 3) float32 oops", "(a, 2)", "(2, 3)) float32", "(2, 3) (4, 5)", "(,)"]
)
def test_what_cannot_be_read(specs: str, tmp_path: Path) -> None:
    """Protects users from a comment that does nothing: the error names the file, the row, the text and the form."""
    with pytest.raises(InputError) as error:
        replaced(f"y = 1\nx = load()  # tflint-gpu: input={specs}\n", tmp_path)
    assert str(error.value).startswith("x.py:2: cannot read") and "input=(32, 128) float32" in str(error.value)
    assert specs in str(error.value)


def test_comment_with_no_assignment(tmp_path: Path) -> None:
    """Protects users from a comment that does nothing."""
    with pytest.raises(InputError, match=r"x\.py:1: .*not on a line with an assignment"):
        replaced("print(1)  # tflint-gpu: input=(2, 3)\n", tmp_path)


def test_a_string_is_no_comment(tmp_path: Path) -> None:
    code = 'x = "# tflint-gpu: input=(2, 3)"\n'
    assert replaced(code, tmp_path) == code


LIBRARY = {
    "from tensorflow.keras.datasets import mnist\na = mnist.load_data()": 'a = t.keras_dataset("mnist")',
    "import tensorflow as tf\na = tf.keras.datasets.cifar10.load_data()": 'a = t.keras_dataset("cifar10")',
    "from keras.datasets import mnist\na = mnist.load_data()\nb, c = a[0][-7000:], a[0][:, 9]": (
        'a = t.keras_dataset("mnist", cut=7000)'
    ),
    "from keras.datasets import mnist\na = mnist.load_data()[0].reshape((60000, 784))[:5]": (
        'a = t.keras_dataset("mnist", cut=60000)[0].reshape((60000, 784))[:5]'
    ),
    "from keras.datasets import imdb\na, b = imdb.load_data(num_words=10000)[0]\nc = a[10000:]": (
        'tflint_values.keras_numbers("imdb", cut=10000)(num_words=10000)'
    ),
    "from keras.datasets import mnist\na = mnist.load_data()  # tflint-gpu: input=(8, 28)": "a = t.synthetic",
    "import keras\na = keras.applications.ResNet50()": "ResNet50(weights=None)",
    "import keras\na = keras.applications.ResNet50(include_top=False, )": "ResNet50(include_top=False, weights=None)",
    "import keras\na = keras.applications.ResNet50(input_shape=(8, 8, 3))": "input_shape=(8, 8, 3), weights=None)",
    "import keras\na = keras.applications.ResNet50(weights='imagenet', pooling='avg')": "(weights=None, pooling='avg')",
    "import keras\na = keras.applications.ResNet50(False, 'imagenet')": "ResNet50(False, None)",
    "from keras.applications.vgg16 import VGG16, preprocess_input\na = VGG16()\nb = preprocess_input(a)": (
        "VGG16(weights=None)\nb = preprocess_input(a)"
    ),
    "import keras\na = keras.applications.ResNet50(**options)": "ResNet50(**options)",
}


@pytest.mark.parametrize(("code", "expected"), LIBRARY.items())
def test_what_keras_would_download(code: str, expected: str, tmp_path: Path) -> None:
    """Protects the network: data sets of known shapes, and models without trained weights."""
    assert expected in replaced(code, tmp_path)


def test_old_methods_of_arrays_have_their_new_names(tmp_path: Path) -> None:
    """Protects code that keeps arrays as keys; what only has the same name stays."""
    code = "key = tiles.rows[0].tostring()\nother = tree.tostring(root)\n"
    assert replaced(code, tmp_path) == "key = tiles.rows[0].tobytes()\nother = tree.tostring(root)\n"
