"""Programs cut out of a project: they run, they reach the place, and they hold the repair where it belongs."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from checks import NEWEST
from verified import cases_of

from tflint_gpu.model import Model, Project
from tflint_gpu.model.python.project.file import File
from tflint_gpu.rule.experiment import Change, Experiment, Workload, next_statement, wrap
from tflint_gpu.text.decoding.notebooks import Notebook
from tflint_gpu.text.source import SourceFile
from tflint_gpu.verify.slicing.extract import HARNESS, NotExtractable, Pair, Program, extract, workload_pair
from tflint_gpu.verify.slicing.inputs import InputError

# As much of the harness as these tests need, without TensorFlow.
HARNESS_STUB = """
import os, sys

def show(*values):
    print(*values)
    sys.stdout.flush()
    os._exit(0)

def wrapped(value, *more):
    return ["wrapped", value, *more]

def keras_dataset(name, cut=0):
    return name

def synthetic(*specs):
    return specs

def brief(method):
    return lambda *args, **kwargs: "brief"

def build_outside():
    pass
"""


class Files:
    """A project in a folder, and one experiment on the place at which it calls `place(...)`."""

    def __init__(self, folder: Path, **files: str | bytes) -> None:
        self.folder = folder
        self.models: dict[str, Model] = {}
        project = Project(folder, NEWEST)
        paths = {name.replace("__", "/").replace("/init/", "/__init__"): text for name, text in files.items()}
        for name, text in paths.items():
            path = folder / (name if name.endswith("ipynb") else f"{name}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).lstrip("\n").encode())
        for name in paths:
            path = folder / (name if name.endswith("ipynb") else f"{name}.py")
            kind = Notebook if name.endswith("ipynb") else SourceFile
            self.models[name] = Model.open(kind.decode(path.read_bytes(), path, path.name), project)

    def call(self, text: str) -> tuple[File, Any]:
        """The call that begins with a text, in whichever file it is."""
        for model in self.models.values():
            for call in model.file.tree.calls:
                if model.file.code(call).startswith(text):
                    return model.file, call
        raise AssertionError(text)

    def experiment(self, **attributes: Any) -> Experiment:
        """Show what `place(...)` gets, and end there."""
        model, call = self.call("place(")
        return replace(Experiment(model, call, probes=(Change(model, call.func, f"{HARNESS}.show"),)), **attributes)

    def extract(self, *entries: str, **attributes: Any) -> Pair:
        models = [self.models[name] for name in entries] or list(self.models.values())
        return extract(self.experiment(**attributes), models)

    def entries(self) -> list[str]:
        """The programs that are tried one after the other when each of them fails."""
        tried: list[Pair] = []
        with suppress(NotExtractable):
            while True:
                failed = [pair.approach for pair in tried if pair.approach is not None]
                tried.append(extract(self.experiment(), list(self.models.values()), failed=failed))
        return [pair.before.entry for pair in tried]

    def shown(self, *entries: str, **attributes: Any) -> str:
        """What the flagged program shows."""
        return run(self.extract(*entries, **attributes).before, self.folder / "out")


def run(program: Program, folder: Path) -> str:
    """Run a program in an empty folder and return what it printed."""
    script = replace(program, files={**program.files, f"{HARNESS}.py": HARNESS_STUB}).write(folder)
    away = folder / "elsewhere"
    away.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, script], cwd=away, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_only_what_is_needed_comes_along(tmp_path: Path) -> None:
    """Protects the user: what opens, writes or waits and is not needed is not in the program."""
    pair = Files(
        tmp_path,
        main="""
        import json
        import helper
        from helper import unused
        open("results.json", "w").write("{}")
        x = helper.value()
        place(x)
        helper.finish(x)
        """,
        helper="""
        import os
        N = 4
        def value(): return N + 1
        def unused(): return os.getpid()
        def finish(x): raise RuntimeError(x)
        print("loaded")
        """,
    ).extract("main")
    assert pair.before.files["main.py"] == f"import {HARNESS}\nimport helper\nx = helper.value()\n{HARNESS}.show(x)\n"
    assert pair.before.files["helper.py"] == "N = 4\ndef value(): return N + 1\n"
    assert run(pair.before, tmp_path / "out") == "5"


def test_the_ways_that_are_tried_when_one_fails(tmp_path: Path) -> None:
    """Protects findings that several programs reach: another file comes before another call in the same one."""
    files = Files(
        tmp_path,
        lib="def work(): place(1)",
        a="from lib import work\nwork()\nwork()",
        b="from lib import work\nwork()",
    )
    assert files.entries() == ["a.py", "b.py", "lib.py", "a.py"]


LAYOUTS: dict[str, tuple[str, dict[str, str | bytes]]] = {
    "a module used by attribute": ("7", {"main": "import lib\nplace(lib.X)", "lib": "X = 7\nY = 1 / 0"}),
    "a module that a package imports": (
        "7",
        {
            "main": "import pkg as p\nplace(p.parts.shapes.X)",
            "pkg__init__": "import os\nfrom pkg import parts",
            "pkg__parts__init__": "from . import shapes\nimport nothing_that_is_there",
            "pkg__parts__shapes": "X = 7\nY = 1 / 0",
        },
    ),
    "only what is read of a module that a package imports": (
        "7",
        {
            "main": "from pkg import parts\nplace(parts.X)",
            "pkg__init__": "from pkg import parts",
            "pkg__parts": "X = 7\nY = 1 / 0",
        },
    ),
    "a module that a package hands on": (
        "7",
        {
            "main": "from pkg import parts\nplace(getattr(parts.shapes, 'X'))",
            "pkg__init__": "from pkg import parts",
            "pkg__parts__init__": "from . import shapes",
            "pkg__parts__shapes": "X = 7",
        },
    ),
    "a function whose module has its name": (
        "7",
        {
            "main": "from pkg.marks import old\nplace(old(7))",
            "pkg__init__": "",
            "pkg__marks__init__": "from .old import old",
            "pkg__marks__old": "def old(x): return x",
        },
    ),
    "files that only annotations need": (
        "7",
        {
            "main": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kinds import Kind\n"
            "def f(x: 'Kind'):\n    return x\nplace(f(7))",
            "kinds": "import nothing_that_is_there\nclass Kind: pass",
        },
    ),
    "a module handed on": ("7", {"main": "import lib\nplace(getattr(lib, 'X'))", "lib": "X = 7"}),
    "a star import": ("7", {"main": "from lib import *\nplace(X)", "lib": "X = 7\nY = 8"}),
    "an import in a function": ("7", {"main": "def f():\n    from lib import X as Z\n    return Z\nplace(f())", "lib": "X = 7"}),
    "an import that may fail": (
        "7",
        {"main": "try:\n    from lib import X\nexcept ImportError:\n    X = 1\nplace(X)", "lib": "X = 7"},
    ),
    "a package that hands a name on": (
        "7",
        {"main": "from pkg import X\nplace(X)", "pkg__init__": "from .lib import X\nfrom .lib import Y", "pkg__lib": "X = 7\nY = 8"},
    ),
    "a package by attributes": (
        "7",
        {"main": "import pkg.sub.lib as l\nplace(l.X)", "pkg__init__": "raise SystemExit", "pkg__sub__lib": "X = 7"},
    ),
    "a folder of scripts beside a package": (
        "7",
        {"tools__train": "from pkg.lib import X\nplace(X)", "pkg__init__": "", "pkg__lib": "from .more import X", "pkg__more": "X = 7"},
    ),
    "a project two folders deep": (
        "7",
        {"a__b__train": "from lib import X\nplace(X)", "a__b__lib": "from other.more import X", "other__more": "X = 7"},
    ),
    "a script in its own package": (
        "7",
        {"pkg__init__": "", "pkg__train": "from pkg.lib import X\nplace(X)", "pkg__lib": "X = 7"},
    ),
    "a module called like its folder": (
        "7",
        {"main": "from net.more import Y\nplace(Y)", "net__net": "X = 3", "net__more": "from net.net import X\nY = X + 4"},
    ),
    "a package that loads its modules by their names": (
        "7",
        {
            "main": "import kit as k\nplace(k.words.pad(7))",
            "kit__init__": "import importlib\nMODULES = ['words', 'store']\ndef load(name):\n    if name not in MODULES:\n"
            "        raise AttributeError(name)\n    return importlib.import_module('.' + name, __name__)\n__getattr__ = load",
            "kit__words": "def pad(x): return x",
            "kit__store": "import nothing_that_is_there",
        },
    ),
    "a src folder": (
        "7",
        {"src__pkg__init__": "", "src__pkg__lib": "X = 7", "scripts__train": "import pkg.lib\nplace(pkg.lib.X)"},
    ),
    "a module with relative imports": (
        "7",
        {"pkg__init__": "", "pkg__train": "from . import lib\nfrom .sub.more import Y\nplace(lib.X + Y)", "pkg__lib": "X = 3", "pkg__sub__init__": "", "pkg__sub__more": "from ..lib import X\nY = X + 1"},
    ),
    "Windows line ends": ("7", {"main": b"x = 1\r\ny = 2\r\nif x:\r\n\tx = 7\r\nplace(x)\r\nprint(x)\r\n"}),
    "old Macintosh line ends": ("7", {"main": b"x = 7\ry = 2\rplace(x)\rprint(x)\r"}),
    "a last line without an end": ("7", {"main": b"x = 7\nplace(x)"}),
    "page breaks and odd line separators": ("7", {"main": "x = 7\n\x0c\ns = '\u2028\x1c'\nplace(x + len(s) - 2)"}),
    "tabs and spaces": ("7", {"main": b"def f():\n\tif 1:\n            x = 7\n            y = 8\n\treturn x\nplace(f())"}),
    "text beyond ASCII": ("é✓ 7", {"main": "größe = 7\ns = 'é✓'\nplace(s, größe)"}),
    "another encoding": ("é", {"main": "# -*- coding: latin-1 -*-\ns = 'é'\nplace(s)".encode("latin-1")}),
    "a mark at the beginning": ("7", {"main": "\ufeffx = 7\nplace(x)"}),
    "a docstring and the future": (
        "7",
        {"main": '"""About.\n\nMore."""\nfrom __future__ import annotations\n@str\nclass A: pass\nplace(7)'},
    ),
    "nothing but the place": ("7", {"main": "place(7)"}),
    "a text with empty lines": ("'a\\n\\n\\n\\n\\n\\nb'", {"main": "s = '''a\n\n\n\n\n\nb'''\nplace(repr(s))"}),
    "the main block": ("7", {"main": "def main(n):\n    place(n)\nif __name__ == '__main__':\n    main(7)"}),
    "a method": (
        "7",
        {"main": "class A:\n    def __init__(self, n): self.n = n\n    def go(self): self.deep()\n    def deep(self): place(self.n)\na = A(7)\nprint(a)\na.go()"},
    ),
    "a method of a base class": (
        "7",
        {"main": "from lib import Base\nclass A(Base): n = 7\nA().go()", "lib": "# tensorflow\nclass Base:\n    def go(self): place(self.n)"},
    ),
    "a nested function": ("7", {"main": "def f(n):\n    k = n + 1\n    def g(): place(k)\n    g()\nf(6)"}),
    "a function that is passed on": ("7", {"main": "def each(f): return [f(x) for x in (7, 8)]\ndef show(x): place(x)\neach(show)"}),
    "a callback by keyword": ("7", {"main": "def show(x): place(x)\nsorted([7, 8], key=show)"}),
    "recursion": ("0", {"main": "def f(n):\n    if n == 0:\n        place(n)\n    else:\n        f(n - 1)\nf(3)"}),
    "a lambda": ("7", {"main": "show = lambda x: place(x)\ny = 1\nshow(7)"}),
    "an object made in a function": (
        "7",
        {"main": "class A:\n    def go(self): place(7)\ndef make():\n    a = A()\n    return a\na = make()\nb = 1\na.go()"},
    ),
    "arguments of the command line": (
        "7",
        {"main": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=7)\nplace(p.parse_args().n)"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("shown", "files"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_program_runs_elsewhere(shown: str, files: dict[str, str | bytes], tmp_path: Path) -> None:
    """Protects each way in which code is laid out: the program runs from another folder and reaches the place."""
    project = Files(tmp_path, **files)
    entries = [name for name in files if name.rpartition("__")[2] in ("main", "train")]
    assert project.shown(*(name.replace("__", "/") for name in entries)) == shown


def test_notebook_becomes_a_script(tmp_path: Path) -> None:
    """Protects notebooks: magics go, cells are cut like one file."""
    cells = ["%matplotlib inline\nx = 7\n!pip install y", "print(x)\nz = 8", "place(x)\nx"]
    content = {
        "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": c} for c in cells],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    project = Files(tmp_path, **{"notes__train.ipynb": json.dumps(content)})
    pair = project.extract()
    assert "z = 8" not in pair.before.files["train.py"]
    assert run(pair.before, tmp_path / "out") == "7"


def test_packages_stay_packages(tmp_path: Path) -> None:
    """Protects from an installed package of the same name, which would win over a folder without `__init__`."""
    pair = Files(
        tmp_path,
        main="from hypothesis.own import X\nplace(X)",
        hypothesis__init__="import nothing",
        hypothesis__own="X = 7",
    ).extract("main")
    assert run(pair.before, tmp_path / "out") == "7"


def test_repair_goes_inside_of_the_probe(tmp_path: Path) -> None:
    """Protects the measurement: a repair after or before the same expression is part of what is measured."""
    project = Files(tmp_path, main="x = 'a'\nplace(x)")
    model, call = project.call("place(")
    value = call.args[0].value
    before = Change(model, value, "'<' + ", "before")
    after = Change(model, value, " + '>'", "after")
    probes = (*project.experiment().probes, *wrap(model, value, "wrapped", "n=1"))
    text = project.extract(probes=probes, repair=(after, before)).after.files["main.py"]
    assert f"({HARNESS}.wrapped('<' + x + '>', n=1))" in text


def test_order_of_what_is_put_around_nested_code(tmp_path: Path) -> None:
    """Protects brackets: what opens first closes last, whatever the order of the changes."""
    project = Files(tmp_path, main="a = b = 1\nplace(a + b)")
    model, call = project.call("place(")
    whole = call.args[0].value
    changes = (*wrap(model, whole.left, "f"), *wrap(model, whole, "g"), *wrap(model, whole.right, "h"))
    for order in (changes, changes[::-1], changes[2:] + changes[:2]):
        text = project.extract(flaw=order).before.files["main.py"]
        assert f"({HARNESS}.g({HARNESS}.f(a) + {HARNESS}.h(b)))" in text


def test_edit_within_a_replaced_stretch_is_left_out(tmp_path: Path) -> None:
    """Protects programs from halves of edits: what is replaced takes everything within along."""
    project = Files(tmp_path, main="f = list\na = [1]\nplace(f(a)[0])")
    model, call = project.call("place(")
    inner = project.call("f(a)")[1]
    value = call.args[0].value
    changes = (*wrap(model, inner, "g"), Change(model, value, "7"), *wrap(model, inner.func, "h"))
    pair = project.extract(repair=changes)
    assert f"{HARNESS}.show(7)" in pair.after.files["main.py"]
    assert run(pair.after, tmp_path / "out") == "7"


def test_repair_below_an_import_that_is_not_needed(tmp_path: Path) -> None:
    """Protects fixes that add a statement after the imports, and what the statement reads."""
    project = Files(tmp_path, main="import os as system\nimport json\nimport sys\nx = 7\nplace(x)")
    model, _ = project.call("place(")
    statement = model.tree.module.body[1].body[0]  # type: ignore[union-attr]
    pair = project.extract(repair=(next_statement(model, statement, "system.sep = 'x'"),))
    assert "system.sep" not in pair.before.files["main.py"]
    lines = pair.after.files["main.py"].splitlines()
    assert lines.index("import os as system") < lines.index("system.sep = 'x'") < lines.index("x = 7")
    assert "import json" not in lines and run(pair.after, tmp_path / "out") == "7"


def test_the_way_that_holds_the_repair_is_taken(tmp_path: Path) -> None:
    """Protects functions with several callers: both programs would be the same if the wrong one were run."""
    project = Files(tmp_path, main="def f(x): place(x)\nf(1)\nf(other(2))\nf(3)")
    model, call = project.call("other(")
    pair = project.extract(repair=(Change(model, call, "22"),))
    assert run(pair.after, tmp_path / "out") == "22"
    assert "f(1)" not in pair.before.files["main.py"]


def test_repair_that_is_never_run(tmp_path: Path) -> None:
    project = Files(tmp_path, main="def f(x): place(x)\nf(1)\ndef unused(): return other(2)")
    model, call = project.call("other(")
    with pytest.raises(NotExtractable, match=r"does not run main.py:3:\d+, which the experiment changes"):
        project.extract(repair=(Change(model, call, "22"),))


def test_what_follows_the_first_entry_is_tried(tmp_path: Path) -> None:
    """Protects libraries: the file of the finding runs nothing, another one does."""
    files = Files(tmp_path, lib="# tensorflow\ndef f(x): place(x)", other="import lib", main="import lib\nlib.f(7)")
    assert files.shown("lib", "other", "main") == "7"


def test_nothing_runs_the_place(tmp_path: Path) -> None:
    files = Files(tmp_path, main="def f(cfg): place(cfg)")
    with pytest.raises(
        NotExtractable, match=r"nothing in the checked files runs `f`, .* parameter `cfg` is: add a call"
    ):
        files.extract()
    nested = Files(tmp_path / "nested", main="def f():\n    def g(): place(1)\n    return 1")
    with pytest.raises(NotExtractable, match="nothing in the checked files runs `g`"):
        nested.extract()


DOWNLOADS = {
    "import tensorflow_datasets as tfds\nx = tfds.load('wikipedia')": "tfds.load",
    "import tensorflow_datasets as tfds\nx = tfds.load('wider_face')": "tfds.load",
    "import requests\ndef ask(): return requests.post('http://a')\nx = ask()": "requests.post",
    "import other\nurl = 'https://example.org/a.csv'\nx = other.read(url)": "https://example.org/a.csv",
}


@pytest.mark.parametrize(("code", "name"), DOWNLOADS.items())
def test_what_would_be_downloaded_is_refused(code: str, name: str, tmp_path: Path) -> None:
    """Protects the network, and users from a program that waits for it: the reason names the place and the remedy."""
    with pytest.raises(
        NotExtractable, match=rf"main.py:\d+:\d+ loads data \(`{name}`\): describe the data with .* input="
    ):
        Files(tmp_path, main=f"{code}\nplace(x)").extract()


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import subprocess\nx = subprocess.check_output(['ls'])", "subprocess.check_output"),
        ("import os\nx = os.popen('ls')", "os.popen"),
    ],
)
def test_a_process_that_the_code_starts_is_called_that(code: str, name: str, tmp_path: Path) -> None:
    """Protects who reads the reason from looking for data that is loaded."""
    with pytest.raises(NotExtractable, match=rf"main.py:2:5 starts another program \(`{name}`\).*input="):
        Files(tmp_path, main=f"{code}\nplace(x)").extract()


@pytest.mark.parametrize("given", ["'path'", "'--n', '-n', required=True"])
def test_arguments_that_nobody_gives(given: str, tmp_path: Path) -> None:
    """Protects from programs that end at once with a text about their usage."""
    code = (
        f"import argparse\np = argparse.ArgumentParser()\np.add_argument({given})\nargs = p.parse_args()\nplace(args)"
    )
    assert (
        "args = tflint_environment.arguments(p.parse_args)()"
        in Files(tmp_path, main=code).extract().before.files["main.py"]
    )
    assert Files(tmp_path / "other", main=code.replace("args)", "7)")).shown() == "7"


def test_a_comment_stands_for_a_download(tmp_path: Path) -> None:
    """Protects the remedy: with it, nothing of the original expression is in the program."""
    files = Files(
        tmp_path,
        main="""
        import os
        from keras.utils import get_file
        folder = get_file("a", "http://a")
        x = load(
            os.path.join(folder, "x"),
        )  # tflint-gpu: input=(4, 2) int32
        place(x)
        """,
    )
    pair = files.extract()
    assert (
        pair.before.files["main.py"].splitlines()[1]
        == f'x = {HARNESS}.synthetic(((4, 2), "int32"))  # tflint-gpu: input=(4, 2) int32'
    )
    assert run(pair.before, tmp_path / "out") == "(((4, 2), 'int32'),)"


def test_unreadable_comment_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"main\.py:1"):
        Files(tmp_path, main="x = load()  # tflint-gpu: input=big\nplace(x)").extract()


def test_training_on_the_way_is_short(tmp_path: Path) -> None:
    """Protects the user's time where the result of a training is needed."""
    code = "import tensorflow as tf\nmodel = tf.keras.Sequential()\nhistory = model.fit(1, epochs=99)\nplace(history)"
    pair = Files(tmp_path, main=code).extract()
    assert f"history = {HARNESS}.brief(model.fit)(1, epochs=99)" in pair.before.files["main.py"]


def test_loops_that_train_on_the_way_are_short(tmp_path: Path) -> None:
    """Protects the user's time where weights are needed; the loop that leads to the place runs as it is."""
    code = (
        "w = [1]\nfor epoch in range(99):\n    for x in data:\n        w = opt.apply_gradients(w)\n"
        "for step in range(7):\n    w = opt.apply_gradients(w)\n    place(w)\n"
    )
    text = Files(tmp_path, main=f"data, opt = load(w := 0)\n{code}").extract().before.files["main.py"]
    assert f"for epoch in {HARNESS}.few(range(99)):" in text and f"for x in {HARNESS}.few(data):" in text
    assert "for step in range(7):" in text


def test_the_command_line_is_asked_for_what_is_measured(tmp_path: Path) -> None:
    """Protects findings in methods of objects that are made whatever was asked, and used where something was."""
    code = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--train', action='store_true')\n"
        "args = parser.parse_args()\nclass Agent:\n    def act(self):\n        place(7)\nagent = Agent()\n"
        "if args.train:\n    for day in range(9):\n        agent.act()\n"
    )
    project = Files(tmp_path, main=code)
    file, call = project.call("range(9)")
    probes = (Change(file, call, f"{HARNESS}.steps(range(9))"),)
    text = project.extract(probes=probes).before.files["main.py"]
    assert "tflint_environment.ASKED = {'train': True}" in text


def test_the_command_line_is_asked_for_what_is_flagged(tmp_path: Path) -> None:
    """Protects findings in an object that only some command lines make, below a loop that runs with any of them."""
    code = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--kind', choices=['plain', 'deep'])\n"
        "args = parser.parse_args()\nclass Plain:\n    def learn(self):\n        pass\nclass Deep(Plain):\n"
        "    def learn(self):\n        place(7)\nif args.kind == 'plain':\n    agent = Plain()\n"
        "elif args.kind == 'deep':\n    agent = Deep()\nfor day in range(9):\n    agent.learn()\n"
    )
    project = Files(tmp_path, main=code)
    (file, loop), flagged = project.call("range(9)"), project.call("place(7)")
    change = Change(file, loop, f"{HARNESS}.steps(range(9))")
    text = project.extract(probes=(change,), node=loop, flagged=(flagged,)).before.files["main.py"]
    assert "tflint_environment.ASKED = {'kind': 'deep'}" in text


def test_the_command_line_is_asked_for_what_guards_want(tmp_path: Path) -> None:
    """Protects programs that refuse their own defaults: on eight cores, without a setting that turns something on."""
    code = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--cores', type=int, default=8)\n"
        "parser.add_argument('--fast', action='store_true')\nparser.add_argument('--later', type=int, default=9)\n"
        "args = parser.parse_args()\ndef main():\n    if not args.fast:\n        raise ValueError('slow')\n"
        "    if args.cores > 1:\n        raise ValueError('one core')\n    if args.fast > 1:\n        pass\n"
        "    for core in range(args.cores):\n        place(7)\n    if args.later > 3:\n        raise ValueError('later')\nmain()\n"
    )
    text = Files(tmp_path, main=code).extract().before.files["main.py"]
    assert "tflint_environment.ASKED = {'fast': True, 'cores': 1}" in text


def test_an_agent_learns_soon(tmp_path: Path) -> None:
    """Protects the user's time where an agent collects for long before it learns, wherever that is decided."""
    code = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--train_start', type=int, default=2000)\n"
        "args = parser.parse_args()\nclass Agent:\n    def __init__(self):\n        self.seen = []\n"
        "    def learn(self):\n        place(7)\n    def live(self):\n        while True:\n"
        "            if len(self.seen) > args.train_start:\n                self.learn()\nAgent().live()\n"
    )
    text = Files(tmp_path, main=code).extract().before.files["main.py"]
    assert "tflint_environment.ASKED = {'train_start': 100}" in text


def test_an_agent_learns_soon_within_the_measured_loop(tmp_path: Path) -> None:
    """Protects findings below the loop that is measured: the condition lies between the two."""
    code = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--warmup', type=int, default=2000)\n"
        "args = parser.parse_args()\nclass Agent:\n    def learn(self):\n        update(7)\n"
        "    def rest(self, days):\n        if len(days) >= args.warmup:\n            self.learn()\n"
        "agent = Agent()\nfor day in place(range(9)):\n    agent.rest([day])\n"
    )
    project = Files(tmp_path, main=code)
    text = project.extract(flagged=(project.call("update(7)"),)).before.files["main.py"]
    assert "tflint_environment.ASKED = {'warmup': 100}" in text


def test_loops_that_ask_whether_to_go_on_are_short(tmp_path: Path) -> None:
    """Protects the user's time where agents learn in a method, until an episode is over."""
    code = (
        "class Agent:\n    def learn(self, w):\n        return opt.apply_gradients(w)\n"
        "agent, w = Agent(), [1]\nfor day in range(600):\n    while len(w) < 9:\n        w = agent.learn(w)\nplace(w)\n"
    )
    text = Files(tmp_path, main=f"opt = load(0)\n{code}").extract().before.files["main.py"]
    assert f"for day in {HARNESS}.few(range(600)):" in text and f"while {HARNESS}.again(len(w) < 9):" in text


def test_loops_that_call_what_trains_are_short(tmp_path: Path) -> None:
    """Protects the user's time where an earlier agent fills the memory that a later one reads."""
    code = (
        "def learn(w):\n    return opt.apply_gradients(w)\n"
        "w = [1]\nfor day in range(600):\n    w = learn(w)\nfor week in range(3):\n    w = learn(w)\n    place(w)\n"
    )
    text = Files(tmp_path, main=f"opt = load(0)\n{code}").extract().before.files["main.py"]
    assert f"for day in {HARNESS}.few(range(600)):" in text and "for week in range(3):" in text


LAZY = """
import importlib

class LazyModule:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        return getattr(importlib.import_module(object.__getattribute__(self, "name")), name)

words = LazyModule("kit.words")
store = LazyModule("kit.store")
"""


def test_modules_that_define_flags_come_along(tmp_path: Path) -> None:
    """Protects programs that read a flag which a module defines that they import for nothing else."""
    pytest.importorskip("absl.flags")
    files = Files(
        tmp_path,
        main="""
        from absl import flags
        import package.options
        import other
        FLAGS = flags.FLAGS
        FLAGS(["main"])
        place(FLAGS.depth)
        """,
        package__init="",
        package__options="""
        from absl import flags
        flags.DEFINE_integer("depth", 7, "how deep")
        print("more than flags")
        """,
        other="LARGE = 1",
    )
    assert files.shown("main") == "7"
    assert "other.py" not in files.extract("main").before.files


def test_modules_that_load_when_they_are_used(tmp_path: Path) -> None:
    """Protects packages that put off their imports: what is read comes along, and what is not does not."""
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text(LAZY)
    (tmp_path / "kit" / "words.py").write_text("def pad(x):\n    return x\n")
    (tmp_path / "kit" / "store.py").write_text("import pymongo\n")
    files = Files(tmp_path, main="import kit\nplace(kit.words.pad(7))").extract().before.files
    assert "kit/words.py" in files and "kit/store.py" not in files


def test_a_module_that_loads_late_and_has_two_names(tmp_path: Path) -> None:
    """Protects what is read of a module by its short name."""
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text(f"{LAZY}\nw = words\n")
    (tmp_path / "kit" / "words.py").write_text("def pad(x):\n    return x\n\n\ndef cut(x):\n    return x\n")
    files = Files(tmp_path, main="import kit\nplace(kit.words.pad(kit.w.cut(7)))").extract().before.files
    assert "def cut" in files["kit/words.py"] and "def pad" in files["kit/words.py"]


def test_what_is_measured_is_not_shortened(tmp_path: Path) -> None:
    """Protects steps that train several networks: each of them counts, and a list of them is no data."""
    code = (
        "def both(w):\n    for net, opt in ((1, a), (2, b)):\n        w = opt.apply_gradients(w)\n    return w\n"
        "for step in range(7):\n    w = both(0)\n    for net in nets:\n        w = net.train_on_batch(w)\n    place(w)\n"
    )
    project = Files(tmp_path, main=f"a, b, nets = load(w := 0)\n{code}")
    file, call = project.call("both(0)")
    loop = next(node for node in file.tree.ancestors(call) if isinstance(node, cst.For))
    probes = (Change(file, loop.iter, f"{HARNESS}.steps(range(7))"),)
    text = project.extract(node=loop, probes=probes).before.files["main.py"]
    assert f"{HARNESS}.few" not in text and "for net, opt in ((1, a), (2, b)):" in text


def test_repair_that_does_not_parse(tmp_path: Path) -> None:
    """Protects from programs that stop with SyntaxError, which would look like a crash that was predicted."""
    project = Files(tmp_path, main="x = 7\nplace(x)")
    model, call = project.call("place(")
    with pytest.raises(NotExtractable, match=r"does not parse: .*main.py, line"):
        project.extract(repair=(Change(model, call.args[0].value, "7 +"),))


def test_whatever_goes_wrong_is_a_reason(tmp_path: Path) -> None:
    """Protects the other findings of a run: a rule's mistake costs one of them only."""
    project = Files(tmp_path, main="place(7)")
    other = Files(tmp_path / "other", main="place(7)")
    model, _ = project.call("place(")
    foreign = other.call("place(")[1]
    with pytest.raises(NotExtractable, match=r"cannot be extracted \(KeyError"):
        project.extract(repair=(Change(model, foreign, "8"),))


def test_workload() -> None:
    """Protects `--synthetic`: the rule's own program, before and after its changes."""
    model: Any = None
    workload = Workload("\n    import a\n\n    a.f(1)\n", (("f(1)", "f(2)"),))
    pair = workload_pair(Experiment(model, model, opening="first()", workload=workload), "zeroth()")
    assert pair.before.files["workload.py"] == f"import {HARNESS}\nzeroth()\nfirst()\nimport a\n\na.f(1)\n"
    assert pair.after.files["workload.py"].endswith("a.f(2)\n")
    with pytest.raises(NotExtractable, match="no workload"):
        workload_pair(Experiment(model, model))


def test_workload_whose_change_is_not_there_once() -> None:
    """Protects from two equal programs when a rule's workload is edited."""
    with pytest.raises(ValueError, match="occurs 2 times"):
        Workload("f(1)\nf(1)", (("f(1)", "f(2)"),)).text(repaired=True)
    assert Workload("f(1)\nf(1)", (("f(1)", "f(2)"),)).text(repaired=False) == "f(1)\nf(1)\n"


TOO_LATE = {
    "at the top": "tf.constant(1.0)\nCALL\n",
    "in a function": "def main():\n    tf.constant(1.0)\n    CALL\nmain()\n",
    "under a condition": "tf.constant(1.0)\nif gpus:\n    try:\n        CALL\n    except RuntimeError as e:\n        print(e)\n",
}


@pytest.mark.parametrize("code", TOO_LATE.values(), ids=TOO_LATE.keys())
def test_what_makes_a_call_too_late_comes_along(code: str, tmp_path: Path) -> None:
    """Protects TFG402: without the operation that came first the flagged program does not raise, and is `refuted`."""
    path = tmp_path / "train.py"
    head = "import tensorflow as tf\ngpus = tf.config.list_physical_devices('GPU')\n"
    path.write_text(head + code.replace("CALL", "tf.config.experimental.set_visible_devices(gpus, 'GPU')"))
    path.write_text(path.read_text().replace("(gpus, 'GPU')", "(gpus[:1], 'GPU')"))
    (case,) = [one for one in cases_of(path) if one.diagnostic.code == "TFG402"]
    assert case.pair is not None, case.reason
    for program in (case.pair.before, case.pair.after):
        assert "tf.constant(1.0)" in program.files[program.entry]
    assert "tflint_measure.uncaught(tf.config." in case.pair.before.files[case.pair.before.entry]
    assert "uncaught" not in case.pair.after.files[case.pair.after.entry]


def test_what_an_imported_file_might_start_is_refused_when_it_does(tmp_path: Path) -> None:
    """Protects programs that import a library with all it has, of which they use one function."""
    project = Files(
        tmp_path,
        main="from tools import *\nplace(twice(4))",
        tools="""
        import subprocess
        def twice(x): return 2 * x
        def board(): return subprocess.Popen(["board", "--at", "http://a.b/c"])
        """,
    )
    pair = project.extract("main")
    assert "tflint_modules.refused(subprocess.Popen)" in pair.before.files["tools.py"]
    (tmp_path / "b").mkdir()
    some = "import subprocess\nclass Board:\n    x = 7\n    def show(self): return subprocess.Popen(['board'])"
    pair = Files(tmp_path / "b", main="import tools\nplace(tools.Board.x)", tools=some).extract("main")
    assert "tflint_modules.refused(subprocess.Popen)" in pair.before.files["tools.py"]
    (tmp_path / "c").mkdir()
    started = "import subprocess\nboard = subprocess.Popen(['board'])"
    with pytest.raises(NotExtractable, match="starts another program"):
        Files(tmp_path / "c", main="import tools\nplace(tools.board)", tools=started).extract("main")


def test_many_files_make_one_program(tmp_path: Path) -> None:
    """Protects users of a large package, and the time in which its files are found: each is cut once or twice."""
    parts = {f"pkg__part{n}": f"from pkg import base\nX = {n}" for n in range(90)}
    imports = "\n".join(f"from pkg.part{n} import X as X{n}" for n in range(90))
    pair = Files(
        tmp_path,
        main=f"{imports}\nplace({' + '.join(f'X{n}' for n in range(90))})",
        pkg__init__="",
        pkg__base="",
        **parts,
    ).extract("main")
    assert run(pair.before, tmp_path / "out") == str(sum(range(90)))


def test_what_keeps_a_record_elsewhere_is_stood_for(tmp_path: Path) -> None:
    pair = Files(tmp_path, main="import wandb\nplace(wandb.run)").extract("main")
    assert "tflint_modules.record_nothing('wandb')" in pair.before.files["main.py"]


def test_bars_of_notebooks_are_plain_ones(tmp_path: Path) -> None:
    pair = Files(tmp_path, main="from tqdm.notebook import trange\nfor x in trange(3):\n    place(x)").extract("main")
    assert "tflint_modules.plain_bars()" in pair.before.files["main.py"]


@pytest.mark.parametrize("main", ["from helper import value", "import package.helper as helper\nvalue = helper.value"])
def test_a_file_that_does_not_parse_is_called_that(main: str, tmp_path: Path) -> None:
    """Protects from "not there" for a file that is there and has Python 2 in it."""
    broken = "def value(): return 1\nprint 'old'\n"
    (tmp_path / "package").mkdir()
    for path in (tmp_path / "helper.py", tmp_path / "package" / "helper.py"):
        path.write_text(broken)
    files = Files(tmp_path, main=f"{main}\nx = value()\nplace(x)\n")
    with pytest.raises(NotExtractable, match=r"^helper.py:2 does not parse: Missing parentheses"):
        files.extract("main")
    assert "helper" not in Files(tmp_path, main=f"{main}\nplace(3)\n").extract("main").before.files
