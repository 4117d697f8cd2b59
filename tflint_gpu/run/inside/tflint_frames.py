"""What a frame of a stack shows: whose file it is, what Keras or TensorFlow does there, and what is waited for.

As a script, it prints the folders of what is installed for the interpreter that runs it, as a list of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from typing import Iterable, TypeVar

Frame = TypeVar("Frame", bound="Shown")

HERE = os.getcwd()  # a program may go elsewhere
DEEPEST = 8  # lines of the user's on one stack

_LIBRARIES = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")}
    | {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")}
)
_INSTALLED = tuple(
    os.path.join(folder, "")
    for folder in sys.path
    if folder not in ("", HERE) and os.path.isdir(folder)
    if any(name.endswith(".dist-info") for name in os.listdir(folder))
)  # also what `pip install --target` made
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
FOLDERS = (_PACKAGE, *_LIBRARIES, *_INSTALLED)
_INSIDE = {
    ("evaluate", "fit"): "validation",
    ("data", "evaluate"): "data of evaluate",
    ("data of evaluate", "fit"): "data of validation",
}
_AROUND = ("evaluate", "fit")
_READS = ("_numpy", "numpy", "__array__", "_numpy_internal")


class Shown:
    """What a function on a stack shows.

    Arguments:
        path, name: of its file, and of the function.
        folders: those of Python and of what is installed for it.
    """

    __slots__ = ("does", "feeds", "is_own", "phase")

    def __init__(self, path: str, name: str, folders: tuple[str, ...] = FOLDERS) -> None:
        self.is_own = is_own(path, folders)
        path = path.replace("\\", "/")
        self.phase = "" if self.is_own else _phase(path, name)
        self.does = "" if self.is_own else _does(path, name)
        self.feeds = not self.is_own and (
            path.endswith("tensorflow/python/ops/script_ops.py") or "/data_adapters/" in path or "data_utils.py" in path
        )


def read(frames: Iterable[tuple[Frame, int]]) -> tuple[list[tuple[Frame, int]], str, str, bool]:
    """The frames of the user's own files, the phase, what the thread waits for, and whether it feeds an input pipeline.

    Arguments:
        frames: of a stack, with the place in each; the innermost first.
    """
    own: list[tuple[Frame, int]] = []
    does, phase, feeds = None, "", False
    for shown, at in frames:
        does = shown.does if does is None else does
        if shown.is_own:
            if len(own) < DEEPEST:
                own.append((shown, at))
        else:
            feeds = feeds or shown.feeds
            if shown.phase and not phase:
                phase = shown.phase
            elif shown.phase in _AROUND and (phase, shown.phase) in _INSIDE:
                phase = _INSIDE[phase, shown.phase]
    return own, phase, "data" if phase.startswith("data") and does == "execute" else does or "", feeds


def is_own(path: str, folders: tuple[str, ...] = FOLDERS) -> bool:
    """Whether it is a file of the user's, and none of Python or of an installed package."""
    if path.startswith("<"):
        return path.startswith("<ipython")
    if os.path.basename(path).startswith("__autograph_generated"):
        return False
    parts = path.replace("\\", "/").split("/")
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return not path.startswith(folders)


def _phase(path: str, name: str) -> str:
    """What a frame of Python, Keras or TensorFlow shows that is going on; empty: nothing of interest."""
    if path == "<frozen importlib._bootstrap>" and name in ("_find_and_load", "_call_with_frames_removed"):
        return "import"
    if "/tensorflow/python/" in path and "/keras/" not in path:
        if path.endswith("framework/func_graph.py") and name == "func_graph_from_py_func":
            return "trace"
        if path.endswith("data/ops/iterator_ops.py") and name in ("__next__", "_next_internal", "next", "get_next"):
            return "data"
        if path.endswith(("checkpoint/checkpoint.py", "saved_model/save.py")) and name in ("save", "write", "_write"):
            return "checkpoint"
        return ""
    if "/keras/" in path or "/tf_keras/" in path:
        if name in ("fit", "evaluate", "predict") and path.endswith(("trainer.py", "engine/training.py")):
            return name
        if name in ("save_model", "save_weights", "_save_model", "save", "save_weights_only"):
            return "checkpoint"
        if "/callbacks" in path and name.startswith(("on_", "_call_")):
            return "callbacks"
        if "/data_adapters/" in path or path.endswith(("engine/data_adapter.py", "epoch_iterator.py")):
            return "input"
    return ""


def _does(path: str, name: str) -> str:
    """What a thread does whose innermost frame this is; empty: it runs Python."""
    if "/tensorflow/python/" not in path:
        return ""
    if path.endswith("eager/execute.py") or (path.endswith("eager/context.py") and name == "call_function"):
        return "execute"
    if os.path.basename(path).startswith("gen_"):
        return "execute"
    return "read" if path.endswith(("framework/ops.py", "framework/tensor.py")) and name in _READS else ""


if __name__ == "__main__":
    json.dump(FOLDERS, sys.stdout)
