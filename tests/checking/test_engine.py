"""Protects the way of a file: each step may stop it, none may stop the others."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from tflint_gpu.checking.engine import Engine, FileResult, projects
from tflint_gpu.diagnostics import Location
from tflint_gpu.model import Project
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.tensorflow.execution.training_steps import TrainingSteps
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.rule import Finding, Prediction, Rule, load
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options
from tflint_gpu.text.source import SourceFile

Make = Callable[..., Rule]
Write = Callable[..., list[Path]]
TF = "import tensorflow as tf\n"


def check(tmp_path: Path, *rules: Rule, path: str = ".", **options: Any) -> list[FileResult]:
    resolver = SettingsResolver(Options(**options), working_directory=tmp_path)
    engine = Engine(resolver, tmp_path, list(rules))
    return [engine.check(file) for file in Discovery(resolver, tmp_path).find([path])]


def found(results: list[FileResult]) -> list[tuple[str, str, int, int]]:
    return [
        (one.filename, one.code, one.location.row, one.location.column)
        for result in results
        for one in result.diagnostics
    ]


def test_positions_notes_and_fixes(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    write_files({"a.py": TF + "é = BAD\r\n"})
    [result] = check(tmp_path, make_rule())
    [diagnostic] = result.diagnostics
    assert (diagnostic.location, diagnostic.end_location) == (Location(2, 5), Location(2, 8))
    assert diagnostic.fix is not None
    [edit] = diagnostic.fix.edits
    assert (edit.content, edit.location, edit.end - edit.start) == ("GOOD", Location(2, 5), 3)


@pytest.mark.parametrize("broken", [False, True])
def test_what_was_found_out_dies_with_the_check(broken: bool, tmp_path: Path, make_rule: Make) -> None:
    """Protects memory, and the time to search it: no circle is left for the garbage collector, file by file."""

    def ask(_: Rule, model: Any) -> Iterator[Finding]:
        for call in model.method_calls("fit"):
            assert model.once(Pipelines).is_dataset(model.file, call.args[0].value) and not broken
            yield from model.once(TrainingSteps).eager

    program = "def make(n=1):\n    return tf.data.Dataset.range(n)\n\nfor i in range(9):\n    model.fit(make(n=i))\n"
    (tmp_path / "a.py").write_text(TF + program, encoding="utf-8")
    resolver = SettingsResolver(working_directory=tmp_path)
    engine = Engine(resolver, tmp_path, [make_rule(required_substrings=((b"fit",),), check=ask)])
    files = list(Discovery(resolver, tmp_path).find(["."]))
    engine.check(files[0])  # what is made once for all files is there now
    engine.forget_files()
    with _collector_off():
        before = _nodes()
        [result] = [engine.check(file) for file in files]
        engine.forget_files()
        assert _nodes() == before
    assert bool(result.errors) is broken


@pytest.mark.slow
def test_what_all_rules_found_out_dies_with_the_check(tmp_path: Path) -> None:
    """Protects memory, and the time to search it: analyses that know each other do not hold the trees they asked."""
    resolver = SettingsResolver(working_directory=FIXTURES)
    engine = Engine(resolver, tmp_path)
    files = list(Discovery(resolver, FIXTURES).find(["."]))
    engine.check(files[0])  # what is made once for all files is there now
    engine.forget_files()
    with _collector_off():
        before = _alive(Analysis)
        assert sum(len(engine.check(file).diagnostics) for file in files) > len(files)
        assert _alive(Analysis) == before


@pytest.mark.parametrize(
    ("code", "told", "program"),
    [
        ("TFG401", "TFG000", TF + "model.fit(\n"),
        ("TFG102", "TFG102", TF + "from b import f\n@tf.function\ndef g():\n    return f()\n"),
    ],
    ids=["a file that is refused", "a first look that ends early"],
)
def test_projects_die_with_the_check(code: str, told: str, program: str, tmp_path: Path, write_files: Write) -> None:
    """Protects memory: neither an error's frames nor a search that did not end hold the files of a project."""
    write_files({"a.py": program, "b.py": "import numpy as np\n\n\ndef f():\n    return np.random.rand()\n"})
    resolver = SettingsResolver(working_directory=tmp_path)
    engine = Engine(resolver, tmp_path, list(load([code])))
    files = list(Discovery(resolver, tmp_path).find(["a.py"]))
    with _collector_off():
        before = _alive(Project)
        assert [one.code for one in engine.check(files[0]).diagnostics] == [told]
        assert _alive(Project) > before
        engine.forget_files()
        assert _alive(Project) == before


def test_a_project_makes_room_for_the_next(
    tmp_path: Path, write_files: Write, make_rule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects memory, flat in the number of projects, and the cache: what results rest on is told of those that went."""
    monkeypatch.setattr(projects, "MOST_HELD", 0)
    program = TF + "from other import BAD\nBAD\n"
    write_files({f"{name}/{file}": text for name in "ab" for file, text in PROJECT.items()} | {"a/c.py": program})
    resolver = SettingsResolver(working_directory=tmp_path)
    engine = Engine(resolver, tmp_path, [make_rule(nearby_substrings=(b"here",))], use_cache=True)
    files = {file.name: file for file in Discovery(resolver, tmp_path).find(["."])}
    gc.collect()
    before = _alive(Project)
    for name in ("a/program.py", "b/program.py", "a/c.py"):
        assert len(engine.check(files[name]).diagnostics) == name.count("c.py") + 1
        assert _alive(Project) == before + 1
    told = {Path(name).relative_to(tmp_path).as_posix() for name in engine.new_dependencies().states}
    assert {"a/other.py", "b/other.py"} <= told


FIXTURES = Path(__file__).parents[2] / "fixtures"
PROJECT = {
    "pyproject.toml": "",
    "program.py": TF + "from other import BAD\n",
    "other.py": "BAD = 1\nhere = 2\n",
}


@contextmanager
def _collector_off() -> Iterator[None]:
    """Nothing but the end of the last reference frees an object; what died before is gone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _nodes() -> int:
    return _alive(cst.Call, cst.FunctionDef)


def _alive(*kinds: type) -> int:
    return sum(isinstance(one, kinds) for one in gc.get_objects())


def test_required_substrings_spare_the_parser(
    tmp_path: Path, write_files: Write, make_rule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("the file was parsed")

    write_files({"a.py": TF + "x = 1  # BAD", "b.py": "x = ( # BAD"})
    assert found(check(tmp_path, make_rule(required_substrings=((b"fit", b"BAD"), (b"tf",))))) != []
    monkeypatch.setattr("tflint_gpu.model.Model.open", refuse)
    assert found(check(tmp_path, make_rule(required_substrings=((b"fit", b"BAD"), (b"absent",))))) == []


def test_a_file_that_does_not_parse_is_told_whatever_the_rules_look_for(
    tmp_path: Path, write_files: Write, make_rule: Make
) -> None:
    """Protects against "All checks passed!" for a file that nobody could read."""
    write_files({"a.py": TF + "x = (", "b.py": "x = ("})
    results = check(tmp_path, make_rule(required_substrings=((b"absent",),)))
    assert [(name, code) for name, code, _, _ in found(results)] == [("a.py", "TFG000")]


@pytest.mark.parametrize(
    "data",
    [b"\xff tensorflow", b"# coding: nonsense\nimport tensorflow", b"\x00tensorflow", b"import tensorflow\nprint 'a'"],
)
def test_an_unreadable_file_is_one_diagnostic(data: bytes, tmp_path: Path, make_rule: Make) -> None:
    (tmp_path / "a.py").write_bytes(data)
    [result] = check(tmp_path, make_rule())
    assert [(one.code, one.severity, one.prediction) for one in result.diagnostics] == [("TFG000", "error", None)]
    assert result.errors == ()
    assert found(check(tmp_path, make_rule(), ignore=("TFG000",))) == []


def test_a_rule_that_fails_is_told_of_and_the_others_go_on(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    class Fails(Rule):
        code, name = "TFG902", "fails"
        error: BaseException = ValueError("oops")

        def check(self, model: Any) -> Iterator[Finding]:
            raise self.error
            yield

    class Recurses(Fails):
        code, name = "TFG903", "recurses"

        def check(self, model: Any) -> Iterator[Finding]:
            return self.check(model)

    write_files({"a.py": TF + "BAD", "b.py": TF + "BAD"})
    results = check(tmp_path, Fails(), Recurses(), make_rule())
    assert found(results) == [("a.py", "TFG901", 2, 1), ("b.py", "TFG901", 2, 1)]
    assert [(error.filename, error.rule) for result in results for error in result.errors] == [
        ("a.py", "TFG902"), ("a.py", "TFG903"), ("b.py", "TFG902"), ("b.py", "TFG903"),
    ]  # fmt: skip
    assert "oops" in results[0].errors[0].detail


def test_opt_in_rules_need_their_full_code(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    write_files({"a.py": TF + "BAD"})
    rule = make_rule(opt_in=True)
    resolver_options: list[dict[str, Any]] = [{}, {"select": ("TFG",)}, {"extend_select": ("TFG9",)}]
    for options in resolver_options:
        assert found(check(tmp_path, rule, **options)) == []
    assert found(check(tmp_path, rule, extend_select=("TFG901",))) != []
    assert found(check(tmp_path, rule, select=("ALL",))) != [], "all means all, as in ruff"


def test_a_finding_in_another_file_obeys_that_file(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    class Elsewhere(type(make_rule())):  # type: ignore[misc]
        def check(self, model: Any) -> Iterator[Finding]:
            if model.source.name != "train.py":
                return
            for name in ("lib.py", "quiet.py", "old/lib.py", "ignored.py"):
                path = tmp_path / name

                class Other:
                    source = SourceFile.decode(path.read_bytes(), path, str(path))

                yield from super().check(Other())

    write_files({"train.py": TF, "lib.py": "BAD", "quiet.py": "BAD # noqa", "old/lib.py": "BAD", "ignored.py": "BAD"})
    write_files({"tflint-gpu.toml": 'extend-exclude = ["old"]\nper-file-ignores = {"ignored.py" = ["ALL"]}\n'})
    assert found(check(tmp_path, Elsewhere())) == [("lib.py", "TFG901", 1, 1)]


def test_the_collector_is_on_afterwards_and_was_off(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    seen = []

    class Looks(Rule):
        code, name = "TFG904", "looks"

        def check(self, model: Any) -> Iterator[Finding]:
            seen.append(gc.isenabled())
            raise KeyError
            yield

    write_files({"a.py": TF})
    check(tmp_path, Looks())
    assert (seen, gc.isenabled()) == ([False], True)


def test_a_file_that_cannot_be_opened(tmp_path: Path, write_files: Write, make_rule: Make, monkeypatch: Any) -> None:
    [path] = write_files({"a.py": TF})

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    [result] = check(tmp_path, make_rule(), path=str(path))
    assert [one.message for one in result.diagnostics] == ["cannot be read: Permission denied"]


def test_what_is_python_of_a_file_with_ipython_lines_is_checked(
    tmp_path: Path, write_files: Write, make_rule: Make
) -> None:
    """Protects exported notebooks: one line that Python cannot run hides no finding, and can be silenced itself."""
    text = "!nvidia-smi (\n" + TF + "x = !ls\nif x:\n    %cd ..\n    BAD\nBAD # noqa\n"
    write_files({"a.py": text, "b.py": text.replace("(\n", "# noqa: TFG000\n", 1)})
    results = check(tmp_path, make_rule())
    assert found(results) == [("a.py", "TFG000", 1, 1), ("a.py", "TFG901", 6, 5), ("b.py", "TFG901", 6, 5)]
    assert [error for result in results for error in result.errors] == []
    assert results[0].diagnostics[0].message.startswith("`!nvidia-smi (` is an IPython line")
    assert found(check(tmp_path, make_rule(), ignore=("TFG000",))) == [
        ("a.py", "TFG901", 6, 5),
        ("b.py", "TFG901", 6, 5),
    ]


def test_ipython_lines_do_not_hide_what_else_does_not_parse(
    tmp_path: Path, write_files: Write, make_rule: Make
) -> None:
    """Protects the truth of "the rest was checked": if the rest does not parse, that is the one thing that is told."""
    write_files({"a.py": "!ls\n" + TF + "print 'BAD'\n"})
    [result] = check(tmp_path, make_rule())
    assert found([result]) == [("a.py", "TFG000", 3, 1)]
    assert result.diagnostics[0].message.startswith("does not parse: ")


def test_python_is_not_searched_for_ipython_lines(
    tmp_path: Path, write_files: Write, make_rule: Make, monkeypatch: Any
) -> None:
    """Protects the speed of what most files are, and their text, in which such lines can stand in strings."""
    write_files({"a.py": TF + "x = (3\n% 2)\ns = '''\n!ls\n'''\nBAD\n"})

    def refuse(_: SourceFile) -> None:
        raise AssertionError

    monkeypatch.setattr("tflint_gpu.text.scripts.IPythonScript.of", refuse)
    assert found(check(tmp_path, make_rule())) == [("a.py", "TFG901", 7, 1)]


def test_an_imported_file_with_ipython_lines_is_read(tmp_path: Path, write_files: Write) -> None:
    """Protects projects of exported notebooks: one file's finding may rest on what another one defines."""
    write_files({"names.py": "!ls\nimport tensorflow\nGPU = '/GUP:0'\n"})
    write_files({"a.py": TF + "from names import GPU\nwith tf.device(GPU):\n    pass\n"})
    resolver = SettingsResolver(Options(select=("TFG502",)), working_directory=tmp_path)
    engine = Engine(resolver, tmp_path)
    results = [engine.check(file) for file in Discovery(resolver, tmp_path).find(["."])]
    assert [one[:2] for one in found(results)] == [("a.py", "TFG502"), ("names.py", "TFG000")]


def test_a_file_in_which_libcst_cannot_place_a_finding(
    tmp_path: Path, write_files: Write, make_rule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects against wrong places, and against a crash, should Python's parser take more for Python than libcst's."""
    write_files({"a.py": TF + "tf.function(1)\n", "b.py": TF + "tf.Variable(1)\n"})

    def find(_: Rule, model: Any) -> Iterator[Finding]:
        yield from (Finding(model.file, call, "found", Prediction("no-effect")) for call in model.calls("tf.function"))

    def refuse(code: str) -> cst.Module:
        raise cst.ParserSyntaxError("no", lines=[code], raw_line=1, raw_column=0)

    monkeypatch.setattr(cst, "parse_module", refuse)
    first, second = check(tmp_path, make_rule(required_substrings=(), check=find))
    assert (first.errors, first.is_whole, second.diagnostics) == ((), False, ())
    assert [(one.code, one.message) for one in first.diagnostics] == [
        ("TFG000", "Python parses this file, but libcst does not, so it was not checked")
    ]


WITHOUT_LIBCST = """
import sys
from pathlib import Path

class Forbids:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "libcst" or name.startswith("tflint_gpu.rules."):
            raise SystemError(f"{name} was imported")

sys.meta_path.insert(0, Forbids())
from tflint_gpu.checking.engine import Engine
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.options import Options
from tflint_gpu.settings.files import Discovery

here = Path.cwd()
resolver = SettingsResolver(Options(), working_directory=here)
for file in Discovery(resolver, here).find(["."]):
    engine = Engine(resolver, here)
    print(file.name, len(engine.check(file).errors), engine.check(file).diagnostics)
    if file.name == "other.py":
        print(engine.findings(file), engine.model_of(file))
"""


WRONG_DEVICE = f"{TF}with tf.device('/GUP:0'):\n    x = tf.ones(3)\n"


def test_nothing_imports_libcst_before_the_bytes_mention_tensorflow(tmp_path: Path, write_files: Write) -> None:
    """Protects the time of a run in which no file has to do with TensorFlow: most of it would be imports."""
    write_files(
        {"other.py": "import json\n\nif __name__ == '__main__':\n    print(json)\n", "training.py": WRONG_DEVICE}
    )
    command = [sys.executable, "-c", WITHOUT_LIBCST]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    first, second, third = done.stdout.splitlines()
    assert (first, second) == ("other.py 0 ()", "[] None")
    assert third.startswith("training.py ") and third != "training.py 0 ()", "and what is forbidden here is told then"


def test_all_rules_are_known_before_a_file_is_searched(
    tmp_path: Path, write_files: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the order of the steps: the prefilter gets what the rules require, and imports none of them meanwhile."""
    write_files({"a.py": TF})
    loaded: list[object] = []

    def note(rules: object, *_: object) -> list[Rule]:
        loaded.append(rules)
        return []

    monkeypatch.setattr("tflint_gpu.checking.engine.rules_that_may_fire", note)
    resolver = SettingsResolver(Options(), working_directory=tmp_path)
    [file] = Discovery(resolver, tmp_path).find(["."])
    Engine(resolver, tmp_path).check(file)
    [rules] = loaded
    assert isinstance(rules, list) and len(rules) > 20


@pytest.mark.parametrize(
    "start",
    [
        "for row in rows:\n    net.predict(row[None])\n",
        "scores(rows)\n",
        "if __name__ == '__main__':\n    scores(rows)\n",
    ],
)
def test_a_program_whose_models_are_made_elsewhere(start: str, tmp_path: Path, write_files: Write) -> None:
    """Protects scripts that name neither TensorFlow nor Keras: their package does."""
    program = "import numpy as np\nfrom nets import make\n\nrows = np.load('rows.npy')\nnet = make()\n\n\n"
    function = "def scores(rows):\n    return [net.predict(row[None]) for row in rows]\n\n\n"
    write_files(
        {"nets.py": "from tensorflow import keras\n\n\ndef make():\n    return keras.models.load_model('net')\n"}
    )
    write_files({"score.py": program + function + start})
    resolver = SettingsResolver(Options(select=("TFG206",)), working_directory=tmp_path)
    engine = Engine(resolver, tmp_path)
    results = [engine.check(file) for file in Discovery(resolver, tmp_path).find(["score.py"])]
    assert {one[:2] for one in found(results)} == {("score.py", "TFG206")}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("from parts import Net\n\nnet = Net()\nwhile True:\n    print(net.ask(camera.read()))\n", "TFG206"),
        ("from parts import Net, prepare\n\nNet()\nprepare()\n", "TFG402"),
        ("from parts import Net, prepare\n\nprepare()\nNet()\n", ""),
    ],
    ids=["a loop", "an order that fails", "the other order"],
)
def test_a_program_that_only_uses_what_it_imports(
    program: str, expected: str, tmp_path: Path, write_files: Write
) -> None:
    """Protects scripts without a word of TensorFlow, and without a method of Keras: they decide what runs, and when."""
    parts = (
        "import numpy as np\nimport tensorflow as tf\n\n\nclass Net:\n    def __init__(self):\n"
        "        self.scale = tf.Variable(2.0)\n        self.inner = tf.keras.models.load_model('net')\n\n"
        "    def ask(self, picture):\n        return self.inner.predict(np.expand_dims(picture, 0))\n\n\n"
        "def prepare():\n    for gpu in tf.config.list_physical_devices('GPU'):\n"
        "        tf.config.experimental.set_memory_growth(gpu, True)\n"
    )
    write_files({"parts.py": parts, "start.py": program})
    resolver = SettingsResolver(Options(select=("TFG206", "TFG402")), working_directory=tmp_path)
    engine = Engine(resolver, tmp_path)
    results = [engine.check(file) for file in Discovery(resolver, tmp_path).find(["start.py"])]
    assert {one[:2] for one in found(results)} == ({("parts.py", expected)} if expected else set())


OWNER = (
    "from parts import Net\n\n\nclass Owner:\n    def __init__(self):\n        self.net = Net()\n\n"
    "    def ask(self, picture):\n        return self.net.ask(picture)\n"
)


@pytest.mark.parametrize(
    ("between", "start"),
    [
        ({"names.py": "from parts import Net\n\nMaker = Net\n"}, "from names import Maker"),
        ({"names.py": "from inner import Net as Maker\n", "inner.py": "from parts import Net\n"}, "from names import Maker"),
        ({"kit/__init__.py": "from .made import (\n    Maker,\n)\n", "kit/made.py": "from parts import Net as Maker\n"},
         "from kit import Maker"),
        ({"kit/__init__.py": "", "kit/made.py": "from parts import Net as Maker\n"}, "from kit.made import Maker"),
        ({"kit/__init__.py": "from . import made\n", "kit/made.py": "from parts import Net as Maker\n"},
         "from kit.made import Maker"),
        ({"kit/__init__.py": "", "kit/owner.py": OWNER}, "from kit.owner import Owner as Maker"),
        ({"hall.py": "from owner import Owner\n\n\ndef open_hall():\n    return Owner()\n", "owner.py": OWNER},
         "from hall import open_hall as Maker"),
    ],
    ids=["another name", "two modules", "a package", "a module of a package", "a package with a module",
         "an object that keeps one", "a function that makes one"],
)  # fmt: skip
def test_a_program_that_uses_what_modules_hand_on(
    between: dict[str, str], start: str, tmp_path: Path, write_files: Write
) -> None:
    """Protects programs whose imports lead to TensorFlow through files without a word of it."""
    parts = (
        "import numpy as np\nimport tensorflow as tf\n\n\nclass Net:\n    def __init__(self):\n"
        "        self.inner = tf.keras.models.load_model('net')\n\n"
        "    def ask(self, picture):\n        return self.inner.predict(np.expand_dims(picture, 0))\n"
    )
    program = f"{start}\n\nmade = Maker()\nwhile True:\n    print(made.ask(camera.read()))\n"
    write_files({"parts.py": parts, **between, "start.py": program})
    resolver = SettingsResolver(Options(select=("TFG206",)), working_directory=tmp_path)
    engine = Engine(resolver, tmp_path)
    results = [engine.check(file) for file in Discovery(resolver, tmp_path).find(["start.py"])]
    assert {one[:2] for one in found(results)} == {("parts.py", "TFG206")}
