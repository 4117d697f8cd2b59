"""Protects every user of the parser: no text may reach it that ends the process or takes minutes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tflint_gpu.text.nesting import check_nesting
from tflint_gpu.text.source import UnreadableSource

DEADLY = {
    "parentheses": "x = " + "(" * 3000 + ")" * 3000,
    "few parentheses": "x = " + "(" * 300 + ")" * 300,
    "never closed": "x = " + "[" * 3000,
    "brackets hidden by strings": "x = " + '(")"' * 3000 + ")" * 3000,
    "sum": "x = " + " + ".join(["a"] * 20_000),
    "sum over rows": "x = (a\n" + "  + b  # one more\n" * 20_000 + ")",
    "sum behind backslashes": "x = a \\\n" + "+ b \\\n" * 20_000 + "\n",
    "attributes": "x = a" + ".b" * 5000,
    "calls": "x = a" + ".b(1, 2)" * 1500,
    "subscripts": "x = a" + "[0]" * 5000,
    "power": "x = " + "a ** " * 5000 + "a",
    "not": "x = " + "not " * 5000 + "a",
    "minus": "x = " + "-" * 5000 + "a",
    "lambda": "x = " + "lambda: " * 5000 + "a",
    "ternary": "x = " + "a if b else " * 5000 + "a",
    "comparison": "x = " + "a < " * 5000 + "a",
    "and": "x = " + "a and " * 5000 + "a",
    "elif": "if a: pass\n" + "elif b: pass\n" * 20_000,
    "strings": "x = (" + "'a'\n" * 20_000 + ")",
    "blocks": "".join(" " * depth + "if a:\n" for depth in range(500)) + " " * 500 + "pass\n",
    "pattern": "match x:\n    case " + "[" * 40 + "]" * 40 + ":\n        pass\n",
}


@pytest.mark.parametrize("name", DEADLY)
def test_deadly_text_is_refused(name: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        check_nesting(DEADLY[name])
    assert "more than" in caught.value.message


def test_the_parser_would_die(tmp_path: Path) -> None:
    """If libcst learns to survive, these limits can go."""
    path = tmp_path / "deep.py"
    path.write_text(DEADLY["parentheses"])
    script = f"import libcst, pathlib; libcst.parse_module(pathlib.Path({str(path)!r}).read_text())"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode < 0


@pytest.mark.parametrize("name", ["parentheses", "sum", "calls", "pattern", "blocks"])
def test_the_command_survives_and_checks_the_other_files(name: str, tmp_path: Path, tflint) -> None:  # type: ignore[no-untyped-def]
    enough = "import tensorflow as tf\nds = tf.data.Dataset.range(9).prefetch(1).map(f).batch(32)\nm.fit(ds)\n"
    (tmp_path / "deep.py").write_text(enough + DEADLY[name])
    (tmp_path / "fine.py").write_text(enough + "broken = (\n")
    done = tflint("check", "--no-cache", "--output-format", "concise", "--jobs", "1")
    assert done.returncode in (1, 2)
    assert "deep.py:1:1: error: TFG000" in done.stdout or "deep.py:4:1: error: TFG000" in done.stdout
    assert "fine.py:5:1: error: TFG000" in done.stdout or "fine.py:4:" in done.stdout
    assert "Traceback" not in done.stderr


ORDINARY = {
    "dictionary": "x = {\n" + "".join(f'    "k{n}": -{n}.5 + f(a.b, [1, (2,)]),\n' for n in range(20_000)) + "}",
    "numbers": "x = [" + ", ".join(f"-{n}.5e-3" for n in range(50_000)) + "]",
    "statements": "x = a.b(c)[d] + e.f * -g if not h else i\n" * 50_000,
    "strings with brackets": "x = '''" + "((((" * 50_000 + "'''",
    "comments with brackets": "# ((((((((( + + + +\n" * 50_000,
    "polynomial": "x = " + " + ".join(f"c[{n}] * y ** {n}" for n in range(300)),
    "long literal": "x = (\n" + "    'some text'\n" * 2000 + ")",
    "elif": "if a: pass\n" + "elif b == c.d: pass\n" * 2000,
    "call chain": "x = a" + ".b(c, d=1)" * 300,
    "ellipsis": "x = a[...]\n" * 5000,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_text_passes(name: str) -> None:
    check_nesting(ORDINARY[name])


@pytest.mark.slow
def test_five_megabytes_take_less_than_two_seconds() -> None:
    text = "def f(a):\n    return a.b(c)[1] + 'x'  # (((\n" * 125_000
    assert len(text) > 5_000_000
    started = time.process_time()
    check_nesting(text)
    assert time.process_time() - started < 2
