"""What all fixes together do to whole projects: nothing may break, and a second run must find nothing to do.

    python tests/benchmarks/fix_all.py FOLDER [FOLDER ...] [--python PATH] [--limit SECONDS] [--keep FOLDER]

Each folder is a checkout of a project. It is copied, and `check --fix --unsafe-fixes` with all rules runs on the
copy, twice. A line a project, and the sum of all, says how many files changed, which rules' fixes were applied, how many
files are no Python any longer (`compile`; a notebook's code cells together), how many a second run changes
(both must be 0), how many of the changed files can be imported before, and of how many the import comes to something
else afterwards: another exception, another place, a public name less. Each is imported in a separate process
with a limit of processor time, by a Python that has TensorFlow; a notebook as the program of its code cells, copies of a file once. Importing
runs them, so that this is for projects whose code may run on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libcst

from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import UnreadableSource

__all__: list[str] = []

_COMMAND = "check --select ALL --fix --unsafe-fixes --isolated --no-cache --no-progress --exit-zero --fix-only --show-fixes .".split()
_FIXED = re.compile(r"^ +(\d+) \S (TFG\d+) ")
_TOLD = ("broken", "unsettled", "refused", "differ")
_LARGEST = 2_000_000  # bytes; data and weights are not needed to import
_IMPORTS = Path(__file__).with_name("import_files.py")


@dataclass
class Result:
    """What happened to one project, or to all."""

    files: int = 0
    changed: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    compared: int = 0
    imported: int = 0
    differ: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add another project's result to this one."""
        self.files += other.files
        self.changed += other.changed
        self.rules.update(other.rules)
        self.compared += other.compared
        self.imported += other.imported
        for name in _TOLD:
            getattr(self, name).extend(getattr(other, name))


def main() -> None:
    """Mend copies and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="has TensorFlow")
    parser.add_argument("--limit", type=int, default=20, help="seconds of processor time an import may take")
    parser.add_argument("--keep", type=Path, help="a folder for the copies, which are kept then")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}")
    print(
        "| project | files | changed | fixes | no Python | changed again | imports compared | importable before | differ |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    whole = Result()
    with tempfile.TemporaryDirectory() as temporary:
        for folder in arguments.folders:
            home = (arguments.keep or Path(temporary)).resolve() / folder.resolve().name
            result = _mended(folder.resolve(), home, arguments.python, arguments.limit)
            whole.add(result)
            print(_row(folder.resolve().name, result), flush=True)
            for name in _TOLD:
                for line in getattr(result, name):
                    print(f"  {name}: {line}", file=sys.stderr, flush=True)
    print(_row("all", whole))
    print("fixes by rule: " + ", ".join(f"{code} {count}" for code, count in sorted(whole.rules.items())))
    sys.exit(bool(whole.broken or whole.unsettled or whole.differ))


def _row(name: str, result: Result) -> str:
    numbers = (
        *(result.files, result.changed, result.rules.total(), len(result.broken), len(result.unsettled)),
        *(result.compared, result.imported, len(result.differ)),
    )
    return f"| {name} | " + " | ".join(map(str, numbers)) + " |"


def _mended(folder: Path, home: Path, python: Path, limit: int) -> Result:
    before, after = home / "before", home / "after"
    for copy in (before, after):
        shutil.copytree(folder, copy, ignore=_left_out)
    result = Result(files=len(list(_sources(after))))
    for line in _fix(after, result):
        if match := _FIXED.match(line):
            result.rules[match[2]] += int(match[1])
    once = {path: path.read_bytes() for path in _sources(after)}
    changed = [p.relative_to(after) for p, data in once.items() if data != (before / p.relative_to(after)).read_bytes()]
    result.changed = len(changed)
    _fix(after, Result())
    result.unsettled = [f"{folder.name}/{p.relative_to(after)}" for p, data in once.items() if p.read_bytes() != data]
    for path in changed:
        reason = _broken(before / path, after / path)
        if reason:
            result.broken.append(f"{folder.name}/{path}: {reason}")
    unlike = {((before / path).read_bytes(), (after / path).read_bytes()): path for path in changed}
    programs = [_program(path, before, after) for path in unlike.values()]
    old, new = (_imports(copy, programs, python, limit) for copy in (before, after))
    result.compared = len(programs)
    result.imported = sum(not came["error"] for came in old.values())
    (home / "imports.json").write_text(json.dumps({"before": old, "after": new}, indent=1))
    result.differ = [
        f"{folder.name}/{name}: {old[name]} -> {new[name]}" for name in old if _differs(old[name], new[name])
    ]
    return result


def _differs(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether an import comes to something else; a function that a fix adds to a module is nothing else."""
    if before["error"] == after["error"] == "takes too long":
        return False
    return {**before, "names": []} != {**after, "names": []} or not {*before["names"]} <= {*after["names"]}


def _program(path: Path, *homes: Path) -> Path:
    """A file to import: that of a notebook is written, into each of the copies."""
    if path.suffix == ".py":
        return path
    program = path.with_name(path.stem.replace(".", "_") + "_as_program.py")
    for home in homes:
        notebook = home / path
        code = decode_source(notebook.read_bytes(), notebook, notebook.name).code
        (home / program).write_text(code, "utf-8")
    return program


def _fix(folder: Path, result: Result) -> list[str]:
    """What the command prints; files whose fixes it could not use are noted."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "tflint_gpu", *_COMMAND]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    result.refused += [line for line in (done.stdout + done.stderr).splitlines() if "not fixed:" in line]
    if done.returncode:
        result.refused.append(f"{folder}: exit status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout.splitlines()


def _left_out(folder: str, names: list[str]) -> Iterable[str]:
    for name in names:
        path = Path(folder, name)
        if (
            name in (".git", ".venv")
            or path.is_symlink()
            or (path.is_file() and path.suffix not in (".py", ".ipynb") and path.stat().st_size > _LARGEST)
        ):
            yield name


def _sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".ipynb") and path.is_file())


def _broken(before: Path, after: Path) -> str:
    """Why a file is worse than it was: it does not parse, or more than the code of a notebook's cells changed."""
    old, new = _error(before), _error(after)
    if new and not old:
        return new
    if after.suffix == ".ipynb" and _frame(before) != _frame(after):
        return "more than code changed"
    return ""


def _error(path: Path) -> str:
    try:
        source = decode_source(path.read_bytes(), path, path.name)
        if source.refusals:
            return str(source.refusals[0])
        compile(source.code, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, UnreadableSource) as error:
        return str(error)
    return ""


def _frame(path: Path) -> object:
    """A notebook without the code of its cells."""
    content = json.loads(path.read_text("utf-8"))
    for cell in content.get("cells", ()):
        if cell["cell_type"] == "code":
            cell["source"] = []
    return content


def _imports(folder: Path, files: list[Path], python: Path, limit: int) -> dict[str, dict[str, Any]]:
    """What the import of each file came to."""
    if not files:
        return {}
    command = [str(python), str(_IMPORTS), str(limit), *map(str, files)]
    with tempfile.TemporaryDirectory() as home:
        quiet = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "MPLBACKEND": "Agg", "HOME": home}
        environment = {**os.environ, **quiet, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
