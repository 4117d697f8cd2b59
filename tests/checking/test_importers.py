"""Protects the search for the files through which a finding in another file is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.importers import Importers
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options

Write = Callable[..., list[Path]]
TF = "import tensorflow as tf\n"


def importers_of(name: str, folder: Path, *paths: str) -> list[str]:
    resolver = SettingsResolver(Options(), working_directory=folder)
    files = Discovery(resolver, folder).find(paths or (".",))
    return [file.name for file in Importers(Engine(resolver, folder), files).of(folder / name)]


def test_direct_and_indirect_importers_but_not_the_file_itself(tmp_path: Path, write_files: Write) -> None:
    write_files(
        {
            "setup.cfg": "",
            "data.py": TF,
            "middle.py": "from data import load\n",
            "train.py": TF + "import middle\n",
            "pkg/__init__.py": TF,
            "pkg/net.py": TF + "from ..data import load\n",
            "other.py": TF + "import json\n",
        }
    )
    assert importers_of("data.py", tmp_path) == ["train.py", "pkg/net.py"]  # middle.py mentions no TensorFlow
    assert importers_of("train.py", tmp_path) == []


def test_a_way_through_files_that_are_not_checked(tmp_path: Path, write_files: Write) -> None:
    write_files({"data.py": TF, "middle.py": TF + "import data\n", "train.py": TF + "import middle\n"})
    assert importers_of("data.py", tmp_path, "data.py", "train.py") == ["train.py"]


def test_files_that_import_each_other(tmp_path: Path, write_files: Write) -> None:
    write_files({"a.py": TF + "import b\n", "b.py": TF + "import a\nimport b\n", "c.py": TF + "import a\n"})
    assert importers_of("a.py", tmp_path) == ["b.py", "c.py"]
    assert importers_of("b.py", tmp_path) == ["a.py", "c.py"]


def test_a_notebook_imports_as_its_cells_do(tmp_path: Path, write_files: Write) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": [TF, "from data import load\n"]}
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
    write_files({"data.py": TF, "n.ipynb": json.dumps(notebook, indent=1), "broken.ipynb": "{ tensorflow"})
    assert importers_of("data.py", tmp_path) == ["n.ipynb"]
