"""Fixes that reorder a chain of tf.data, in all ways to write it: every operation stays, and so do the comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import fixed
from fixed_programs import results

HEAD = "import tensorflow as tf\n\n"
CHAINS = {
    "a comment after the source": (
        "TFG302",
        "rows = (tf.data.Dataset.range(4000)  # forty\n        .prefetch(2).batch(8))\n",
    ),
    "a comment on a line by itself": (
        "TFG302",
        "rows = (\n    tf.data.Dataset.range(4000)\n    # forty\n    .prefetch(2).batch(8)\n)\n",
    ),
    "comments after each operation": (
        "TFG302",
        "rows = (tf.data.Dataset.range(4000)  # forty\n        .prefetch(2)  # two\n        .batch(8))  # eight\n",
    ),
    "a map before the batch of its line": (
        "TFG304",
        "rows = (tf.data.Dataset.range(4000)  # forty\n        .map(lambda n: n * 2).batch(8))\n",
    ),
    "an old function behind a comment": (
        "TFG709",
        "rows = (\n    tf.data.Dataset.range(4000)  # forty\n"
        "    .apply(tf.data.experimental.shuffle_and_repeat(1, 2))\n    .batch(8)\n)\n",
    ),
    "an old function on a joined line": (
        "TFG708",
        "rows = tf.data.Dataset.range(4000) \\\n"
        "    .apply(tf.data.experimental.map_and_batch(lambda n: n, 7)) \\\n    .map(lambda n: n * 2)\n",
    ),
    "lines joined by backslashes": (
        "TFG302",
        "rows = tf.data.Dataset.range(4000).prefetch(1)\\\n    .batch(8)\n",
    ),
    "an operation for each joined line": (
        "TFG304",
        "rows = tf.data.Dataset.range(4000) \\\n    .map(lambda n: n * 2)\\\n    .batch(8)\n",
    ),
    "a skip before the batch of its line": (
        "TFG332",
        "rows = (tf.data.Dataset.range(400)  # forty\n"
        "        .map(lambda n: tf.image.resize(tf.fill([8, 8, 1], n), [2, 2]))\n        .skip(20).batch(8))  # eight\n",
    ),
}


@pytest.mark.parametrize(("rule", "chain"), CHAINS.values(), ids=CHAINS)
def test_no_operation_gets_lost(rule: str, chain: str, tmp_path: Path) -> None:
    """Protects pipelines from an operation that becomes part of a comment, or of no statement at all."""
    shown = "result = [batch.numpy().tolist() for batch in rows]\n"
    after = fixed(HEAD + chain + shown, tmp_path, rule)
    assert after != HEAD + chain + shown
    assert results(after) == results(HEAD + chain + shown)
    for comment in ("# forty", "# two", "# eight"):
        assert (comment in after) == (comment in chain)
