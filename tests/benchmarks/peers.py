"""What a check costs, each figure beside its goal as a ratio taken in one run.

    python tests/benchmarks/peers.py REPOSITORIES [--only PART ...] [--wheels WHEELS] [--all]
        [--repeat N] [--kept FILE]

REPOSITORIES is a folder with checkouts of public repositories, each called `owner+name`; those in `LIBRARIES` are
libraries (`repositories.py`), the others user code. WHEELS is a folder with two others, `tf_keras` and `keras`, into which
the wheels of these were unpacked (`pip download --no-deps tf_keras keras`). Without `--all` cold checks run once, and fewer
changes are measured. CPU seconds are compared, not the clock, unless a part says so: then they hold on a busy machine, too.
With `--kept` each part that is done is written to FILE, and what FILE knows of the other parts is printed with it, so that
the parts can be run one at a time. What is printed is the second table of `docs/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles

import libcst
from bare_parsing import parse_seconds
from figures import Figure, Kept
from growth import KINDS, measured
from lsp_latency import lines_of_fixtures, measure
from processes import cost, medians, tflint
from repositories import Field
from speed import checked, seconds_by_part, tensorflow_files, timed

__all__: list[str] = []


_GOALS = {"fastestimator+fastestimator": 3.0, "tensorflow+agents": 1.6}
"""Of repositories in which many programs run one library."""


def cold(field: Field) -> Iterator[Figure]:
    """A whole check beside bare parsing, one core: of ordinary repositories the median, and of some dear ones each."""
    ratios = {}
    for folder, files in field.user_code().items():
        if folder.name not in _GOALS and len(files) >= _FEW:
            ratios[folder.name] = _to_parsing(field, folder, files)
    dearest = sorted(ratios, key=lambda name: -ratios[name])[:3]
    note = f"{len(ratios)} repositories; " + ", ".join(f"{name} {ratios[name]:.1f}" for name in dearest)
    yield Figure("ordinary repositories, the median, to bare parsing", median(ratios.values()), 1, note=note)
    for name, goal in _GOALS.items():
        folder = field.repositories / name
        if not folder.is_dir():
            continue
        files = tensorflow_files(folder, 0)
        ratio = _to_parsing(field, folder, files)
        yield Figure(f"{name}, to bare parsing", ratio, goal, note=_shares(folder, files) if ratio > goal else "")


_FEW = 5
"""Files of a repository below which the start decides."""


def _to_parsing(field: Field, folder: Path, files: list[Path]) -> float:
    """The CPU time of a check to that of bare parsing: the median of some rounds."""
    rounds = range(field.repeat if field.whole else 1)
    return median(timed(lambda: checked({folder: files})) / parse_seconds(files) for _ in rounds)


def _shares(folder: Path, files: list[Path]) -> str:
    """What takes most of a check: rules, or other parts."""
    parts, _ = seconds_by_part({folder: files})
    whole = sum(parts.values())
    dearest = sorted(parts, key=lambda part: -parts[part])[:5]
    return "time spent in: " + ", ".join(f"{part} {100 * parts[part] / whole:.0f}%" for part in dearest)


_CHECK = ("check", "--isolated", "--quiet", "--no-progress", "--output-format", "json", "--exit-zero", "--no-cache")


def wheels(field: Field) -> Iterator[Figure]:
    """Libraries with many methods of the same names, each from its root and both in one folder."""
    if field.wheels is None:
        raise SystemExit("wheels: name the folder with the unpacked wheels by --wheels")
    alone: list[float] = []
    for name, folder, goal in (
        ("tf_keras", field.wheels / "tf_keras", 1.2),
        ("keras", field.wheels / "keras", 1.0),
        ("both in one folder", field.wheels, 1.1),
    ):
        ones, parses = [], []
        for _ in range(field.repeat):
            if folder is not field.wheels:
                parses.append(parse_seconds(tensorflow_files(folder, 0)))
            ones.append(cost(tflint(*_CHECK, "--jobs", "1", "."), folder, watched=True))
        one = ones[-1]
        if parses:
            alone.append(median(run.cpu for run in ones))
            ratio = median(run.cpu / parse for run, parse in zip(ones, parses, strict=True))
            files = tensorflow_files(folder, 0)
            note = f"{len(files)} files" + (f"; {_shares(folder, files)}" if ratio > goal else "")
            yield Figure(f"{name} from its root, to bare parsing", ratio, goal, note=note)
        else:
            ratio = median(run.cpu for run in ones) / sum(alone)
            yield Figure(f"{name}, to the sum of each alone", ratio, goal, note=f"{one.cpu:.1f} s")
        two = cost(tflint(*_CHECK, "--jobs", "2", "."), folder, watched=True)
        note = f"on free cores, by the busiest process; {one.cpu:.1f} s with one"
        yield Figure(f"two processes to one, {name}: gain", one.longest / two.longest, 1.8, True, note=note)
        yield Figure(f"two processes to one, {name}: CPU", two.cpu / one.cpu, 1.1)


def together(field: Field) -> Iterator[Figure]:
    """All user code in one folder beside each repository by itself."""
    folders = [*field.user_code()]
    alone = sum(cost(tflint(*_CHECK, "--jobs", "1", "."), folder).cpu for folder in folders)
    start = cost(tflint(*_CHECK, "-"), given=b"import tensorflow as tf\n").cpu
    once = cost(tflint(*_CHECK, "--jobs", "1", *map(str, folders)), field.repositories)
    note = f"{len(folders)} repositories; the start of each, {start:.2f} s, is left out"
    yield Figure(
        "user code in one run, to the sum of each alone",
        (once.cpu - start) / (alone - start * len(folders)),
        1.05,
        note=note,
    )


def processes(field: Field) -> Iterator[Figure]:
    """Two processes beside one."""
    options = ("check", "--isolated", "--quiet", "--no-progress", "--output-format", "json", "--exit-zero")
    many = [str(folder) for folder in field.user_code()]
    for what, folder, paths in (
        ("user code", field.repositories, many),
        ("one project", field.project(), ["."]),
    ):
        one = cost(tflint(*options, "--no-cache", "--jobs", "1", *paths), folder, watched=True)
        two = cost(tflint(*options, "--no-cache", "--jobs", "2", *paths), folder, watched=True)
        note = f"on free cores, by the busiest process; by the clock here {one.wall / two.wall:.2f}"
        yield Figure(f"two processes to one, {what}: gain", one.longest / two.longest, 1.8, True, note=note)
        yield Figure(f"two processes to one, {what}: CPU", two.cpu / one.cpu, 1.1, note=f"{one.cpu:.1f} s with one")


def warm(field: Field) -> Iterator[Figure]:
    """A check of what was checked before."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder, "empty")
        empty.mkdir()
        Path(empty, "a.py").write_text("import json\n")
        options = ("check", "--isolated", "--quiet", "--no-progress", "--output-format", "json", "--exit-zero")
        caching = (*options, "--cache-dir", f"{folder}/cache")
        start = median(cost(tflint(*options, "--no-cache", "."), empty).cpu for _ in range(field.repeat))
        paths = [str(one) for one in field.user_code()]
        first = cost(tflint(*caching, "--jobs", "1", *paths), field.repositories)
        cost(tflint(*caching, *paths), field.repositories)  # the times of files are believed from the second on
        again = {
            jobs: [cost(tflint(*caching, "--jobs", str(jobs), *paths), field.repositories) for _ in range(field.repeat)]
            for jobs in (1, 2)
        }
        beyond = median(one.cpu for one in again[1]) - start
        note = f"{first.cpu:.1f} s cold, {beyond + start:.2f} s warm, {start:.2f} s of it to start"
        yield Figure("warm beyond the start, to cold", beyond / (first.cpu - start), 0.01, note=note)
        clocks = {jobs: median(one.cpu for one in costs) for jobs, costs in again.items()}
        yield Figure("warm, two processes to one", clocks[2] / clocks[1], 1.1, note="nothing is left to share out")
        yield from _one_changed(field, Path(folder, "changed"), start)


def _one_changed(field: Field, folder: Path, start: float) -> Iterator[Figure]:
    shutil.copytree(field.project(), folder, ignore=shutil.ignore_patterns(".git"), symlinks=True)
    options = (
        "check",
        "--isolated",
        "--quiet",
        "--no-progress",
        "--output-format",
        "json",
        "--exit-zero",
        "--jobs",
        "1",
    )
    first = cost(tflint(*options, "."), folder).cpu
    names = sorted(tensorflow_files(folder, 0), key=lambda file: ("_test" not in file.name, file))
    names[0].write_bytes(names[0].read_bytes() + b"\n")
    again = cost(tflint(*options, "."), folder).cpu
    note = f"`{names[0].name}`, which nothing imports, of {len(names)} files"
    yield Figure("one changed file beyond the start, to cold", (again - start) / (first - start), 0.05, note=note)


_PROGRAM = 600
"""Lines of a program of usual size."""
_PROGRAMS = 7


def start(field: Field) -> Iterator[Figure]:
    """Programs of users in which something is found, each by itself, from the start of the command to its end."""
    check = tflint("check", "--isolated", "--quiet", "-")
    lengths = {file: file.read_bytes().count(b"\n") for files in field.user_code().values() for file in files}
    used: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(lengths, key=lambda file: abs(lengths[file] - _PROGRAM)):
            rounds = [cost(check, Path(folder), given=file.read_bytes()) for _ in range(field.repeat)]
            if rounds[0].code and not rounds[0].told:
                used.append(median(one.cpu for one in rounds))
            if len(used) == _PROGRAMS:
                break
    note = f"{len(used)} programs, {min(used):.2f} to {max(used):.2f}"
    yield Figure(f"a program of {_PROGRAM} lines with findings", median(used), 0.3, unit=" s", note=note)


def growth(field: Field) -> Iterator[Figure]:
    """How many kinds of large programs cost more than their size says; `growth.py` prints each."""
    kinds = [measured(kind, quick=not field.whole) for kind in KINDS]
    fast = [kind.what for kind in kinds if kind.is_super_linear]
    note = ", ".join(fast) or f"{len(kinds)} kinds of large programs"
    yield Figure("kinds of programs whose cost grows faster than n log n", len(fast), 0, note=note)


def standard_input(field: Field) -> Iterator[Figure]:
    """One file from standard input, and the flake8 plugin, beside the import of libcst."""
    check = tflint("check", "--isolated", "--exit-zero", "-")
    file = _dearest_first(field.typical())[0]
    found = medians(
        {
            "libcst": lambda: cost([sys.executable, "-c", "import libcst"]),
            "with": lambda: cost(check, given=file.read_bytes()),
            "without": lambda: cost(check, given=b"import json\n\nprint(json.dumps([1]))\n"),
        },
        3 * field.repeat,
    )
    note = f"`import libcst` takes {1000 * found['libcst']:.0f} ms"
    lines = file.read_bytes().count(b"\n")
    yield Figure(
        "one file from standard input, to `import libcst`", found["with"] / found["libcst"], 1.3, note=f"{lines} lines"
    )
    # Python takes 0.14 of it, and with click 0.27: see "Starts" in README.md.
    yield Figure("the same without TensorFlow", found["without"] / found["libcst"], 0.32, note=note)


def _dearest_first(files: list[Path]) -> list[Path]:
    """Some files, first the one whose check takes longest: in many no rule can find anything, which says little."""
    check = tflint("check", "--isolated", "--exit-zero", "-")
    return sorted(files, key=lambda file: -cost(check, given=file.read_bytes()).cpu)


_FLAKE8 = """
import importlib.metadata, sys
from flake8.main.cli import main
if sys.argv[1] == "without":  # not even its metadata is read
    everything = importlib.metadata.distributions
    def distributions(**options):
        return (one for one in everything(**options) if not one._path.name.startswith("tflint_gpu"))
    importlib.metadata.distributions = distributions
sys.exit(main(["-j1", "--isolated", "--exit-zero", *sys.argv[2:]]))
"""


def flake8(field: Field) -> Iterator[Figure]:
    """flake8 with the plugin beside flake8 --select=F, as whole processes."""
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(_dearest_first(field.typical())):
            shutil.copy(file, Path(folder, f"with{number}.py"))
        library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        plain = [str(path) for path in library if path.stat().st_size < 9000][:20]
        for kind, paths, goal in (
            ("one file with TensorFlow", [f"{folder}/with0.py"], 2),
            # Each further file costs its check, which is more than flake8's: see "Starts" in README.md.
            ("five files with TensorFlow", [f"{folder}/with{number}.py" for number in range(5)], 2.5),
            (f"{len(plain)} files without", plain, 1.05),
        ):
            plugged = [sys.executable, "-c", _FLAKE8, "with", "--select=F,TFG", *paths]
            bare = [sys.executable, "-c", _FLAKE8, "without", "--select=F", *paths]
            ways = {"with": plugged, "without": bare}
            used = medians({way: lambda c=command: cost(c) for way, command in ways.items()}, 3 * field.repeat)  # type: ignore[misc]
            note = f"flake8 takes {1000 * used['without']:.0f} ms"
            yield Figure(f"flake8 and plugin to flake8, {kind}", used["with"] / used["without"], goal, note=note)


def server(field: Field) -> Iterator[Figure]:
    """From a change in an editor to its diagnostics, by the clock."""
    for lines, goal in ((500, 100), (3000, 250)):
        path = Path(tempfile.gettempdir(), f"typed_{lines}.py")
        changes = 60 if field.whole else 20
        _, waits, spent = asyncio.run(measure(path, lines_of_fixtures(lines), changes))
        note = f"by the clock; {1000 * spent / len(waits):.0f} ms of CPU a change"
        yield Figure(
            f"language server, {lines} lines, 95% within", quantiles(waits, n=20)[18], goal, unit=" ms", note=note
        )


_READ = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith((".py", ".ipynb")):
            with open(os.path.join(folder, name), "rb") as file:
                file.read()
"""


def without_tensorflow(field: Field) -> Iterator[Figure]:
    """A tree without TensorFlow beside reading its files: the standard library of this Python."""
    tree = sysconfig.get_path("stdlib")
    options = ("check", "--isolated", "--no-cache", "--quiet", "--exclude", "site-packages", "--exit-zero")
    found = medians(
        {
            "nothing": lambda: cost([sys.executable, "-c", "pass"]),
            "read": lambda: cost([sys.executable, "-c", _READ, tree]),
            "start": lambda: cost(tflint(*options, str(Path(tree, "this.py")))),
            "check": lambda: cost(tflint(*options, tree)),
        },
        field.repeat,
    )
    reads = found["read"] - found["nothing"]
    note = f"reading takes {reads:.2f} s; both beyond the start of their processes"
    yield Figure(
        "a tree without TensorFlow, to reading its files", (found["check"] - found["start"]) / reads, 2, note=note
    )


def memory(field: Field) -> Iterator[Figure]:
    """Memory of one process over all repositories."""
    options = ("check", "--isolated", "--no-cache", "--quiet", "--exit-zero", "--jobs", "1", "--output-format", "json")
    folders = [*field.user_code(), *field.libraries()]
    lines = sum(file.read_bytes().count(b"\n") for folder in folders for file in folder.rglob("*.py") if file.is_file())
    used = cost(tflint(*options, *map(str, folders)), field.repositories)
    note = f"{len(folders)} repositories, {lines} lines and their notebooks"
    yield Figure("memory of one process", used.memory / 2**20, 300, unit=" MB", note=note)


PARTS: dict[str, Callable[[Field], Iterator[Figure]]] = {
    "cold": cold,
    "start": start,
    "growth": growth,
    "wheels": wheels,
    "together": together,
    "processes": processes,
    "warm": warm,
    "stdin": standard_input,
    "flake8": flake8,
    "server": server,
    "without": without_tensorflow,
    "memory": memory,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[], metavar="PART")
    parser.add_argument("--wheels", type=Path, help="the folder with tf_keras and keras as they are installed")
    parser.add_argument("--all", action="store_true", help="more runs, and more files")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--kept", type=Path, help="a file for what is measured; known parts that --only leaves out are printed"
    )
    arguments = parser.parse_args()
    field = Field(arguments.repositories.resolve(), arguments.all, arguments.repeat, arguments.wheels)
    files = "with --all" if field.whole else "without --all"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{platform.machine()}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}, {files}{load}\n")
    print("| what | measured | goal | result | details |\n|---|---|---|---|---|")
    kept = Kept(arguments.kept)
    left_out = {"wheels"} if field.wheels is None else set()
    wanted = arguments.only or [part for part in PARTS if part not in left_out]
    for name in PARTS:
        if name not in wanted:
            print("".join(f"{line}\n" for line in kept.lines(name)), end="")
            continue
        figures = []
        for figure in PARTS[name](field):
            figures.append(figure)
            print(figure, flush=True)
        kept.add(name, files, figures)


if __name__ == "__main__":
    main()
