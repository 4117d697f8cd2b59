"""The page of each rule, and of each diagnosis of `doctor`, as Markdown: all of it comes from the rules' docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tflint_gpu.doctor.diagnosis import Diagnosis, known
from tflint_gpu.reports.documentation import as_markdown
from tflint_gpu.rule import FIRST_VERSION, Rule, RuleEntry, entries, load
from tflint_gpu.rule.evidence import recorded
from tflint_gpu.text.toml import loads

DIAGNOSES = "machine"
"""The theme of what `doctor` finds, which is in no code."""
_HEADING = re.compile(r"(Why|Reported|Not reported|Names|Measured):\s")
_TITLES = {"Measured": "Evidence"}
_VERSION = re.compile(r"\b(TensorFlow|Keras) (\d+(?:\.\d+)*)")
_CODE = re.compile(r"`([^`\n]+)`")
_FIXES = {
    "safe": "`--fix` applies it, where the results stay the same on the same inputs.",
    "unsafe": "`--fix --unsafe-fixes` applies it: read the change.",
    None: "There is no automatic fix.",
}


@dataclass(frozen=True, slots=True)
class RulePage:
    """A page of the site.

    Arguments:
        traits: in a few words each, the severity first.
        text: Markdown, after the first line.
        since: the version that brought it.
    """

    code: str
    name: str
    theme: str
    summary: str
    traits: tuple[str, ...]
    text: str
    since: str = FIRST_VERSION

    @property
    def markdown(self) -> str:
        """The whole page."""
        about = f"*{self.theme}: {', '.join(self.traits)}, since {self.since}*"
        return f"# {self.code} {self.name}\n\n{self.summary}\n\n{about}\n\n{self.text}\n"


@cache
def rule_pages() -> tuple[RulePage, ...]:
    """The pages of this project's own rules by code, then those of the diagnoses."""
    own = [entry for entry in entries() if entry.module.startswith("tflint_gpu.")]
    diagnoses = [_of_diagnosis(Diagnosis(code, "")) for code in known()]
    return *(_of_rule(entry, load([entry.code])[0]) for entry in own), *diagnoses


def _of_diagnosis(diagnosis: Diagnosis) -> RulePage:
    summary = diagnosis.means.partition(". ")[0].rstrip(".") + "."
    text = (
        f"## Why\n\n{diagnosis.means}\n\n## Remedy\n\n{diagnosis.remedy}\n\n"
        "Found by [`tflint-gpu doctor`](/doctor.md) on a machine, not in code."
    )
    return RulePage(diagnosis.code, diagnosis.name, DIAGNOSES, summary, (diagnosis.severity, "found by doctor"), text)


def _of_rule(entry: RuleEntry, rule: Rule) -> RulePage:
    why, evidence = _prose(rule)
    sections = [*why, *_examples(rule), _fix(rule), *evidence, _versions(rule)]
    sections += [_settings(rule), _references(entry, rule)]
    theme = entry.theme.replace("_", " ")
    return RulePage(
        rule.code,
        rule.name,
        theme,
        rule.summary(),
        (rule.severity, *rule.tags()),
        "\n\n".join(sections),
        rule.version(),
    )


def _prose(rule: Rule) -> tuple[list[str], list[str]]:
    """The documentation below its first line, under its headings: up to `Measured:`, and from there on."""
    command = f"python tests/benchmarks/evidence.py {rule.code}"
    text = rule.documentation(f"see the table. Repeat with `{command}`.").partition("\nExample:\n")[0]
    why: list[str] = []
    evidence: list[str] = []
    for paragraph in text.split("\n\n")[1:]:
        if paragraph.startswith("Fix: "):  # which has a section of its own
            continue
        match = _HEADING.match(paragraph)
        part = evidence if evidence or (match is not None and match[1] == "Measured") else why
        if match is None:
            part.append(as_markdown(paragraph))
            continue
        words = paragraph[match.end() :]
        part.append(f"## {_TITLES.get(match[1], match[1])}\n\n{words[0].upper()}{words[1:]}")
        if match[1] == "Measured":
            part += _measured(recorded(rule.code))
    return why, evidence


def _fix(rule: Rule) -> str:
    note = rule.fix_note()
    return f"## Fix\n\n{note[:1].upper()}{note[1:]} {_FIXES[rule.fixable]}"


def _measured(results: list[dict[str, Any]]) -> Iterator[str]:
    """The table of what was measured, what else was seen, and on which machines."""
    lines = [
        _row(figure["what"], "CPU" if result["machine"].endswith("no GPU") else "GPU", result["tensorflow"],
             result["keras"], figure["slow_ms"], figure["fast_ms"], f"{figure['ratio']:.2f}",
             f"{figure['low']:.2f} to {figure['high']:.2f}")
        for result in results
        for figure in result["figures"]
    ]  # fmt: skip
    if lines:
        head = _row("what", "on", "TensorFlow", "Keras", "flagged, ms", "fixed, ms", "ratio", "95% interval")
        yield "\n".join([head, "|---|---|---|---|---:|---:|---:|---|", *lines])
    for result in results:
        for what, seen in result["facts"].items():
            yield f"{what}: {seen} (TensorFlow {result['tensorflow']})."
    for result in results:
        versions = f"TensorFlow {result['tensorflow']}, Keras {result['keras']}, Python {result['python']}"
        yield f"{versions}: {result['machine']}, {result['date']}."


def _examples(rule: Rule) -> Iterator[str]:
    for heading in ("Example", "Use instead"):
        if f"\n{heading}:\n" in rule.documentation():
            yield f"## {heading}\n\n```python\n{rule.example(heading)}```"


def _versions(rule: Rule) -> str:
    paragraphs = [
        "## Versions\n\nA finding is about the TensorFlow that the project pins, or else about the newest; "
        "`target-tensorflow` sets it."
    ]
    if changes := rule.name_changes():
        rows = [
            _row(f"`{change.old}`", change.new and f"`{change.new}`", change.since, change.deprecated, change.removed)
            for change in changes
        ]
        head = _row("old", "new", "new since", "deprecated", "removed")
        paragraphs.append("\n".join([head, "|---|---|---|---|---|", *rows]))
    if versions := _named_versions(rule):
        paragraphs.append(f"Versions named on this page: {', '.join(versions)}.")
    return "\n\n".join(paragraphs)


def _named_versions(rule: Rule) -> list[str]:
    versions = set(_VERSION.findall(" ".join(rule.documentation().split())))
    versions |= {(name, result[name.lower()]) for result in recorded(rule.code) for name in ("TensorFlow", "Keras")}
    ordered = sorted(versions, key=lambda pair: (pair[0] != "TensorFlow", [int(part) for part in pair[1].split(".")]))
    return [f"{name} {number}" for name, number in ordered]


def _settings(rule: Rule) -> str:
    lines = ["## Settings", ""]
    if rule.opt_in:
        lines.append(f'- On: `--extend-select {rule.code}`, or `extend-select = ["{rule.code}"]` in the settings.')
    lines += [
        f'- Off for a project: `ignore = ["{rule.code}"]`.',
        f"- Off for a statement: `# noqa: {rule.code}`.",
        f"- Off for a file: `# tflint-gpu: noqa: {rule.code}`.",
    ]
    return "\n".join(lines)


def _references(entry: RuleEntry, rule: Rule) -> str:
    """TensorFlow's and Keras's own pages on what the documentation names, and on its theme."""
    table = references()
    prose = rule.documentation("").partition("\nExample:\n")[0]
    named = {word.partition("(")[0].lstrip("@") for word in _CODE.findall(prose)}
    links = {_address(page): f"`{word}`" for word, page in table["api"].items() if word in named}
    links |= {address: title for title, address in table["guides"].get(entry.theme, {}).items()}
    lines = [f"- [{text}]({address})" for address, text in links.items()]
    return "\n".join(["## In the documentation of TensorFlow and Keras", "", *lines]) if lines else ""


def _address(page: str) -> str:
    """The address of a page: of a name of TensorFlow that of its own, or the place of a method on its class's."""
    if page.startswith("https://"):
        return page
    owner, _, name = page.rpartition(".")
    is_method = owner.rpartition(".")[2][:1].isupper()
    return "https://www.tensorflow.org/api_docs/python/" + owner.replace(".", "/") + ("#" if is_method else "/") + name


@cache
def references() -> dict[str, dict[str, Any]]:
    """The addresses of pages: `api` by name, `guides` by theme and title."""
    return loads(Path(__file__).with_name("references.toml").read_text("utf-8"))


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
