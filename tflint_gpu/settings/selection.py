"""Which rules run in which file: `select`, `ignore` and their kin, with ruff's meaning.

A selector is a full code (`TFG101`), a rule's name, a prefix (`TFG1`, `TFG`) or `ALL`; the more specific one wins.
The rules are known by their files' names here, so that nothing is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tflint_gpu.catalogue import UNREADABLE_FILE, entries
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.patterns import FilePattern

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Layer:
    """The selectors of one place: a settings file or the command line."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PerFileIgnore:
    """Rules that are off in the files that match (or, negated, do not match) a pattern."""

    pattern: FilePattern
    negated: bool
    selectors: tuple[str, ...]

    def concerns(self, path: Path) -> bool:
        """Whether the file is one of those."""
        return self.pattern.matches(path) != self.negated


@dataclass(frozen=True, slots=True)
class Selected:
    """The codes that run, and those among them that somebody asked for by full code or by `ALL`."""

    codes: frozenset[str]
    by_full_code: frozenset[str]


@dataclass(frozen=True, slots=True)
class Selection:
    """All layers, the weakest first, and the exceptions for single files."""

    layers: tuple[Layer, ...] = ()
    per_file_ignores: tuple[PerFileIgnore, ...] = ()

    @property
    def names_rules(self) -> bool:
        """Whether something is selected by its code or prefix."""
        return any(layer.select or layer.extend_select for layer in self.layers)

    def names(self, code: str) -> bool:
        """Whether a rule is selected by its full code or by `ALL`, somewhere."""
        return any(not {code, "ALL"}.isdisjoint((*(layer.select or ()), *layer.extend_select)) for layer in self.layers)

    def codes_for(self, path: Path, known: Iterable[str] | None = None) -> Selected:
        """The rules that run in a file, given by its absolute path.

        A file that cannot be read is reported even where only single rules are selected: it
        would pass for clean. Only ignoring it by name or prefix turns that off.

        Arguments:
            path: of the file.
            known: the codes there are, if not those of the catalogue.
        """
        codes = frozenset(known_codes() if known is None else known) | {UNREADABLE_FILE}
        selected, by_full_code = codes, frozenset[str]()
        for layer in self.layers:
            selected, by_full_code = _apply(layer, codes, selected, by_full_code)
        for exception in self.per_file_ignores:
            if exception.concerns(path):
                selected -= {code for code in codes if _any_covers(exception.selectors, code)}
        return Selected(selected, selected & by_full_code)


def known_codes() -> tuple[str, ...]:
    """The codes of the catalogue."""
    return tuple(entry.code for entry in entries())


def code_of(selector: str) -> str:
    """The code of the rule that a selector names, such as `numpy-in-call`; other selectors as they are."""
    return next((entry.code for entry in entries() if entry.name == selector), selector)


def selectable() -> list[str]:
    """The codes and names of all rules."""
    return [word for entry in entries() for word in (entry.code, entry.name)]


def unknown_selector(selector: str) -> bool:
    """Whether a selector means no rule."""
    return selector != "ALL" and not any(covers(selector, code) for code in {UNREADABLE_FILE, *known_codes()})


_OWNERS = {
    "pycodestyle": "E W", "Pyflakes": "F", "mccabe": "C9", "flake8-bugbear": "B", "pydocstyle": "D", "isort": "I",
    "pep8-naming": "N", "flake8-bandit": "S", "pyupgrade": "UP", "flake8-simplify": "SIM", "Pylint": "PL C R",
    "ruff": "RUF", "flake8-annotations": "ANN", "flake8-comprehensions": "C4", "flake8-use-pathlib": "PTH",
    "TorchFix": "TOR", "flake8-async": "ASYNC", "Perflint": "PERF", "tryceratops": "TRY", "eradicate": "ERA",
    "ruff's rules for NumPy": "NPY", "pandas-vet": "PD", "flake8-print": "T2", "refurb": "FURB",
}  # fmt: skip


def owner_of(selector: str) -> str | None:
    """The linter whose code a selector is; None where it may be a misspelt one of ours."""
    if not re.fullmatch(r"[A-Z]+[0-9]+", selector):
        return None
    prefixes = {prefix: owner for owner, listed in _OWNERS.items() for prefix in listed.split()}
    letters = selector.rstrip("0123456789")
    return prefixes.get(letters + selector[len(letters)]) or prefixes.get(letters) or prefixes.get(letters[:2])


def most_specific(pairs: Iterable[tuple[str, _T]], code: str) -> _T | None:
    """Of values by selector the one whose selector says most about a code; of equals the last."""
    covering = [(selector, value) for selector, value in pairs if covers(selector, code)]
    return max(reversed(covering), key=lambda pair: _length(pair[0]))[1] if covering else None


def covers(selector: str, code: str) -> bool:
    """Whether a selector means a code; a prefix must have the letters whole (`TFG`, `TFG1`, not `T`)."""
    if selector == "ALL":
        return True
    letters = code.rstrip("0123456789")
    return selector.startswith(letters) and code.startswith(selector)


def _any_covers(selectors: Iterable[str], code: str) -> bool:
    return any(covers(selector, code) for selector in selectors)


def _apply(
    layer: Layer, codes: frozenset[str], selected: frozenset[str], by_full_code: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """One layer over those below: its `select` replaces what they chose, the rest adds and removes."""
    if layer.select is not None:
        selected = by_full_code = frozenset[str]()
        selected |= {UNREADABLE_FILE}
    verdicts: dict[str, bool] = {}
    for selector, verdict in sorted(_verdicts(layer), key=_specificity):
        for code in codes:
            if covers(selector, code):
                verdicts[code] = verdict
    chosen = {code for code, verdict in verdicts.items() if verdict}
    dropped = {code for code, verdict in verdicts.items() if not verdict}
    asking = {selector for selector, verdict in _verdicts(layer) if verdict}
    full = codes if "ALL" in asking else asking & codes
    return (selected | chosen) - dropped, (by_full_code | full) - dropped


def _verdicts(layer: Layer) -> Iterator[tuple[str, bool]]:
    for selectors in (layer.select or (), layer.extend_select):
        yield from ((selector, True) for selector in selectors)
    for selectors in (layer.ignore, layer.extend_ignore):
        yield from ((selector, False) for selector in selectors)


def _specificity(verdict: tuple[str, bool]) -> tuple[int, bool]:
    """Longer selectors later; between equals, ignoring has the last word."""
    selector, selects = verdict
    return (_length(selector), not selects)


def _length(selector: str) -> int:
    return 0 if selector == "ALL" else len(selector)
