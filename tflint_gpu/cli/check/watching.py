"""`check --watch`: check again whenever a relevant file changes, until Ctrl-C."""

from __future__ import annotations

import fnmatch
import importlib.util
import queue
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from tflint_gpu.checking.cache import DIRECTORY
from tflint_gpu.cli.commands import described, tell
from tflint_gpu.settings.config import OWN_FILE
from tflint_gpu.settings.files import ROOT_MARKERS, NoSuchPath
from tflint_gpu.settings.options import SettingsError
from tflint_gpu.targets import PINNING_FILES
from tflint_gpu.text.bytesearch import ENDINGS

_EXCLUDING = ("fix_only", "diff", "write_baseline", "add_noqa", "output_file", "show_files", "show_settings")
_SETTINGS = (OWN_FILE, ".gitignore", *ROOT_MARKERS, *PINNING_FILES)
_CHANGES = ("created", "modified", "closed", "deleted", "moved")
_QUIET = 0.05
"""Seconds without a change after which what belongs together is taken to be over."""
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def refuse_other_work(paths: Sequence[str], given: dict[str, Any]) -> None:
    """Raise UsageError for options that mean something only once."""
    for option in (*_EXCLUDING, "stdin_filename"):
        if given[option] not in (None, False):
            raise click.UsageError(f"--watch and --{option.replace('_', '-')} cannot be combined")
    if "-" in paths:
        raise click.UsageError("--watch and standard input (-) cannot be combined")


def watch(check: Callable[[], int], paths: Iterable[str]) -> NoReturn:
    """Check, and check again after each change.

    Arguments:
        check: prints a report; its exit code has no use here.
        paths: the command line's.

    Raises:
        click.ClickException: files cannot be watched.
    """
    if importlib.util.find_spec("watchdog") is None:
        raise click.ClickException(
            "--watch needs watchdog: run `pip install 'tflint-gpu[watch]'` "
            "(in a checkout of tflint-gpu: `pip install '.[watch]'`)"
        )
    changes = _observed([Path.cwd() / path for path in paths])
    _tell("Starting to watch...", clears=True)
    check()
    while True:
        _tell("Watching for file changes.")
        _wait(changes)
        _tell("File change detected...", clears=True)
        try:
            check()
        except click.ClickException as error:  # settings, for example, that somebody is writing just now
            tell(described(error))
        except (SettingsError, NoSuchPath) as error:
            tell(f"error: {error}")


def _observed(paths: Sequence[Path]) -> queue.SimpleQueue[str]:
    """A queue that gets the names of what changes."""
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    # It warns of a folder that is made while it looks for folders: that of the cache, which nobody waits for.
    warnings.filterwarnings("ignore", module=r"watchdog\.")
    changes: queue.SimpleQueue[str] = queue.SimpleQueue()

    def note(_: object, event: Any) -> None:
        if event.event_type in _CHANGES:
            for name in (str(event.src_path), str(event.dest_path)):
                if not event.is_directory and has_a_say(name):
                    changes.put(name)

    handler = type("Handler", (FileSystemEventHandler,), {"on_any_event": note})()
    observer = Observer()
    whole = {path for path in paths if path.is_dir()}
    try:
        for folder in whole:
            observer.schedule(handler, str(folder), recursive=True)
        for folder in _folders_around(paths) - whole:
            observer.schedule(handler, str(folder), recursive=False)
        observer.start()
    except OSError as error:  # the system has a limit
        raise click.ClickException(f"--watch: files cannot be watched: {error.strerror or error}") from error
    return changes


def has_a_say(name: str) -> bool:
    """Whether a file is checked, or may hold settings; a check's own cache has a `.gitignore`."""
    last = Path(name).name
    if DIRECTORY in Path(name).parts:
        return False
    return last.endswith(ENDINGS) or any(fnmatch.fnmatch(last, pattern) for pattern in _SETTINGS)


def _folders_around(paths: Iterable[Path]) -> set[Path]:
    """The folders of files, and those above up to the project's root, where settings may be."""
    folders: set[Path] = set()
    for path in paths:
        above = [path, *path.parents] if path.is_dir() else list(path.parents)
        root = next((place for place in above if any((place / name).exists() for name in ROOT_MARKERS)), above[0])
        folders.update(above[: above.index(root) + 1])
    return folders


def _wait(changes: queue.SimpleQueue[str]) -> None:
    """Wait for a change, and until nothing more comes with it."""
    changes.get()
    while True:
        try:
            changes.get(timeout=_QUIET)
        except queue.Empty:
            return


def _tell(text: str, clears: bool = False) -> None:
    if clears and sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
    sys.stdout.flush()
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr)
