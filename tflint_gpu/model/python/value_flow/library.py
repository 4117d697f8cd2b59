"""What is to be known of functions outside the project."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File


@dataclass(frozen=True, slots=True)
class Library:
    """What is to be known of functions outside the project.

    Arguments:
        passing: their result is, or yields, what their first argument is or yields: `tqdm`, `random.sample`.
        choosing: their result is an element of their first argument: `random.choice`.
        wrapping: their result is called as their first argument is: `tf.function`.
    """

    passing: frozenset[str]
    choosing: frozenset[str]
    wrapping: frozenset[str]


def wraps(library: Library, file: File, call: cst.Call) -> bool:
    """`tf.function(f)`, `functools.partial(f, x)`, `tf.function(jit_compile=True)(f)`."""
    func = call.func.func if isinstance(call.func, cst.Call) else call.func
    return file.name(func) in library.wrapping


def is_library(dotted: str | None) -> bool:
    """Names whose meaning never leads back into the project."""
    return (
        dotted is not None
        and dotted.startswith(("tf.", "keras.", "numpy.", "tf", "keras", "numpy"))
        and (dotted.partition(".")[0] in ("tf", "keras", "numpy"))
    )
