"""How a program gets to a place: each stop on the way, from the module's own statements to the place."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from checks import NEWEST

from tflint_gpu.model import Model, Project
from tflint_gpu.text.source import SourceFile
from tflint_gpu.verify.slicing.routes import asked_settings, find_routes


def opened(folder: Path, **files: str) -> dict[str, Model]:
    project = Project(folder, NEWEST)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(f"import tensorflow\n{text}")
    return {
        name: Model.open(
            SourceFile.decode((folder / f"{name}.py").read_bytes(), folder / f"{name}.py", f"{name}.py"), project
        )
        for name in files
    }


def routes(folder: Path, code: str, **others: str) -> list[list[str]]:
    """The stops of each route to the call `place()`, as code, with `...` where the way goes on by itself."""
    models = opened(folder, main=code, **others)
    model, call = next((m, c) for m in models.values() for c in m.file.tree.calls if m.file.code(c) == "place()")
    found = find_routes(model.file, call, models["main"])
    return [[stop.file.code(stop.node) + (" ..." if stop.forward else "") for stop in route] for route in found]


ROUTES = {
    "place()": [["place()"]],
    "if a:\n    for b in c: place()": [["place()"]],
    "def f(): place()\nf()": [["f()", "place()"]],
    "def f(): place()\ndef g(): f()\ng()": [["g()", "f()", "place()"]],
    "def f(): place()\nf()\ndef g(): f()\ng()": [["f()", "place()"], ["g()", "f()", "place()"]],
    "def f(): place()": [],
    "def f():\n    f()\n    place()": [],
    "def f(n):\n    f(n - 1)\n    place()\nf(3)": [["f(3)", "place()"]],
    "def f(): g()\ndef g():\n    f()\n    place()\nf()": [["f()", "g()", "place()"]],
    "def f():\n    def g(): place()\n    g()\nf()": [["f()", "g()", "place()"]],
    "class A:\n    place()": [["place()"]],
    "class A:\n    def f(self): place()\na = A(1)\na.g()": [["A(1) ...", "place()"]],
    "class A:\n    def __init__(self): self.f()\n    def f(self): place()\nA()": [
        ["A() ...", "place()"],
    ],
    "class A:\n    def f(self): place()\nclass B(A): pass\nclass C(B): pass\nC()": [["C() ...", "place()"]],
    "class A:\n    def f(self): place()\ndef make(): return A()\nx = make()": [["make() ...", "A() ...", "place()"]],
    "def f(x): place()\nuse(loss=f)": [["use(loss=f) ...", "place()"]],
    "from threading import Thread\ndef f(x): place()\nt = Thread(target=f, args=(1,))\nt.start()": [
        ["Thread(target=f, args=(1,)) ...", "place()"]
    ],
    "ds.map(lambda x: place())": [["lambda x: place() ...", "place()"]],
    "def f():\n    ds.map(lambda x: place())\nf()": [["f() ...", "lambda x: place() ...", "place()"]],
}


@pytest.mark.parametrize(("code", "expected"), ROUTES.items())
def test_routes(code: str, expected: list[list[str]], tmp_path: Path) -> None:
    """Protects each way of calling: where one is missed, nothing can be measured; where one is wrong, nothing runs."""
    found = routes(tmp_path, code)
    assert [route for route in expected if route not in found] == []
    assert bool(found) == bool(expected)
    assert [len(route) for route in found] == sorted(len(route) for route in found)


def test_routes_between_files(tmp_path: Path) -> None:
    """Protects libraries: the program is one file, the place lies in another."""
    others = {"lib": "def f():\n    place()\nclass A:\n    def go(self): f()\n"}
    assert routes(tmp_path, "import lib\nlib.A().go()", **others) == [
        ["lib.A().go()", "f()", "place()"],
        ["lib.A() ...", "f()", "place()"],
    ]


def test_place_that_is_a_function(tmp_path: Path) -> None:
    """Protects functions that are examined at their first call: the way ends where they are called, whole as they are."""
    models = opened(tmp_path, main="def f(): return 1\nx = f()\n")
    main = models["main"]
    function = next(node for node in main.file.tree.parents if isinstance(node, cst.FunctionDef))
    assert [[main.file.code(stop.node) for stop in route] for route in find_routes(main.file, function, main)] == [
        ["f()"]
    ]


ASKED = {
    "if args.fit: place()": {"fit": True},
    "if args.fit and opt.mode == 'slow':\n    for a in b: place()": {"fit": True, "mode": "slow"},
    "def f():\n    place()\nif FLAGS.fit: f()": {"fit": True},
    "if args.fit: pass\nelse: place()": {},
    "if not args.show or args.fit: place()": {},
    "if model.fit: place()": {},
    "def f(seen):\n    if len(seen) >= 64 and len(seen) > args.train_start: place()\nf(seen)": {"train_start": 100},
    "if loss > args.limit: place()": {},
    "if args.mode != 'slow': place()": {},
}


@pytest.mark.parametrize(("code", "expected"), ASKED.items())
def test_what_a_way_asks_of_the_command_line(code: str, expected: dict[str, object], tmp_path: Path) -> None:
    """Protects scripts that do nothing without an argument, and from asking for what the way only excludes."""
    models = opened(tmp_path, main=code)
    file = models["main"].file
    call = next(c for c in file.tree.calls if file.code(c) == "place()")
    assert dict(asked_settings(find_routes(file, call, models["main"])[0])) == expected
