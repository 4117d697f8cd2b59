"""A newcomer's walk: every command that a page prints, as printed, in a fresh checkout and a fresh environment.

README and "Getting started" begin with nothing; the other pages begin where "Getting started" has installed tflint-gpu.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import ROOT, copy_checkout
from printed import pages

README, START = ROOT / "README.md", ROOT / "docs" / "getting-started.md"
PROGRAMS = {  # that a machine may not have: why what calls them is not run there
    "docker": "it needs Docker's daemon and its registry; test_release.py builds the image where they are",
    "npm": "it needs Node.js 20 or newer and npm's registry; test_vscode.py runs the same commands where they are",
    "code": "it needs VS Code, which has no package in Debian, PyPI or npm",
    "bash": "the shell is not installed",
    "zsh": "the shell is not installed; .ci/run installs it",
    "fish": "the shell is not installed; .ci/run installs it",
}
"""A command that begins with one of these is left out where the program is missing or cannot work, for this reason."""
LANGUAGES = {
    "sh": "run here", "console": "run here", "bash": "run here", "zsh": "run here", "fish": "run here",
    "toml": "test_printed.py", "ini": "test_printed.py", "yaml": "test_printed.py", "python": "test_printed.py",
    "json": "test_printed.py", "lua": "test_editors.py", "elisp": "test_editors.py",
    "vim": "it needs vim-lsp, which is not in Debian", "text": "an output without its command", "diff": "a change of a program that the page shows",
}  # fmt: skip
"""What is done with a block of each language that pages print."""
_COMMANDS = re.compile(
    r"^```(?P<shell>sh|bash|zsh|fish)\n(?P<lines>.*?)\n```$|^```console\n(?P<console>.*?)^```$"
    r"|`(?P<inline>\.venv/bin/\S+ (?!check PATH`)[^`\n]+)`",  # PATH stands for a project of the reader's
    re.DOTALL | re.MULTILINE,
)
_PLACE = re.compile(r"examples/[\w.]+:[\w :]+ TFG\d{3}")
_END = "--- the next command ---"
_OURS = ("PYTHON", "VIRTUAL_ENV", "CUDA_", "TF_")


@dataclass(frozen=True)
class Typed:
    """A command that a page prints.

    Arguments:
        shown: what it prints, empty where the page does not say.
    """

    command: str
    shown: str = ""


def typed(page: Path) -> list[Typed]:
    """The commands of a page in their order."""
    commands = []
    for match in _COMMANDS.finditer(page.read_text("utf-8")):
        if match["console"] is not None:
            parts = re.split(r"^\$ (.*)\n", match["console"], flags=re.MULTILINE)
            commands += [Typed(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
        elif match["shell"] in ("bash", "zsh", "fish"):  # lines for the file with which it starts
            commands.append(Typed(f"{match['shell']} -c {shlex.quote(match['lines'])}"))
        else:
            commands.append(Typed(match["lines"] or match["inline"]))
    return commands


def is_possible(command: str) -> bool:
    """Whether this machine has the programs that the lines of a command begin with."""
    return all(_works(program) for program in PROGRAMS if re.search(rf"(?:^|&& ){program} ", command, re.MULTILINE))


def _works(program: str) -> bool:
    if shutil.which(program) is None:
        return False
    if program == "docker":
        return subprocess.run(["docker", "info"], capture_output=True, timeout=60).returncode == 0
    if program == "npm":
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60).stdout
        return int(version.strip().lstrip("v").partition(".")[0]) >= 20
    return True


def walk(commands: list[Typed], folder: Path, programs: Path | None = None) -> list[tuple[int, str]]:
    """Type commands in one shell, as somebody without an environment of Python; give exit codes and outputs.

    The tests are collected only where a command would run them: CI runs them by the same command.

    Arguments:
        folder: where the checkout is made.
        programs: of an environment that is active already.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    own = Path(sys.executable).parent
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if Path(part) != own)
    path = f"{programs}{os.pathsep}{path}" if programs else path
    script = folder / "walk.sh"
    script.write_text("".join(f"{step.command}\ncode=$?; echo; echo '{_END}' $code\n" for step in commands))
    done = subprocess.run(
        ["/bin/sh", script], cwd=copy_checkout(folder / "checkout"), text=True, timeout=3000,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**inherited, "PATH": path, "PYTHONUNBUFFERED": "1", "PYTEST_ADDOPTS": "--collect-only"},
    )  # fmt: skip
    parts = re.split(rf"\n{_END} (\d+)\n", done.stdout)
    assert len(parts) == 2 * len(commands) + 1, done.stdout[-5000:]
    return list(zip(map(int, parts[1::2]), parts[0::2], strict=False))


def test_the_walk_takes_every_command() -> None:
    readme, start = ([step.command for step in typed(page)] for page in (README, START))
    assert readme[0].endswith("tflint-gpu check examples/train.py") and readme[0].startswith("python3 -m venv")
    assert any("pytest" in command for command in readme) and any("mkdocs" in command for command in readme)
    assert [command.split()[1] for command in start if command.startswith("tflint-gpu")] == [
        "check", "rule", "check", "check", "verify", "doctor"
    ]  # fmt: skip


def test_every_block_of_a_page_is_tried_somewhere() -> None:
    """Protects the walk from a block that it does not see."""
    for page in pages():
        seen = "\n".join(step.command for step in typed(page))
        fences = re.findall(r"^ *```([^`\n]*)\n(.*?)^ *```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for language, text in fences:
            assert language in LANGUAGES, f"{page}: {text}"
            for command in re.findall(r"^(?:\$ )?((?:tflint-gpu|pip|docker|npm|flake8) .*)$", text, re.MULTILINE):
                assert command in seen, f"{page}: {command}"


OTHERS = [page for page in pages() if page not in (README, START) and typed(page)]


def test_the_other_pages_are_found() -> None:
    assert {"editors", "settings", "continuous-integration", "verify", "run", "doctor", "command-line"} - {
        page.stem for page in OTHERS
    } == {"settings"}, "settings has snippets only"


@pytest.mark.campaign
@pytest.mark.parametrize("page", [README, START], ids=lambda page: page.stem)
def test_a_newcomers_walk(page: Path, tmp_path: Path) -> None:
    commands = typed(page)
    follow(commands, walk(commands, tmp_path))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that "Getting started" has filled."""
    folder = tmp_path_factory.mktemp("installed")
    installation = [step for step in typed(START) if "pip install" in step.command]
    assert [code for code, _ in walk(installation, folder)] == [0, 0]
    return folder / "checkout" / ".venv" / "bin"


@pytest.mark.campaign
@pytest.mark.parametrize("page", OTHERS, ids=lambda page: str(page.relative_to(ROOT / "docs").with_suffix("")))
def test_the_walk_through_another_page(page: Path, installed: Path, tmp_path: Path) -> None:
    possible = [step for step in typed(page) if is_possible(step.command)]
    if not possible:
        pytest.skip(f"nothing of it can be run: {PROGRAMS}")
    follow(possible, walk(possible, tmp_path, installed))


def follow(commands: list[Typed], results: list[tuple[int, str]]) -> None:
    """Compare what commands gave with what their page says."""
    for step, (code, output) in zip(commands, results, strict=True):
        what = f"$ {step.command}\n{output[-5000:]}"
        if "tflint-gpu check" in step.command or step.command.startswith("flake8"):
            finds = re.search(r"^(?:Found|Would fix) \d+ problem|^\S+:\d+:\d+: TFG", output, re.MULTILINE)
            assert code == bool(finds), what
            assert step.shown or re.search("(Found|Would fix) 2 problems", output) or step.command.endswith("."), what
        elif "tflint-gpu verify" in step.command:
            assert code in (0, 1), what  # whether a quiet or a busy machine confirms it
        elif "tflint-gpu doctor" in step.command:
            has_fault = re.search(
                r"^TFG9(?!24|37)\d\d ", output, re.MULTILINE
            )  # other than that there is no card, and what one would need
            assert code in ((1,) if has_fault else (0, 3)) and "\nNext: " in output, what
        else:
            assert code == 0, what
        if step.command.startswith(("tflint-gpu check", "tflint-gpu rule", "flake8")):
            assert output == step.shown, what
        assert set(_PLACE.findall(step.shown)) <= set(_PLACE.findall(output)), what
