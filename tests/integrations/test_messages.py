"""Protects what the language server makes of findings where no rule of today gives it the chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from findings import ODD_NAME, ODD_TEXT, finding, odd_finding
from lsprotocol import types
from pygls.workspace import PositionCodec

from tflint_gpu.integrations.code_actions import CodeActions, is_asked_for
from tflint_gpu.integrations.editor import Checked, Document, OpenText
from tflint_gpu.integrations.messages import Messages, documented
from tflint_gpu.text.source import SourceFile

SOURCE = SourceFile(Path("/p") / ODD_NAME, ODD_NAME, ODD_TEXT)
DOCUMENT = Document.of("file:///odd", (OpenText("file:///odd", 3),), SOURCE, Path("/p"))
CHECKED = Checked(DOCUMENT, (odd_finding(),))
MESSAGES = Messages(PositionCodec(), related=True, tagged=True, uri=Path.as_uri)


def test_the_link_of_a_rule() -> None:
    linked = MESSAGES.diagnostic(finding(url="https://example.org/r"), SOURCE, CHECKED)
    assert linked.code_description == types.CodeDescription("https://example.org/r")
    installed = MESSAGES.diagnostic(finding(code="TFG101"), SOURCE, CHECKED).code_description
    assert installed is not None and heading_at(installed.href) == "## TFG101 numpy-in-call"
    assert MESSAGES.diagnostic(finding(code="ABC101"), SOURCE, CHECKED).code_description is None, "another package's"


def heading_at(address: str) -> str:
    """The line of a file to which an editor goes for an address."""
    parts = urlsplit(address)
    assert parts.scheme == "file" and parts.fragment.startswith("L")
    return Path(url2pathname(parts.path)).read_text("utf-8").splitlines()[int(parts.fragment[1:]) - 1]


def test_severities() -> None:
    names = [
        MESSAGES.diagnostic(finding(severity=one), SOURCE, CHECKED).severity for one in ("error", "warning", "advice")
    ]
    severity = types.DiagnosticSeverity
    assert names == [severity.Error, severity.Warning, severity.Hint]


def test_places_that_are_related_but_cannot_be_read_are_left_out() -> None:
    (related,) = MESSAGES.diagnostic(odd_finding(), SOURCE, CHECKED).related_information or ()
    assert (related.location.uri, related.message) == ("file:///odd", "traced\nfrom here")
    other = SourceFile(Path("/elsewhere/b c.py"), "/elsewhere/b c.py", "x\ny\n")
    known = Checked(DOCUMENT, (odd_finding(),), {other.name: other})
    _, related = MESSAGES.diagnostic(odd_finding(), SOURCE, known).related_information or ()
    assert related.location.uri == "file:///elsewhere/b%20c.py"


def test_a_fix_with_several_edits_is_one_edit_of_the_document() -> None:
    actions = CodeActions(DOCUMENT, [(odd_finding(), CHECKED)], MESSAGES, versioned=True)
    fix = actions.at("file:///odd", types.Range(types.Position(3, 0), types.Position(3, 0)), None)[0]
    assert fix.edit is not None and fix.edit.document_changes is not None
    (change,) = fix.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 3
    assert [(one.range.start.line, one.new_text) for one in change.edits] == [  # type: ignore[union-attr]
        (0, "import new\n"), (3, "GOOD"), (4, "BETTER"),
    ]  # fmt: skip
    assert change.edits[2].range.start.character == len(") + '' + ") + 2, "an astral character counts twice"


def test_what_a_measurement_said_is_in_the_hover() -> None:
    text = documented([replace(finding(), measured="3.1 times (2.9 to 3.2) on the CPU: confirmed")])
    assert "Measured here: 3.1 times (2.9 to 3.2) on the CPU: confirmed" in text
    assert "Measured here" not in documented([finding()])


def test_kinds_of_actions() -> None:
    assert is_asked_for("source.fixAll.tflintGpu", None)
    assert is_asked_for("source.fixAll.tflintGpu", ["quickfix", "source.fixAll"])
    assert not is_asked_for("source.fixAll.tflintGpu", ["source.fixAll.tflint", "source.f", "quickfix"])
