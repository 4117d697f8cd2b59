"""Expressions that are compiled when they are first used are those of `re`."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
import sys

import pytest
from checkout import ROOT
from import_graph import module_files

from tflint_gpu.lazy_patterns import regex


def test_an_expression_does_what_that_of_re_does() -> None:
    lazy, eager = regex(r"(\w+)=(\d+)", re.IGNORECASE), re.compile(r"(\w+)=(\d+)", re.IGNORECASE)
    text = "a=1, b=22"
    assert lazy.findall(text) == eager.findall(text)
    assert lazy.sub("x", text) == eager.sub("x", text)
    assert [match.span() for match in lazy.finditer(text, 2)] == [match.span() for match in eager.finditer(text, 2)]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (eager.pattern, eager.flags, eager.groups)
    assert regex(rb"\w").fullmatch(b"a") is not None and regex(rb"\w").search(b"-") is None


def test_a_wrong_expression_is_told_where_it_is_used() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("")


def test_an_expression_can_be_copied_and_sent() -> None:
    for again in (copy.deepcopy(regex("a+")), pickle.loads(pickle.dumps(regex("a+")))):
        assert again.match("aab")[0] == "aa"


def test_every_expression_of_ours_compiles() -> None:
    """Protects what is compiled only where it is used from an expression that is none."""
    pytest.importorskip("jinja2")
    pytest.importorskip("pygls")
    for name in module_files(ROOT):
        if not name.rpartition(".")[2].startswith(("tflint_", "__main__")) and ".probes" not in name:
            importlib.import_module(name)
    modules = [module for name, module in sys.modules.items() if name.startswith("tflint_gpu.")]
    ours = [known for module in modules for known in vars(module).values() if type(known) is regex]
    assert len(ours) > 100
    assert all(known.pattern for known in ours)
