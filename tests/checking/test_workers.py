"""Protects a run of several processes: results in order, none lost, even if a process dies."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.checking.workers import check_files
from tflint_gpu.rule import Finding, Rule
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery

Write = Callable[..., list[Path]]


class Dies(Rule):
    code, name = "TFG905", "dies"

    def check(self, model: Any) -> Iterator[Finding]:
        if "DIE" in model.source.text:
            os._exit(9)
        yield from ()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="rules of a test reach the workers by forking")
def test_a_process_that_dies_takes_no_other_file_with_it(tmp_path: Path, write_files: Write, make_rule: Any) -> None:
    write_files({f"f{n:02}.py": "import tensorflow\nBAD" + "  # DIE" * (n in (3, 7)) for n in range(12)})
    resolver = SettingsResolver(working_directory=tmp_path)
    engine = Engine(resolver, tmp_path, [Dies(), make_rule()])
    results = check_files(engine, Discovery(resolver, tmp_path).find(["."]), 2)
    assert [result.file.name for result in results] == [f"f{n:02}.py" for n in range(12)]
    codes = {result.file.name: [one.code for one in result.diagnostics] for result in results}
    assert {name for name, found in codes.items() if found == ["TFG000"]} == {"f03.py", "f07.py"}
    assert sum(found == ["TFG901"] for found in codes.values()) == 10


@pytest.mark.slow
def test_processes_and_one_process_agree(tmp_path: Path, write_files: Write, make_rule: Any) -> None:
    write_files({f"f{n:02}.py": "import tensorflow\n" + "BAD\n" * n for n in range(20)} | {"no.py": "BAD"})
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    counts = []
    for jobs in (1, 3, None):
        engine = Engine(resolver, tmp_path, [make_rule()])
        counts.append([(one.file.name, len(one.diagnostics)) for one in check_files(engine, files, jobs)])
    assert counts[0] == counts[1] == counts[2] == [(f"f{n:02}.py", n) for n in range(20)]


def test_the_stack_is_large_and_the_process_is_left_as_it_was() -> None:
    def depth(n: int) -> int:
        return n if n == 9000 else depth(n + 1)

    before = sys.getrecursionlimit(), threading.stack_size()
    assert with_large_stack(lambda: depth(0)) == 9000
    with pytest.raises(ZeroDivisionError):
        with_large_stack(lambda: 1 // 0)
    assert (sys.getrecursionlimit(), threading.stack_size()) == before
