"""What checks share: an answer is the same for a program checked alone and after others, in any order."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import libcst as cst
import pytest
from checks import NEWEST

from tflint_gpu.bounds import ORIGINS, Bound
from tflint_gpu.model import Model, Project
from tflint_gpu.model.python.seen.answers import Answers, Work
from tflint_gpu.text.source import SourceFile

LIBRARY = """
import numpy as np


def first(values):
    return values[0]


def pick():
    return KINDS["small"]


def small():
    return 1


KINDS = {"small": small}


class Runner:
    def __init__(self, part, parts=None):
        self.part = part
        self.parts = parts or []

    def run(self):
        return self.step().settle()

    def step(self):
        return self.part

    def kept(self):
        return [part.size for part in self.parts]


class Base:
    def prepare(self):
        return self.made()

    def made(self):
        raise NotImplementedError


def loops(count):
    value = 0
    while count:
        value = other(value)
        count -= 1
    return value


def other(value):
    return loops(value) if value else 3
"""
PROGRAMS = {
    "passes_a_number.py": "import lib\nseen = lib.first([7, 8])\nrun = lib.Runner(part=5).run()\nloops = lib.loops(4)\n",
    "passes_a_text.py": "import lib\nseen = lib.first(['a'])\nrun = lib.Runner('b').step()\nloops = lib.other(2)\n",
    "has_a_class.py": (
        "import lib\n\n\nclass Part:\n    size = 9\n\n    def settle(self):\n        return 11\n\n\n"
        "run = lib.Runner(Part(), parts=[Part()]).run()\nseen = lib.Runner(Part(), parts=[Part()]).kept()[0]\n"
    ),
    "derives.py": (
        "import lib\n\n\nclass Own(lib.Base):\n    def made(self):\n        return 13\n\n\nseen = Own().prepare()\n"
        "run = lib.pick()()\n"
    ),
    "only_imports.py": "import lib\nseen = lib.Base().prepare()\nrun = lib.pick()()\nloops = lib.loops(1)\n",
    "lib.py": LIBRARY,
}


def answers(project: Project, folder: Path, name: str) -> dict[str, object]:
    """What each expression of a program may be, and all that is known of the library as it is seen from there."""
    path = folder / name
    model = Model.open(SourceFile.decode(path.read_bytes(), path, name), project)
    library = project.file_at(folder / "lib.py")
    assert library is not None
    told: dict[str, object] = {}
    for file in (model.file, library):
        for call in file.tree.calls:
            told[f"{file.source.path.name}:{file.code(call)} is"] = repr(model.constants.of(file, call))
            origins = model.inference.of(file, call)
            told[f"{file.source.path.name}:{file.code(call)}"] = {
                (origin.file.source.path.name, origin.file.code(origin.node), origin.access_path) for origin in origins
            }
            told[f"{file.source.path.name}:{file.code(call)} runs"] = {
                (callee.function.name, callee.function.file.source.path.name)
                for callee in model.inference.callees(file, call)
            }
    model.close()
    return told


@pytest.mark.parametrize("every", [pytest.param(7, marks=pytest.mark.slow), 50])
def test_answers_are_those_of_a_program_alone_in_any_order(every: int, tmp_path: Path) -> None:
    """Protects users from findings that change with what else is checked: a library serves programs that differ."""
    for name, code in PROGRAMS.items():
        (tmp_path / name).write_text(code)
    alone = {name: answers(Project(tmp_path, NEWEST), tmp_path, name) for name in PROGRAMS}
    assert len({str(sorted(told.items(), key=str)) for told in alone.values()}) == len(PROGRAMS)
    for order in list(permutations(PROGRAMS))[::every]:
        project = Project(tmp_path, NEWEST)
        for name in order:
            assert answers(project, tmp_path, name) == alone[name], (name, order)


def test_programs_that_are_open_at_once_do_not_share_what_differs(tmp_path: Path) -> None:
    """Protects `verify`, which has the models of all files at once: one calls what another was asked about before."""
    (tmp_path / "lib.py").write_text(
        "def run(value):\n    return value\n\n\ndef outer(value):\n    return run(value)\n"
    )
    for name, code in (("idle.py", "import lib\n"), ("busy.py", "import lib\n\nlib.outer(7)\n")):
        (tmp_path / name).write_text(code)
    project = Project(tmp_path, NEWEST)
    library = project.file_at(tmp_path / "lib.py")
    assert library is not None
    (call,) = library.calls_ending_with("run")
    models = []
    for name in ("idle.py", "busy.py"):
        path = tmp_path / name
        models.append(Model.open(SourceFile.decode(path.read_bytes(), path, name), project))
    values = [[o.file.code(o.node) for o in model.inference.of(library, call)] for model in models]
    assert values == [["value"], ["7"]]


def test_what_rests_on_no_program_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the speed of projects with many programs over one library: the second one asks nothing twice."""
    (tmp_path / "lib.py").write_text("def make():\n    return inner(2)\n\n\ndef inner(value):\n    return value\n")
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("import lib\n\nprint(lib.make())\n")
    found: list[object] = []
    find = Answers.find

    def noted(self: Answers[object, object], question: object, *others: object) -> object:
        found.append(question)
        return find(self, question, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Answers, "find", noted)
    project = Project(tmp_path, NEWEST)
    library = project.file_at(tmp_path / "lib.py")
    assert library is not None
    asked: list[int] = []
    for name in ("one.py", "two.py"):
        path = tmp_path / name
        model = Model.open(SourceFile.decode(path.read_bytes(), path, name), project)
        (inner,) = library.calls_ending_with("inner")
        found.clear()
        assert [origin.file.code(origin.node) for origin in model.inference.of(library, inner)] == ["2"]
        asked.append(len(found))
        model.close()
    assert asked[0] > 0
    assert asked[1] == 0


def test_a_bound_is_met_by_all_that_get_the_answer(tmp_path: Path) -> None:
    """Protects what a report says was cut off: of the second program as of the first."""
    values = ", ".join(map(str, range(ORIGINS.limit + 5)))
    (tmp_path / "lib.py").write_text(f"import random\n\n\ndef draw():\n    return random.choice([{values}])\n")
    met: list[set[Bound]] = []
    project = Project(tmp_path, NEWEST)
    for name in ("one.py", "two.py"):
        path = tmp_path / name
        path.write_text("import lib\n\nvalue = lib.draw()\n")
        model = Model.open(SourceFile.decode(path.read_bytes(), path, name), project)
        (call,) = model.file.calls_ending_with("draw")
        model.inference.of(model.file, call)
        met.append(set(model.inference.bounds_met))
        model.close()
    assert met[0] == met[1]
    assert ORIGINS in met[0]


def test_answers_in_a_circle_do_not_depend_on_who_asks_first() -> None:
    """Protects answers from those that were preliminary: each of a circle has what all of it gives."""
    needs = {"a": "b", "b": "c", "c": "a"}
    for start in needs:
        work = Work({}, ())
        shared: dict[str, frozenset[str]] = {}
        known: Answers[str, frozenset[str]] = Answers(work, shared, frozenset())

        def of(name: str, known: Answers[str, frozenset[str]] = known) -> frozenset[str]:
            return known.ask(name, False, lambda: frozenset([name]) | of(needs[name]))

        assert of(start) == frozenset("abc")
        assert shared == {start: frozenset("abc")}
        assert all(of(name) == frozenset("abc") for name in needs)
        assert not work.preliminary


def test_an_error_leaves_no_answer() -> None:
    """Protects what is asked after an error: the question is open again, and so is what rested on it."""
    known: Answers[str, int] = Answers(Work({}, ()), {}, 0)

    def fails() -> int:
        known.ask("inner", False, lambda: known.ask("outer", False, int) + 1)
        raise ValueError

    with pytest.raises(ValueError):
        known.ask("outer", False, fails)
    assert not known.is_known("outer")
    assert not known.is_known("inner")
    assert known.ask("outer", False, lambda: 5) == 5


def test_the_text_of_an_editor_is_not_what_other_files_see(tmp_path: Path) -> None:
    """Protects a text that is only supposed: what is found out in it is no answer for the files of the project."""
    (tmp_path / "lib.py").write_text("import user\n\n\ndef make():\n    return user.VALUE\n")
    path = tmp_path / "user.py"
    path.write_text("import lib\n\nVALUE = 1\nprint(lib.make())\n")
    project = Project(tmp_path, NEWEST)
    model = Model.open(SourceFile.decode(path.read_bytes(), path, "user.py"), project)
    other = model.supposing(path.read_text().replace("VALUE = 1", "VALUE = 2"))
    assert other is not None
    texts = []
    for seen in (other, model):
        (call,) = [call for call in seen.file.tree.calls if seen.file.code(call) == "lib.make()"]
        texts.append([origin.file.code(origin.node) for origin in seen.inference.of(seen.file, call)])
    assert texts[1] == ["1"]
    assert isinstance(call, cst.Call)


def test_a_file_of_a_circle_of_imports_does_not_answer_for_a_program_that_calls_it(tmp_path: Path) -> None:
    """Protects callers: files that import each other see none outside, and a program that sees the same files is one."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from nets import scores, trainers\n")
    (tmp_path / "nets" / "scores.py").write_text("import nets\n\n\ndef score(rows):\n    return rows\n")
    (tmp_path / "nets" / "trainers.py").write_text("import nets\n\n\ndef train():\n    return nets.scores\n")
    (tmp_path / "main.py").write_text("import nets\nfrom nets.scores import score\n\nscore([1])\n")
    project = Project(tmp_path, NEWEST)

    def callers_of_score(name: str) -> int:
        path = tmp_path / name
        model = Model.open(SourceFile.decode(path.read_bytes(), path, name), project)
        file = project.file_at(tmp_path / "nets" / "scores.py")
        assert file is not None
        [function] = [node for node in file.tree.functions if isinstance(node, cst.FunctionDef)]
        return len(model.inference.call_sites(model.inference.definitions.function(file, function)))

    assert [callers_of_score(name) for name in ("nets/scores.py", "main.py", "nets/trainers.py")] == [0, 1, 0]
