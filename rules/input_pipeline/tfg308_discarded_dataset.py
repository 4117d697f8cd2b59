"""TFG308 discarded-dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import DATASET_SUBSTRINGS, TRANSFORMATIONS, Pipelines, has_datasets, method_name
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
    fix_changes,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class DiscardedDataset(Rule):
    """A dataset operation is called and its result is thrown away.

    Why: datasets are immutable. `map`, `batch`, `shuffle`, `prefetch` and the like return a new dataset and leave the
    old one as it was, so a statement that is only such a call has no effect on the data: it goes on unshuffled,
    unbatched or unmapped. Tests are not reported: there a discarded `map` may try whether a function can be traced.

    Measured: follows from tf.data's interface, every operation returns a new `Dataset`
    (tensorflow/python/data/ops/dataset_ops.py); a test shows it with the installed TensorFlow.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100)
        dataset.shuffle(100)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100)
        dataset = dataset.shuffle(100)
    """

    code = "TFG308"
    name = "discarded-dataset"
    required_substrings = (tuple(f".{name}(".encode() for name in sorted(TRANSFORMATIONS)),)
    nearby_substrings = DATASET_SUBSTRINGS
    prefilters = (has_datasets,)
    skips_tests = True
    fixable = "unsafe"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the last operation of each expression statement that is a chain of a dataset."""
        for statement in model.file.tree.expression_statements:
            call = statement.value
            if not isinstance(call, cst.Call) or method_name(call) not in TRANSFORMATIONS:
                continue
            chains = model.once(Pipelines).chains(model.file, call)
            if not all(chain.certain and chain.operations for chain in chains):
                continue
            assert isinstance(call.func, cst.Attribute)
            yield Finding(
                model.file,
                call.func.attr,
                f"the dataset that `{method_name(call)}` returns is thrown away: datasets are immutable, "
                "so the data stays as it was",
                Prediction("wrong-result", (), basis="every tf.data operation returns a new dataset"),
                help="assign the result",
                fix=_fix(model, call),
                subject=call,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Is the variable still the same dataset after the statement?"""
        call = finding.subject_as(cst.Call)
        statement = model.file.tree.statement(call)
        if finding.fix is None:
            raise NoExperiment("the chain does not start from a variable")
        name = finding.fix.edits[0].text.partition(" =")[0]
        kept = f"tflint_before = {name}\n{model.file.indentation(statement)}"
        asked = f'tflint_measure.unchanged("{name}", tflint_before, {name}, "{model.file.code(finding.node)}")'
        yield Experiment(
            model.file,
            call,
            probes=(Change(model.file, statement, kept, "before"), Change(model.file, statement, asked, "below")),
            repair=fix_changes(finding),
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


def _fix(model: Model, call: cst.Call) -> Fix | None:
    """Assign the result to the variable at the head of the chain."""
    head: cst.BaseExpression = call
    while isinstance(head, cst.Call) and isinstance(head.func, cst.Attribute):
        head = head.func.value
    if not isinstance(head, cst.Name):
        return None
    return Fix(f"Assign the result to `{head.value}`", "unsafe", (Edit(call, f"{head.value} = ", "before"),))
