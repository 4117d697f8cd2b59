"""flake8 as users run it, with the plugin, and a program that it flags."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CODE = "TFG302"  # the examples speak about one real rule: misplaced-prefetch
FLAGGED = """\
import tensorflow as tf


def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
MESSAGE = f"{CODE} `prefetch` stands before `map`"
PLACE = f"6:13: {MESSAGE}"
Flake8 = Callable[..., "subprocess.CompletedProcess[str]"]


def run_flake8(
    *arguments: str, cwd: Path, stdin: str | bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run flake8 in a directory."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    command = [sys.executable, "-m", "flake8", *arguments]
    given = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    done = subprocess.run(command, cwd=cwd, input=data, capture_output=True, timeout=600, env=given)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The codes that flake8 printed, in its order."""
    assert "Traceback" not in done.stderr, done.stderr
    return re.findall(r"^[^:\n]+:\d+:\d+: (\w+) ", done.stdout, re.MULTILINE)
