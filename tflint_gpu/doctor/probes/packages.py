"""Prints, as JSON, what of TensorFlow, Keras and CUDA is installed for the Python that runs this."""

import sys

# Python's own library first: a file on PYTHONPATH may have the name of one of its modules.
_LIBRARY = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "lib-dynload", ".zip")
sys.path.sort(key=lambda entry: not entry.endswith(_LIBRARY))

import json  # noqa: E402
import os  # noqa: E402
import platform  # noqa: E402
import shutil  # noqa: E402
import site  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Iterator  # noqa: E402, UP035

WORDS = ("tensorflow", "tf-nightly", "tf_nightly", "tf-keras", "tf_keras", "keras", "nvidia-", "nvidia_", "numpy")
CONDA = ("cudatoolkit", "cudnn", "cuda-cudart", "cuda-nvcc", "libcublas")


def main() -> None:
    """Look, and print one line."""
    packages: dict[str, str] = {}
    for given, version in _distributions():
        name = (given or "").lower().replace("_", "-")
        if name.startswith(tuple(word.replace("_", "-") for word in WORDS)):
            packages.setdefault(name, version)
    prefix = os.environ.get("CONDA_PREFIX", "")
    conda = sorted(path.stem for path in Path(prefix, "conda-meta").glob("*.json") if path.name.startswith(CONDA))
    print(
        json.dumps(
            {
                "executable": sys.executable,
                "python": ".".join(platform.python_version_tuple()[:2]),
                "packages": packages,
                "conda": conda if prefix else [],
                "ptxas": _ptxas(),
            }
        )
    )


def _distributions() -> "Iterator[tuple[str, str]]":
    """Name and version of all that is installed."""
    try:
        from importlib.metadata import distributions
    except ImportError:  # before Python 3.8
        for known in __import__("pkg_resources").working_set:
            yield known.project_name, known.version
        return
    for distribution in distributions():
        yield distribution.metadata["Name"], distribution.version


def _ptxas() -> str:
    for folder in (*site.getsitepackages(), site.getusersitepackages(), *sys.path):
        path = Path(folder, "nvidia", "cuda_nvcc", "bin", "ptxas")
        if path.exists():
            return str(path)
    return shutil.which("ptxas") or ""


if __name__ == "__main__":
    main()
