"""TFG308 discarded-dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    BATCHING,
    DATASET_SUBSTRINGS,
    TRANSFORMATIONS,
    MappedFunctions,
    Pipelines,
    UnknownRanks,
    method_name,
)
from tflint_gpu.model.library.datasets import SAME_ELEMENTS
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Prediction,
    Rule,
    Workload,
    next_statement,
    offered,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Blocker, Chain, File, Model, Operation


class DiscardedDataset(Rule):
    """A dataset operation is called and its result is thrown away.

    Why: datasets are immutable. `map`, `batch`, `shuffle`, `prefetch` and similar operations return a new dataset and
    leave the old one as it was. A statement that is only such a call has no effect on the data: it stays unshuffled,
    unbatched or unmapped. In a test, a discarded `map` may be intended: it checks whether a function can be traced.

    Reported:
    - a statement that is only a call of a dataset operation

    Not reported:
    - a call that is all of a notebook's cell, which shows its value

    Measured: follows from tf.data's interface: every operation returns a new `Dataset`
    (tensorflow/python/data/ops/dataset_ops.py). A test shows it with the installed TensorFlow.

    Fix: unsafe: the operation had no effect before, and now changes the data. There is no fix where the code after it
    may not be written for the new elements: for a second `batch`, a `repeat` without a number, a `map` that returns a
    different number of components than it gets, or tensors of unknown rank, such as those from `tf.py_function`.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100)
        dataset.shuffle(100)
        print(list(dataset))

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100)
        dataset = dataset.shuffle(100)
        print(list(dataset))
    """

    code = "TFG308"
    name = "discarded-dataset"
    unnecessary = True
    required_substrings = (tuple(f".{name}(".encode() for name in sorted(TRANSFORMATIONS)),)
    nearby_substrings = DATASET_SUBSTRINGS
    skips_tests = True
    fixable = "unsafe"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the last operation of each expression statement that is a chain of a dataset."""
        for statement in model.file.tree.expression_statements:
            call = statement.value
            if not isinstance(call, cst.Call) or method_name(call) not in TRANSFORMATIONS:
                continue
            chains = model.once(Pipelines).chains(model.file, call)
            if not all(chain.certain and chain.operations for chain in chains) or _is_shown(model.file, call):
                continue
            assert isinstance(call.func, cst.Attribute)
            fix, withheld = offered(_fix(model, call, chains))
            yield Finding(
                model.file,
                call.func.attr,
                f"the dataset that `{method_name(call)}` returns is thrown away: datasets are immutable, "
                "so the data is unchanged",
                Prediction("wrong-result", (), basis="every tf.data operation returns a new dataset"),
                help="assign the result",
                fix=fix,
                notes=withheld,
                subject=call,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Is the variable still the same dataset after the statement?"""
        call = finding.subject_as(cst.Call)
        statement = model.file.tree.statement(call)
        name = _variable(model, call)
        if name is None:
            raise NoExperiment("the chain does not start from a variable")
        kept = f"tflint_before = {name}\n{model.file.indentation(statement)}"
        asked = f'tflint_measure.unchanged("{name}", tflint_before, {name}, "{model.file.code(finding.node)}")'
        yield Experiment(
            model.file,
            call,
            probes=(Change(model.file, statement, kept, "before"), next_statement(model.file, statement, asked)),
            repair=(Change(model.file, call, f"{name} = ", "before"),),
            workload=_WORKLOAD,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100)
        before = dataset
        dataset.shuffle(100)
        tflint_measure.unchanged("dataset", before, dataset, "shuffle")
    """,
    changes=(("dataset.shuffle(100)", "dataset = dataset.shuffle(100)"),),
)


def _is_shown(file: File, call: cst.Call) -> bool:
    """Whether a call is all of a notebook's cell, which shows its value."""
    return file.source.shows(*file.span(call))


def _variable(model: Model, call: cst.Call) -> str | None:
    """The variable at the head of a chain, which a statement at the chain's place may assign."""
    head: cst.BaseExpression = call
    while isinstance(head, cst.Call) and isinstance(head.func, cst.Attribute):
        head = head.func.value
    if not isinstance(head, cst.Name):
        return None
    if any(model.inference.instance_class(origin) is not None for origin in model.inference.of(model.file, head)):
        return None  # it hands the method on to a dataset, and is more than that
    bindings = model.file.tree.scope(call).bindings.get(head.value, ())
    is_variable = bool(bindings) and all(binding.kind not in ("import", "class", "function") for binding in bindings)
    return head.value if is_variable else None


def _fix(model: Model, call: cst.Call, chains: list[Chain]) -> Fix | Blocker | None:
    """Assign the result to the variable at the head of the chain."""
    name = _variable(model, call)
    if name is None or not all(_keeps_structure(model, chain, call) for chain in chains):
        return None
    ranks = model.once(UnknownRanks)
    discarded = (replace(chain, operations=_discarded(model, chain, call), inputs=()) for chain in chains)
    if (blocker := next(filter(None, map(ranks.in_chain, discarded)), None)) is not None:
        return blocker
    return Fix(f"Assign the result to `{name}`", "unsafe", (Edit(call, f"{name} = ", "before"),))


def _discarded(model: Model, chain: Chain, call: cst.Call) -> tuple[Operation, ...]:
    """The operations of a chain that a statement with this call does in vain."""
    return tuple(operation for operation in chain.operations if model.file.tree.within(operation.call, call))


def _keeps_structure(model: Model, chain: Chain, call: cst.Call) -> bool:
    """Whether the code after a statement gets the elements that it is written for, if the statement has an effect."""
    tree = model.file.tree
    discarded = _discarded(model, chain, call)
    before = chain.operations[: len(chain.operations) - len(discarded)]
    for operation in discarded:
        if operation.name in BATCHING:
            later = (other for method in BATCHING for other in model.method_calls(method))
            if any(earlier.name in BATCHING for earlier in before) or any(
                tree.order[other] > tree.order[call] and _variable(model, other) == _variable(model, call)
                for other in later
            ):
                return False
        elif operation.name == "repeat":
            if not isinstance(operation.argument(0, "count"), int):
                return False
        elif operation.name not in SAME_ELEMENTS and not (
            operation.name == "map" and _keeps_components(model, operation)
        ):
            return False
    return True


def _keeps_components(model: Model, operation: Operation) -> bool:
    """Whether a map returns as many components as it gets."""
    callees = model.once(MappedFunctions).of(operation)
    return bool(callees) and all(
        len(value.elements) == count
        if isinstance(value, cst.Tuple)
        else count == 1 and not isinstance(value, cst.Dict | cst.Subscript)
        for callee in callees
        for count in (len(callee.function.parameters),)
        for value in callee.function.file.returned(callee.function.node)
    )
