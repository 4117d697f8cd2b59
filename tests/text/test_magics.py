"""IPython's additions leave a cell as Python of the same length, whose names are those that IPython binds."""

from __future__ import annotations

import ast

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tflint_gpu.text.magics import STAND_IN, parse, python_of, python_start

CELLS = [
    "%matplotlib inline\nimport tensorflow as tf",
    "x = 1\n!nvidia-smi\ny = 2",
    "!echo it's (open\nx = 1",
    "!!ls\nx = 1",
    "!pip install \\\n    tensorflow \\\n    keras\nx = 1",
    "files = !ls /data | grep 'a(b'\nn = len(files)",
    "a, b = !ls",
    "d['key'] = !ls [",
    "self.x: int = !ls",
    "x = %who_ls",
    "%cd '/a b'\nx = 1",
    "?tf.abs\nx = 1",
    "tf.abs?\nx = 1",
    "x = tf.abs??\ny = 2",
    "model.layers[0]?",
    "if ready:\n    !nvidia-smi\n    x = 1\nelse:\n    %env A=1\n",
    "def f():\n    %cd /tmp\n\n    !ls \\\n      -l\n    return 1\n",
    "class A:\n    def f(self):\n        files = !ls\n        return files\n",
    "x = '''\n!ls\n%time y = 1\n'''\n!ls '''\ny = 2",
    'x = f(1,  # what?\n      "why?")\ny = 2',
    "x = 'a = !b'\ny = x != '%time'",
    "x = (5\n  % 3)\ny = 2",
    "  x = 1\n  !ls\n  y = 2",
    "/f 1 2\n,f a b\n;f a b\nx = 1",
    "\n\n!ls\r\nx = 1\r\n",
    "!ls",
    "x = 1;\n",
    "for a in b:\n\t!ls\n\tx = a\n",
    "await f()\nasync with g() as x:\n    pass",
    "pi = 'é'\n!echo é…😀\nx = pi",
    "",
    "# only a comment?",
]


def bound(code: str) -> set[str]:
    names = {
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return names | {node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("cell", CELLS)
def test_what_is_left_binds_what_ipython_binds(cell: str) -> None:
    left = python_of(cell)
    assert len(left) == len(cell)
    assert [end for end, char in enumerate(left) if char in "\r\n"] == [
        end for end, char in enumerate(cell) if char in "\r\n"
    ]
    lead = "if 1:\n" if left.startswith("  ") else ""
    assert bound(lead + left) == bound(TransformerManager().transform_cell(cell))


@pytest.mark.parametrize(
    "cell",
    ["x = 1\ny = x % 2 != 0\n", "s = '?'  # really?\nt = \"!ls\"\n", "a = {'b': '%c' % d}\n", "x = [\n    # !ls\n    1,\n]\n", "ls = 1\nls\ncd = pip = 2\npip\n"],
)  # fmt: skip
def test_python_stays_as_it_is(cell: str) -> None:
    assert python_of(cell) == cell


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%time model.fit(x)", "model.fit(x)"),
        ("%time h = model.fit(x)", "h = model.fit(x)"),
        ("%timeit -n 10 -r3 model.fit(x)", "model.fit(x)"),
        ("    %prun -q model.fit(x)", "model.fit(x)"),
        ("h = %time model.fit(x)", "model.fit(x)"),
        ("t = %timeit -o model.fit(x)", "model.fit(x)"),
    ],
)
def test_python_that_a_magic_runs_is_kept_in_its_place(cell: str, python: str) -> None:
    left = python_of(cell)
    assert left.index(python) == cell.index(python)
    parse(("if 1:\n" if left.startswith(" ") else "") + left)


def test_only_time_gives_a_value() -> None:
    """Protects the values that the model knows: `%timeit -o` gives its own result, not that of what it runs."""
    assert python_of("x = %time f()").replace(" ", "") == "x=f()"
    assert python_of("x = %timeit -o f()").replace(" ", "") == f"x={STAND_IN};f()"
    assert STAND_IN in python_of("x = %time for")


@pytest.mark.parametrize(
    "line", ["pip install tensorflow", "cd /content", "ls -la", "cat a.txt", "load_ext tensorboard"]
)
def test_magics_without_a_percent_sign(line: str) -> None:
    parse(python_of(f"{line}\nx = 1"))


@pytest.mark.parametrize(
    ("cell", "body"),
    [
        ("%%time\nx = 1", "x = 1"),
        ("\n\n%%capture out\nx = 1", "x = 1"),
        ("%%capture\n%%timeit -n 1\nx = 1", "x = 1"),
        ("#@title Training\n%%time\nx = 1", "x = 1"),
        ("%%time", ""),
    ],
)
def test_the_body_of_some_cell_magics_is_python(cell: str, body: str) -> None:
    left = python_of(cell)
    assert len(left) == len(cell)
    assert left.endswith(body)
    assert ast.dump(ast.parse(left)) == ast.dump(ast.parse(body))


@pytest.mark.parametrize("cell", ["%%bash\nls", "%%html\n<b>", "%%writefile a.py\nx = 1", "%%R\nx <- 1", "%%time\n%%javascript\nx", "\n%%script false\nx", "%%python2\nprint 1"])  # fmt: skip
def test_cells_of_other_languages_are_none(cell: str) -> None:
    assert python_start(cell) is None


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("ls -lh *.h5", set()),
        ("mkdir -p logs/a", set()),
        ("rm --force x", set()),
        ("time x = 1", {"x"}),
        ("timeit -n 10 f(y)", set()),
        ("time model.fit(a)", {"model", "a"}),
    ],
)
def test_magics_without_a_percent_sign_take_options_and_python(line: str, names: set[str]) -> None:
    read = python_of(f"{line}\nz = 1\n")
    parse(read)
    assert len(read) == len(line) + 7
    found = {node.id for node in ast.walk(ast.parse(read)) if isinstance(node, ast.Name)} - {"z", STAND_IN}
    assert found >= names


@pytest.mark.parametrize("line", ["time = 3", "time in x", "time.sleep(1)", "ls - 3", "run(-x)", "time if a else b"])
def test_names_of_magics_stay_names(line: str) -> None:
    assert python_of(line) == line
