"""Runs your program as Python would, with the sampler next to it: `tflint-gpu run` starts it.

    python tflint_program.py PIPE INTERVAL MEMORY TRACE KIND TARGET ARGUMENTS...

PIPE is the file descriptor to which the sampler writes, MEMORY is 1 where TensorFlow is asked for its memory on the
card, "child" for a program that a sampled one has started. TRACE is how many steps TensorFlow's profiler records, and
after a colon into which folder; 0 for none. KIND says what TARGET is: a file, a module, or code.

The Python programs that yours starts are sampled, too, whoever starts them (`multiprocessing`, `subprocess`, joblib):
all of these come by one function of the standard library, which is given this file before the program's own name.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.machinery
import os
import re
import signal
import sys
import types
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from tflint_gpu.run.inside.tflint_sample import Sampler

Hook = Callable[..., Any]

HERE = os.path.abspath(__file__)  # a program may go elsewhere
PASSED_ON = {
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD")
    if hasattr(signal, name)
}
FLAG = re.compile(r"-[bBdEOqRsSuv]+|-[WX].+")
FLAG_AND_VALUE = ("-W", "-X")
TRACKER = re.compile(r"from \S+\.resource_tracker import main;")  # it runs no code of the user's


def _without_us(hook: Hook) -> Hook:
    """An exception hook that shows no frames of this file."""

    def shown(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        hook(kind, error.with_traceback(trace), trace)

    return shown


def main() -> None:
    """Run the program that the command line names, with its own arguments."""
    pipe, interval, memory, trace, kind, target = sys.argv[1:7]
    if memory != "child" and hasattr(signal, "pthread_sigmask"):
        # Whoever started this holds back the signals that it passes on.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    os.set_inheritable(int(pipe), False)
    module = types.ModuleType("__main__")
    inherited: dict[str, Any] = {"__builtins__": __builtins__}
    if "__annotations__" in globals():  # up to Python 3.13
        inherited["__annotations__"] = {}
    module.__dict__.update(inherited)
    sys.modules["tflint_program"] = sys.modules["__main__"]
    sys.modules["__main__"] = module
    sampler = _sampler(float(interval), memory == "1", trace)
    sampler.begin(int(pipe), is_main=memory != "child")
    atexit.register(sampler.stop)  # the first one is called last: no thread may be in TensorFlow when Python ends
    follow(sampler)
    sys.argv[:] = ["-c" if kind == "code" else target, *sys.argv[7:]]
    try:
        {"file": _run_file, "module": _run_module, "code": _run_code}[kind](target, module)
    except SystemExit:
        raise
    except BaseException:
        sys.excepthook = _without_us(sys.excepthook)
        raise


def _sampler(interval: float, asks_memory: bool, trace: str) -> Sampler:
    """The sampler of the file next to this one, wherever Python looks for modules."""
    sys.path.insert(0, os.path.dirname(HERE))
    steps, _, folder = trace.partition(":")
    recorder = importlib.import_module("tflint_trace").StepTrace(int(steps), folder) if folder else None
    made: Sampler = importlib.import_module("tflint_sample").Sampler(interval, asks_memory, recorder)
    if "TFLINT_GPU_TRY" in os.environ:
        made.asks_input = False  # a profile would be measured, too
        importlib.import_module("tflint_try").begin(made.tell)
    del sys.path[0]
    return made


def follow(sampler: Sampler) -> None:
    """Sample the processes that this one will start, too."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=sampler.restart)
    try:
        starter: Any = importlib.import_module("_posixsubprocess")
    except ImportError:
        return
    start = starter.fork_exec

    def fork_exec(args: Any, executables: Any, close: Any, keep: Any, *rest: Any) -> Any:
        sampled = None if sampler.is_stopped or not sampler.has_pipe else _sampled(args, executables, rest[0], sampler)
        if sampled is None:
            return start(args, executables, close, keep, *rest)
        return start(sampled, executables, close, tuple(sorted({*keep, sampler.pipe})), *rest)

    starter.fork_exec = fork_exec
    known: Any = sys.modules.get("subprocess")
    if hasattr(known, "_fork_exec"):
        known._fork_exec = fork_exec


def _sampled(args: Any, executables: Any, folder: Any, sampler: Sampler) -> list[Any] | None:
    """The command of a new process with the sampler; None where it is no program for this Python, or not understood.

    Arguments:
        folder: in which it will start; None: this process's.
    """
    try:
        words = [os.fsdecode(arg) for arg in args]
        executable = next((path for path in map(os.fsdecode, executables) if os.path.isfile(path)), "")
    except TypeError:
        return None
    if not sys.executable or not executable or os.path.realpath(executable) != os.path.realpath(sys.executable):
        return None
    at = 1
    while at < len(words) and (FLAG.fullmatch(words[at]) or words[at] in FLAG_AND_VALUE):
        at += 2 if words[at] in FLAG_AND_VALUE else 1
    kind = {"-c": "code", "-m": "module"}.get(words[at] if at < len(words) else "", "file")
    target = at + (kind != "file")
    if target >= len(words) or (kind == "code" and TRACKER.match(words[target])):
        return None
    if kind == "file" and not _is_program(words[target], folder):
        return None
    ours = [HERE, str(sampler.pipe), str(sampler.interval), "child", "0", kind]
    return [*words[:at], *ours, *words[target:]]


def _is_program(name: str, folder: Any) -> bool:
    """Whether Python finds such a file; what it says where there is none is its own."""
    return not name.startswith("-") and os.path.exists(os.path.join(os.fsdecode(folder or ""), name))


def _looks_in(folder: str) -> None:
    """Let Python look for modules in the program's folder first, unless it is forbidden."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _run_module(name: str, module: types.ModuleType) -> None:
    """What `python -m name` does."""
    _looks_in(os.getcwd())
    __import__("runpy")._run_module_as_main(name)


def _run_code(text: str, module: types.ModuleType) -> None:
    """What `python -c text` does."""
    _looks_in("")
    module.__dict__.update(__loader__=importlib.machinery.BuiltinImporter)
    exec(compile(text, "<string>", "exec", dont_inherit=True), module.__dict__)


def _run_file(path: str, module: types.ModuleType) -> None:
    """What `python path` does with a file, or with a folder or a zip archive with a `__main__.py`."""
    if sys.version_info >= (3, 9):
        path = os.path.abspath(path)
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        sys.path[: not getattr(sys.flags, "safe_path", False)] = [path]
        __import__("runpy")._run_module_as_main("__main__", alter_argv=False)
        return
    if path.endswith(".pyc"):
        __import__("runpy").run_path(path, run_name="__main__")
        return
    _looks_in(os.path.dirname(os.path.realpath(path)))
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module.__dict__.update(__file__=path, __loader__=loader, __cached__=None, __spec__=None)
    with open(path, "rb") as file:
        text = file.read()
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)


if __name__ == "__main__":
    main()
