"""Modules that are not there are found before anything is timed, and cost only the findings that need them."""

from __future__ import annotations

import sys

from tflint_gpu.diagnostics import Diagnostic, Location, Prediction
from tflint_gpu.rule.experiment import Experiment
from tflint_gpu.verify.experiments.planning import without_missing_modules
from tflint_gpu.verify.experiments.verification import Case
from tflint_gpu.verify.slicing.extract import Pair, Program
from tflint_gpu.verify.slicing.modules import missing_modules, needed_modules

MISSING = "a_module_that_nobody_has"


def program(text: str, **files: str) -> Program:
    return Program(
        "main.py", {"main.py": text, **{f"{name.replace('__', '/')}.py": code for name, code in files.items()}}
    )


def test_modules_from_elsewhere_that_a_program_cannot_do_without() -> None:
    """Protects programs from being refused for their own files, the standard library, and imports that may fail."""
    text = "import os, json\nimport own.part\nfrom pkg.sub import x\nimport numpy.linalg\nfrom .near import y\n"
    text += "try:\n    import faster\nexcept ImportError:\n    faster = None\n"
    assert needed_modules(program(text, own__part="import cv2", pkg__sub__x="")) == {"numpy", "cv2"}


def test_the_interpreter_is_asked_and_runs_none_of_them() -> None:
    assert missing_modules(sys.executable, {"numpy", MISSING, "antigravity"}) == {MISSING}
    assert missing_modules("/no/such/python", {"numpy"}) == frozenset()


def test_only_findings_that_need_a_missing_module_are_not_run() -> None:
    """Protects the other findings of a project, and names what to install."""
    place, prediction = Location(1, 1), Prediction("slowdown", low=1.5, high=2.0)
    diagnostic = Diagnostic("TFG202", "eager-train-step", "", "train.py", place, place, 1, "warning", prediction)
    pairs = [Pair(one, one) for one in (program("import numpy"), program(f"import {MISSING}"))]
    experiment = Experiment(None, None)  # type: ignore[arg-type]
    cases = [Case(diagnostic, prediction, experiment, pair=pair) for pair in pairs]
    first, second = without_missing_modules(cases, sys.executable)
    assert first.pair is pairs[0] and second.pair is None
    assert f"the module `{MISSING}`" in second.reason and "install it next to TensorFlow" in second.reason


def test_what_records_elsewhere_is_not_needed() -> None:
    """Protects loops that log to a service: something stands for its module, whether it is installed or not."""
    assert needed_modules(program("import wandb\nfrom mlflow import log_metric\nimport cv2")) == {"cv2"}


def test_what_functions_of_whole_files_import_may_never_be_needed() -> None:
    """Protects users of one function of a library whose others need much more."""
    text = "import cv2\ndef shown():\n    import plotting_library\n"
    loaded = Program("main.py", {"main.py": "from tools import *", "tools.py": text}, frozenset(["tools.py"]))
    assert needed_modules(loaded) == {"cv2"}
    assert needed_modules(program(text)) == {"cv2", "plotting_library"}


def test_what_is_imported_for_types_only_is_not_needed() -> None:
    """Protects users of a library whose annotations name what only some of its users have."""
    text = "import typing\nfrom typing import TYPE_CHECKING\n"
    text += (
        "if TYPE_CHECKING:\n    import cv2\n    from rare import Kind\nif typing.TYPE_CHECKING:\n    import scarce\n"
    )
    assert needed_modules(program(text + "import numpy")) == {"numpy"}


def test_what_a_condition_decides_may_never_be_imported() -> None:
    """Protects programs that run on one of several libraries: another one, and what only files for that one import."""
    chosen = "import os\nif os.environ.get('ENGINE') == 'other':\n    from net.other import layers\n    import scarce\n"
    chosen += "else:\n    from .usual import layers\n"
    parts = {
        "net____init__": "",
        "net__engine": chosen,
        "net__other__layers": "import rare",
        "net__usual": "import cv2",
    }
    files = {name.replace("____init__", "/__init__"): text for name, text in parts.items()}
    assert needed_modules(program("from net.engine import layers\nimport numpy", **files)) == {"numpy"}
    always = {**files, "net__engine": "from .usual import layers\nfrom net.other import layers"}
    assert needed_modules(program("import net.engine", **always)) == {"cv2", "rare"}
    script = "if __name__ == '__main__':\n    import cv2\n"
    assert needed_modules(program(script)) == {"cv2"}


def test_what_a_module_of_a_package_needs() -> None:
    """Protects entries that run as modules of their package, which a file next to them starts."""
    runner = 'import runpy\n\nrunpy.run_module("net.train", run_name="__main__")\n'
    files = {"tflint_run.py": runner, "net/train.py": "from .data import read", "net/data.py": "import cv2"}
    assert needed_modules(Program("tflint_run.py", files)) == {"cv2"}
