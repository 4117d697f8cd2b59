"""A static analyzer for TensorFlow and Keras code that says only what a measurement backs."""

from __future__ import annotations

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext tflint_gpu` calls: the notebook gets `%%tflint_run`."""
    from tflint_gpu.integrations.notebook import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """What `%unload_ext tflint_gpu` calls."""
    from tflint_gpu.integrations.notebook import unload

    unload(shell)
