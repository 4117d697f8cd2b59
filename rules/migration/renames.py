"""TFG7: names of TensorFlow and Keras that are gone or going, one rule for each table of `renames.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Guards, Kinds, Runtime, is_for_tensorflow_1, without_arguments
from tflint_gpu.model.library.keras_methods import WORKER_ARGUMENTS
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Prediction,
    Rule,
    Workload,
    table_of,
)

from .chains import called, rewritten
from .statements import growth_of_all, in_scope
from .table import KERAS_3, TF_NAME, Rename, documentation, first_without, fixable, is_met, shown
from .workers import reading

if TYPE_CHECKING:
    from tflint_gpu.model import Mention, Model
    from tflint_gpu.rule import (
        NameChange,
    )

    from .table import State


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an old name.

    Arguments:
        place: the expression or import.
        node: what of it is old.
        name: that, as users write it.
        error: what is raised where the name is gone; empty where it says nothing and is ignored.
        owner: what it is an argument or a part of.
        help: what to do, where the rule's table does not say it.
    """

    rename: Rename
    place: cst.CSTNode
    node: cst.CSTNode
    name: str
    error: str = ""
    fix: Fix | None = None
    owner: str = ""
    help: str = ""


class Renamed(Rule):
    """What all rules of the table have in common."""

    least_tensorflow = (2, 0)
    skips_graphs = True
    row: dict[str, Any]
    renames: tuple[Rename, ...]

    @classmethod
    def name_changes(cls) -> list[NameChange]:
        """The rows of the table."""
        return [rename.change for rename in cls.renames]

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the old names of the file; nothing in programs for TensorFlow 1, or that ask which version there is."""
        if model.once(is_for_tensorflow_1):
            return
        for use in self.uses(model):
            state = use.rename.state(model)
            if state is None or model.once(Guards).depends_on_version(model.file, use.place):
                continue
            if state == "removed" or not model.once(Runtime).is_graph_code(model.file, use.place):
                yield self._finding(model, use, state)

    def uses(self, model: Model) -> Iterator[Use]:
        """The old names of the file, in whatever version."""
        yield from self.names(model)
        yield from self._methods(model)
        yield from self._attributes(model)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The table's own program: whether a name is there depends on nothing else."""
        if finding.prediction.kind != "crash":
            raise NoExperiment("the old name still works")
        program, old, new = self.row["trial"]
        text = f"import tensorflow as tf\n\n{program}\ntflint_measure.reached()"
        yield Experiment(model.file, finding.node, workload=Workload(text, ((old, new),)), only_workload=True)

    def names(self, model: Model) -> Iterator[Use]:
        """The old names of the file that are imported, or written in full."""
        renames = {rename.old: rename for rename in self.renames if rename.old}
        told = set[tuple[cst.CSTNode, str]]()
        is_replaced = cache(partial(model.project.replaces, model.file))
        for mention in model.mentions.of(*renames):
            if isinstance(model.file.tree.parents.get(mention.node), cst.AssignTarget):
                continue  # put there by a test or a patch: a call by this name works
            rename = renames[mention.name]
            if not is_met(model, rename, mention):
                continue
            error = rename.raises or ("AttributeError" if mention.statement is None else "ImportError")
            place = mention.statement or mention.node
            if (place, mention.name) in told:
                continue  # an import of several things out of a module that is gone
            told.add((place, mention.name))
            fix = _name_fix(model, mention, renames)
            if fix is not None and is_replaced(rename.old):
                fix = None  # what a test puts in place of the old name is not called by the new one
            yield Use(rename, place, mention.node, shown(rename.old), error, fix)

    def _methods(self, model: Model) -> Iterator[Use]:
        for rename in self.renames:
            if not rename.method or rename.state(model) is None:
                continue
            for call in model.method_calls(rename.method):
                gone = rename.gone(call)
                if (rename.keywords and not gone) or not isinstance(call.func, cst.Attribute):
                    continue
                if model.inference.called(model.file, call) is not None:
                    continue  # a method of the project's own
                if model.once(Kinds).receiver(model.file, call, rename.method) is None:
                    continue
                if not gone:
                    fix = _method_fix(model, rename, call)
                    yield Use(rename, call, call.func.attr, rename.method, "AttributeError", fix)
                elif gone[0].keyword is not None:
                    name = "`, `".join(arg.keyword.value for arg in gone if arg.keyword is not None)
                    fix = _method_fix(model, rename, call)
                    yield Use(rename, call, gone[0].keyword, name, "TypeError", fix)

    def _attributes(self, model: Model) -> Iterator[Use]:
        for rename in self.renames:
            reported: set[cst.CSTNode] = set()
            for node in model.mentions.attributes(rename.attribute) if rename.attribute else ():
                origins = model.inference.of(model.file, node.value)
                made = {o.node for o in origins if o.call and o.file.names.written(o.call.func) == rename.of}
                if origins and len(made) == len(origins) and not made <= reported:
                    reported |= made
                    edits = growth_of_all(model, node) if rename.statements == "growth" else ()
                    fix = Fix("Turn memory growth on for every GPU", "unsafe", edits) if edits else None
                    yield Use(rename, node, node.attr, rename.attribute, fix=fix)

    def _finding(self, model: Model, use: Use, state: State) -> Finding:
        crash = state == "removed"
        help_text = use.help or self.row.get("help") or f"write `{shown(use.rename.new)}`"
        return Finding(
            model.file,
            use.node,
            self._message(model, use, state),
            Prediction(
                "wrong-result" if crash and not use.error else "crash" if crash else "no-effect",
                (f"tensorflow>={first_without(use.rename)}",) if crash else (),
                basis="the names that the packages of TensorFlow and Keras define, by version",
            ),
            help=help_text,
            severity="error" if crash and use.error else "warning" if crash or state == "deprecated" else "advice",
            fix=use.fix,
        )

    def _message(self, model: Model, use: Use, state: State) -> str:
        rename, name = use.rename, use.name
        version = ".".join(map(str, model.target.tensorflow))
        if state == "removed" and rename.removed == KERAS_3:
            return _gone_from_keras(use, version)
        if state == "removed" and rename.old.startswith("keras."):
            return f"`{name}` is not in the Keras that comes with TensorFlow {version}: this raises {use.error}"
        if state == "removed":
            return f"`{name}` was removed in TensorFlow {rename.removed}: with {version} this raises {use.error}"
        if "message" in self.row:
            return str(self.row["message"]).format(name=name)
        if state == "deprecated":
            return f"`{name}` is deprecated since TensorFlow {rename.deprecated}"
        new = shown(rename.new)
        return f"`{name}` is called `{new}` since TensorFlow {rename.since}; the old name still works in {version}"


def _gone_from_keras(use: Use, version: str) -> str:
    rename = use.rename
    owner = use.owner or rename.method
    if rename.when == "called":
        what = "cannot be called in Keras 3"
    elif rename.when == "given" or rename.values:
        what = "is not a value in Keras 3"
    elif rename.first == "text":
        what = f"is in the position of `shape` in `{owner}` of Keras 3"
    elif rename.missing:
        what = f"must be given to `{owner}` in Keras 3"
    elif rename.first or not (rename.keywords or rename.attribute):
        what = "is not in Keras 3" if not rename.first else "does not accept variables of Keras 3"
    elif not use.error:
        what = f"has no effect on {owner if rename.attribute else f'`{owner}`'} in Keras 3"
    elif rename.kind == "callback":
        what = f"of {owner} cannot be set in Keras 3"
    elif rename.attribute:
        what = f"does not exist in {owner} in Keras 3"
    else:
        what = f"{'are not arguments' if '`, `' in use.name else 'is not an argument'} of `{owner}` in Keras 3"
    does = f"this raises {use.error}" if use.error else "it is silently ignored"
    return f"`{use.name}` {what}, which comes with TensorFlow {version}: {does}"


def _name_fix(model: Model, mention: Mention, renames: dict[str, Rename]) -> Fix | None:
    rename, file = renames[mention.name], model.file
    if not rename.fix:
        return None
    if rename.methods:
        edit = rewritten(model, mention.node, rename.parameters, rename.methods)
        return None if edit is None else Fix("Use the methods that replaced it", rename.fix, (edit,))
    if rename.call:
        edit = called(model, mention.node, rename.parameters, rename.call)
        return None if edit is None else Fix(f"Write `{shown(rename.new)}`", rename.fix, (edit,))
    if rename.statements:
        moved = in_scope(model, mention.node)
        return Fix("Build the model under `MirroredStrategy().scope()`", rename.fix, moved) if moved else None
    edits: tuple[Edit, ...] = ()
    if mention.statement is not None:
        plain = {old: other.new for old, other in renames.items() if other.new and "(" not in other.new}
        edits = tuple(Edit(node, text) for node, text in model.mentions.reimported(mention, plain))
    elif isinstance(mention.node, cst.BaseExpression) and not any(
        name.startswith(f"{mention.name}.") for name in renames
    ):
        if rename.new.startswith('"'):
            return Fix(f"Write `{rename.new}`", rename.fix, (Edit(mention.node, rename.new),))
        match = TF_NAME.search(rename.new)
        dotted = match[0] if match else rename.new
        spelled = model.mentions.respelled(mention.node, dotted)
        call = file.call_at(mention.node)
        replaced = mention.node if dotted == rename.new else call if call is not None and not call.args else None
        if spelled is not None and replaced is not None:
            edits = (Edit(replaced, rename.new.replace(dotted, spelled)),)
    for edit in edits:
        known = renames.get(file.names.written(edit.node) or "")
        if known is not None and not known.takes(file.call_at(edit.node)):
            return None
    edits = tuple(edit for edit in edits if file.code(edit.node) != edit.text)
    return Fix(f"Write `{shown(rename.new)}`", rename.fix, edits) if edits else None


def _method_fix(model: Model, rename: Rename, call: cst.Call) -> Fix | None:
    """The new method, without the arguments that Keras 3 does not take: they go to the data."""
    if not rename.fix or not rename.takes(call) or not isinstance(call.func, cst.Attribute):
        return None
    has_workers = rename.state(model) != "removed"
    gone = [a for a in call.args if not has_workers and a.keyword is not None and a.keyword.value in WORKER_ARGUMENTS]
    read = reading(model, call, gone)
    if read is None:
        return None
    new: dict[cst.CSTNode, str] = rename.keywords_of(call) | dict(read.replaced)
    edits = [Edit(node, text) for node, text in new.items()]
    if rename.new:
        edits.append(Edit(call.func.attr, rename.new))
    if gone:
        edits = [Edit(call, without_arguments(model.file, call, gone, rename.new, new))]
    names = " and ".join(f"`{arg.keyword.value}`" for arg in gone if arg.keyword is not None)
    words = (
        f"Write `{rename.new}`" if rename.new else f"Move {names} to the data" if read.edits else f"Leave out {names}"
    )
    return Fix(words, "unsafe" if read.edits else rename.fix, (*read.edits, *edits))


def rules_of(table: Path, base: type[Renamed], **usual: str) -> tuple[type[Rule], ...]:
    """The rules of a table.

    Arguments:
        usual: what its rows have where they say nothing else.
    """
    return tuple(_rule(code, row, base, usual) for code, row in table_of(table).items())


def _rule(code: str, row: dict[str, Any], base: type[Renamed], usual: dict[str, str]) -> type[Rule]:
    renames = tuple(rename for fields in row["renames"] for rename in Rename.of_row({**usual, **fields}))
    removed = any(rename.removed for rename in renames)
    deprecated = any(rename.deprecated for rename in renames)
    words = row.get("required_substrings") or [sorted({word for rename in renames for word in rename.words})]
    return type(
        "".join(word.capitalize() for word in row["name"].split("-")),
        (base,),
        {
            "__doc__": documentation(row, renames),
            "__module__": base.__module__,
            "code": code,
            "name": row["name"],
            "severity": row.get("severity") or ("error" if removed else "warning" if deprecated else "advice"),
            "required_substrings": tuple(tuple(word.encode() for word in group) for group in words),
            "fixable": fixable(renames),
            "row": row,
            "renames": renames,
        },
    )


RULES = rules_of(Path(__file__).with_suffix(".toml"), Renamed)
