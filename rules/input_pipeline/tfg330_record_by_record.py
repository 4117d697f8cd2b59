"""TFG330 record-by-record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    BATCHING,
    Expression,
    MappedFunctions,
    ReadPipelines,
    argument,
    asks_outside,
    dict_values,
    expression_tests,
    method_name,
    operation_named,
    statement_tests,
    walk,
)
from tflint_gpu.model.library.datasets import COUNTED
from tflint_gpu.model.library.files import FIELDS, ONE_RECORD_PARSERS
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    moved_after,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Context, File, Function, Model, Operation

_AROUND_MAPS = COUNTED | {"shuffle", "repeat", "map"}
_OF_ONE = frozenset(("", "decoded", "examples"))
_OF_DICTS = frozenset("pop get items keys values update copy append".split())
_PYTHON = tuple("dict list tuple len zip range enumerate sorted int float str isinstance".split())
_LARGE = 1024
_FEW = 16


class RecordByRecord(Rule):
    """`parse_single_example` parses one record at a time, where `parse_example` could parse a batch.

    Why: each call of the mapped function parses one record and makes a tensor of each of its features, and `batch`
    copies them together. `tf.io.parse_example` takes the serialized records of a batch and writes its tensors at once.
    For that, `batch` belongs before the map: the function then gets a batch of records. After parsing, axis numbers in
    the function increase by one, because axis 0 is the batch (`tf.stack(columns, axis=1)`).

    Reported:
    - a function whose features are known, and in which every operation also works on a batch: dictionaries, casts,
      arithmetic, stacks, reductions

    Not reported:
    - functions that decode images or sound, which take most of the time
    - functions that draw random numbers, branch on what they parsed, or call Python
    - features of more than 1,024 numbers
    - batches of fewer than 16
    - a `filter`, a `cache` or another operation between the map and `batch`

    Measured: with TensorFlow 2.21 on two CPU cores and batches of 256 (of 32), parsing record by record took this many
    times as long as parsing batches: with rows of 3, 10, 100 and 1,000 numbers 14, 9, 8 and 2.4 (4.3, 3.5, 4.0 and
    2.7), with one vector of 784 numbers 4 (2.8), with 5 strings 13 (3.0), with 5 sparse features 5.3 (3.4). Where the
    map decodes JPEG images of 32 by 32 pixels: no gain.

    Fix: unsafe: the function gets whole batches. There is no fix if an axis number has to change as well, or if the
    function is also used elsewhere.

    Example:
        import tensorflow as tf

        columns = {name: tf.io.FixedLenFeature([], tf.float32) for name in ("height", "width", "price")}
        dataset = tf.data.TFRecordDataset("houses.tfrecord")
        dataset = dataset.map(lambda record: tf.io.parse_single_example(record, columns)).batch(256)

    Use instead:
        import tensorflow as tf

        columns = {name: tf.io.FixedLenFeature([], tf.float32) for name in ("height", "width", "price")}
        dataset = tf.data.TFRecordDataset("houses.tfrecord")
        dataset = dataset.batch(256).map(lambda record: tf.io.parse_example(record, columns))
    """

    code = "TFG330"
    name = "record-by-record"
    required_substrings = ((b".batch(",),)
    nearby_substrings = (b"parse_single_example",)
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls that parse one record in a map before `batch`."""
        chains = model.once(ReadPipelines).chains
        long = {operation.call for chain in chains if _takes_long(model, chain) for operation in chain.operations}
        seen: set[cst.Call] = set()
        for chain in chains:
            parsing = _parsing(model, chain)
            if parsing is not None and parsing.map.call not in long and parsing.call not in seen:
                seen.add(parsing.call)
                yield _finding(model, parsing)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Rows of ten columns, read as the rule's own workload: records are rarely there when a program is checked."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True, unit="seconds per batch")


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        names = [f"column_{number}" for number in range(10)]
        features = {name: tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])) for name in names}
        row = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
        columns = {name: tf.io.FixedLenFeature([], tf.float32) for name in names}
        rows = tf.data.Dataset.from_tensors(row).repeat(40 * 256)
        dataset = rows.map(lambda record: tf.io.parse_single_example(record, columns)).batch(256)
        tflint_measure.consume(dataset)
    """,
    changes=(
        (".map(lambda record: tf.io.parse_single_example(record, columns)).batch(256)", ".batch(256).map(parsed)"),
        ("rows = ", "parsed = lambda records: tf.io.parse_example(records, columns)\nrows = "),
    ),
)


@dataclass(frozen=True, slots=True)
class _Parsing:
    """A call that parses one record, the map that runs it, and the batch after it.

    Arguments:
        is_alone: nothing but shuffles stands between the map and the batch.
    """

    file: File
    call: cst.Call
    map: Operation
    batch: Operation
    is_alone: bool


def _parsing(model: Model, chain: Chain) -> _Parsing | None:
    operations = chain.operations
    end = next((i for i, o in enumerate(operations) if o.name in BATCHING), None)
    if end is None or operations[end].name != "batch" or _is_little(operations[end].argument(0, "batch_size")):
        return None
    is_alone = True
    for operation in reversed(operations[:end]):
        if operation.name not in _AROUND_MAPS:
            return None
        if operation.name == "map":
            parsers = _parsers(model, operation)
            if parsers is None:
                return None
            if parsers:
                file, call, context = parsers[0]
                is_small = len(parsers) == 1 and _is_small(model, file, call, context)
                return _Parsing(file, call, operation, operations[end], is_alone) if is_small else None
            is_alone = False
    return None


def _takes_long(model: Model, chain: Chain) -> bool:
    """Whether a map decodes, reads or works on images: next to it, the parsing does not count."""
    functions = model.once(MappedFunctions)
    return any(o.name == "map" and (functions.may_take_long(o) or functions.does_work(o)) for o in chain.operations)


def _is_little(size: object) -> bool:
    return isinstance(size, int) and size < _FEW


def _parsers(model: Model, operation: Operation) -> list[tuple[File, cst.Call, Context | None]] | None:
    """The calls of a mapped function that parse one record; None where something in it needs single records."""
    functions, parsers = model.once(MappedFunctions), []
    reached = {callee.function for callee in functions.of(operation)}
    if not reached or functions.state(operation) is not None:
        return None
    for name, file, call, context in functions.named_calls(operation):
        around = file.tree.function(call)
        if around is not None:
            reached.add(model.inference.definitions.function(file, around))
        if name in ONE_RECORD_PARSERS:
            parsers.append((file, call, context))
        elif not _is_of_batch(model, name, file, call, context):
            return None
    return parsers if all(map(_goes_one_way, reached)) else None


def _is_of_batch(model: Model, name: str, file: File, call: cst.Call, context: Context | None) -> bool:
    """Whether what a call does to a record can be done to a batch of them, or has nothing to do with records."""
    operation = operation_named(name)
    if name in FIELDS or (operation.shape not in _OF_ONE and not operation.draws):
        return True
    if any(file.names.is_builtin(call.func, builtin) for builtin in _PYTHON):
        return True
    return (not name and method_name(call) in _OF_DICTS) or bool(model.inference.callees(file, call, context))


def _goes_one_way(function: Function) -> bool:
    """Whether no branch of a function depends on what is computed in it."""
    tests = (*statement_tests(function.node), *expression_tests(function.node))
    is_repeated = any(isinstance(node, cst.While) for node in walk(function.node.body))
    return not is_repeated and all(asks_outside(function, test) for test in tests)


def _is_small(model: Model, file: File, call: cst.Call, context: Context | None) -> bool:
    """Whether the features that a call parses are seen, and none of them is known to be large."""
    features = argument(call, 1, "features")
    origins = model.inference.of(file, features, context) if features is not None else ()
    return bool(origins) and all(
        not origin.access_path
        and isinstance(origin.node, cst.Dict | cst.DictComp)
        and all(_is_small_field(model, origin.file, field, origin.context) for field in dict_values(origin.node))
        for origin in origins
    )


def _is_small_field(model: Model, file: File, field: Expression, context: Context | None) -> bool:
    origins = model.inference.of(file, field, context)
    return bool(origins) and all(
        origin.made_by in FIELDS
        and origin.call is not None
        and _size(model.constants.of(origin.file, argument(origin.call, 0, "shape"), origin.context)) <= _LARGE
        for origin in origins
    )


def _size(shape: object) -> int:
    """The numbers in a shape; of one that is not known 1, as most features are single numbers."""
    lengths = shape if isinstance(shape, tuple) else (shape,)
    return math.prod(length for length in lengths if isinstance(length, int))


def _finding(model: Model, parsing: _Parsing) -> Finding:
    fix = _fix(model, parsing)
    axes = "" if fix is not None else "; in the code after it, axis 0 is then the batch: `tf.stack(columns, axis=1)`"
    return Finding(
        parsing.file,
        parsing.call.func,
        "this parses record by record: `parse_example` parses all records of a batch at once",
        _PREDICTION,
        help=f"put `batch` before this `map`, and call `tf.io.parse_example` in it{axes}",
        notes=(
            Note(parsing.map.file, parsing.map.place, "this map runs it for every record"),
            Note(parsing.batch.file, parsing.batch.place, "the records are batched here"),
        ),
        fix=fix,
    )


_PREDICTION = Prediction(
    "slowdown",
    (),
    low=1.2,
    high=20.0,
    basis="reading records of 3 to 1,000 columns in batches of 32 and 256 on two CPU cores with TensorFlow 2.21",
)


def _fix(model: Model, parsing: _Parsing) -> Fix | None:
    """The batch first, where nothing else runs the function, and nothing in it counts axes."""
    file, call, mapped = parsing.file, parsing.call, parsing.map
    given = argument(mapped.call, 0, "map_func")
    if file is not mapped.file or not parsing.is_alone or not model.once(MappedFunctions).works_on_records(mapped):
        return None
    parser = Edit(call.func, file.code(call.func).replace("parse_single_example", "parse_example"))
    around = file.tree.function(call)
    if isinstance(given, cst.Lambda) and around is given:
        edits = moved_after(mapped, parsing.batch, parser)
    elif isinstance(given, cst.Name) and isinstance(around, cst.FunctionDef) and _is_used_once(file, given, around):
        edits = (*moved_after(mapped, parsing.batch), parser)
    else:
        return None
    return Fix("Parse batches of records", "unsafe", edits) if len(edits) > 1 else None


def _is_used_once(file: File, name: cst.Name, function: cst.FunctionDef) -> bool:
    """Whether a file names a function where it defines it and at one other place."""
    return name.value == function.name.value and len(file.tree.uses[name.value]) == 2
