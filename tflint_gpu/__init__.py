"""A static analyzer for TensorFlow and Keras code that says only what a measurement backs."""

from __future__ import annotations

import os

__version__ = "0.1.0"

if not os.path.isdir(os.path.join(__path__[0], "rules")):  # noqa: PTH112, PTH118 (pathlib takes milliseconds)
    # In a checkout or an unpacked sdist that is not installed the rules lie next to the package.
    __path__.append(os.path.dirname(__path__[0]))  # noqa: PTH120


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext tflint_gpu` calls: the notebook gets `%%tflint_run`."""
    from tflint_gpu.integrations.notebook import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """What `%unload_ext tflint_gpu` calls."""
    from tflint_gpu.integrations.notebook import unload

    unload(shell)
