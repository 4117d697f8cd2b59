"""Programs that use TensorFlow, each run in a fork of one process that has imported it: the import takes seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tflint_gpu.verify.execution.results import read_result
from tflint_gpu.verify.execution.tracebacks import exception_in
from tflint_gpu.verify.execution.worker import Outcome, Status

# TensorFlow starts neither threads nor its runtime when it is imported, so a fork of that process is as good as a new one.
_SERVER = """
import atexit, gc, json, os, runpy, sys
import tensorflow as tf
tf.keras.layers.Dense
gc.freeze()
for line in sys.stdin:
    script, result, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ["TFLINT_GPU_RESULT"] = result
        os.chdir(os.path.dirname(script))
        sys.path.insert(0, os.path.dirname(script))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        code = 0
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

_MEASURES_FOR = "LEAST_SECONDS, MOST_SECONDS = 1.0, 8.0"


class ForkedPrograms:
    """Runs programs one after the other."""

    def __init__(self) -> None:
        # Its log tells the devices of operations, and TensorFlow reads the level when it is imported.
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def outcome(self, script: Path) -> Outcome:
        """How a program ended, as `run_program` tells it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        result_file, out, err = (script.with_suffix(suffix) for suffix in (".result", ".out", ".err"))
        result_file.unlink(missing_ok=True)
        began = time.monotonic()
        print(json.dumps([str(path) for path in (script, result_file, out, err)]), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        seconds = time.monotonic() - began
        stdout, stderr = (path.read_text("utf-8", "replace") for path in (out, err))
        result, fault = read_result(result_file)
        exception, text = exception_in(stderr) if code == 1 else (None, "")
        status: Status
        if code < 0:
            status, text = "killed", f"signal {-code}"
        elif exception is not None:
            status = "raised"
        elif result is None:
            status, text = "no result", fault
        else:
            status = "finished"
        return Outcome(status, code, exception, text, result, stdout, stderr, seconds, 0)

    def run(self, script: Path) -> tuple[bool, str]:
        """Whether a program wrote its result and ended well, and what it printed; steps are timed for a moment only."""
        harness = script.with_name("tflint_clock.py")
        text = harness.read_text("utf-8")
        assert _MEASURES_FOR in text
        harness.write_text(text.replace(_MEASURES_FOR, _MEASURES_FOR.replace("1.0", "0.1")), "utf-8")
        outcome = self.outcome(script)
        return outcome.status == "finished" and outcome.exit_code == 0, outcome.stdout + outcome.stderr

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
