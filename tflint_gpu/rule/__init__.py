"""What a rule is, and what it yields."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tflint_gpu.catalogue import UNREADABLE_FILE, UNUSED_SUPPRESSION, RuleEntry, entries, table_of, with_package
from tflint_gpu.diagnostics import Applicability, OnCpu, Prediction
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.plugins import OURS, WrongPlugin
from tflint_gpu.rule.evidence import PLACEHOLDER, measured
from tflint_gpu.rule.experiment import (
    HARNESS,
    Change,
    Experiment,
    NoExperiment,
    Workload,
    eager_against_traced,
    fix_changes,
    measured_loop,
    next_statement,
    wrap,
)
from tflint_gpu.rule.finding import UNTRIED, Edit, Finding, Fix, Note, importing, notes_before, notes_on, offered, tried
from tflint_gpu.rule.fixes import (
    calls_under_functions,
    draw_in_graph,
    given_otherwise,
    leave_out,
    moved_above_initialiser,
    moved_statements,
    predict_on_batch,
    with_keyword,
)
from tflint_gpu.rule.reordering import method_text, moved_after, moved_before, removed
from tflint_gpu.severity import Severity

if TYPE_CHECKING:
    from tflint_gpu.model import Model

__all__ = [
    "FIRST_VERSION",
    "HARNESS",
    "UNREADABLE_FILE",
    "UNTRIED",
    "UNUSED_SUPPRESSION",
    "Applicability",
    "Change",
    "Edit",
    "Experiment",
    "Finding",
    "Fix",
    "NameChange",
    "NoExperiment",
    "Note",
    "OnCpu",
    "Prediction",
    "Rule",
    "RuleEntry",
    "Workload",
    "calls_under_functions",
    "draw_in_graph",
    "eager_against_traced",
    "entries",
    "fix_changes",
    "given_otherwise",
    "importing",
    "leave_out",
    "load",
    "measured_loop",
    "method_text",
    "moved_above_initialiser",
    "moved_after",
    "moved_before",
    "moved_statements",
    "next_statement",
    "notes_before",
    "notes_on",
    "offered",
    "predict_on_batch",
    "removed",
    "table_of",
    "tried",
    "with_keyword",
    "wrap",
]

FIRST_VERSION = "0.1.0"
"""Of tflint-gpu; CHANGELOG.md lists the rules of each."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """An old name and what became of it, as users write it; versions are empty where nothing happened."""

    old: str
    new: str
    since: str
    deprecated: str = ""
    removed: str = ""


class Rule:
    """Base class of all rules. A rule is stateless; its docstring is its documentation.

    The docstring has a summary, then paragraphs that begin with a heading: `Why:`, `Reported:`, `Not reported:` (the
    last two are lists), `Measured:`, `Fix:`, and the blocks `Example:` and `Use instead:`. What the class attributes
    leave out is added to `Not reported:`.

    Class attributes:
        code, name: what users write in settings and suppressions.
        severity: of its findings, unless a finding says otherwise.
        least_tensorflow: the oldest release that it is about; code meant for an older one is not parsed for it.
        required_substrings: groups of byte strings; a file in which some group has no member cannot
            hold a finding of this rule and is not parsed for it.
        nearby_substrings: one more group, of which a member may also be in a file of the project
            that the file imports: `train.py` consumes what `data.py` builds.
        loops_nearby: needs a loop, or what may be handed to one, there or near: a program may only call what loops.
        skips_tests: tiny batches and untraced steps are meant in tests, so test files are not checked.
        skips_graphs: is about code that runs eagerly, so programs for TensorFlow 1 are not checked.
        skips_other_backends: what it says of Keras holds on TensorFlow, so programs that choose another backend are not
            checked.
        once_a_project: what it finds in one program holds for the others of its project, so that a report of several
            files says it once.
        needs_gpu_memory: compares with the setting `gpu-memory`, and finds nothing without it.
        unnecessary: the code that it finds does nothing, so that the program is the same without it; editors fade it.
        opt_in: runs only when `select` or `extend-select` has its full code, its name or `ALL`; its file's name ends
            with `__opt_in`, so that the catalogue knows it without an import.
        since: the version of its package that brought it, where that is not the first.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity] = "warning"
    least_tensorflow: ClassVar[tuple[int, int]] = (0, 0)
    required_substrings: ClassVar[tuple[tuple[bytes, ...], ...]] = ()
    nearby_substrings: ClassVar[tuple[bytes, ...]] = ()
    loops_nearby: ClassVar[bool] = False
    skips_tests: ClassVar[bool] = False
    skips_graphs: ClassVar[bool] = False
    skips_other_backends: ClassVar[bool] = False
    once_a_project: ClassVar[bool] = False
    needs_gpu_memory: ClassVar[bool] = False
    unnecessary: ClassVar[bool] = False
    opt_in: ClassVar[bool] = False
    fixable: ClassVar[Applicability | None] = None
    since: ClassVar[str] = ""

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield what this rule finds in one file. Raises nothing for any parsable input."""
        raise NotImplementedError

    def experiments(self, finding: Finding, model: Model) -> Iterable[Experiment]:
        """How `verify` can see what a finding predicts.

        Arguments:
            finding: one that `check` yielded for this model.

        Raises:
            NoExperiment: it cannot be seen by running this code.
        """
        raise NoExperiment("this rule has no experiment")

    @classmethod
    def summary(cls) -> str:
        """The first line of the documentation."""
        return cls.documentation().partition("\n")[0]

    @classmethod
    def tags(cls) -> tuple[str, ...]:
        """When it runs, and what fix it has, in words to search for."""
        runs = "opt-in" if cls.opt_in else "default"
        return (
            runs,
            *([f"{cls.fixable} fix"] if cls.fixable else []),
            *(["needs gpu-memory"] if cls.needs_gpu_memory else []),
        )

    @classmethod
    def version(cls) -> str:
        """The version of tflint-gpu that brought it; empty for a rule of another package that does not say it."""
        return cls.since or (FIRST_VERSION if cls.code.startswith(OURS) else "")

    @classmethod
    def documentation(cls, figures: str | None = None) -> str:
        """The rule's docstring without indentation.

        Arguments:
            figures: what to write for what was measured; by default, in words, what was.
        """
        text = inspect.cleandoc(cls.__doc__ or "")
        left_out = "".join(f"\n- {words}" for words in cls._left_out())
        paragraphs = [p + left_out if p.startswith("Not reported:") else p for p in text.split("\n\n")]
        if cls.opt_in:
            named = f"`{cls.code}`, its name or `ALL`"
            paragraphs.insert(1, f"Opt-in: runs only where `select` or `extend-select` has {named}.")
        if PLACEHOLDER not in text:
            return "\n\n".join(paragraphs)
        import textwrap  # with seven expressions to compile, for documentation only

        words = measured(cls.code) if figures is None else figures
        filled = [p.replace(PLACEHOLDER, words) if PLACEHOLDER in p else p for p in paragraphs]
        return "\n\n".join(textwrap.fill(p, 100) if "Measured:" in p else p for p in filled)

    @classmethod
    def _left_out(cls) -> Iterator[str]:
        """Which code the class attributes leave out, in the words of the documentation."""
        if cls.skips_tests:
            yield "test files"
        if cls.skips_graphs:
            names = "they use its names without `tf.function` or `tf.GradientTape`"
            yield f"programs for TensorFlow 1: {names}, or turn eager execution off"
        if cls.least_tensorflow > (2, 0):
            yield f"projects whose target version is before TensorFlow {'.'.join(map(str, cls.least_tensorflow))}"
        if cls.skips_other_backends:
            yield "programs that choose a Keras backend other than TensorFlow"
        if cls.needs_gpu_memory:
            yield "projects without the setting `gpu-memory`, which says how much memory the GPU has"

    @classmethod
    def fix_note(cls) -> str:
        """Whether there is a fix, and what makes it unsafe, or why there can be none: the paragraph "Fix:"."""
        paragraphs = cls.documentation("").split("\n\n")
        note = next((paragraph for paragraph in paragraphs if paragraph.startswith("Fix: ")), "")
        return " ".join(note.removeprefix("Fix: ").split())

    @classmethod
    def name_changes(cls) -> Sequence[NameChange]:
        """The old names that the rule is about, if it is about names."""
        return ()

    @classmethod
    def example(cls, heading: str) -> str:
        """The indented block below `heading:` in the documentation, as source code.

        Raises:
            KeyError: the documentation has no such heading.
        """
        lines = iter(cls.documentation().splitlines())
        for line in lines:
            if line == f"{heading}:":
                break
        else:
            raise KeyError(heading)
        block: list[str] = []
        for line in lines:
            if line and not line.startswith(" "):
                break
            block.append(line)
        import textwrap

        return textwrap.dedent("\n".join(block)).strip("\n") + "\n"


def load(codes: Iterable[str]) -> tuple[Rule, ...]:
    """Import and instantiate the rules of these codes, in the order of the catalogue.

    Raises:
        WrongPlugin: the module of a rule of others fails.
    """
    wanted = set(codes)
    return tuple(_instantiate(entry) for entry in entries() if entry.code in wanted)


def _instantiate(entry: RuleEntry) -> Rule:
    try:
        module = importlib.import_module(entry.module)
    except (Exception, SystemExit) as error:
        if entry.code.startswith(OURS):
            raise
        raise WrongPlugin(
            f"{with_package(entry.code)} cannot be imported: {type(error).__name__}: {error}; fix or uninstall it"
        ) from error
    declared: Iterable[type[Rule]] = getattr(module, "RULES", None) or [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == entry.module
    ]
    for rule in declared:
        if (rule.code, rule.name, rule.opt_in) == (entry.code, entry.name, entry.opt_in):
            return rule()
    said = ", ".join(f"{rule.code} {rule.name}{', opt-in' if rule.opt_in else ''}" for rule in declared)
    raise ImportError(f"{entry.module} declares {said}" if said else f"{entry.module} defines no rule")
