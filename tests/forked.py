"""Programs that use TensorFlow, each run in a fork of one process that has imported it: the import takes seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# TensorFlow starts neither threads nor its runtime when it is imported, so a fork of that process is as good as a new one.
_SERVER = """
import json, os, runpy, sys, traceback
import tensorflow as tf
tf.keras.layers.Dense
for line in sys.stdin:
    script, result, log = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ["TFLINT_GPU_RESULT"] = result
        os.chdir(os.path.dirname(script))
        sys.path.insert(0, os.path.dirname(script))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as error:
            os._exit(error.code if isinstance(error.code, int) else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class ForkedPrograms:
    """Runs programs one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, script: Path) -> tuple[bool, str]:
        """Whether a program wrote its result and ended well, and what it printed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        result, log = script.with_suffix(".result"), script.with_suffix(".log")
        print(json.dumps([str(script), str(result), str(log)]), file=self._process.stdin, flush=True)
        code = self._process.stdout.readline().strip()
        return code == "0" and result.exists(), log.read_text("utf-8", "replace") if log.exists() else f"exit {code}"

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
