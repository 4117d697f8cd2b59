"""What `--show-settings` prints: TOML, each value with where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from tflint_gpu.settings.config import Settings, SettingsResolver
from tflint_gpu.settings.options import Options, read_settings_chain
from tflint_gpu.settings.reference import as_toml, default_of
from tflint_gpu.settings.table import SETTINGS
from tflint_gpu.targets import Pins

_CHOICE = ("ignore", "extend_select", "extend_ignore")
"""What a `select` of a stronger place ends: it begins the choice of rules again."""
_ADDED = (*_CHOICE, "extend_exclude")
"""Of these what all places say holds."""


def shown(resolver: SettingsResolver, settings: Settings, directory: Path) -> str:
    """The settings of the files in a directory as TOML, with the TensorFlow that a check assumes for them.

    Arguments:
        settings: of these files.
        directory: where they are.
    """
    origin = settings.origin
    chain = () if origin is None else read_settings_chain(origin, settings.base)
    layers = [*((str(written.path), written.options) for written in chain), ("command line", resolver.overrides)]
    first = max((index for index, (_, options) in enumerate(layers) if options.select is not None), default=0)
    lines = [f"# the settings of the files in {directory}"]
    for item in fields(Options):
        lines += _line(item.name, layers[first:] if item.name in _CHOICE else layers)
    return "\n".join([*lines, *_target(settings, directory)])


def _line(name: str, layers: Sequence[tuple[str, Options]]) -> Iterator[str]:
    key = name.replace("_", "-")
    given = [(value, place) for place, options in layers if (value := getattr(options, name)) is not None]
    places = " and ".join(place for _, place in given)
    if name in _ADDED and given:
        values = [item for value, _ in given for item in value]
        yield f"{key} = {as_toml(values)}  # {places}"
    elif key == "severity" and given:
        levels = {rule: level for value, _ in given for rule, level in value}
        yield f"{key} = {as_toml(tuple(levels.items()))}  # {places}"
    elif given:
        value, place = given[-1]
        yield f"{key} = {as_toml(value)}  # {place}"
    elif (default := default_of(key)) in (None, [], {}):
        unset = SETTINGS[key].unset
        yield f"# {key} is not set: {unset}" if unset else f"# {key} is not set"
    else:
        yield f"{key} = {as_toml(default)}  # default"


def _target(settings: Settings, directory: Path) -> Iterator[str]:
    pins = Pins()
    target = pins.target(settings.target_tensorflow, directory, settings.target_folder)
    major, minor = target.tensorflow
    version = "1" if major < 2 else f"{major}.{minor}"
    yield f"# checked as code for TensorFlow {version} with Keras {target.keras} ({pins.reason(target, directory)})"
