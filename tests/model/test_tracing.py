"""Protects which functions count as traced: those that traced code calls, and those that it is given and hands on."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from checks import model_of

from tflint_gpu.model.tensorflow.tracing.tracing import Tracing

HEAD = "import tensorflow as tf\n\ndef helper(x):\n    return x + 1\n\ndef run(f, x):\n    return tf.map_fn(f, x)\n\n"
ROOT = "@tf.function\ndef step(x, f=None):\n"
TRACED = {
    "called": f"{ROOT}    return helper(x)\n",
    "handed on to a library": f"{ROOT}    return tf.map_fn(helper, x)\n",
    "handed on to a function that hands it on": f"{ROOT}    return run(helper, x)\n",
    "given to the traced function": f"{ROOT}    return tf.map_fn(f, x)\n\nstep(1, helper)\n",
    "given to it, and handed on by another": f"{ROOT}    return run(f, x)\n\nstep(1, helper)\n",
    "a default of a function that it calls": "def other(x, f=helper):\n    return f(x)\n\n"
    + f"{ROOT}    return other(x)\n",
    "bound to a name": f"{ROOT}    g = helper\n    return tf.map_fn(g, x)\n",
    "wrapped": f"{ROOT}    g = tf.function(helper)\n    return tf.map_fn(g, x)\n",
    "returned": "def make():\n    return helper\n\n" + f"{ROOT}    g = make()\n    return tf.map_fn(g, x)\n",
    "a parameter that is bound again": "def other(x, g):\n    g = helper\n    return tf.map_fn(g, x)\n\n"
    + f"{ROOT}    return other(x, x)\n",
}
EAGER = {
    "called elsewhere": f"{ROOT}    return x\n\nhelper(1)\n",
    "given to what traced code calls, by another": f"{ROOT}    return run(tf.abs, x)\n\nrun(helper, 1)\n",
}


def is_traced(code: str, folder: Path) -> bool:
    model = model_of(HEAD + code, folder)
    [helper] = [f for f in model.file.tree.functions if isinstance(f, cst.FunctionDef) and f.name.value == "helper"]
    return model.once(Tracing).is_traced(model.file, helper)


@pytest.mark.parametrize("code", TRACED.values(), ids=TRACED)
def test_what_traced_code_reaches_is_traced(code: str, tmp_path: Path) -> None:
    assert is_traced(code, tmp_path)


@pytest.mark.parametrize("code", EAGER.values(), ids=EAGER)
def test_what_it_does_not_reach_is_not(code: str, tmp_path: Path) -> None:
    assert not is_traced(code, tmp_path)
