"""Programs that no one writes on purpose are no endless work: names in circles, and values made of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, model_of

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
    traced = {node.name.value for node in model.tracing.wrapped(model.file)}  # type: ignore[union-attr]
    assert traced == ({"step"} if "v60" in code else set())


def test_a_dataset_joined_with_itself_again_and_again(tmp_path: Path) -> None:
    code = "ds = tf.data.Dataset.range(9)\n" + "ds = tf.data.Dataset.zip((ds, ds))\n" * 50 + "for x in ds:\n    f(x)\n"
    model = model_of(HEAD + code, tmp_path)
    (chain,) = model.pipelines.chains(model.file, model.file.tree.module.body[-1].iter)
    assert chain.width <= 64 and not model.lengths.is_demonstration(chain)
    assert findings(HEAD + code, tmp_path) == []
