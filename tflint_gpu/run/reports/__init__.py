"""How a run is shown: one module a format, each with a function `render`."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from tflint_gpu.drawing.libraries import require_libraries
from tflint_gpu.reports import View
from tflint_gpu.run.result import Report

FORMATS = ("full", "json", "html")


Render = Callable[[Report, View], str]


def renderer(output_format: str) -> Render:
    """The function of a format, which is imported now.

    Raises:
        MissingLibrary: the format needs a library that is not installed.
    """
    if output_format == "html":
        require_libraries("jinja2")
    render: Render = importlib.import_module(f"{__name__}.{output_format}").render
    return render
