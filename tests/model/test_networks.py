"""The sizes that are read from source are those of real Keras: the same program, run and read."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import pytest
from checks import model_of
from network_programs import HEAD, PROGRAMS

from tflint_gpu.model import Trainings, networks
from tflint_gpu.model.networks.shapes.sizes import Estimate
from tflint_gpu.text.toml import loads

BATCH = 16
PARTLY_REPORTED = {"transformer block as a layer"}  # Keras reports what the block gives, not the layers in it


def read(code: str, folder: Path) -> list[Estimate]:
    """What is read from a program."""
    return model_of(code, folder).once(Trainings).estimates


def built(code: str) -> Any:
    """The network that Keras builds when it runs a program."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "program", "exec"), variables)
    return variables["model"]


def reported(network: Any) -> int:
    """The elements that all layers give for one sample, by the nodes of Keras's own graph; networks within as well."""
    import keras

    total = 0
    graph = getattr(network, "_functional", network)
    for node in (node for nodes in graph._nodes_by_depth.values() for node in nodes):
        layer = node.operation
        inner = getattr(layer, "layer", None) if isinstance(layer, keras.layers.TimeDistributed) else layer
        if isinstance(inner, keras.Model):
            total += reported(inner) * (node.output_tensors[0].shape[1] if inner is not layer else 1)
        else:
            total += sum(math.prod(size or 1 for size in tensor.shape[1:]) for tensor in node.output_tensors)
    return total


def kept_by(optimizer: Any, network: Any) -> int:
    """The numbers that an optimizer keeps for the weights."""
    optimizer.build(network.trainable_variables)
    scalars = 1
    return sum(math.prod(v.shape) for v in optimizer.variables if math.prod(v.shape) > scalars)


LARGE = ("DenseNet121 with its top", "ResNet50", "EfficientNetB0 in a Sequential")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name.endswith(LARGE) else ()) for name in PROGRAMS]
)
def test_sizes_are_those_of_keras(name: str, tmp_path: Path) -> None:
    code = HEAD + PROGRAMS[name]
    (estimate,) = read(f"{code}\nmodel.fit(x, y, batch_size={BATCH})\n", tmp_path)
    network = built(code)
    sizes = estimate.sizes
    assert sizes.parameters.count == pytest.approx(network.count_params(), rel=0.01)
    trainable = sum(math.prod(weight.shape) for weight in network.trainable_weights)
    assert sizes.slots.count == pytest.approx(kept_by(network.optimizer, network), rel=0.01, abs=20)
    assert sizes.slots.count == pytest.approx(trainable * estimate.optimizer.slots, rel=0.01)
    expected = reported(network)
    if name in PARTLY_REPORTED:
        assert sizes.activations.count / BATCH >= expected
    else:
        assert sizes.activations.count / BATCH == pytest.approx(expected, rel=0.2)
    assert (sizes.parameters.size, sizes.activations.size) == (4 * sizes.parameters.count, 4 * sizes.activations.count)


# The table of `keras.applications`.


def script() -> Any:
    """The program that writes the table."""
    path = Path(__file__).parents[1] / "benchmarks" / "architectures.py"
    spec = importlib.util.spec_from_file_location("architectures", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table() -> dict[str, Any]:
    """The table as it is shipped."""
    path = Path(networks.__file__).parent / "shapes" / "architectures.toml"
    return dict(loads(path.read_text("utf-8")))


def test_the_table_has_the_networks_of_keras() -> None:
    assert set(table()) == set(script().names())


@pytest.mark.parametrize("name", ["MobileNetV2", pytest.param("DenseNet121", marks=pytest.mark.slow)])
def test_the_table_is_what_its_script_writes(name: str) -> None:
    module = script()
    entry = loads(module.written({name: module.row(name)}, "3"))[name]
    assert table()[name] == entry


def test_other_sizes_of_the_table_are_near(tmp_path: Path) -> None:
    """Protects what is said of sizes that the table does not list: by the area, from the next smaller one."""
    rows = table()["ResNet50"]["elements"]
    code = HEAD + (
        "model = keras.applications.ResNet50(include_top=False, pooling='avg', input_shape=(290, 290, 3))\n"
        "model.compile('sgd', 'mse')\nmodel.fit(x, y, batch_size=1)\n"
    )
    (estimate,) = read(code, tmp_path)
    exact = rows["288"] * (290 / 288) ** 2
    assert estimate.sizes.activations.count == pytest.approx(exact, rel=0.05)
