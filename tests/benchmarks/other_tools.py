"""CPU seconds of tflint-gpu and of other tools for what a user waits for, as the table of `docs/benchmarks.md`.

    python tests/benchmarks/other_tools.py REPOSITORIES --peers BIN [--repeat N]

REPOSITORIES is a folder with checkouts of public repositories, each called `owner+name` (`repositories.py`). BIN is the folder
with the commands of the other tools, of an environment with `pip install ruff flake8 pylint 'pyright[nodejs]' ty pyrefly`. Each
tool runs with its defaults, without settings or a cache, in one process where it has an option for that. All tools take turns;
what is printed is the median of N rounds. A change in an editor is timed by the clock, with the language server of the tool, which
is asked for the diagnostics of the new text or publishes them; `lsp_latency.py` types.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lsp_latency import lines_of_fixtures, measure
from processes import Cost, cost, tflint
from repositories import Field

__all__: list[str] = []

_CHECK = ("check", "--isolated", "--exit-zero", "--jobs", "1", "--quiet")
_OTHERS = {
    "ruff": ["ruff", "check", "--isolated", "--no-cache", "--exit-zero"],
    "ty": ["ty", "check", "--exit-zero", "--no-progress"],
    "pyrefly": ["pyrefly", "check", "--summary=none"],
    "flake8": ["flake8", "--isolated", "-j1", "--exit-zero"],
    "pyright": ["pyright"],
    "pylint": ["pylint", "--rcfile=/dev/null", "-j1", "--exit-zero"],
}

_SERVERS = {
    "ruff": ["ruff", "server"],
    "ty": ["ty", "server"],
    "pyrefly": ["pyrefly", "lsp"],
    "pyright": ["pyright-langserver", "--stdio"],
}
_TYPED = 500
"""Lines of the text in the editor."""
_CHANGES = 10


@dataclass(frozen=True)
class Situation:
    """What a user waits for.

    Arguments:
        name: the column's title.
        folder: where the tools run.
        paths: what they are given, from there.
    """

    name: str
    folder: Path
    paths: tuple[str, ...]


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def situations(field: Field, copies: Path) -> list[Situation]:
    """A repository of the middle size, a large one, and one file and three files of the first."""
    lines = {folder: sum(map(_lines, files)) for folder, files in field.user_code().items()}
    by_size = sorted((folder for folder, count in lines.items() if count >= 1000), key=lines.__getitem__)
    typical, large = by_size[len(by_size) // 2], field.project()
    inside = {folder: Path(shutil.copytree(folder, copies / folder.name)) for folder in (typical, large)}
    files = field.user_code()[typical]
    saved = min(files, key=lambda file: abs(_lines(file) - 500))
    commit = sorted(files, key=lambda file: abs(_lines(file) - 150))[:3]
    return [
        Situation(f"a saved file ({_lines(saved)} lines)", inside[typical], (str(saved.relative_to(typical)),)),
        Situation("a commit (3 files)", inside[typical], tuple(str(file.relative_to(typical)) for file in commit)),
        Situation(f"{typical.name.replace('+', '/')} ({lines[typical]} lines)", inside[typical], (".",)),
        Situation(
            f"{large.name.replace('+', '/')} ({sum(map(_lines, field.libraries()[large]))} lines)",
            inside[large],
            (".",),
        ),
    ]


def commands(peers: Path, cache: Path) -> dict[str, list[str]]:
    """How each tool is called, before the paths."""
    others = {tool: [str(peers / name), *options] for tool, (name, *options) in _OTHERS.items()}
    cached = tflint(*_CHECK, "--cache-dir", str(cache))
    return {
        "tflint-gpu": tflint(*_CHECK, "--no-cache"),
        "tflint-gpu, nothing changed since its last check": cached,
        **others,
    }


def waits(peers: Path, folder: Path) -> dict[str, str]:
    """Milliseconds from a change to its diagnostics, for the tools that have a language server."""
    servers = {tool: [str(peers / name), *options] for tool, (name, *options) in _SERVERS.items()}
    path, text = folder / "typed.py", lines_of_fixtures(_TYPED)
    path.write_text(text, encoding="utf-8")
    shown = {}
    for tool, command in {"tflint-gpu": tflint("server"), **servers}.items():
        _, taken, spent = asyncio.run(measure(path, text, _CHANGES, command, pulls=True))
        shown[tool] = f"{median(taken):.0f} ms ({1000 * spent / len(taken):.0f} ms of CPU)"
    return shown


def _cell(costs: list[Cost]) -> str:
    return f"{median(used.cpu for used in costs):.2f} ({max(used.memory for used in costs) / 2**20:.0f} MB)"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--peers", type=Path, required=True, help="the folder with the other tools' commands")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    field = Field(arguments.repositories.resolve(), False, arguments.repeat, None)
    with tempfile.TemporaryDirectory() as folder:
        columns = situations(field, Path(folder, "repositories"))
        tools = commands(arguments.peers.resolve(), Path(folder, "cache"))
        for situation in columns:  # which fills the cache
            cost([*tools["tflint-gpu, nothing changed since its last check"], *situation.paths], situation.folder)
        used: dict[tuple[str, str], list[Cost]] = {}
        for _ in range(arguments.repeat):
            for tool, command in tools.items():
                for situation in columns:
                    spent = cost([*command, *situation.paths], situation.folder)
                    used.setdefault((tool, situation.name), []).append(spent)
        typed = Path(folder, "typed")
        typed.mkdir()
        typing = waits(arguments.peers.resolve(), typed)
        names = [situation.name for situation in columns]
        print(f"{platform.machine()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
        for tool, (name, *_) in _OTHERS.items():
            told = subprocess.run([arguments.peers / name, "--version"], capture_output=True, text=True, check=True)
            print(f"{tool}: {told.stdout.splitlines()[0]}")
        titles = [f"a change in an editor ({_TYPED} lines)", *names]
        print(f"\n| CPU seconds (memory) | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}")
        for tool in tools:
            cells = [typing.get(tool, "no server"), *(_cell(used[tool, name]) for name in names)]
            print(f"| {tool} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
