"""The parser without libcst's checks of new nodes: the same trees, and the checks are back afterwards."""

from __future__ import annotations

import threading
from pathlib import Path

import libcst as cst
import pytest

from tflint_gpu.model.python import parsing
from tflint_gpu.model.python.parsing import parse_module

_SOURCES = sorted(Path(__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: path.name)
def test_the_tree_is_libcsts_own(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    assert parse_module(code).deep_equals(cst.parse_module(code))


def test_nodes_made_by_hand_are_checked_again() -> None:
    parse_module("x = 1\n")
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_nodes_are_checked_again_behind_code_that_does_not_parse() -> None:
    with pytest.raises(cst.ParserSyntaxError):
        parse_module("x = (\n")
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_one_thread_that_is_done_leaves_the_other_its_way() -> None:
    entered, leave = threading.Event(), threading.Event()

    def parse_slowly() -> None:
        with parsing._unchecked():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=parse_slowly)
    thread.start()
    entered.wait()
    parse_module("x = 1\n")
    cst.Name("")  # the other thread is still parsing
    leave.set()
    thread.join()
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_blanks_of_the_same_text_are_one_node() -> None:
    module = parse_module("a = b\nc = d\n")
    first, second = (line.body[0].targets[0] for line in module.body)  # type: ignore[union-attr, index]
    assert first.whitespace_before_equal is second.whitespace_before_equal
    assert module.code == "a = b\nc = d\n"


def test_blanks_made_by_hand_are_nodes_and_are_checked_afterwards() -> None:
    parse_module("a = b\n")
    assert isinstance(cst.SimpleWhitespace(" "), cst.SimpleWhitespace)
    with pytest.raises(cst.CSTValidationError):
        cst.SimpleWhitespace("x")
