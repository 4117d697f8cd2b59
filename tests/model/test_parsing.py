"""The parser and libcst's nodes made quicker: the same trees, and nodes that are made by hand are what they were."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import subprocess
import sys
import threading
from pathlib import Path

import libcst as cst
import pytest
from libcst import matchers

from tflint_gpu.model.python.parsing.node_classes import constructor_of, kinds_of_nodes, unchecked
from tflint_gpu.model.python.parsing.parsing import parse_whole

_SOURCES = sorted(Path(__file__).parent.glob("*.py"))


_BY_LIBCST_ALONE = """
import hashlib, sys, libcst
for path in sys.argv[1:]:
    print(hashlib.sha256(repr(libcst.parse_module(open(path, encoding="utf-8").read())).encode()).hexdigest())
"""


def test_the_trees_are_libcsts_own_field_by_field() -> None:
    run = [sys.executable, "-c", _BY_LIBCST_ALONE, *map(str, _SOURCES)]
    expected = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    trees = [parse_whole(path.read_text(encoding="utf-8")) for path in _SOURCES]
    assert [hashlib.sha256(repr(tree).encode()).hexdigest() for tree in trees] == expected


_KINDS = [kind for kind in kinds_of_nodes() if "__dataclass_params__" in kind.__dict__]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
def test_a_node_takes_what_its_fields_say(kind: type[cst.CSTNode]) -> None:
    parameters = list(inspect.signature(constructor_of(kind)).parameters.values())[1:]
    fields = dataclasses.fields(kind)
    assert [parameter.name for parameter in parameters] == [field.name for field in fields]
    for parameter, field in zip(parameters, fields, strict=True):
        if field.default is not dataclasses.MISSING:
            assert parameter.default is field.default
        assert (parameter.default is parameter.empty) == (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )


def test_a_node_made_by_hand_has_its_defaults_and_stays_frozen() -> None:
    first, second = cst.Comma(), cst.Comma()
    assert first.whitespace_after.value == "" and first.whitespace_after is not second.whitespace_after
    assert cst.Name("a").with_changes(value="b").value == "b"
    assert cst.Attribute(cst.Name("a"), cst.Name("b")).deep_clone().attr.value == "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        cst.Name("a").value = "b"  # type: ignore[misc]


def test_nodes_are_instances_of_their_classes_and_their_bases_only() -> None:
    node = cst.Name("a")
    assert isinstance(node, cst.Name) and isinstance(node, cst.BaseExpression) and isinstance(node, cst.CSTNode)
    assert not isinstance(node, cst.Call) and not isinstance(node, cst.BaseStatement)
    assert not isinstance("a", cst.Name) and issubclass(cst.Name, cst.BaseExpression)
    assert matchers.matches(node, matchers.Name("a") | matchers.Call())


def test_nodes_made_by_hand_are_checked_again() -> None:
    parse_whole("x = 1\n")
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_nodes_are_checked_again_after_code_that_does_not_parse() -> None:
    with pytest.raises(cst.ParserSyntaxError):
        parse_whole("x = (\n")
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_one_thread_that_is_done_leaves_the_other_its_way() -> None:
    entered, leave = threading.Event(), threading.Event()

    def parse_slowly() -> None:
        with unchecked:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=parse_slowly)
    thread.start()
    entered.wait()
    parse_whole("x = 1\n")
    cst.Name("")  # the other thread is still parsing
    leave.set()
    thread.join()
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_blanks_of_the_same_text_are_one_node() -> None:
    module = parse_whole("a = b\nc = d\n")
    first, second = (line.body[0].targets[0] for line in module.body)  # type: ignore[union-attr, index]
    assert first.whitespace_before_equal is second.whitespace_before_equal
    assert module.code == "a = b\nc = d\n"


def test_blanks_made_by_hand_are_nodes_and_are_checked_afterwards() -> None:
    parse_whole("a = b\n")
    assert isinstance(cst.SimpleWhitespace(" "), cst.SimpleWhitespace)
    with pytest.raises(cst.CSTValidationError):
        cst.SimpleWhitespace("x")
