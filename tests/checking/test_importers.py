"""Protects the search for the files through which a finding in another file is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.importers import Importers, importing
from tflint_gpu.checking.workers import check_files
from tflint_gpu.diagnostics import Diagnostic
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


STEP = """import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
def learn(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
LOOP = """import tensorflow as tf
from agents import learn
for x, y in tf.data.Dataset.from_tensor_slices(rows).batch(32):
    learn(x, y)
"""


def test_which_importer_is_named_does_not_depend_on_what_is_cached(tmp_path: Path, write_files: Write) -> None:
    """Protects who compares reports: of two files that show the same, the first one's places are told, known or not."""
    write_files({"setup.cfg": "", "agents.py": STEP, "first.py": LOOP, "second.py": LOOP.replace("32", "16")})

    def found(cached: bool) -> list[Diagnostic]:
        resolver = SettingsResolver(Options(), working_directory=tmp_path)
        engine = Engine(resolver, tmp_path, use_cache=cached)
        files = Discovery(resolver, tmp_path).find(["agents.py"])
        results = check_files(engine, files, 1, importing=importing(engine, files, ["agents.py"]))
        return [diagnostic for result in results for diagnostic in result.diagnostics]

    fresh = found(cached=False)
    (step,) = [diagnostic for diagnostic in fresh if diagnostic.code == "TFG202"]
    told = [related for related in step.related if not related.message.startswith("no fix: ")]
    assert {related.filename for related in told} == {"first.py"}
    assert found(cached=True) == fresh
    for changed in ("first.py", "second.py"):
        (tmp_path / changed).write_text((tmp_path / changed).read_text() + "\n")
        assert found(cached=True) == fresh, changed


@pytest.mark.slow
@pytest.mark.parametrize("path", ["agents", "agents/steps.py", "agents/__init__.py"])
def test_a_part_of_a_project_is_told_what_the_rest_shows_of_it(
    path: str, tmp_path: Path, write_files: Write, tflint: Any
) -> None:
    """Protects who checks one folder, as an editor or a hook does, from a step that a loop elsewhere runs eagerly."""
    write_files(
        {"setup.cfg": "", "agents/__init__.py": "from .steps import learn\n", "agents/steps.py": STEP, "train.py": LOOP,
         "other.py": TF + "import json\n"}
    )  # fmt: skip

    def found(*arguments: str) -> list[tuple[str, str]]:
        options = ("--isolated", "--no-cache", "--select", "TFG202", "--output-format", "json")
        done = tflint("check", *options, *arguments)
        return [(Path(one["filename"]).name, one["code"]) for one in json.loads(done.stdout)]

    assert found(".") == [("steps.py", "TFG202")]
    assert found(path) == ([] if path.endswith("__init__.py") else found("."))
    (tmp_path / "setup.cfg").unlink()
    assert found("agents") == [], "without a mark of a project nobody knows where it ends"


NOTEBOOK_CELLS = {
    "lines": [TF, "from agents.steps import *\n", "for row in rows:\n", "    learn(row, row)\n"],
    "one text": TF + "from agents.steps import *\nfor row in rows:\n    learn(row, row)\n",
}
LOOPS = {
    "brackets.py": TF
    + "from agents import (\n    names,\n    steps,\n)\nfor row in rows:\n    steps.learn(row, row)\n",
    "continued.py": TF + "from agents import \\\n    steps\nfor row in rows:\n    steps.learn(row, row)\n",
    **{
        f"{name} {indent}.ipynb": json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 4,
                "metadata": {},
                "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source}],
            },
            indent=indent,
        )
        for name, source in NOTEBOOK_CELLS.items()
        for indent in (None, 1)
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["for row in rows:\n    learn(row, row)\n", "while True:\n    learn(next(rows), 1)\n"])
def test_a_script_that_names_no_tensorflow_is_a_program_of_what_it_imports(
    loop: str, write_files: Write, tflint: Any
) -> None:
    """Protects the loop of a script whose models, and all words of TensorFlow, are in other files."""
    write_files({"setup.cfg": "", "agents.py": STEP, "run.py": f"from agents import learn\n\n{loop}"})
    options = ("--isolated", "--no-cache", "--select", "TFG202", "--output-format", "concise")
    for path in (".", "run.py", "agents.py"):
        assert "agents.py:6:10: warning: TFG202" in tflint("check", *options, path).stdout


@pytest.mark.parametrize("name", LOOPS)
def test_an_importer_is_found_however_its_import_is_written(
    name: str, tmp_path: Path, write_files: Write, tflint: Any
) -> None:
    """Protects who checks one file from a loop in a notebook without line breaks, or below an import of many lines."""
    write_files(
        {"setup.cfg": "", "agents/__init__.py": "", "agents/names.py": "", "agents/steps.py": STEP, name: LOOPS[name]}
    )
    options = ("--isolated", "--no-cache", "--select", "TFG202", "--output-format", "concise")
    assert "TFG202" in tflint("check", *options, "agents/steps.py").stdout
