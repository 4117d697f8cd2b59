"""Programs that no one writes on purpose are no endless work: names in circles, and values made of themselves."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from checks import findings, model_of

from tflint_gpu.model.python.names.flow import Flow
from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Constants
from tflint_gpu.model.tensorflow.tf_data.lengths import Lengths
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing

HEAD = "import tensorflow as tf\n"
STEP = "def step(x):\n    return float(tf.reduce_sum(x))\n"


@pytest.mark.parametrize(
    "code",
    [
        "for x in data:\n    random = random if (random(tf) if tf.keras else tf) else random\n    random(step)\n",
        "v0 = tf.function if c else None\n"
        + "".join(f"v{i + 1} = v{i} if c else v{i}\n" for i in range(60))
        + "v60(step)\n",
    ],
)
def test_names_for_tf_function(code: str, tmp_path: Path) -> None:
    model = model_of(HEAD + STEP + code, tmp_path)
    traced = {node.name.value for node in model.once(Tracing).wrapped(model.file)}  # type: ignore[union-attr]
    assert traced == ({"step"} if "v60" in code else set())


def test_a_dataset_joined_with_itself_again_and_again(tmp_path: Path) -> None:
    code = "ds = tf.data.Dataset.range(9)\n" + "ds = tf.data.Dataset.zip((ds, ds))\n" * 50 + "for x in ds:\n    f(x)\n"
    model = model_of(HEAD + code, tmp_path)
    (chain,) = model.once(Pipelines).chains(model.file, model.file.tree.module.body[-1].iter)
    assert chain.width <= 64 and not model.once(Lengths).is_demonstration(chain)
    assert findings(HEAD + code, tmp_path) == []


def test_a_long_chain_of_branches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the speed: the loop around a branch is looked for once, and not for each name that a branch binds."""
    searched: list[object] = []
    find = Flow._find_loop
    monkeypatch.setattr(Flow, "_find_loop", lambda flow, node: searched.append(node) or find(flow, node))
    branches = "".join(f"elif c == {i}:\n    x = x({i})\n" for i in range(100))
    model = model_of(f"{HEAD}if c:\n    x = 0\n{branches}x(1)\n", tmp_path)
    for call in model.file.tree.calls:
        model.inference.of(model.file, call.func)
    assert 0 < len(searched) == len(set(searched))


@pytest.mark.parametrize("start", ["0", "unknown()"])
def test_a_number_made_of_itself_again_and_again(start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the speed: what is asked of each row is answered by what was found of the row before."""
    computed: list[object] = []
    binary = Constants._binary
    monkeypatch.setattr(
        Constants,
        "_binary",
        lambda self, file, expr, context: computed.append(expr) or binary(self, file, expr, context),
    )
    model = model_of(f"{HEAD}n = {start}\n" + "n = n * 2 + n\n" * 60 + "f(n)\n", tmp_path)
    for assigned in model.file.tree.nodes(cst.Assign):
        model.value(assigned.value)
    assert model.value(model.file.tree.calls[-1].args[0].value) == (UNKNOWN if "unknown" in start else 0)
    assert len(computed) <= 2 * 60
