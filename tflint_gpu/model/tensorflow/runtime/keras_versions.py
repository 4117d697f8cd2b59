"""Which Keras a program runs with."""

from __future__ import annotations

from tflint_gpu.model.model import Model

_LEGACY_KERAS = (b"tf_keras", b"TF_USE_LEGACY_KERAS")


def is_keras_3(model: Model) -> bool:
    """Whether the program runs with Keras 3: it comes with the target version, and nothing asks for the old one."""
    return model.target.keras >= 3 and not model.project.program_mentions(model.source, _LEGACY_KERAS)
