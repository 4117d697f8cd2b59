"""Protects Python files with IPython's lines: the rest of them is checked in its place, and Python is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

from tflint_gpu.diagnostics import Location
from tflint_gpu.text.magics import STAND_IN, parse
from tflint_gpu.text.scripts import IPythonScript, readable
from tflint_gpu.text.source import SourceFile

TRAINING = """\
# In[1]:
%matplotlib inline
!pip install "tensorflow[and-cuda (it's
import tensorflow as tf

# In[2]:
%%time
é = 10
rest = (é
% 3)
shell = '''
!ls
'''
def load(xs):
    !nvidia-smi
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds.prefetch(1)
    return ds
tf.abs?
with tf.device("/GUP:0"): pass
with tf.device("/GUP:1"): pass  # noqa
%time tf.device("/GUP:2")
files = !ls
"""


def source(text: str) -> SourceFile:
    return SourceFile(Path("a.py"), "a.py", text)


def script(text: str) -> IPythonScript:
    found = IPythonScript.of(source(text))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "first", "column"),
    [
        ("x = 1\n!nvidia-smi\n", "!nvidia-smi", 1),
        ("%matplotlib inline\nx = 1\n", "%matplotlib inline", 1),
        ("% matplotlib inline\r\nx = 1\r\n", "% matplotlib inline", 1),
        ("x = 1\n\n%%time\ny = 2\n", "%%time", 1),
        ("x = !ls\n", "x = !ls", 1),
        ("y = %sql select 1\n", "y = %sql select 1", 1),
        ("?x\n", "?x", 1),
        ("x.y??\n", "x.y??", 1),
        ("if x:\n    !ls  # all (\n", "!ls  # all (", 5),
        ("pip install -q keras\nx = 1", "pip install -q keras", 1),
        ("cd /content\nx = 1", "cd /content", 1),
        ("!a \\\n  b\nx = '''\n!c\n'''\n", "!a \\", 1),
        ("!" + "x" * 80, "!" + "x" * 58 + "…", 1),
    ],
)
def test_the_first_line_is_told_of_and_everything_else_keeps_its_place(text: str, first: str, column: int) -> None:
    """Protects the positions of the whole file and the one message that says why Python refuses it."""
    read = script(text)
    parse(read.code)
    assert len(read.code) == len(text)
    assert [at for at, one in enumerate(read.code) if one in "\r\n"] == [
        at for at, one in enumerate(text) if one in "\r\n"
    ]
    [refusal] = read.refusals
    assert refusal.message == f"`{first}` is an IPython line: Python cannot run this file; the rest was checked"
    row = text[: text.index(first.rstrip("…"))].count("\n") + 1
    assert refusal.location == Location(row, column)


@pytest.mark.parametrize(
    "text",
    [
        "x = (1\n% y)\n",
        "x = 1 \\\n% y\n",
        "s = '''\n%matplotlib inline\n!ls\nx?\n'''\n",
        "# !ls\n# In[3]:\nx = 1  # why?\n",
        "s = ['?',\n'!ls',\n]\n",
        "x = y != 2\n",
        "x = '%s' % y\n",
    ],
)
def test_python_is_not_mistaken(text: str) -> None:
    """Protects valid files, and the Python around IPython's lines, which must stay as it is."""
    assert IPythonScript.of(source(text)) is None
    plain = source(text)
    assert readable(plain) is plain
    assert script(text + "!ls\n").code == text + "#ls\n"


@pytest.mark.parametrize(
    "text",
    [
        "f(1))\n, 2)\n",
        "/usr/bin/env python\n",
        ";x = 1\n",
        "x\n!= y\n",
        "x = 1\n% 2\n",
        "What is this?\n",
        "run the tests\n",
        "print 'a'\n",
    ],
)
def test_broken_python_is_no_ipython(text: str) -> None:
    """Protects the message about a mistake: it must not be called a line of IPython's, which hides it."""
    assert IPythonScript.of(source(text)) is None
    broken = source(text)
    assert readable(broken) is broken


def test_cells_of_other_languages_end_where_the_next_cell_starts() -> None:
    """Protects the Python below a cell of another language, and says that the cell was not checked."""
    cells = (
        "%%time\na = 1\n",
        "%%bash\necho it's \"\n\n",
        "# In[ ]:\nb = 2\n",
        "%%html\n<b>\n",
        "%%capture\nc = 3\n",
        "%%R\nd <-",
    )
    read = script("".join(cells))
    parse(read.code)
    assert [line for line in read.code.splitlines() if line[:1] not in "#"] == ["a = 1", "b = 2", "c = 3"]
    assert read.refusals[0].message.endswith("the rest was checked, except the body of `%%bash`")
    assert read.refusals[0].message.startswith("`%%time`")


def test_what_fixes_leave_is_still_a_script() -> None:
    """Protects `--fix`: the bytes' encoding and mark stay, and the fixed text is read in the same way."""
    read = readable(SourceFile.decode(b"\xef\xbb\xbfx = !ls\r\ny = 1\r\n", Path("a.py")))
    assert read.encode() == b"\xef\xbb\xbfx = !ls\r\ny = 1\r\n"
    changed = read.edited([])
    assert changed.code == f"x = {STAND_IN}#s\r\ny = 1\r\n"
    assert len(changed.refusals) == 1


@pytest.mark.slow
def test_check_and_fix_as_users_run_them(tmp_path: Path, tflint: Command) -> None:
    """Protects the way through the command: findings in their places, `# noqa`, and fixes that change nothing else."""
    path = tmp_path / "a.py"
    path.write_bytes(TRAINING.replace("\n", "\r\n").encode())
    options = ("check", "--isolated", "--no-cache", "--output-format", "concise", "--quiet")
    done = tflint(*options, "a.py")
    found = ["a.py:2:1: error: TFG000", "a.py:17:8: warning: TFG308"]
    found += ["a.py:20:16: error: TFG502", "a.py:22:17: error: TFG502"]
    assert [" ".join(line.split()[:3]) for line in done.stdout.splitlines()] == found
    assert (done.returncode, done.stderr) == (1, "")
    given = tflint(*options, "--stdin-filename", "b.py", "-", stdin=TRAINING)
    assert given.stdout == done.stdout.replace("a.py", "b.py")
    assert tflint(*options, "--fix", "--unsafe-fixes", "a.py").stderr == ""
    fixed = TRAINING.replace("    ds.prefetch(1)", "    ds = ds.prefetch(1)")
    assert path.read_bytes() == fixed.replace("\n", "\r\n").encode()
