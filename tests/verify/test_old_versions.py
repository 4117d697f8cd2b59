"""What an old interpreter, with the TensorFlow of its time, asks of the modules that run next to a program."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tflint_gpu.cli.verify.interpreters import version_of_tensorflow

VERIFY = Path(__file__).parents[2] / "tflint_gpu" / "verify"
HARNESS_FOLDER, STAND_INS = VERIFY / "harness", VERIFY / "stand_ins"
MODULES = sorted(path for room in (HARNESS_FOLDER, STAND_INS) for path in room.glob("tflint_*.py"))
# Of Python 3.8 to 3.12, in modules that these files import.
NEWER = frozenset("removeprefix removesuffix fmean cached_property is_relative_to missing_ok".split())
GENERIC = frozenset("dict list tuple set frozenset type Callable Iterable Iterator Mapping Sequence".split())


def annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of annotations, which nothing evaluates."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if (annotation := getattr(node, name, None)) is not None:
                yield from ast.walk(annotation)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_python_3_7_reads_what_is_laid_next_to_a_program(module: Path) -> None:
    """Protects `--python` of an environment with TensorFlow 2.0, which takes Python 3.7: its syntax and its names."""
    tree = ast.parse(module.read_text("utf-8"), feature_version=(3, 7))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    assert not (used | arguments) & (NEWER | {"strict"})
    evaluated = set(ast.walk(tree)) - set(annotations(tree))
    subscripted = {n.value.id for n in evaluated if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)}
    assert not subscripted & GENERIC, "before Python 3.9 they have no parameters where they are evaluated"


OLD_TENSORFLOW = """
from types import SimpleNamespace as Some

__version__ = "2.0.4"
seeds = []
Tensor, Variable = type("Tensor", (), {}), type("Variable", (), {})
none = lambda *args: None
def function(func=None, experimental_relax_shapes=None): return func or (lambda f: experimental_relax_shapes)
random = Some(set_seed=seeds.append)
keras = Some(utils=Some(), layers=Some(), mixed_precision=Some())
sysconfig = Some()
autograph = Some(experimental=Some(do_not_convert=lambda function: function))
config = Some(
    optimizer=Some(get_jit=none),
    experimental=Some(list_logical_devices=lambda kind: [], list_physical_devices=lambda kind: []),
    threading=Some(get_intra_op_parallelism_threads=none, get_inter_op_parallelism_threads=none),
)
"""


def test_a_tensorflow_that_lacks_what_later_ones_tell_of_themselves(tmp_path: Path) -> None:
    """Protects what was measured with TensorFlow 2.0: its devices, settings and its seed have other names, or none."""
    (tmp_path / "tensorflow.py").write_text(OLD_TENSORFLOW)
    code = (
        "import tflint_outcome, tensorflow\nassert tensorflow.seeds == [1] and tensorflow.function(3) == 3\n"
        "assert tensorflow.function(reduce_retracing=True)(3) is True\ntflint_outcome.write((0.5,), None, (), {})"
    )
    variables = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{HARNESS_FOLDER}", "TFLINT_GPU_RESULT": "result"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=variables, check=True, timeout=60)
    result = json.loads((tmp_path / "result").read_text())
    assert result["steps"] == [0.5] and result["notes"]["versions"]["tensorflow"] == "2.0.4"


def test_the_version_that_an_interpreter_without_importlib_metadata_has(tmp_path: Path) -> None:
    """Protects `--python` of Python 3.7, where distributions are read by a package that TensorBoard brings along."""
    (tmp_path / "importlib_metadata.py").write_text(
        "class PackageNotFoundError(Exception): pass\n"
        "def version(name):\n"
        "    if name != 'tensorflow-cpu': raise PackageNotFoundError(name)\n"
        "    return '2.1.4'\n"
    )
    hidden = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.modules['importlib.metadata'] = None"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{hidden}; exec(sys.argv[1])" "$2"\n')
    python.chmod(0o755)
    assert version_of_tensorflow(str(python)) == "2.1.4"


def test_what_the_keras_within_tensorflow_has_no_more(tmp_path: Path) -> None:
    """Protects code that imports `tensorflow.python.keras`, of which later versions keep a part only."""
    for package in ("tensorflow", "tensorflow/python", "tensorflow/python/keras", "tf_keras"):
        (tmp_path / package).mkdir(exist_ok=True)
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "tensorflow" / "python" / "keras" / "kept.py").touch()
    (tmp_path / "tf_keras" / "applications.py").touch()
    code = (
        "import tflint_keras2\n"
        "from tensorflow.python.keras import applications, kept\n"
        "print(applications.__name__, kept.__name__)"
    )
    paths = os.pathsep.join([str(tmp_path), str(HARNESS_FOLDER)])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["tf_keras.applications", "tensorflow.python.keras.kept"]


@pytest.mark.parametrize(("keras", "said"), [("2.15.0", "None"), ("3.5.0", "No module named 'tf_keras'")])
def test_a_keras_2_that_is_there_is_not_replaced(keras: str, said: str, tmp_path: Path) -> None:
    """Protects TensorFlow 2.15, which fails where it is asked for a tf_keras that is not installed beside its Keras 2.

    Where there is no Keras 2, the module that is missing is named.
    """
    (tmp_path / "keras.dist-info").mkdir()
    (tmp_path / "keras.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: keras\nVersion: {keras}\n")
    hidden = "import importlib.util as u; find = u.find_spec; u.find_spec = lambda n, *p: None if n == 'tf_keras' else find(n, *p)"
    code = f"{hidden}\nimport os, tflint_keras2\nprint(os.environ.get('TF_USE_LEGACY_KERAS'))"
    paths = os.pathsep.join([str(tmp_path), str(HARNESS_FOLDER)])
    variables = {name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"} | {
        "PYTHONPATH": paths
    }
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    assert said in done.stdout + done.stderr
