"""The table of loaders says what TensorFlow's and Keras's own functions say."""

from __future__ import annotations

import inspect

import pytest

from tflint_gpu.model.library.datasets import LOADERS, Parameter


@pytest.mark.parametrize("name", sorted(LOADERS.keys() - {"load"}))
def test_parameters_are_those_of_the_installed_tensorflow(name: str) -> None:
    """Protects places and defaults: `tfds.load` takes its own by name only."""
    tf = pytest.importorskip("tensorflow")
    homes = (tf.keras.utils, tf.data.experimental, tf.data.Dataset)
    function = next(getattr(home, name) for home in homes if hasattr(home, name))
    parameters = list(inspect.signature(function).parameters.values())
    loader = LOADERS[name]
    for parameter in (loader.shuffle, loader.seed, loader.batch_size, loader.epochs):
        if parameter is not None:
            default = parameters[parameter.position].default
            real = Parameter(
                parameters[parameter.position].name,
                parameter.position,
                ... if default is inspect.Parameter.empty else default,
            )
            assert parameter == real
