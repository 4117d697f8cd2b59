"""The libraries that pages need; they are not installed with the tool."""

from __future__ import annotations

import importlib.util

from tflint_gpu.settings.options import SettingsError


class MissingLibrary(SettingsError):
    """A format needs a library that is not installed; the text says how to install it."""


def require_libraries(*names: str) -> None:
    """Ask for what a page needs before hours of measuring.

    Raises:
        MissingLibrary: a library is not installed.
    """
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingLibrary(
            f'the HTML report needs {" and ".join(missing)}: pip install "tflint-gpu[report]" '
            '(in a checkout of tflint-gpu: pip install ".[report]")'
        )
