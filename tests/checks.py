"""Checks a piece of code as the command would, for tests that ask what is found where."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from tflint_gpu.checking.engine.findings import findings_of
from tflint_gpu.checking.engine.placement import placed
from tflint_gpu.checking.engine.prefilter import rules_that_apply, rules_that_may_fire
from tflint_gpu.model import Model, Project
from tflint_gpu.rule import Finding, Rule, entries, load
from tflint_gpu.targets import Target
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile

NEWEST = Target(tensorflow=(2, 21), keras=3, source="newest")
ALL_RULES = load([entry.code for entry in entries()])


def model_of(code: str, folder: Path) -> Model:
    """The model of a piece of code that lies in `folder`."""
    return Model.open(SourceFile.decode(code.encode(), folder / "x.py", "x.py"), Project(folder, NEWEST))


def notebook(*cells: str) -> str:
    """The text of a notebook whose code cells have these texts."""
    written = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(True)} for cell in cells]
    return json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def findings(code: str, folder: Path, name: str = "train.py", target: Target = NEWEST) -> list[tuple[Rule, Finding]]:
    """What all rules find in `code` when it lies in `folder` under `name`, among the files already there."""
    text = textwrap.dedent(code)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    project = Project(folder, target)
    source = decode_source(text.encode(), path, name)
    data = source.searched(text.encode())
    rules = rules_that_may_fire(ALL_RULES, source, data, project)
    if not rules:
        return []
    model = Model.open(source, project)
    return [(rule, finding) for rule in rules_that_apply(rules, model) for finding in findings_of(rule, model)]


def found(code: str, folder: Path, name: str = "train.py", target: Target = NEWEST) -> set[tuple[str, int]]:
    """(code, row) of each finding in this file; advice about memory growth is left out unless asked for."""
    result = set()
    for rule, finding in findings(code, folder, name, target):
        source = finding.file.source
        row = source.locate(finding.file.span(finding.node)[0]).row
        result.add((rule.code, row) if source.path.name == name else (f"{rule.code} {source.path.name}", row))
    return result


ADVICE = ("TFG401", "TFG603")
"""What a whole program gets beside the rule that a test is about."""


def codes(
    code: str, folder: Path, *, ignore: tuple[str, ...] = ADVICE, target: Target = NEWEST, name: str = "train.py"
) -> list[str]:
    """The codes found, sorted, each as often as it was found."""
    return sorted(rule.code for rule, _ in findings(code, folder, name, target) if rule.code not in ignore)


def fixed(code: str, folder: Path, only: str) -> str:
    """The text after all of one rule's fixes, safe or not, in one pass; of those that define one name, the first."""
    text = textwrap.dedent(code)
    edits = []
    defined = set[str]()
    in_order = sorted(findings(text, folder), key=lambda pair: pair[1].file.span(pair[1].node))
    for rule, finding in in_order:
        if rule.code == only and finding.fix is not None and defined.isdisjoint(finding.fix.defines):
            fix = placed(finding.fix, finding.file)
            edits.extend(fix.edits if fix is not None else ())
            defined.update(finding.fix.defines)
    for edit in sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.content + text[edit.end :]
    return text
