"""Gives a program that was written for Keras 2 the Keras that it was written for.

`tflint-gpu verify` lays a copy next to a program in which it found what only Keras 2 has, and lets the program import
it first. `tf.keras` and `keras` are then `tf_keras`, and so is what `tensorflow.python.keras` has no more.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

_INNER = "tensorflow.python.keras"


class _KerasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets `import keras.layers` give the module `tf_keras.layers` itself, not a second copy of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "keras" and not fullname.startswith(("keras.", f"{_INNER}.")):
            return None
        if fullname.startswith(_INNER) and importlib.machinery.PathFinder.find_spec(fullname, path) is not None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(f"tf_{spec.name.replace(_INNER, 'keras')}")

    def exec_module(self, module: ModuleType) -> None:
        """It was executed under its own name."""


def _is_keras_3() -> bool:
    try:
        from importlib.metadata import version

        return not version("keras").startswith(("1.", "2."))
    except ImportError:  # of Python 3.7, which TensorFlow left before Keras 3 was there; or no Keras of its own
        return False


# TensorFlow reads it when it is imported. 2.15 would look for tf_keras, too, and has Keras 2 in any case.
_HAS_TF_KERAS = importlib.util.find_spec("tf_keras") is not None
if not _HAS_TF_KERAS and _is_keras_3():
    raise ModuleNotFoundError("No module named 'tf_keras' (Keras 2)")
if _HAS_TF_KERAS:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    sys.meta_path.insert(0, _KerasFinder())
