"""What `--show-settings` prints: TOML, each value with where it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from tflint_gpu.settings.config import DEFAULT_EXCLUDE, Options, Settings, SettingsResolver, read_settings_file
from tflint_gpu.targets import Pins

_DEFAULTS = Settings(None, Path())
_UNSET = {
    "select": "all rules but the opt-in ones",
    "per-file-ignores": "no file has exceptions",
    "gpu-memory": "rules that compare with it find nothing",
    "cache-dir": "the folder `.tflint_gpu_cache` of the project",
    "jobs": "as many processes as the number of files is worth",
}


def shown(resolver: SettingsResolver, settings: Settings, directory: Path) -> str:
    """The settings of the files in a directory as TOML, with the TensorFlow that a check assumes for them.

    Arguments:
        settings: of these files.
        directory: where they are.
    """
    origin = settings.origin
    said = (read_settings_file(origin) if origin is not None else None) or Options()
    lines = [f"# the settings of the files in {directory}"]
    for item in fields(Options):
        lines += _line(item.name, said, resolver.overrides, origin)
    return "\n".join([*lines, *_target(settings, directory)])


def _line(name: str, said: Options, overrides: Options, origin: Path | None) -> Iterator[str]:
    key = name.replace("_", "-")
    layers = [(getattr(said, name), str(origin)), (getattr(overrides, name), "command line")]
    given = [(value, place) for value, place in layers if value is not None]
    if key.startswith("extend-") and given:  # both hold
        values = [one for value, _ in given for one in value]
        yield f"{key} = {_toml(values)}  # {' and '.join(place for _, place in given)}"
    elif given:
        value, place = given[-1]
        yield f"{key} = {_toml(value)}  # {place}"
    elif key == "exclude":
        yield f"{key} = {_toml(DEFAULT_EXCLUDE)}  # default"
    elif key in _UNSET or getattr(_DEFAULTS, name, None) in (None, ()):
        yield f"# {key} is not set: {_UNSET[key]}" if key in _UNSET else f"# {key} is not set"
    else:
        yield f"{key} = {_toml(getattr(_DEFAULTS, name))}  # default"


def _toml(value: object) -> str:
    """A value as TOML writes it; strings, numbers, lists and one table a line are all that settings have."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        pairs = (f"{json.dumps(pattern)} = {json.dumps(list(codes))}" for pattern, codes in value)
        return "{ " + ", ".join(pairs) + " }"
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _target(settings: Settings, directory: Path) -> Iterator[str]:
    pins = Pins()
    target = pins.target(settings.target_tensorflow, directory)
    major, minor = target.tensorflow
    pin = pins.place(directory) if settings.target_tensorflow is None else None
    if pin is not None:
        why = f"{pin.path}, line {pin.row}"
    else:
        why = "`target-tensorflow`" if settings.target_tensorflow is not None else "nothing pins a version: the newest"
    version = "1" if major < 2 else f"{major}.{minor}"
    yield f"# checked as code for TensorFlow {version} with Keras {target.keras} ({why})"
