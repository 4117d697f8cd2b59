"""Protects which files are checked: nobody wants findings from what is ignored, or silence about the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery, NoSuchPath
from tflint_gpu.settings.options import Options
from tflint_gpu.text.bytesearch import mentions_tensorflow, runs_something

Write = Callable[..., list[Path]]


def found(tmp_path: Path, *paths: str, **options: object) -> list[str]:
    resolver = SettingsResolver(Options(**options), None, False, tmp_path)  # type: ignore[arg-type]
    return [file.name for file in Discovery(resolver, tmp_path).find(paths or (".",))]


def test_python_files_in_order_without_the_usual_exclusions(tmp_path: Path, write_files: Write) -> None:
    write_files(["b.py", "a/c.py", "a.py", "n.pyi", "t.txt", ".venv/x.py", "a/.git/y.py", "node_modules/z.py"])
    assert found(tmp_path) == ["a.py", "b.py", "a/c.py"]


def test_exclusions_replace_and_extend(tmp_path: Path, write_files: Write) -> None:
    write_files(["a.py", "old/b.py", "new/old/c.py", "new/gen_d.py", ".venv/x.py"])
    assert found(tmp_path, exclude=("old",)) == ["a.py", ".venv/x.py", "new/gen_d.py"]
    assert found(tmp_path, extend_exclude=("gen_*.py", "new/old/")) == ["a.py", "old/b.py"]


def test_named_files_are_checked_unless_exclusion_is_forced(tmp_path: Path, write_files: Write) -> None:
    write_files(["old/b.py", "script"])
    assert found(tmp_path, "old/b.py", "script", exclude=("old",)) == ["old/b.py", "script"]
    assert found(tmp_path, "old/b.py", "script", exclude=("old",), force_exclude=True) == ["script"]


def test_gitignore_nested_negated_and_off(tmp_path: Path, write_files: Write) -> None:
    ignore = {".gitignore": "build/\n*_gen.py\n!keep_gen.py\n", "sub/.gitignore": "/only.py\n!x_gen.py\n"}
    write_files(ignore)
    write_files(
        [
            ".git/HEAD",
            "build/a.py",
            "b_gen.py",
            "keep_gen.py",
            "sub/only.py",
            "sub/x_gen.py",
            "sub/in/only.py",
        ]
    )
    assert found(tmp_path) == ["keep_gen.py", "sub/x_gen.py", "sub/in/only.py"]
    assert found(tmp_path, "sub") == ["sub/x_gen.py", "sub/in/only.py"]
    assert "b_gen.py" in found(tmp_path, respect_gitignore=False)


def test_an_ignored_directory_is_checked_when_asked_for(tmp_path: Path, write_files: Write) -> None:
    write_files({".gitignore": "build/\n", "build/a.py": "", ".git/HEAD": ""})
    assert found(tmp_path, "build") == ["build/a.py"]


def test_links(tmp_path: Path, write_files: Write) -> None:
    write_files(["a.py", "sub/b.py"])
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    (tmp_path / "sub" / "up").symlink_to("..")
    (tmp_path / "z_again.py").symlink_to("a.py")
    if hasattr(os, "mkfifo"):  # Windows has none
        os.mkfifo(tmp_path / "pipe.py")
    assert found(tmp_path) == ["a.py", "sub/b.py"]
    with pytest.raises(NoSuchPath, match=r"broken\.py.*broken symbolic link"):
        found(tmp_path, "broken.py")


def test_each_file_once(tmp_path: Path, write_files: Write) -> None:
    write_files(["a.py", "sub/b.py"])
    assert found(tmp_path, "sub", "a.py", ".", "sub/b.py") == ["sub/b.py", "a.py"]


def test_project_root_is_the_nearest_marked_directory(tmp_path: Path, write_files: Write) -> None:
    write_files(["p/setup.py", "p/q/a.py", "r/b.py"])
    resolver = SettingsResolver(Options(), None, False, tmp_path)
    roots = {file.name: file.root for file in Discovery(resolver, tmp_path).find(["p", "r"])}
    assert roots == {"p/setup.py": tmp_path / "p", "p/q/a.py": tmp_path / "p", "r/b.py": tmp_path}


def test_the_words() -> None:
    assert mentions_tensorflow(b"import tensorflow as tf")
    assert mentions_tensorflow(b"from keras import Model")
    assert not mentions_tensorflow(b"import torch")


@pytest.mark.parametrize(
    "code",
    [
        "for turn in range(9):\n    learn()\n",
        "if len(sys.argv) > 1:\n    learn(sys.argv[1])\n",
        "if quick:\n    SIZE = 3\n\nif slow:\n    learn()\n",
        "try:\n    import fast\n\n    learn()\nexcept KeyboardInterrupt:\n    pass\n",
        "with open('log') as log:\r\n    while True:\r\n        learn(log)\r\n",
        "@click.command()\n@click.option('--size')\ndef learn(size):\n    pass\n",
    ],
)
def test_programs_whose_imports_are_looked_at(code: str) -> None:
    """Protects recall where a main program does not say "tensorflow": what it runs is in what it imports."""
    assert runs_something(("import sys\nfrom learning import learn\n" + code).encode())


@pytest.mark.parametrize(
    "code",
    [
        "if TYPE_CHECKING:\n    from learning import Learner\n",
        "try:\n    import fast\nexcept ImportError:\n    raise ImportError('fast')\n",
        "def learn():\n    step()\n",
        "@property\ndef learn():\n    step()\n",
    ],
)
def test_modules_that_only_define(code: str) -> None:
    assert not runs_something(code.encode())


@pytest.mark.parametrize(
    ("lines", "matters"),
    [
        (["from nets import *\n", "Net().play(world)"], True),
        (["%matplotlib inline\n", "import nets\n", "for turn in range(9):\n", "    nets.play(turn)"], True),
        (["from nets import *"], False),
        (["import other\n", "other.play(world)"], False),
        (["play(world)  # from nets import play"], False),
    ],
)
def test_a_notebook_matters_whose_imports_do(lines: list[str], matters: bool, tmp_path: Path) -> None:
    """Protects notebooks that drive a project and name neither TensorFlow nor Keras: they are programs."""
    (tmp_path / "nets.py").write_text("import tensorflow as tf\nclass Net:\n    pass\n")
    (tmp_path / "other.py").write_text("import numpy as np\ndef play(world):\n    pass\n")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": lines}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "drive.ipynb").write_text(json.dumps(notebook, indent=1))
    resolver = SettingsResolver(Options(), None, False, tmp_path)
    [file] = [file for file in Discovery(resolver, tmp_path).find((".",)) if file.path.suffix == ".ipynb"]
    assert file.may_matter(file.read()) is matters
