"""What the pages of rules and diagnoses say, before it is HTML."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tflint_gpu.doctor.diagnosis import Diagnosis
from tflint_gpu.evidence import recorded
from tflint_gpu.rule import NameChange, Rule, RuleEntry

_HEADING = re.compile(r"(Why|Names|Measured): ")
_EXAMPLES = ("Example", "Use instead")
_VERSION = re.compile(r"\b(TensorFlow|Keras) (\d+(?:\.\d+)*)")
_FIXES = {
    "safe": "`--fix` applies it. It is safe: the same results on the same inputs.",
    "unsafe": "`--fix --unsafe-fixes` applies it. It is unsafe (the right code, another program): read the change.",
    None: "There is no automatic fix.",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a rule's documentation.

    Arguments:
        heading: as the documentation has it; the first part may have none.
        text: Markdown.
    """

    heading: str
    text: str

    @property
    def title(self) -> str:
        """What readers see."""
        return "Evidence" if self.heading == "Measured" else self.heading


@dataclass(frozen=True, slots=True)
class Page:
    """What each page has, and the index and the search know.

    Arguments:
        summary: Markdown, one line.
        traits: in a few words each, the severity first.
        words: what the search looks into.
    """

    code: str
    name: str
    theme: str
    summary: str
    traits: tuple[str, ...]
    words: str

    template: ClassVar[str] = ""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.code}.html"


@dataclass(frozen=True, slots=True)
class DiagnosisPage(Page):
    """The documentation of something that `doctor` finds."""

    diagnosis: Diagnosis

    template: ClassVar[str] = "diagnosis.html"

    @classmethod
    def of(cls, one: Diagnosis) -> DiagnosisPage:
        """The page of a diagnosis."""
        words = _searched(
            one.code, one.name, "machine", one.means, one.remedy, "Found by `tflint-gpu doctor`, not in code."
        )
        summary = one.means.partition(". ")[0].rstrip(".") + "."
        return cls(one.code, one.name, "machine", summary, (one.severity, "found by doctor"), words, one)


@dataclass(frozen=True, slots=True)
class RulePage(Page):
    """The documentation of one rule."""

    rule: Rule

    template: ClassVar[str] = "rule.html"

    @classmethod
    def of(cls, entry: RuleEntry, rule: Rule) -> RulePage:
        """The page of a rule."""
        theme = entry.theme.replace("_", " ")
        words = _searched(rule.code, rule.name, entry.theme, theme, rule.documentation())
        traits: list[str] = [rule.severity]
        traits += [f"{rule.fixable} fix"] if rule.fixable else []
        traits += ["by choice"] if rule.opt_in else []
        traits += ["with `gpu-memory`"] if rule.needs_gpu_memory else []
        return cls(rule.code, rule.name, theme, rule.summary(), tuple(traits), words, rule)

    @property
    def prose(self) -> list[Section]:
        """The documentation between its first line and the examples, cut at its headings."""
        found = [Section("", "")]
        command = f"python tests/benchmarks/evidence.py {self.rule.code}"
        text = self.rule.documentation(f"see the table. Repeat with `{command}`.").partition("\nExample:\n")[0]
        for paragraph in text.split("\n\n")[1:]:
            match = _HEADING.match(paragraph)
            if match is not None:
                words = paragraph[match.end() :]
                found.append(Section(match[1], words[0].upper() + words[1:]))
            else:
                found[-1] = replace(found[-1], text=f"{found[-1].text}\n\n{paragraph}")
        return [section for section in found if section.text]

    @property
    def examples(self) -> dict[str, str]:
        """The code of the example and of its replacement, by their headings."""
        found = {}
        for heading in _EXAMPLES:
            with contextlib.suppress(KeyError):
                found[heading] = self.rule.example(heading)
        return found

    @property
    def fix(self) -> str:
        """What is said of its fix."""
        return _FIXES[self.rule.fixable]

    @property
    def results(self) -> list[dict[str, Any]]:
        """What was measured, by version."""
        return recorded(self.rule.code)

    @property
    def changes(self) -> Sequence[NameChange]:
        """The names that it is about, if it is about names."""
        return self.rule.name_changes()

    @property
    def versions(self) -> list[str]:
        """The versions that its text names."""
        found = set(_VERSION.findall(" ".join(self.rule.documentation().split())))
        found |= {("TensorFlow", one["tensorflow"]) for one in self.results}
        found |= {("Keras", one["keras"]) for one in self.results}
        ordered = sorted(found, key=lambda pair: (pair[0] != "TensorFlow", [int(part) for part in pair[1].split(".")]))
        return [f"{name} {number}" for name, number in ordered]

    @property
    def limits(self) -> Iterator[str]:
        """The programs that it does not check."""
        if self.rule.needs_gpu_memory:
            yield "It reports only where `gpu-memory` says how much memory the card has."
        if self.rule.skips_graphs:
            yield "Programs for TensorFlow 1 are not checked."
        if self.rule.skips_other_backends:
            yield "Programs that choose another backend for Keras than TensorFlow are not checked."
        if self.rule.skips_tests:
            yield "Test files are not checked."


def _searched(*texts: str) -> str:
    return " ".join(" ".join(texts).lower().split())
