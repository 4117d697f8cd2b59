"""How places are written: the one spot where a location becomes text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from tflint_gpu.reports.display import printable

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Location
    from tflint_gpu.reports import View

STANDARD_INPUT = "-"


def place(filename: str, location: Location) -> str:
    """`path:row:column`, or `path:cell 4:row:column`, for people and for programs that read lines."""
    return f"{_at_a_start(filename)}:{location}"


def place_of_row(filename: str, location: Location) -> str:
    """`path:row`, for formats without columns."""
    return f"{_at_a_start(filename)}:{location.row}"


def _at_a_start(filename: str) -> str:
    """A name that may begin a line: GitHub's runner takes a line that begins with two colons for a command."""
    shown = printable(filename)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def portable(filename: str, view: View) -> str:
    """The name with forward slashes, whatever the system's own are."""
    return type(view.working_directory)(filename).as_posix()


def uri(filename: str, view: View) -> str:
    """A relative reference for a file below the working directory, else an absolute URI."""
    path = type(view.working_directory)(filename)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()), safe="/")


def is_relative(filename: str, view: View) -> bool:
    """Whether the working directory is what the name starts from; standard input lies nowhere."""
    return filename != STANDARD_INPUT and not type(view.working_directory)(filename).is_absolute()


def directory_uri(view: View) -> str:
    """The working directory as an absolute URI that ends with a slash, so that names can be resolved against it."""
    return view.working_directory.as_uri().rstrip("/") + "/"
