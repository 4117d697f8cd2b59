"""Where imports lead inside a project, and that analysing survives every odd file of it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import libcst as cst
import pytest
from checks import NEWEST, findings

from tflint_gpu.model import Model, Project, Sources
from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.project.definitions import definition_of
from tflint_gpu.model.python.project.file_searches import FileSearches
from tflint_gpu.rule import load
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile, UnreadableSource

VALUE = "import tensorflow\nVALUE = 7\n"


def definition(folder: Path, importer: str, dotted: str) -> str | None:
    path = folder / importer
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x = 1\n")
    project = Project(folder, NEWEST)
    model = project.open(SourceFile.decode(path.read_bytes(), path, importer))
    located = definition_of(project, model, dotted)
    return None if located is None else located.file.source.path.relative_to(folder).as_posix()


@pytest.mark.parametrize(
    ("file", "importer", "dotted"),
    [
        ("lib.py", "train.py", "lib.VALUE"),
        ("pkg/lib.py", "train.py", "pkg.lib.VALUE"),
        ("pkg/__init__.py", "train.py", "pkg.VALUE"),
        ("pkg/lib.py", "pkg/train.py", ".lib.VALUE"),
        ("pkg/lib.py", "pkg/sub/train.py", "..lib.VALUE"),
        ("pkg/lib.py", "pkg/sub/train.py", "pkg.lib.VALUE"),
        ("tools/lib.py", "tools/train.py", "lib.VALUE"),
        ("src/pkg/lib.py", "scripts/train.py", "pkg.lib.VALUE"),
    ],
)
def test_import_leads_to_the_file(file: str, importer: str, dotted: str, tmp_path: Path) -> None:
    """Protects the ways in which scripts, packages and src layouts import."""
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(VALUE)
    assert definition(tmp_path, importer, dotted) == file


def test_re_exports_are_followed(tmp_path: Path) -> None:
    """Protects packages whose __init__ brings the names of their modules."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .lib import VALUE as V\n")
    (tmp_path / "pkg" / "lib.py").write_text(VALUE)
    assert definition(tmp_path, "train.py", "pkg.V") == "pkg/lib.py"


def test_a_module_named_as_its_package_hides_it_from_nobody(tmp_path: Path) -> None:
    """Protects `from net.layers import VALUE` in a package `net` that has a module `net`, too."""
    (tmp_path / "net").mkdir()
    for name in ("__init__", "net", "layers"):
        (tmp_path / "net" / f"{name}.py").write_text(VALUE)
    assert definition(tmp_path, "net/train.py", "net.layers.VALUE") == "net/layers.py"
    assert definition(tmp_path, "net/train.py", "net.VALUE") == "net/net.py"


def test_a_function_named_as_its_module_is_the_function(tmp_path: Path) -> None:
    """Protects `pkg.lib` where the package's `__init__` imports `lib` from the module `lib`."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from pkg.lib import lib\nfrom . import other\n")
    (tmp_path / "pkg" / "lib.py").write_text(VALUE + "def lib():\n    return VALUE\n")
    (tmp_path / "pkg" / "other.py").write_text(VALUE)
    assert definition(tmp_path, "train.py", "pkg.lib") == "pkg/lib.py"
    assert definition(tmp_path, "train.py", "pkg.other") is None


def test_modules_of_a_package_that_loads_them_lazily_are_reached(tmp_path: Path) -> None:
    """Protects what an importer has of a package whose `__init__` imports none of its modules."""
    (tmp_path / "pkg").mkdir()
    for name in ("__init__", "nets", "unused"):
        (tmp_path / "pkg" / f"{name}.py").write_text(VALUE)
    for text in ("import pkg as p\nnet = p.nets.small()\n", "import pkg\nnet = pkg.nets.small('pkg.unused')\n"):
        source = SourceFile.decode(text.encode(), tmp_path / "train.py", "train.py")
        reached = Project(tmp_path, NEWEST).reached(source)
        assert [path.stem for path in reached] == ["__init__", "nets"]


def test_nothing_outside_the_root_is_read(tmp_path: Path) -> None:
    """Protects the border of the project."""
    (tmp_path / "lib.py").write_text(VALUE)
    inner = tmp_path / "project"
    inner.mkdir()
    assert definition(inner, "train.py", "..lib.VALUE") is None
    assert definition(inner, "train.py", "lib.VALUE") is None


def test_circular_imports_end(tmp_path: Path) -> None:
    """Protects against files that import each other in a ring."""
    (tmp_path / "a.py").write_text("from b import VALUE  # keras\n")
    (tmp_path / "b.py").write_text("from a import VALUE  # keras\n")
    assert definition(tmp_path, "train.py", "a.VALUE") is None


def test_broken_neighbour_is_no_problem(tmp_path: Path) -> None:
    """Protects a good file whose helper does not parse."""
    (tmp_path / "helper.py").write_text("def keras(:\n")
    code = "import tensorflow as tf\nfrom helper import f\nds = f().batch(1)\nmodel = tf.keras.Sequential()\nmodel.fit(f())\n"
    findings(code, tmp_path)


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 10])
def test_mutilated_programs_never_fail(every: int, tmp_path: Path) -> None:
    """Protects users from tracebacks: fixtures with lines dropped, doubled and swapped, under all rules."""
    chance = random.Random(20261121)
    for program in sorted((Path(__file__).parents[2] / "fixtures").rglob("*.py"))[::every]:
        lines = program.read_text().splitlines(keepends=True)
        for _ in range(4):
            mixed = list(lines)
            for _ in range(chance.randint(1, 6)):
                index = chance.randrange(len(mixed))
                if chance.random() < 0.5:
                    mixed.pop(index)
                else:
                    mixed.insert(index, mixed[-1])
            try:
                findings("".join(mixed), tmp_path)
            except UnreadableSource:
                continue


def test_models_that_know_each_other_die_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects large projects: a model that was let go is never asked again through one that was kept."""
    monkeypatch.setattr("tflint_gpu.model.python.project.project._KEPT_CHARACTERS", 300)
    (tmp_path / "ops.py").write_text("import numpy as np\ndef act(v):\n    return np.tanh(v)\n")
    (tmp_path / "base.py").write_text("import tensorflow as tf\nclass Base(tf.keras.layers.Layer):\n    pass\n")
    layer = (
        "import tensorflow as tf\nfrom ops import act\nfrom base import Base\n"
        "class A(Base):\n    def call(self, x):\n        return act(x)\n"
    )
    project = Project(tmp_path, NEWEST)
    (rule,) = load(["TFG101"])
    for call_number in range(12):
        path = tmp_path / f"layer{call_number % 3}.py"
        path.write_text(layer)
        model = Model.open(SourceFile.decode(layer.encode(), path, path.name), project)
        assert [f.file.source.path.name for f in rule.check(model)] == ["ops.py"], call_number


def test_a_package_whose_files_lead_to_each_other_is_not_parsed_for_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects large packages: tf-keras, of 586 files, took more than four minutes, and takes twenty seconds."""
    monkeypatch.setattr("tflint_gpu.model.python.project.project._KEPT_CHARACTERS", 300)
    names = [f"part{number}" for number in range(20)]
    imports = "".join(f"import {name}\n" for name in names)
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"{imports}import tensorflow as tf\ndef {name}(x):\n    return step(x)\n")
    parsed: list[Path] = []
    project = Project(tmp_path, NEWEST, _Counting(parsed))
    for name in names:
        path = tmp_path / f"{name}.py"
        model = Model.open(SourceFile.decode(path.read_bytes(), path, path.name), project)
        assert len([*project.having(project.closure(model.source), "step")]) == len(names)
    assert len(parsed) < 5 * len(names)


class _Counting(Sources):
    """Notes which files are parsed."""

    def __init__(self, parsed: list[Path]) -> None:
        self._parsed = parsed

    def parse(self, path: Path, text: str, python: PythonTrees) -> cst.Module:
        self._parsed.append(path)
        return super().parse(path, text, python)


def opened(folder: Path, name: str, project: Project) -> Model:
    path = folder / name
    return Model.open(SourceFile.decode(path.read_bytes(), path, name), project)


def test_what_is_looked_for_in_a_circle_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects what files that reach the same share: whoever asks gets the same files, and each is looked into once."""
    nodes = ["alpha", "beta", "gamma", "delta"]
    for name, following in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        code = f"import {following}\n\n\ndef {name}(value):\n    return settle(value)\n"
        (tmp_path / f"{name}.py").write_text(code)
    (tmp_path / "program.py").write_text("import gamma\n\nsettle(gamma.gamma(1))\n")
    project = Project(tmp_path, NEWEST)
    looked_into: list[str] = []
    holds = FileSearches._uses

    def noted(searches: FileSearches, path: Path, name: str) -> bool:
        looked_into.append(path.stem)
        return holds(searches, path, name)

    monkeypatch.setattr(FileSearches, "_uses", noted)
    for name in (*nodes, "program"):
        closure = project.closure(opened(tmp_path, f"{name}.py", project).source)
        assert [file.source.path.stem for file in project.using(closure, "settle")] == sorted(nodes)
        assert not [*project.using(closure, "never")]
    assert sorted(looked_into) == sorted(2 * nodes)


def test_what_a_value_is_elsewhere_is_not_read_once_it_is_no_function(tmp_path: Path) -> None:
    """Protects large projects: a parameter that gets a number at its first call site is no function at any other."""
    (tmp_path / "heavy.py").write_text("def make():\n    return len\n")
    (tmp_path / "far.py").write_text("from near import apply\nfrom heavy import make\n\napply(make())\n")
    (tmp_path / "near.py").write_text("def apply(job):\n    return job()\n")
    (tmp_path / "main.py").write_text("import far\nfrom near import apply\n\napply(1)\n")
    parsed: list[Path] = []
    project = Project(tmp_path, NEWEST, _Counting(parsed))
    model = opened(tmp_path, "main.py", project)
    near = project.file_at(tmp_path / "near.py")
    assert near is not None
    (job,) = near.calls_ending_with("job")
    assert model.inference.callees(near, job) == ()
    assert {path.stem for path in parsed} == {"main", "near", "far"}


class _Reading(Sources):
    """Notes which files are read."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def read(self, path: Path) -> bytes:
        self.files.append(path.name)
        return super().read(path)


def test_a_notebook_is_let_go_when_it_is_checked(tmp_path: Path) -> None:
    """Protects memory: nothing imports a notebook, and its pictures are megabytes, which no search of names reads."""
    (tmp_path / "data.py").write_text("def rows(x):\n    return x\n")
    code = "import tensorflow as tf\nfrom data import rows\nx = rows.take(tf.zeros(3))\n"
    cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": [{"png": "0" * 9000}]}
    path, sources = tmp_path / "look.ipynb", _Reading()
    project = Project(tmp_path, NEWEST, sources)
    source = decode_source(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}).encode(), path, path.name)
    model = Model.open(source, project)
    assert model.inference.callees(model.file, model.file.tree.calls[0]) == ()
    before = project.held_characters
    model.close()
    assert sources.files == ["data.py"]
    assert project.held_characters == before - len(source.text)
