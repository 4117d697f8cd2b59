"""Writes `tflint_gpu/model/networks/shapes/architectures.toml`: the sizes of `keras.applications`, as real Keras has them.

    python tests/benchmarks/architectures.py

No weights are loaded. Each network is built once; at other input sizes only its shapes are computed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

TABLE = Path(__file__).parents[2] / "tflint_gpu" / "model" / "networks" / "shapes" / "architectures.toml"
LENGTHS = (
    32, 48, 64, 75, 96, 100, 112, 128, 150, 160, 192, 200, 224, 240, 250, 256, 260, 288, 299, 300, 320, 331, 350, 380,
    384, 400, 416, 448, 456, 480, 500, 512, 528, 600, 640, 768, 800, 1024,
)  # fmt: skip
"""The side lengths of square inputs for which outputs are listed: those that programs use."""
_HEAD = """\
# The networks of `keras.applications`, written by `python tests/benchmarks/architectures.py` with Keras {version}.
#
# parameters, trainable: of the network without its top, for three channels; top: what the top adds for 1000 classes; head: what its last layer sees.
# default: the side length of the default input. features: the channels of the last feature map.
# lengths: for the side length of a square input that of the last feature map.
# elements: for the side length the elements that all layers of the network without its top give for one image.
"""


def names() -> list[str]:
    """The networks, by name."""
    import keras

    found = [name for name in dir(keras.applications) if name[0].isupper()]
    return [name for name in found if callable(getattr(keras.applications, name))]


def shapes_of(network: Any, shape: tuple[int | None, ...]) -> list[tuple[int | None, ...]]:
    """The shapes that each layer of a functional network gives for an input; nothing is computed."""
    import keras

    found: list[tuple[int | None, ...]] = []

    def specified(operation: Any) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            result = operation.compute_output_spec(*arguments, **keywords)
            found.extend(tuple(one.shape) for one in keras.tree.flatten(result))
            return result

        return call

    network._run_through_graph(keras.KerasTensor(shape), operation_fn=specified)
    return found


def elements(shapes: Iterable[tuple[int | None, ...]]) -> int:
    """The elements of some tensors for one image."""
    return sum(math.prod(size or 1 for size in shape[1:]) for shape in shapes)


def counted(weights: Iterable[Any]) -> int:
    """The number of elements of some weights."""
    return sum(math.prod(weight.shape) for weight in weights)


def row(name: str) -> dict[str, Any]:
    """What the table says of a network."""
    import keras

    make = getattr(keras.applications, name)
    keras.backend.clear_session()
    whole = make(weights=None)
    default = whole.input_shape[1] or 224
    whole_parameters = whole.count_params()
    head = next(layer for layer in reversed(whole.layers) if layer.weights).kernel.shape[-2]
    del whole  # some need gigabytes
    base = make(weights=None, include_top=False, input_shape=(default, default, 3))
    trainable, parameters = counted(base.trainable_weights), base.count_params()
    lengths, sums = {}, {}
    for length in LENGTHS:
        try:
            shapes = shapes_of(base, (None, length, length, 3))
        except (ValueError, TypeError):
            continue  # too small for its windows
        if min(shapes[-1][1:]) < 1:
            continue
        lengths[length], sums[length] = shapes[-1][1], elements(shapes)
    return {
        "parameters": parameters,
        "trainable": trainable,
        "top": whole_parameters - parameters,
        "head": head,
        "default": default,
        "features": shapes[-1][-1],
        "lengths": lengths,
        "elements": sums,
    }


def written(table: dict[str, dict[str, Any]], version: str) -> str:
    """The table as TOML."""
    lines = [_HEAD.format(version=version)]
    for name, values in table.items():
        lines.append(f"[{name}]")
        for key, value in values.items():
            text = json.dumps(value) if not isinstance(value, dict) else _inline(value)
            lines.append(f"{key} = {text}")
        lines.append("")
    return "\n".join(lines)


def _inline(value: dict[int, int]) -> str:
    return "{ " + ", ".join(f"{key} = {one}" for key, one in value.items()) + " }"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of the networks to try, printed only")
    chosen = parser.parse_args().names
    import keras

    table = {}
    for name in chosen or names():
        table[name] = row(name)
        print(name, table[name]["parameters"], table[name]["elements"].get(table[name]["default"]), flush=True)
    if not chosen:
        TABLE.write_text(written(table, keras.__version__))
    else:
        print(written(table, keras.__version__))


if __name__ == "__main__":
    main()
