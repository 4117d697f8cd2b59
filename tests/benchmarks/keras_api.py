"""What of the public names of Keras 2 is gone from Keras 3, and how much of it TFG7 knows.

    python tests/benchmarks/keras_api.py --old PYTHON_WITH_TENSORFLOW_2_15 [-o tests/KERAS_API.md]

Each interpreter writes down the public names of `tf.keras` and `keras`, the parameters and the members of each, and
tries the classes with each of their arguments. What Keras 2 accepts and Keras 3 does not is then written as a program of
one use, and `check` is asked whether it finds it.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

ROOTS = ("tf.keras", "keras")
FIRST_ARGUMENTS: tuple[tuple[Any, ...], ...] = (
    (), (4,), (4, 3), ((4, 3),), ("relu",), (0.5,), ("a.keras",), ((2,),), ([2.0, 3.0],), (0.1, 10), ([1], [0.1, 0.2]),
    (0.1, 10, 0.5), ("log",), (1, 0.5), (4, (4,)), ([1, 2], [3, 4]), (0.5, 0.5),
)  # fmt: skip
"""What classes may be made of; the first that both versions take is it."""
LEGACY: dict[str, dict[str, Any]] = {
    "optimizers": {"lr": 0.1, "decay": 0.1, "clipnorm": 1.0, "clipvalue": 1.0},
    "layers": {
        "input_shape": (4, 3), "input_dim": 3, "batch_input_shape": (None, 4, 3), "batch_size": 2, "weights": None,
        "activity_regularizer": None, "autocast": True, "fused": None, "virtual_batch_size": None,
        "adjustment": None, "time_major": False, "dynamic": False, "experimental_autocast": True,
    },
    "callbacks": {"period": 1, "load_weights_on_restart": False, "batch_size": 32, "write_grads": False, "epsilon": 0.1},
    "metrics": {"dtype": "float32"},
    "losses": {"reduction": "auto"},
}  # fmt: skip
"""Arguments that Keras 2 takes in `**kwargs`."""
_HEAD = "import tensorflow as tf\n\n"
_VALUES = {name: repr(value) for theme in LEGACY.values() for name, value in theme.items()}
_OF_MODULES = {"name_scope", "submodules", "with_name_scope"}
"""What Keras 2's layers have of `tf.Module`."""
_BASES = [
    f"tf.keras.{name}"
    for name in "layers.Layer optimizers.Optimizer metrics.Metric losses.Loss callbacks.Callback".split()
]
"""The classes whose methods count once, as theirs."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="a Python that has TensorFlow 2.15")
    parser.add_argument("--dump", type=Path, help="write down what this interpreter has, and nothing else")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.dump is not None:
        options.dump.write_text(json.dumps(described()))
        return 0
    text = page(dumped(options.old), dumped(Path(sys.executable)))
    if options.output is not None:
        options.output.write_text(text)
    print(text)
    return 0


def dumped(python: Path) -> dict[str, Any]:
    """What an interpreter has."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dump.json"
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        command = [str(python), __file__, "--dump", str(file)]
        subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True)
        described: dict[str, Any] = json.loads(file.read_text())
        return described


def described() -> dict[str, Any]:
    """The public names of the installed Keras, by the two names that it has."""
    import keras
    import tensorflow as tf

    names: dict[str, Any] = {}
    for root, module in zip(ROOTS, (tf.keras, keras), strict=True):
        _walk(root, module, names, {id(module)})
    return {"tensorflow": tf.__version__, "keras": keras.__version__, "names": names}


def _walk(prefix: str, module: types.ModuleType, names: dict[str, Any], seen: set[int]) -> None:
    for name in sorted(set(dir(module))):
        value = getattr(module, name, None)
        if name.startswith("_") or (isinstance(value, types.ModuleType) and "keras" not in value.__name__):
            continue
        full = f"{prefix}.{name}"
        if isinstance(value, types.ModuleType):
            if id(value) not in seen and full not in ("keras.src", "keras.api"):
                names[full] = {"kind": "module"}
                _walk(full, value, names, seen | {id(value)})
        elif inspect.isclass(value):
            members = {member: _parameters(getattr(value, member, None)) for member in dir(value) if member[0] != "_"}
            names[full] = {"kind": "class", "parameters": _parameters(value), "members": members}
            names[full]["tried"] = _tried(full, value) if prefix.startswith("tf.") else {}
        else:
            names[full] = {"kind": "value", "parameters": _parameters(value)}


def _parameters(value: object) -> list[str] | None:
    """The names of what a function takes; None for what is no function."""
    try:
        return list(inspect.signature(value).parameters) if callable(value) else None
    except (TypeError, ValueError):
        return None


def _tried(full: str, cls: Callable[..., object]) -> dict[str, str]:
    """What a class raises with each of its arguments by keyword; empty for one that it takes."""
    theme = full.split(".")[2] if full.count(".") > 2 else ""
    if theme not in ("layers", "optimizers", "callbacks", "losses", "metrics", "initializers", "regularizers"):
        return {}
    made = next((args for args in FIRST_ARGUMENTS if not _raised(cls, args, {})), None)
    if made is None:
        return {"": _raised(cls, (), {})}
    defaults: dict[str, Any] = {}
    try:
        signature = inspect.signature(cls).parameters.values()
        named = list(signature)[len(made) :]
        defaults = {p.name: p.default for p in named if p.default is not p.empty and p.kind is not p.VAR_KEYWORD}
    except (TypeError, ValueError):
        pass
    tried = {name: _raised(cls, made, {name: value}) for name, value in {**LEGACY.get(theme, {}), **defaults}.items()}
    return {**tried, "": "" if not made else f"takes {made}"}


def _raised(cls: Callable[..., object], args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    try:
        cls(*args, **keywords)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@dataclass(frozen=True, slots=True)
class Use:
    """One use that Keras 2 takes and Keras 3 does not.

    Arguments:
        group: what is gone, a heading of the page. name: what the page calls it. program: that has the use.
    """

    group: str
    name: str
    program: str


def uses(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Use]:
    """What is gone: names, arguments of classes, and methods of classes that are still there."""
    known, left = old["names"], new["names"]
    for full, had in known.items():
        if not full.startswith("tf.keras."):
            continue
        if full not in left:
            if full.rpartition(".")[0] in left or full.count(".") == 2:  # of a module that is gone only the module
                yield Use("names", full, f"{_HEAD}thing = {full}\n")
            continue
        has, tried = left[full], had.get("tried", {})
        made = tried.get("", "").removeprefix("takes (").removesuffix(")").rstrip(",")
        now = has.get("tried", {})
        for keyword, raised in tried.items():
            if keyword and not raised and now.get(keyword, ""):
                given = ", ".join(filter(None, (made, f"{keyword}={_VALUES.get(keyword, 'None')}")))
                yield Use("arguments", f"{full}({keyword}=)", f"{_HEAD}thing = {full}({given})\n")
        inherited = _OF_MODULES.union(*(known[base]["members"] for base in _BASES if base != full))
        for member in sorted(set(had.get("members", {})) - set(has.get("members", {})) - inherited):
            if had["kind"] == has["kind"] == "class" and had["members"][member] is not None:
                yield Use("methods", f"{full}.{member}", f"{_HEAD}thing = {full}({made})\nthing.{member}()\n")


def found(programs: Sequence[str]) -> list[bool]:
    """Whether `check` has a finding of a rule about versions in each program."""
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(programs):
            (Path(folder) / f"use_{number}.py").write_text(text)
        command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--select", "TFG7", "."]
        done = subprocess.run([*command, "--output-format", "json"], cwd=folder, capture_output=True, text=True)
        named = {Path(one["filename"]).name for one in json.loads(done.stdout) if one["severity"] != "advice"}
    return [f"use_{number}.py" in named for number in range(len(programs))]


def page(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The page: how many of the uses are found, and the names of those that are not."""
    gone = list(uses(old, new))
    covered = dict(zip(gone, found([use.program for use in gone]), strict=True))
    lines = [
        "# What Keras 3 took away from tf.keras",
        "",
        f"`python tests/benchmarks/keras_api.py --old PYTHON` of {date.today()}: TensorFlow {old['tensorflow']} with Keras",
        f"{old['keras']} against TensorFlow {new['tensorflow']} with Keras {new['keras']}. Each public name of `tf.keras`, each",
        "argument that a class takes by keyword, and each method was tried with both; what only the older one takes is",
        "written as a program of one use, and `check` asked about it. Of a module that is gone only the module counts.",
        "",
        "| what is gone | uses | found |",
        "|---|---:|---:|",
    ]
    groups = dict.fromkeys(use.group for use in gone)
    for group in groups:
        of_group = [use for use in gone if use.group == group]
        lines.append(f"| {group} | {len(of_group)} | {sum(covered[use] for use in of_group)} |")
    for group in groups:
        missed = [use.name for use in gone if use.group == group and not covered[use]]
        lines += [
            "",
            f"## Not found: {group}",
            "",
            textwrap.fill(", ".join(f"`{name}`" for name in missed) or "none", 120),
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
