"""The classes of libcst's nodes stay as libcst has them: other tools in the same process use them, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import dataclasses, sys
import libcst

def state():
    yield "dataclass", dataclasses.dataclass
    for name, value in sorted(vars(libcst).items()):
        if isinstance(value, type):
            yield name, (value, type(value), value.__bases__)
            yield from ((f"{name}.{part}", held) for part, held in vars(value).items() if not part.startswith("_abc_"))

before = dict(state())
from flake8.main.cli import main
main(["--select", "TFG", "--isolated", "--exit-zero", sys.argv[1]])
after = dict(state())
print("changed:", sorted(name for name in before | after if before.get(name) != after.get(name)))
"""


@pytest.mark.slow
def test_a_flake8_process_has_libcst_as_it_is(tmp_path: Path) -> None:
    """Protects the plugins of flake8 that ask libcst, too: TorchFix, Fixit."""
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    print(f'x {x}')\n    return x\n", encoding="utf-8"
    )
    run = [sys.executable, "-c", PROGRAM, str(program)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "TFG103" in done.stdout and "changed: []" in done.stdout
