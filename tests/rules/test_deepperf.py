"""What DeepPerf's checks name in its own example files, and what of that we find: tests/peers/deepperf.toml.

Its files are not needed: each place has a small program of our own that does the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import NEWEST, findings, found

from tflint_gpu.targets import Target
from tflint_gpu.text.toml import loads

DATA = Path(__file__).parents[1] / "peers" / "deepperf.toml"
PLACES: list[dict[str, Any]] = loads(DATA.read_text("utf-8"))["place"]
TRIED = [place for place in PLACES if "program" in place]
MARK = "# here"
OUT = "node in a loop"


def _name(place: dict[str, Any]) -> str:
    return f"{place['check']} {Path(place['file']).name}:{place['line']}"


def _marked(program: str) -> int:
    (row,) = [row for row, line in enumerate(program.splitlines(), 1) if line.endswith(MARK)]
    return row


@pytest.mark.parametrize("place", TRIED, ids=_name)
def test_what_is_ours_is_found_and_nothing_else(place: dict[str, Any], tmp_path: Path) -> None:
    program, at = place["program"].lstrip("\n"), place["code"]
    row = _marked(program)
    if "target" in place:
        assert (at, row) not in found(program, tmp_path)
    target = Target(tuple(place["target"]), keras=2, source="settings") if "target" in place else NEWEST
    assert ((at, row) in found(program, tmp_path, target=target)) is place["ours"]


def test_the_place_that_is_not_told_for_itself_is_a_note(tmp_path: Path) -> None:
    (place,) = [one for one in TRIED if "in a note" in one["why"]]
    program = place["program"].lstrip("\n")
    (told,) = [finding for rule, finding in findings(program, tmp_path) if rule.code == place["code"]]
    rows = [note.file.source.locate(note.file.span(note.node)[0]).row for note in told.notes]
    assert _marked(program) in rows


def test_each_place_says_what_became_of_it() -> None:
    assert [_name(one) for one in PLACES if not one["why"]] == []
    assert {one["check"] for one in PLACES if "program" not in one} == {OUT}
    assert [_name(one) for one in PLACES if one["check"] == OUT and one["ours"]] == []


def test_the_truth_a_parser_of_records_takes_a_batch_of_them() -> None:
    """With the installed TensorFlow: parsing a batch gives the batch of what is parsed."""
    import tensorflow as tf

    features = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64, 7)}

    def record(number: int) -> bytes:
        values = tf.train.Feature(float_list=tf.train.FloatList(value=[number, number + 0.5]))
        return tf.train.Example(features=tf.train.Features(feature={"x": values})).SerializeToString()

    def parsed(text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        row = tf.io.parse_example(text, features)
        return row["x"] / 2.0, row["y"]

    records = tf.data.Dataset.from_tensor_slices([record(number) for number in range(6)])
    each, whole = records.map(parsed).batch(3), records.batch(3).map(parsed)
    for one, other in zip(each, whole, strict=True):
        assert all(bool(tf.reduce_all(a == b)) and a.shape == b.shape for a, b in zip(one, other, strict=True))
