"""Looks for input that brings the linter down: real programs, changed at random, checked by all rules.

    python tests/benchmarks/fuzz.py FOLDER... --minutes 10 --seed 1

Programs come from the folders (Python files and notebooks of up to 400 lines that mention TensorFlow), the fixtures and the
tests of the rules. `tests/mutations.py` changes them, alone or several of them as a project whose files import each
other, and `tests/robustness.py` says what must hold. What does not is made small by leaving out statements, and written to
`--found`, a folder for each kind of failure. Exits with 1 if there was any.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path[:0] = [str(ROOT), str(TESTS)]

from mutations import as_notebook, linked, mutated  # noqa: E402
from robustness import TARGETS, Failure, Program, failures  # noqa: E402

_LINES = 400
_STACK = 256 << 20
_SMALLER = 60.0  # CPU seconds for making one failure small


def corpus(folders: list[Path]) -> list[str]:
    """The texts of real programs, of the fixtures and of the tests' cases."""
    texts = []
    for folder in [ROOT / "fixtures", *folders]:
        for path in sorted(folder.rglob("*.py")) + sorted(folder.rglob("*.ipynb")):
            if path.is_file() and path.stat().st_size < 200_000:
                texts.append(_text(path))
    return [text for text in {*texts, *_cases()} if _is_useful(text)]


def _text(path: Path) -> str:
    text = path.read_text("utf-8", "replace")
    if path.suffix != ".ipynb":
        return text
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return "".join("".join(cell["source"]).replace("\n%", "\n# %").replace("\n!", "\n# !") + "\n" for cell in cells)
    except (ValueError, KeyError, TypeError):
        return ""


def _is_useful(text: str) -> bool:
    if not re.search("tensorflow|keras", text) or text.count("\n") > _LINES:
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _cases() -> list[str]:
    """The programs in the tests of the rules: their strings of several lines, with the module's heads before them."""
    found = []
    for path in sorted((TESTS / "rules").glob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        heads = ["import tensorflow as tf\nimport numpy as np\n"]
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and "\n" in str(node.value.value):
                heads.append(str(node.value.value))
        strings = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        for text in strings:
            if "\n" in text and len(text) < 8000:
                found += [head + text for head in {heads[0], heads[1 % len(heads)]}]
    return found


class Campaign:
    """Mutates, checks and keeps what fails.

    Arguments:
        texts: of the programs to start from.
        found: the folder for what fails.
    """

    def __init__(self, texts: list[str], found: Path) -> None:
        self.texts = texts
        self.found = found
        self.kinds: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.programs = 0
        self.files = 0
        self.lines = 0

    def run(self, minutes: float, seed: int) -> None:
        end = time.monotonic() + 60 * minutes
        number = 0
        while time.monotonic() < end:
            number += 1
            self.one(f"{seed}-{number}")

    def one(self, seed: str) -> None:
        """One program: made, checked, and made small if something is wrong with it."""
        rng = random.Random(seed)
        program, target = self.program(rng), rng.choice(TARGETS)
        self.programs += 1
        self.files += len(program)
        self.lines += sum(data.count(b"\n") for data in program.values())
        thorough = rng.random() < 0.7
        for failure in failures(program, target, thorough, told=self.told):
            self.kinds[failure.kind] += 1
            if self.kinds[failure.kind] == 1:
                self.keep(failure, program, target, thorough, seed)

    def program(self, rng: random.Random) -> dict[str, bytes]:
        count = rng.choices((1, 2, 3), (7, 2, 1))[0]
        texts = []
        for _ in range(count):
            text, donor = rng.choice(self.texts), rng.choice(self.texts)
            try:
                texts.append(mutated(text, donor, rng, rng.choice((1, 3, 8, 20))))
            except RecursionError:
                texts.append(text)
        names = ("train.py", "data.py", "net/model.py")[:count]
        program = linked(dict(zip(names, texts, strict=True)), rng)
        if count == 1 and rng.random() < 0.15:
            program = {"train.ipynb": as_notebook(texts[0], rng)}
        return {name: text.encode("utf-8", "surrogatepass") for name, text in program.items()}

    def keep(self, failure: Failure, program: Program, target: str, thorough: bool, seed: str) -> None:
        small = smaller(program, target, thorough, failure.kind)
        folder = self.found / f"{hashlib.sha256(failure.kind.encode()).hexdigest()[:8]}-{seed}"
        for name, data in small.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / "failure.txt").write_text(
            f"{failure.kind}\nseed {seed}, TensorFlow {target}\n\n{failure.text}\n", "utf-8", "replace"
        )
        print(f"{folder}: {failure.kind} (seed {seed}, TensorFlow {target})", flush=True)


def smaller(program: Program, target: str, thorough: bool, kind: str) -> Program:
    """The program with less and less, as long as it fails in the same way."""
    end = time.process_time() + _SMALLER

    def fails(candidate: Program) -> bool:
        return any(failure.kind == kind for failure in failures(candidate, target, thorough))

    for name in list(program):
        without = {other: data for other, data in program.items() if other != name}
        if without and time.process_time() < end and fails(without):
            program = without
    changed = True
    while changed and time.process_time() < end:
        changed = False
        for name, data in program.items():
            for less in shorter(data):
                if time.process_time() > end:
                    break
                candidate = {**program, name: less}
                if fails(candidate):
                    program, changed = candidate, True
                    break
            if changed:
                break
    return program


_PARTS = ("body", "orelse", "finalbody", "decorator_list", "bases", "args", "keywords", "elts", "items")


def shorter(data: bytes, parts: tuple[str, ...] = _PARTS) -> Iterator[bytes]:
    """Texts with a stretch of statements less, the longest stretches first; of lines, where it is no Python.

    Arguments:
        parts: of the nodes of the tree that are made shorter.
    """
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        lines = data.splitlines(keepends=True)
        size = len(lines) // 2
        while size:
            for start in range(0, len(lines), size):
                yield b"".join(lines[:start] + lines[start + size :])
            size //= 2
        return
    blocks = [
        (node, field)
        for node in ast.walk(tree)
        for field in parts
        if isinstance(getattr(node, field, None), list) and getattr(node, field)
    ]
    for node, field in blocks:
        block = getattr(node, field)
        if len(block) == 1 and isinstance(block[0], ast.Pass):
            continue
        size = len(block)
        while size:
            for start in range(0, len(block), size):
                left = block[:start] + block[start + size :]
                setattr(node, field, left or ([ast.Pass()] if field == "body" and isinstance(node, ast.stmt) else []))
                try:
                    text = ast.unparse(ast.fix_missing_locations(tree))
                    ast.parse(text)
                    yield text.encode("utf-8", "surrogatepass") + b"\n"
                except (SyntaxError, ValueError, RecursionError, AttributeError, IndexError):
                    pass
                setattr(node, field, block)
            size //= 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    parser.add_argument("--only", metavar="SEED", help="one program, as `1-20` in a report; prints it")
    given = parser.parse_args()
    _with_large_stack()
    texts = sorted(corpus(given.folders))
    campaign = Campaign(texts, given.found)
    if given.only:
        program = campaign.program(random.Random(given.only))
        for name, data in program.items():
            print(f"# {name}\n{data.decode('utf-8', 'replace')}")
        campaign.one(given.only)
    else:
        campaign.run(given.minutes, given.seed)
    print(
        f"{len(texts)} programs to start from; {campaign.programs} changed ones ({campaign.files} files, {campaign.lines} lines), "
        f"{time.process_time():.0f} s CPU, {len(campaign.kinds)} kinds of failures"
    )
    print(
        f"{campaign.told.total()} findings: {', '.join(f'{code} {count}' for code, count in sorted(campaign.told.items()))}"
    )
    for kind, count in campaign.kinds.most_common():
        print(f"{count:6} {kind}")
    return 1 if campaign.kinds else 0


def _with_large_stack() -> None:
    """As the command has it. Not in a thread, where no signal could stop what takes too long."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft != resource.RLIM_INFINITY and soft < _STACK:
        resource.setrlimit(
            resource.RLIMIT_STACK, (_STACK if hard == resource.RLIM_INFINITY else min(hard, _STACK), hard)
        )
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.setrecursionlimit(10_000)


if __name__ == "__main__":
    sys.exit(main())
