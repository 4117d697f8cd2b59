"""flake8 as users run it, with the plugin, and a program that it flags."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from warm import Warm

CODE = "TFG302"  # the examples speak about one real rule: misplaced-prefetch
FLAGGED = """\
import tensorflow as tf


def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
MESSAGE = f"{CODE} `prefetch` comes before `map`"
PLACE = f"6:13: {MESSAGE}"
UTF_8 = {"PYTHONIOENCODING": "utf-8"}
Flake8 = Callable[..., "subprocess.CompletedProcess[str]"]


def run_flake8(
    warm: Warm, *arguments: str, cwd: Path, stdin: str | bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run flake8 in a directory."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = warm.run("flake8", *arguments, cwd=cwd, stdin=data, environment={**os.environ, **UTF_8, **environment})
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The codes that flake8 printed, in its order."""
    assert "Traceback" not in done.stderr, done.stderr
    return re.findall(r"^[^:\n]+:\d+:\d+: (\w+) ", done.stdout, re.MULTILINE)
