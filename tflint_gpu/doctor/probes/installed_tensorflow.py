"""Prints, as JSON, which TensorFlow is imported, what it was built for, which GPUs it sees, and what the loader opens.

TensorFlow's own log goes to standard error, where whoever runs this reads it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

# By CUDA's version: the names under which TensorFlow opens CUDA's libraries.
LIBRARIES = {
    "10": "libcudart.so.10.1 libcublas.so.10 libcufft.so.10 libcurand.so.10 libcusolver.so.10 libcusparse.so.10",
    "11": "libcudart.so.11.0 libcublas.so.11 libcublasLt.so.11 libcufft.so.10 libcusolver.so.11 libcusparse.so.11",
    "12": "libcudart.so.12 libcublas.so.12 libcublasLt.so.12 libcufft.so.11 libcusolver.so.11 libcusparse.so.12",
}

DRIVER = "libcuda.so.1"


def main() -> None:
    """Look, and print one line."""
    # Another program may print on standard output while it is imported.
    result = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    facts = _look()
    result.write(json.dumps(facts) + "\n")
    result.flush()


def _look() -> dict[str, Any]:
    try:
        import tensorflow as tf
    except BaseException as error:
        return {"tensorflow": {"error": f"{type(error).__name__}: {error}"}, "libraries": []}
    version = getattr(tf, "__version__", "")
    try:
        build = dict(tf.sysconfig.get_build_info())
    except Exception:  # before 2.3
        build = {"is_cuda_build": bool(getattr(getattr(tf, "test", None), "is_built_with_cuda", bool)())}
    gpus, problem = [], ""
    try:
        gpus = [device.name for device in tf.config.list_physical_devices("GPU")]
    except Exception as failure:
        problem = f"{type(failure).__name__}: {failure}"
    try:
        keras = str(getattr(tf.keras, "__version__", "") or sys.modules["keras"].__version__)
    except Exception as failure:
        keras = f"{type(failure).__name__}: {failure}"
    cuda = str(build.get("cuda_version", "")) if build.get("is_cuda_build") else ""
    cudnn = str(build.get("cudnn_version", "")) if cuda else ""
    return {
        "tensorflow": {
            "version": version,
            "error": problem,
            "cuda": cuda,
            "cudnn": cudnn,
            "cuda_start": _start() if cuda else None,
            "capabilities": list(build.get("cuda_compute_capabilities", ())),
            "gpus": gpus,
            "keras": keras,
        },
        "libraries": [*_libraries(_names(cuda, cudnn)), *([_library(DRIVER, "")] if cuda else [])],
    }


def _start() -> int | None:
    """Start CUDA, as TensorFlow does."""
    try:
        return int(ctypes.CDLL(DRIVER).cuInit(0))
    except (OSError, AttributeError):
        return None


def _names(cuda: str, cudnn: str) -> list[str]:
    names = LIBRARIES.get(cuda.partition(".")[0], "").split()
    return [*names, f"libcudnn.so.{cudnn.partition('.')[0]}"] if names else []


def _libraries(names: list[str]) -> list[dict[str, str]]:
    """Ask the loader, in the process in which TensorFlow has opened what it could.

    What it has not opened is opened from the wheels, again and again while that gets on: they need each other.
    """
    wheels = {name: _wheel(name) for name in names}
    libraries = {name: _library(name, wheels[name]) for name in names}
    count = -1
    while count != (count := sum(not library["error"] for library in libraries.values())):
        for name in [name for name, library in libraries.items() if library["error"] and library["wheel"]]:
            try:
                ctypes.CDLL(wheels[name])
                libraries[name]["error"] = ""
            except OSError as error:
                libraries[name]["error"] = str(error)
    return list(libraries.values())


def _wheel(name: str) -> str:
    return next((str(path) for folder in sys.path for path in Path(folder).glob(f"nvidia/*/lib/{name}")), "")


def _library(name: str, wheel: str) -> dict[str, str]:
    try:
        ctypes.CDLL(name)
    except OSError as error:
        return {"name": name, "path": "", "wheel": wheel, "error": str(error)}
    return {"name": name, "path": _loaded(name), "wheel": wheel, "error": ""}


def _loaded(name: str) -> str:
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        paths = [line.split(None, 5)[5].strip() for line in maps if name in line]
    except (OSError, IndexError):
        return ""
    return paths[0] if paths else ""


if __name__ == "__main__":
    main()
