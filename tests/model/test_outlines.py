"""A training step moved into a function: what a user would do by hand, with the same names and values."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import libcst as cst
import pytest
from checks import model_of

from tflint_gpu.model.python.refactoring.outlines import NotMovable, outline
from tflint_gpu.text.source import UnreadableSource

UPDATES = frozenset(("apply_gradients", "minimize"))
REASONS: list[str] = []


def moved(code: str, folder: Path, loop_code: str = "for ") -> str | None:
    """The code after moving the step of the loop that begins so; None where that cannot be."""
    text = textwrap.dedent(code).lstrip("\n")
    model = model_of(text, folder)
    tape = next(call for call in model.file.tree.calls if model.name(call.func) == "tf.GradientTape")
    loops = [node for node in model.file.tree.parents if isinstance(node, cst.For | cst.While)]
    loop = max(
        (candidate for candidate in loops if model.file.tree.within(tape, candidate)),
        key=lambda candidate: model.file.span(candidate)[0],
    )
    try:
        made = outline(model.file, loop, tape, UPDATES)
    except NotMovable as error:
        REASONS.append(str(error))
        return None
    above = model.source.above(model.file.span(loop)[0])
    edits = [(above, above, made.definition)]
    edits.append((model.file.span(made.first)[0], model.file.span(made.last)[1], made.call))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    ast.parse(text)
    return text


def heads(code: str, folder: Path) -> list[str]:
    """The head of the new function, its return and its call."""
    text = moved(code, folder)
    assert text is not None
    return [line.strip() for line in text.splitlines() if "train_step" in line or line.strip().startswith("return")]


def test_step_in_a_loop(tmp_path: Path) -> None:
    """Protects the whole: decorator, parameters, comments, returned values, and the rest of the loop as it was."""
    code = """
    import tensorflow as tf
    for epoch in range(3):
        for x, y in ds:
            x = tf.reshape(x, (-1, 4))
            # the forward pass
            with tf.GradientTape() as tape:
                out = model(x)
    # a comment at the edge
                loss = tf.reduce_mean(out - y)
            grads = tape.gradient(loss, model.trainable_variables)  # all of them

            opt.apply_gradients(zip(grads, model.trainable_variables))
            print(loss)
    """
    expected = """
    import tensorflow as tf
    for epoch in range(3):
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                out = model(x)
    # a comment at the edge
                loss = tf.reduce_mean(out - y)
            grads = tape.gradient(loss, model.trainable_variables)  # all of them

            opt.apply_gradients(zip(grads, model.trainable_variables))
            return loss

        for x, y in ds:
            x = tf.reshape(x, (-1, 4))
            # the forward pass
            loss = train_step(x, y)
            print(loss)
    """
    assert moved(code, tmp_path) == textwrap.dedent(expected).lstrip("\n")


STEP = """
with tf.GradientTape() as tape:
    loss = f(x)
opt.apply_gradients(zip(tape.gradient(loss, w), w))
"""


def around(before: str, loop: str, added: str, after: str) -> str:
    """A program with the step in a loop."""
    body = textwrap.indent(STEP + added, "    ")
    return f"import tensorflow as tf\n{before}\n{loop}\n{body}\n{after}\n"


RETURNED = {
    "nothing": ("", "for x in ds:", "", "", ""),
    "in the loop": ("", "for x in ds:", "print(loss)", "", "loss"),
    "after the loop": ("", "for x in ds:", "", "print(loss)", "loss"),
    "after the loop, new": ("", "for x in ds:", "loss = 1", "loss = 2\nprint(loss)", ""),
    "in a function": ("def log(): print(loss)", "for x in ds:", "", "", "loss"),
    "as a parameter of a function": ("def log(loss): print(loss)", "for x in ds:", "", "", ""),
    "in the next iteration": ("loss = 0", "for x in ds:\n    print(loss)", "", "", "loss"),
    "in the condition": ("loss = 9", "while loss > 1:", "", "", "loss"),
}


@pytest.mark.parametrize(("before", "loop", "added", "after", "names"), RETURNED.values(), ids=RETURNED.keys())
def test_what_is_returned(before: str, loop: str, added: str, after: str, names: str, tmp_path: Path) -> None:
    """Protects what reads the results: the function returns them, and no other, which may be no tensors."""
    lines = heads(around(before, loop, added, after), tmp_path)
    assert [line for line in lines if line.startswith("return")] == ([f"return {names}"] if names else [])
    assert any(line.startswith(f"{names} = train_step" if names else "train_step") for line in lines)


@pytest.mark.parametrize("has_loop", [True, False])
def test_a_state_goes_from_one_iteration_to_the_next(has_loop: bool, tmp_path: Path) -> None:
    """Protects recurrent networks: what the step itself reads in the next iteration is returned, too."""
    code = around("memory = None", "for x in ds:", "print(loss)", "").replace(
        "loss = f(x)", "loss, memory = f(x, memory)"
    )
    if not has_loop:
        code = code.replace("for x in ds:", "for x in ds:\n    memory = None")
    lines = heads(code, tmp_path)
    assert [line for line in lines if line.startswith("return")] == ["return loss" + ", memory" * has_loop]


PRINTED = {
    "in the tape": ("    loss = f(x)\n    print(loss.numpy())  # each\n", "print(loss.numpy())  # each"),
    "on several rows": ("    loss = f(x)\n    print(\n        loss.numpy(),\n    )\n", "print("),
    "bound again": ("    loss = f(x)\n    print(loss)\n    loss = 2 * loss\n", ""),
    "next to another statement": ("    loss = f(x); print(loss)\n", ""),
    "all that there is": ("    print(x)\n", ""),
    "under a condition": ("    loss = f(x)\n    if step:\n        print(loss)\n", "if step:\n        print(loss)"),
    "under a condition that does more": ("    loss = f(x)\n    if next(it):\n        print(loss)\n", ""),
    "kept in a list": ("    loss = f(x)\n    printed.append(loss.numpy())\n", "printed.append(loss.numpy())"),
    "a part of a result": (
        "    loss = f(x)['loss'][0]\n    printed.append(loss.numpy())\n",
        "printed.append(loss.numpy())",
    ),
    "kept as tensors": ("    loss = f(x)\n    printed.append(loss)\n", ""),
    "kept in a list that is used": ("    loss = f(x)\n    printed.append(float(loss))\n    use(printed)\n", ""),
    "a variable before its update": ("    loss = f(x)\n    printed.append(w.numpy())\n", ""),
    "with a comment at the edge": (
        "    loss = f(x)\n    if n:\n# each\n        print(1)\n    else:\n        print(loss)\n",
        "if n:\n    # each\n        print(1)\n    else:\n        print(loss)",
    ),
    "two lists": (
        "    loss = f(x)\n    printed.append(float(loss))\n    if n:\n        second.append(loss.numpy())\n",
        "printed.append(float(loss))\n    if n:\n        second.append(loss.numpy())",
    ),
}


@pytest.mark.parametrize(("body", "added"), PRINTED.values(), ids=PRINTED.keys())
def test_what_is_printed_or_kept_stays_outside(body: str, added: str, tmp_path: Path) -> None:
    """Protects what a user sees: a traced function prints once, and cannot read a value; elsewhere it stays."""
    code = around("", "for x in ds:", "", "").replace(
        textwrap.indent("    loss = f(x)\n", "    "), textwrap.indent(body, "    ")
    )
    text = moved(code, tmp_path) or ""
    definition, _, loop = text.partition("\nfor x")
    assert text and ("print" in definition) == (not added) and (f"\n    {added}" in loop or not added)
    assert "loss = train_step" in loop or not added


FETCH = """
try:
    x = next(it)
except StopIteration:
    break
"""
FETCHED = {
    "by next": (FETCH, "x", True),
    "with a number of rows": (FETCH.replace("break", "print(len(rows))\n    break"), "x", True),
    "by a function of the project": (FETCH.replace("next(it)", "augmented(it)"), "x", False),
    "and changed after it": (FETCH + "x = scaled(x)\n", "x", False),
    "with what a gradient passes": (f"scale = w * 2\n{FETCH.lstrip()}", "x", False),
    "after a forward pass": ("out = model(first)\n" + FETCH, "x", False),
}


@pytest.mark.parametrize(("fetch", "name", "is_moved"), FETCHED.values(), ids=FETCHED.keys())
def test_data_that_the_tape_begins_with_is_fetched_outside(
    fetch: str, name: str, is_moved: bool, tmp_path: Path
) -> None:
    """Protects loops that end when the data do: a tape records nothing of what it fetches, and what leaves stays."""
    code = around("it = iter(ds)", "while True:", "", "").replace(
        "        loss = f(x)\n", textwrap.indent(f"{fetch.lstrip()}loss = f(x)\n", "        ")
    )
    text = moved(code, tmp_path)
    assert (text is not None) == is_moved
    if text is not None:
        definition, _, loop = text.partition("\nwhile True:\n")
        assert f"def train_step({name}):" in definition and "next" not in definition
        assert loop.strip().startswith("try:\n        x = next(it)\n    except") and f"\n    train_step({name})" in loop


def test_what_changes_in_the_loop_is_given(tmp_path: Path) -> None:
    """Protects the values: what the loop binds is a parameter, what is before it is read as it is."""
    code = around("k = 1\ntotal = 0", "for step, (x, y) in enumerate(ds):\n    scale = k * step", "", "print(total)")
    code = code.replace("loss = f(x)", "loss = f(x) * scale + k\n        total += loss")
    lines = heads(code, tmp_path)
    assert lines == ["def train_step(scale, total, x):", "return total", "total = train_step(scale, total, x)"]


def test_tabs_and_line_ends(tmp_path: Path) -> None:
    """Protects files of Windows and of tabs: the function is indented as its loop is."""
    code = around("", "for x in ds:", "print(loss)", "").replace("    ", "\t")
    assert "\tloss = train_step(x)" in (moved(code, tmp_path) or "")
    assert "return loss" in (moved(code.replace("\n", "\r\n"), tmp_path) or "")


def test_strings_stay_as_they_are(tmp_path: Path) -> None:
    code = around("", "for x in ds:", "", "").replace("loss = f(x)", 'loss = f(x, """a\n  b\nc""")')
    assert '"""a\n  b\nc"""' in (moved(code, tmp_path) or "")


@pytest.mark.parametrize("statement", ["break", "continue", "return", "yield x", "await x", "global w", "nonlocal w"])
def test_what_cannot_be_moved(statement: str, tmp_path: Path) -> None:
    """Protects control flow: what leaves the loop or the function cannot be in another one."""
    body = textwrap.indent(f"for x in ds:\n{textwrap.indent(STEP, '    ')}", "        ")
    body = body.replace("loss = f(x)", f"loss = f(x)\n                if x: {statement}")
    code = f"import tensorflow as tf\ndef outer():\n    w = 1\n    {'async ' * ('await' in statement)}def inner():\n{body}\n"
    assert moved(code, tmp_path) is None
    row = next(number for number, line in enumerate(code.splitlines(), 1) if statement in line and "if x" in line)
    assert REASONS.pop() == f"the `{statement.split()[0]}` in row {row} would leave that function"


@pytest.mark.parametrize(
    "inside", ["for k in range(3):\n            break", "def g():\n            return x", "g = lambda: (yield x)"]
)
def test_what_stays_in_the_step_moves_with_it(inside: str, tmp_path: Path) -> None:
    """Protects steps with loops and functions of their own from being taken for steps that leave their function."""
    code = around("", "for x in ds:", "", "").replace("loss = f(x)", f"{inside}\n        loss = f(x)")
    assert "def train_step(x):" in (moved(code, tmp_path) or "")


def test_step_that_is_not_in_one_block(tmp_path: Path) -> None:
    code = around("", "for x in ds:", "", "").replace("opt.apply", "if x:\n        opt.apply")
    assert "if x:" in (moved(code, tmp_path) or "")
    code = code.replace("    if x:\n        opt.apply_gradients", "    g = 1\nfinish")
    assert moved(code, tmp_path) is None
    assert "`apply_gradients`" in REASONS[-1] and "comes after the tape" in REASONS[-1]


@pytest.mark.parametrize("odd", ["f() = 1\n", "def f(x=1, y): pass\n", "f(**a, *b)\n"])
def test_what_python_refuses_stays(odd: str, tmp_path: Path) -> None:
    """Protects from an error in files that libcst reads and Python does not."""
    code = "import tensorflow as tf\nfor x in data:\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
    code += "    optimizer.apply_gradients(zip(tape.gradient(loss, v), v))\n"
    try:
        made = moved(code + odd, tmp_path)
    except UnreadableSource:
        return
    assert made is None
