"""Star imports: what a name means that they bring, where all of them are of TensorFlow, Keras or NumPy."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from checks import found, model_of
from packaging.version import Version

from tflint_gpu.model.library.star_imports import names_brought_by
from tflint_gpu.model.python.syntax.syntax import dotted_name

NEWEST = {"keras": "3.15", "numpy": "2.4", "tensorflow": "2.21"}
"""The versions whose names are known; later ones may have more."""
MODULES = ("activations", "callbacks", "layers", "losses", "metrics", "models", "optimizers", "regularizers", "utils")


@pytest.mark.parametrize("module", ["numpy", "tensorflow", "keras", *(f"keras.{name}" for name in MODULES)])
def test_all_public_names_are_known(module: str) -> None:
    """Protects programs that import by a star: a name that is left out means nothing to any rule."""
    package = module.partition(".")[0]
    if Version(importlib.import_module(package).__version__) >= Version(f"{NEWEST[package]}.9999"):
        pytest.skip(f"{package} is later than {NEWEST[package]}")
    there = importlib.import_module(module)
    public = getattr(there, "__all__", None) or [name for name in dir(there) if not name.startswith("_")]
    known = names_brought_by({"tensorflow": "tf"}.get(module, module))
    assert known is not None
    assert [name for name in public if name not in known and not name.startswith("_")] == []


@pytest.mark.parametrize(
    ("imports", "name", "meant"),
    [
        ("from tensorflow.keras.callbacks import *", "EarlyStopping", "keras.callbacks.EarlyStopping"),
        ("from tensorflow import *", "float16", "tf.float16"),
        ("from numpy import *\nfrom tensorflow import *", "float16", "tf.float16"),
        ("from tensorflow import *\nfrom numpy import *", "float16", "numpy.float16"),
        ("from numpy import *\nfrom tensorflow.keras.backend import *", "square", "keras.backend.square"),
        ("from keras.layers import *\nfrom keras.utils import *", "PyDataset", "keras.utils.PyDataset"),
        ("from keras.utils import *\nfrom mystery import *", "PyDataset", None),
        ("from keras.layers import *", "PyDataset", None),
        ("from numpy import *", "max", None),
    ],
)
def test_what_a_name_means(imports: str, name: str, meant: str | None, tmp_path: Path) -> None:
    """Protects from guesses: the last import holds, and a module that nobody knows may bring anything."""
    model = model_of(f"{imports}\nprint({name})\n", tmp_path)
    (shown,) = (call for call in model.file.tree.calls if dotted_name(call.func) == "print")
    assert model.file.name(shown.args[0].value) == meant


def test_rules_see_what_a_star_brings(tmp_path: Path) -> None:
    """Protects courses, which import so: the flow of images in the line before the last is of Keras's own class."""
    program = """\
from tensorflow.keras.callbacks import *
from tensorflow.keras.layers import *
from tensorflow.keras.models import *
from tensorflow.keras.preprocessing.image import *
net = Sequential([Flatten(), Dense(2, activation="softmax")])
net.compile("adam", "categorical_crossentropy")
leaves = ImageDataGenerator(zoom_range=0.3).flow_from_directory("leaves", target_size=(96, 96))
net.fit(leaves, epochs=40, callbacks=[EarlyStopping(patience=3)])
"""
    assert ("TFG329", 8) in found(program, tmp_path)
