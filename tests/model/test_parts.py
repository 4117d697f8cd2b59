"""Every part of the model can be built, and is given the parts that its constructor names."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from checks import model_of

from tflint_gpu.model import Model
from tflint_gpu.model.parts import Part, asked_by

PARTS: dict[str, Part[Any]] = {name: part for name, part in vars(Model).items() if isinstance(part, Part)}


def _annotations() -> Iterator[tuple[str, str]]:
    for name, part in PARTS.items():
        yield Model.__annotations__[name], f"Part[{part.name}]"


@pytest.mark.parametrize("name", PARTS)
def test_a_part_asks_for_parts_that_there_are(name: str) -> None:
    """Protects the wiring, which no type checker reads: each annotation is the class of one attribute of the model."""
    part = PARTS[name]
    made = getattr(import_module(f"tflint_gpu.model.{part.module}"), part.name)
    assert set(asked_by(made)) <= set(Model.named)


def test_parts_are_what_their_annotations_say() -> None:
    """Protects the types that rules see: `pipelines: Part[Pipelines] = Part("tensorflow.tf_data.pipelines.Pipelines")`."""
    assert all(annotated == built for annotated, built in _annotations())


def test_parts_are_built_once(tmp_path: Path) -> None:
    """Protects what parts remember: all of them see the same ones."""
    model = model_of("import tensorflow as tf\n", tmp_path)
    for name in PARTS:
        assert getattr(model, name) is getattr(model, name)
    assert model.consumers.pipelines is model.feeds.pipelines is model.pipelines
