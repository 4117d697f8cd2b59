"""Calls that read data from elsewhere, and what is put around them or in their place.

The functions that are put there live in `tflint_files` and `tflint_values`, which are laid beside the program. They
read what is there, and make up what is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.syntax import argument, method_name

FILES, VALUES = "tflint_files", "tflint_values"

# What is put around the called function, by the names of the functions.
_AROUND = {
    "reading": (
        "io.open codecs.open gzip.open tf.io.gfile.GFile cv2.imread PIL.Image.open "
        "keras.utils.load_img keras.preprocessing.image.load_img skimage.io.imread imageio.imread "
        "matplotlib.image.imread matplotlib.pyplot.imread tf.data.TextLineDataset zipfile.ZipFile "
        "imageio.v2.imread"
    ),
    "loading": "numpy.load numpy.loadtxt numpy.genfromtxt",
    "table": "pandas.read_csv pandas.read_table pandas.read_excel pandas.read_parquet",
    "fetched": "keras.utils.get_file keras.utils.data_utils.get_file",
    "retrieved": "urllib.request.urlretrieve wget.download gdown.download",
    "left_out": "os.system",
    "listing": (
        "os.listdir glob.glob glob.iglob tf.io.gfile.glob tf.io.gfile.listdir tf.data.Dataset.list_files "
        "tf.io.matching_files"
    ),
    "image_folder": (
        "keras.utils.image_dataset_from_directory keras.preprocessing.image_dataset_from_directory "
        "keras.preprocessing.image.image_dataset_from_directory"
    ),
    "loaded": "keras.models.load_model keras.saving.load_model",
    "records": "tf.data.TFRecordDataset",
    "parsed": "tf.io.parse_single_example tf.io.parse_example",
}
_METHODS_AROUND = {
    "image_folder": ("flow_from_directory",),
    "weights": ("load_weights",),
}
_READERS = {name: wrapper for wrapper, names in _AROUND.items() for name in names.split()}
_KERAS_TABLES = ("imdb", "reuters", "boston_housing", "california_housing")
CATALOGUE = frozenset(
    (
        "mnist fashion_mnist kmnist emnist cifar10 cifar100 svhn_cropped stl10 celeb_a cats_vs_dogs tf_flowers "
        "oxford_flowers102 horses_or_humans rock_paper_scissors beans food101 malaria imdb_reviews"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Around:
    """A called function around which something is put.

    Arguments:
        call: whose function it is.
        function: of `tflint_files`.
    """

    call: cst.Call
    function: str


def read_elsewhere(file: File) -> Iterator[Around]:
    """The calls of a file that read what may not be here."""
    for name, function in _READERS.items():
        yield from (Around(call, function) for call in file.calls(name))
    for call in file.tree.calls:
        if isinstance(call.func, cst.Name) and call.func.value == "open" and file.name(call.func) in (None, "open"):
            yield Around(call, "reading")
    for function, methods in _METHODS_AROUND.items():
        for method in methods:
            for call in file.method_calls(method):
                yield Around(call, function)
    if any(_is_step_of_four(node) for node in file.tree.parents):
        for call in file.calls("gym.make", "gymnasium.make"):
            yield Around(call, "old_environment")
    if any(_must_be_given(call) for call in file.method_calls("add_argument")):
        for call in file.method_calls("parse_args"):
            yield Around(call, "arguments")


def _is_step_of_four(node: cst.CSTNode) -> bool:
    """Whether a step of an environment is taken apart as gym did before 0.26: `state, reward, done, info`."""
    if not isinstance(node, cst.Assign) or not isinstance(node.value, cst.Call):
        return False
    target = node.targets[0].target
    return method_name(node.value) == "step" and isinstance(target, cst.Tuple) and len(target.elements) == 4


def _must_be_given(call: cst.Call) -> bool:
    """Whether a program ends at once without this argument on its command line."""
    name = argument(call, 0, "name")
    required = argument(call, 9, "required")
    is_optional = argument(call, 9, "nargs") is not None
    is_positional = isinstance(name, cst.SimpleString) and not str(name.evaluated_value).startswith("-")
    return (is_positional and not is_optional) or (isinstance(required, cst.Name) and required.value == "True")


def replaced_functions(file: File) -> Iterator[tuple[cst.Call, str]]:
    """The calls whose function is replaced, each with what it becomes: nothing of the library is needed for them."""
    for name in _KERAS_TABLES:
        for call in file.calls(f"keras.datasets.{name}.load_data"):
            yield call, f'{VALUES}.keras_numbers("{name}")'
    for call in file.calls("tensorflow_datasets.load"):
        name_of = argument(call, 0, "name")
        if isinstance(name_of, cst.SimpleString):
            value = name_of.evaluated_value
            if isinstance(value, str) and value.partition(":")[0].partition("/")[0] in CATALOGUE:
                yield call, f"{VALUES}.catalogued"
