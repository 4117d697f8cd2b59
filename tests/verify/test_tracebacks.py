"""Protects the name of an exception: from the traceback that ended a program, and from no other one in its errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tflint_gpu.verify.execution.tracebacks import exception_in, is_untrained, may_concern

# As TensorFlow 2.21 prints it: the message quotes the traceback of the function inside of the pipeline.
PY_FUNCTION = """\
2026-01-01 00:00:00.0: W tensorflow/core/framework/op_kernel.cc:1855] INVALID_ARGUMENT: ValueError: boom
Traceback (most recent call last):

  File "/lib/script_ops.py", line 267, in __call__
    return func(device, token, args)

ValueError: boom

Traceback (most recent call last):
  File "/tmp/pf.py", line 5, in <module>
    for e in ds: pass
  File "/lib/ops.py", line 6027, in raise_from_not_ok_status
    raise core._status_to_exception(e) from None
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
tensorflow.python.framework.errors_impl.InvalidArgumentError: {{function_node __wrapped__}} ValueError: boom
Traceback (most recent call last):

  File "/lib/script_ops.py", line 267, in __call__
    return func(device, token, args)

ValueError: boom

\t [[{{node EagerPyFunc}}]] [Op:IteratorGetNext] name:
"""


def test_a_traceback_inside_of_a_message() -> None:
    exception, text = exception_in(PY_FUNCTION)
    assert exception == "tensorflow.python.framework.errors_impl.InvalidArgumentError"
    assert text.startswith("{{function_node __wrapped__}} ValueError: boom")
    assert text.endswith("[Op:IteratorGetNext] name:")


GROUP = pytest.mark.skipif(sys.version_info < (3, 11), reason="no exception groups")


@pytest.mark.parametrize(
    ("code", "exception", "text"),
    [
        ("raise ValueError('a: b')", "ValueError", "a: b"),
        ("raise ValueError", "ValueError", ""),
        ("raise ValueError('one\\n  two\\nthree')", "ValueError", "one\n  two\nthree"),
        ("try:\n  1 / 0\nexcept Exception as e:\n  raise KeyError('x') from e", "KeyError", "'x'"),
        ("def f(): f()\nf()", "RecursionError", "maximum recursion depth exceeded"),
        ("x = = 1", "SyntaxError", "invalid syntax"),
        ("if 1:\npass", "IndentationError", "expected an indented block after 'if' statement on line 1"),
        ("import sys; print('Warning: nothing', file=sys.stderr)", None, ""),
        ("import sys; sys.exit('Error: nothing')", None, ""),
        pytest.param(
            "raise ExceptionGroup('g', [ValueError(1)])", "ExceptionGroup", "g (1 sub-exception)", marks=GROUP
        ),
    ],
)
def test_what_python_prints(code: str, exception: str | None, text: str) -> None:
    stderr = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600).stderr
    found, message = exception_in(stderr)
    assert found == exception
    assert message.startswith(text)


def test_a_traceback_that_lost_its_beginning() -> None:
    """Only the end of the errors is kept."""
    assert exception_in('  File "a.py", line 3, in f\n    g()\nValueError: boom\n') == ("ValueError", "boom")


def test_whose_exception_it_is() -> None:
    """Protects the second try, with Keras 2: where Keras 3 was running, or a name of it or of an object is missing."""
    head = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
    inside = '  File "/lib/site-packages/keras/src/layer.py", line 9, in g\n    raise ValueError(\n'
    assert may_concern(f"{head}{inside}ValueError: Unrecognized keyword arguments\n", "keras")
    assert may_concern(f"{head}AttributeError: module 'keras._tf_keras.keras.losses' has no attribute 'x'\n", "keras")
    assert may_concern(f"{head}AttributeError: module 'tensorflow.keras.losses' has no attribute 'x'\n", "keras")
    assert may_concern(f"{head}ModuleNotFoundError: No module named 'tensorflow.python.keras.x'\n", "keras")
    assert not may_concern(f"{head}ValueError: keras is fine\n", "keras")
    assert may_concern(f'{head}{inside}  File "b.py", line 1, in call\n    h()\nValueError: 1\n', "keras")
    assert may_concern(f"{head}AttributeError: 'Recall' object has no attribute 'reset_states'\n", "keras")
    assert may_concern(f"{head}AttributeError: 'tuple' object has no attribute 'as_list'\n", "keras")
    assert not may_concern(f"{head}AttributeError: 'NoneType' object has no attribute 'shape'\n", "keras")
    assert may_concern(f"{head}ValueError: not enough values to unpack (expected 3, got 1)\n", "keras")
    assert not may_concern("", "keras")
    walks = '  File "/lib/site-packages/optree/ops.py", line 7, in tree_map\n    return map(\n'
    assert may_concern(f"{head}{inside}{walks}ValueError: Invalid dtype: str7\n", "keras")
    assert not may_concern(f"{head}{walks}ValueError: Invalid dtype: str7\n", "keras")


@pytest.mark.parametrize(
    ("message", "is_known"),
    [
        ("The layer sequential has never been called and thus has no defined input.", True),
        ("Layer conv2d is not connected, no input to return", True),
        ("This model has not yet been built. Build the model first by calling `build()`.", True),
        ("This StandardScaler instance is not fitted yet. Call 'fit' first.", True),
        ("The house has been built", False),
    ],
)
def test_what_has_not_learned_yet(message: str, is_known: bool) -> None:
    """Protects models that their first batch builds, as Keras 3, Keras 2 and scikit-learn tell of them."""
    assert is_untrained(message) == is_known
