"""Imports Python files of the working folder, each in a process of its own that has TensorFlow loaded already.

    python tests/benchmarks/import_files.py SECONDS FILE [FILE ...]

Prints one line of JSON: each file with the error that its import raised, "" for none. `fix_all.py` runs it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
from pathlib import Path

__all__: list[str] = []


def main() -> None:
    """Import them one by one."""
    import tensorflow  # noqa: F401 - loaded once, for all of the processes that are forked

    limit, *files = sys.argv[1:]
    print(json.dumps({file: _error(Path(file), float(limit)) for file in files}))


def _error(path: Path, limit: float) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        _import(path, writing)
    os.close(writing)
    end = time.monotonic() + limit
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            return "takes too long"
        time.sleep(0.02)
    with os.fdopen(reading) as answers:
        answer = answers.read()
    return "" if answer == "ok" else answer or "the process ended"


def _import(path: Path, writing: int) -> None:
    """In the child: import the file under its own name, as a neighbour would, and say how that went."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.path[:0] = [str(path.resolve().parent), str(Path.cwd())]
    sys.argv = [str(path)]
    os.chdir(path.parent)
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path.name)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        answer = "ok"
    except BaseException as error:  # also SystemExit
        answer = f"{type(error).__name__}: {error}"
    os.write(writing, answer.encode()[:500])
    os._exit(0)


if __name__ == "__main__":
    main()
