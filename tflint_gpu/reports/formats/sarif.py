"""`sarif`: SARIF 2.1.0, which code scanning services and many viewers read.

The facts are from the OASIS standard, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tflint_gpu import __version__
from tflint_gpu.diagnostics import Diagnostic, Fix, Location, Related
from tflint_gpu.narrowing.fingerprints import fingerprints
from tflint_gpu.reports import View
from tflint_gpu.reports.documentation import as_markdown
from tflint_gpu.reports.locations import STANDARD_INPUT, directory_uri, is_relative, uri
from tflint_gpu.rule import Rule, entries, load

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
# Named after us, not after GitHub's own `primaryLocationLineHash`: its upload action computes that
# one, and warns where it finds another.
_FINGERPRINT = "tflintGpu/v1"
_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """One log with one run, also for no diagnostics."""
    rules = _rules(diagnostics)
    index = {rule["id"]: position for position, rule in enumerate(rules)}
    marks = fingerprints(diagnostics, view.line)
    run = {
        "tool": {"driver": {"name": "tflint-gpu", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": directory_uri(view)}},
        "results": [
            _result(diagnostic.in_file, index[diagnostic.code], mark, view)
            for diagnostic, mark in zip(diagnostics, marks, strict=True)
        ],
    }
    if verdicts := Counter(diagnostic.verdict for diagnostic in diagnostics if diagnostic.verdict):
        run["properties"] = {"verdicts": dict(verdicts)}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rules(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """The rules that are reported, by code. One that is not in the catalogue has no more than its name."""
    names = {diagnostic.code: diagnostic.name for diagnostic in diagnostics}
    urls = {diagnostic.code: diagnostic.url for diagnostic in diagnostics if diagnostic.url is not None}
    themes = {entry.code: entry.theme for entry in entries()}
    known = {rule.code: rule for rule in load(names)}
    rules = []
    for code, name in sorted(names.items()):
        descriptor: dict[str, Any] = {"id": code, "name": name}
        if code in urls:
            descriptor["helpUri"] = urls[code]
        if code in known:
            descriptor |= _documented(known[code], themes[code])
        rules.append(descriptor)
    return rules


def _documented(rule: Rule, theme: str) -> dict[str, Any]:
    documentation = rule.documentation()
    return {
        "shortDescription": {"text": rule.summary()},
        "fullDescription": {"text": documentation.partition("\nExample:\n")[0].rstrip()},
        "help": {
            "text": documentation,
            "markdown": f"# {rule.code} {rule.name}\n\n{as_markdown(documentation)}",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [theme.replace("_", "-")]},
    }


def _result(diagnostic: Diagnostic, rule_index: int, fingerprint: str, view: View) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.text + (f"\nhelp: {diagnostic.help}" if diagnostic.help else "")},
        "locations": [
            {"physicalLocation": _physical(diagnostic.filename, diagnostic.location, diagnostic.end_location, view)}
        ],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }
    if diagnostic.related:
        result["relatedLocations"] = [_related(number, place, view) for number, place in enumerate(diagnostic.related)]
    if diagnostic.fix is not None and view.fix_mark(diagnostic):
        result["fixes"] = [_fix(diagnostic.filename, diagnostic.fix, view)]
    properties = {
        "prediction": None if diagnostic.prediction is None else asdict(diagnostic.prediction),
        "measured": diagnostic.measured,
        "verdict": diagnostic.verdict,
    }
    if said := {name: value for name, value in properties.items() if value}:
        result["properties"] = said
    return result


def _related(number: int, place: Related, view: View) -> dict[str, Any]:
    return {
        "id": number,
        "message": {"text": place.message},
        "physicalLocation": _physical(place.filename, place.location, place.end_location, view),
    }


def _fix(filename: str, fix: Fix, view: View) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit.location, edit.end_location), "insertedContent": {"text": edit.content}}
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.message},
        "artifactChanges": [{"artifactLocation": _artifact(filename, view), "replacements": replacements}],
        "properties": {"applicability": fix.applicability},
    }


def _physical(filename: str, start: Location, end: Location, view: View) -> dict[str, Any]:
    return {"artifactLocation": _artifact(filename, view), "region": _region(start, end)}


def _artifact(filename: str, view: View) -> dict[str, Any]:
    artifact: dict[str, Any] = {"uri": uri(filename, view)}
    if is_relative(filename, view):
        artifact["uriBaseId"] = _ROOT
    elif filename == STANDARD_INPUT:
        artifact["description"] = {"text": "standard input"}
    return artifact


def _region(start: Location, end: Location) -> dict[str, int]:
    """Ours count as theirs do: from 1, in characters, up to but not including the end."""
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}
