"""The rows of `renames.toml` and what they say: which names are old, since when, and what the documentation tells."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import is_keras_3
from tflint_gpu.model.library.spellings import names_of
from tflint_gpu.rule import Applicability, NameChange

if TYPE_CHECKING:
    from tflint_gpu.model import Mention, Model

KERAS_3 = "Keras 3"
TF_NAME = regex(r"\btensorflow((?:\.\w+)+)")
_REPORTED = "an old name, if the target version or an earlier one removed, deprecated or renamed it"
_NOT_REPORTED = "code in a `try` that handles missing names, and code under a condition on the version"
_MOST_NAMES = 40
"""So many names are written out in a rule's documentation; the table of changes has all."""
State = Literal["removed", "deprecated", "renamed"]


@dataclass(frozen=True, slots=True)
class Rename:
    """One old name and what became of it; `renames.toml` says what each field means."""

    old: str = ""
    method: str = ""
    keywords: tuple[str, ...] = ()
    attribute: str = ""
    of: str = ""
    new: str = ""
    since: str = "2.0"
    deprecated: str = ""
    removed: str = ""
    fix: Literal["safe", "unsafe", ""] = ""
    arguments: int | None = None
    accepts: tuple[str, ...] | None = None
    parameters: tuple[str, ...] = ()
    methods: str = ""
    call: str = ""
    statements: Literal["scope", "growth", ""] = ""
    calls: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    missing: str = ""
    value: str = ""
    drops: tuple[str, ...] = ()
    kind: Literal["layer", "metric", "optimizer", "scaler", "callback", ""] = ""
    first: Literal["text", "rate", ""] = ""
    raises: str = ""
    ignored: bool = False
    help: str = ""
    when: Literal["called", "given", "attribute", ""] = ""

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Iterator[Rename]:
        """From the table, whose lists become tuples; one for each name that braces stand for."""
        fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        olds, news = (list(names_of(fields.pop(field, ""))) for field in ("old", "new"))
        for place, old in enumerate(olds):
            yield cls(old=old, new=news[place % len(news)], **fields)

    @property
    def change(self) -> NameChange:
        """The row as the documentation shows it."""
        old, new = shown(self.old), shown(self.new)
        owner = self.kind.capitalize() or "Model"
        if self.calls:
            functions = ", ".join(map(shown, self.calls))
            old = f"{functions}({f'without {self.missing}=' if self.missing else _as_arguments(self.keywords)})"
            new = f"{self.missing or new}=" if new or self.missing else ""
        elif self.method:
            new = f"{owner}.{new}" if new and not self.keywords else f"{new}=" if new else ""
            old = f"{owner}.{self.method}({_as_arguments(self.keywords)})"
        elif self.attribute:
            old = f"{shown(self.of)}(...).{self.attribute}" if self.of else f"{owner}.{self.attribute}"
            new = f"{owner}.{new}" if new else ""
        return NameChange(old, new, self.since if new else "", self.deprecated, self.removed)

    def state(self, model: Model) -> State | None:
        """What the old name is in the target version; None where it is as good as any."""
        target = model.target.tensorflow
        if self._is_removed(model):
            return "removed"
        if target < _version(self.since):
            return None
        if self.deprecated:
            return "deprecated" if target >= _version(self.deprecated) else None
        return None if self.removed else "renamed"

    def _is_removed(self, model: Model) -> bool:
        if self.removed == KERAS_3:
            return model.once(is_keras_3)
        return bool(self.removed) and model.target.tensorflow >= _version(self.removed)

    @property
    def words(self) -> tuple[str, ...]:
        """What a file must have one of that uses it."""
        if self.missing or any(len(keyword) == 1 for keyword in self.keywords):  # a letter is in every file
            return tuple(name.rpartition(".")[2] for name in self.calls)
        if self.kind == "callback":
            return ("Callback",)  # an attribute's name alone may be in every file
        single = self.old.rpartition(".")[2] or self.attribute
        return (single,) if single else self.keywords or (self.method,)

    def gone(self, call: cst.Call) -> list[cst.Arg]:
        """Those of a call's arguments that are gone."""
        return [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in self.keywords]

    def takes(self, call: cst.Call | None) -> bool:
        """Whether the new function may be given the arguments of a call."""
        if call is None or self.arguments is None:
            return True
        if any(arg.star for arg in call.args):
            return False
        known = None if self.accepts is None else {word.partition("=")[0] for word in self.accepts}
        given = [arg.keyword.value for arg in call.args if arg.keyword is not None]
        return len(call.args) - len(given) <= self.arguments and (known is None or known.issuperset(given))

    def keywords_of(self, call: cst.Call) -> dict[cst.CSTNode, str]:
        """What to write for the keywords of a call that the new function calls otherwise."""
        others = dict(word.split("=") for word in self.accepts or () if "=" in word)
        keywords = [arg.keyword for arg in call.args if arg.keyword is not None and arg.keyword.value in others]
        return {keyword: others[keyword.value] for keyword in keywords}


def is_met(model: Model, rename: Rename, mention: Mention) -> bool:
    """Whether a name fails in the way in which it is mentioned."""
    if rename.when == "called":
        return mention.statement is not None or model.file.call_at(mention.node) is not None
    if rename.when != "attribute":
        return True
    root = mention.node
    while isinstance(root, cst.Attribute):
        root = root.value
    module = rename.old.rpartition(".")[0]
    if mention.statement is not None or module.startswith(f"{model.file.names.written(root)}.") is False:
        return False
    last = module.rpartition(".")[2].encode()
    imports = re.compile(rb"(?:from|import)[ \t][^\n]*\b" + last + rb"\b")
    return imports.search(model.source.text.encode("utf-8", "replace")) is None and not any(
        model.project.matches(path, imports) for path in model.project.reached(model.source)
    )


def _as_arguments(keywords: tuple[str, ...]) -> str:
    return ", ".join(f"{keyword}=" for keyword in keywords)


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def first_without(rename: Rename) -> str:
    """The TensorFlow from which on there is no old name."""
    return "2.16" if rename.removed == KERAS_3 else rename.removed


def shown(name: str) -> str:
    """A name as users write it: `tf.data.AUTOTUNE`."""
    return TF_NAME.sub(r"tf\1", name)


def documentation(row: dict[str, Any], renames: tuple[Rename, ...]) -> str:
    """The docstring of a rule, as others have theirs written out."""
    known = [f"`{shown(r.old)}` is now `{shown(r.new)}`" for r in renames if r.old and r.new]
    paragraphs = [
        row["summary"],
        _filled(f"Why: {row['why']}"),
        _listed("Reported", row.get("reported", [_REPORTED])),
        _listed("Not reported", [*row.get("not_reported", ()), _NOT_REPORTED]),
        *([_listed("Names", known)] if 1 < len(known) <= _MOST_NAMES else []),
        _filled(
            "Measured: a test looks these names up in the installed TensorFlow, also in TensorFlow 2.15. For earlier "
            "versions, the names were looked up in the packages of TensorFlow and Keras."
        ),
        _filled(_fix_note(row, renames)),
    ]
    for heading, key in (("Example", "example"), ("Use instead", "instead")):
        code = row[key].strip("\n")
        paragraphs.append(f"{heading}:\n" + textwrap.indent(f"import tensorflow as tf\n\n{code}", "    "))
    return "\n\n".join(paragraphs) + "\n"


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(" ".join(text.split()), 110, subsequent_indent=indent, break_on_hyphens=False)


def _listed(heading: str, items: Iterable[str]) -> str:
    return "\n".join([f"{heading}:", *(_filled(f"- {item}", "  ") for item in items)])


def fixable(renames: tuple[Rename, ...]) -> Applicability | None:
    """The best that a fix of one of the names is."""
    fixes = {rename.fix for rename in renames}
    return "safe" if "safe" in fixes else "unsafe" if "unsafe" in fixes else None


def _fix_note(row: dict[str, Any], renames: tuple[Rename, ...]) -> str:
    kind = fixable(renames)
    if kind is None:
        return "Fix: none, because nothing replaced these names."
    same, other = "the new name means the same", "the replacement may behave differently"
    why = f"{kind}: {same if kind == 'safe' else other}"
    if {"safe", "unsafe"} <= {rename.fix for rename in renames}:
        why = f"safe if {same}, unsafe if {other}"
    are_calls = any(r.arguments is not None or r.parameters or r.new.endswith(")") for r in renames)
    rest = "A call is not changed if the replacement does not accept all its arguments." if are_calls else ""
    return f"Fix: {why}. {row.get('fix_note', '')} {rest}"
