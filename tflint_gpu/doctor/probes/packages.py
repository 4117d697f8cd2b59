"""Prints, as JSON, what of TensorFlow, Keras and CUDA is installed for the Python that runs this."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import site
import sys
from pathlib import Path

WORDS = ("tensorflow", "tf-nightly", "tf_nightly", "tf-keras", "tf_keras", "keras", "nvidia-", "nvidia_", "numpy")
CONDA = ("cudatoolkit", "cudnn", "cuda-cudart", "cuda-nvcc", "libcublas")


def main() -> None:
    """Look, and print one line."""
    packages: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name.startswith(tuple(word.replace("_", "-") for word in WORDS)):
            packages.setdefault(name, distribution.version)
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


def _ptxas() -> str:
    for folder in (*site.getsitepackages(), site.getusersitepackages(), *sys.path):
        path = Path(folder, "nvidia", "cuda_nvcc", "bin", "ptxas")
        if path.exists():
            return str(path)
    return shutil.which("ptxas") or ""


if __name__ == "__main__":
    main()
