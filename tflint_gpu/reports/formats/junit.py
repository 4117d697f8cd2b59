"""`junit`: a suite for each file and a failed test for each diagnostic, for servers that show test results.

Advice is a test that passed, and says what it advises on its standard output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePosixPath
from xml.etree import ElementTree

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable_lines
from tflint_gpu.reports.formats.full import predicted
from tflint_gpu.reports.locations import place, portable

_NOT_XML = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOOL = "tflint-gpu"


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """One document. Without diagnostics it holds a test that passed: servers refuse reports without a test."""
    root = ElementTree.Element("testsuites", _named(_TOOL, diagnostics))
    for name, of_file in groupby(diagnostics, key=lambda diagnostic: portable(diagnostic.filename, view)):
        _add_suite(root, name, list(of_file))
    if not diagnostics:
        suite = ElementTree.SubElement(root, "testsuite", _named(_TOOL, diagnostics))
        ElementTree.SubElement(suite, "testcase", name="no problems found", classname=_TOOL)
    ElementTree.indent(root)
    # In ASCII with references, so that the declaration is true whatever standard output makes of the text.
    document: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    # And no line begins with two colons, which is a command to GitHub's runner, into whose log it may be printed.
    return re.sub(r"^(\s*):(?=:)", r"\1&#58;", document.decode("ascii"), flags=re.MULTILINE) + "\n"


def _named(name: str, diagnostics: Sequence[Diagnostic]) -> dict[str, str]:
    failures = sum(diagnostic.severity != "advice" for diagnostic in diagnostics)
    return {"name": name, "tests": str(len(diagnostics) or 1), "failures": str(failures), "errors": "0"}


def _add_suite(root: ElementTree.Element, name: str, diagnostics: list[Diagnostic]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", _named(_legal(name), diagnostics))
    for diagnostic in diagnostics:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            name=_legal(f"{diagnostic.code} {diagnostic.name} {diagnostic.location}"),
            classname=_legal(str(PurePosixPath(name).with_suffix(""))),
        )
        if diagnostic.severity == "advice":
            ElementTree.SubElement(case, "system-out").text = _legal(_details(diagnostic))
        else:
            failure = ElementTree.SubElement(case, "failure", type=diagnostic.severity, message=_legal(diagnostic.text))
            failure.text = _legal(_details(diagnostic))


def _details(diagnostic: Diagnostic) -> str:
    lines = [f"{place(diagnostic.filename, diagnostic.location)}: {diagnostic.code} {diagnostic.text}"]
    if diagnostic.prediction is not None:
        lines.append(f"predicted: {predicted(diagnostic.prediction)}")
    if diagnostic.help:
        lines.append(f"help: {diagnostic.help}")
    return "\n".join(lines)


def _legal(text: str) -> str:
    """The text without the characters that steer who prints it, or that XML cannot hold, not even as references."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", printable_lines(text))
