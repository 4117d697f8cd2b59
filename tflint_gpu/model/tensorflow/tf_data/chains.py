"""A tf.data chain: its source, its operations, and what follows from their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.datasets import (
    BATCH_NEUTRAL,
    BATCH_SIZE,
    BATCHING,
    HEAVY,
    KEEPING_ORDER,
    LOADERS,
    NEVER_MORE,
    SHUFFLE_SEED,
    SHUFFLERS,
    UNORDERED_SOURCES,
    Loader,
    Parameter,
)
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name, method_place
from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Constants
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.tf_data.counts import is_share

_FEW = 10
_PREFETCHING = frozenset(["prefetch", "prefetch_to_device"])


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a chain: `batch` and its call, in the file where it is written.

    Arguments:
        call: what is given the operation's arguments: `data.batch(8)`, or `assert_cardinality(9)` within `apply`.
        context: the call of a function in which it is reached.
        applied: `data.apply(...)` around `call`.
    """

    name: str
    call: cst.Call
    file: File
    context: Context | None = None
    constants: Constants | None = None
    applied: cst.Call | None = None

    @property
    def place(self) -> Node:
        """The method's name: where a user must change something."""
        return method_place(self.call)

    @property
    def link(self) -> cst.Call:
        """The method call that gives the next dataset of the chain."""
        return self.applied or self.call

    @property
    def receiver(self) -> Expression | None:
        """The dataset on which the method is called."""
        return self.link.func.value if isinstance(self.link.func, cst.Attribute) else None

    def argument(self, position: int, keyword: str) -> Any:
        """The value of an argument, UNKNOWN where it is not a constant or absent."""
        if self.constants is None:
            return UNKNOWN
        return self.constants.of(self.file, argument(self.call, position, keyword), self.context)

    def value_of(self, parameter: Parameter) -> Any:
        """The value of a parameter, its default where it is left out, UNKNOWN where that is not known."""
        if argument(self.call, parameter.position, parameter.keyword) is not None:
            return self.argument(parameter.position, parameter.keyword)
        unseen = parameter.default is ... or any(arg.star for arg in self.call.args)
        return UNKNOWN if unseen else parameter.default

    @property
    def loader(self) -> Loader | None:
        """What it does by itself to the data that it loads."""
        return LOADERS.get(self.name)

    @property
    def forms_batches(self) -> bool:
        """Whether its elements certainly are batches: `batch`, a loader; one with `batch_size=None` gives rows."""
        size = self._size_parameter
        if size is None or size.default is ...:
            return size is not None
        value = self.value_of(size)
        return isinstance(value, int) and value > 0

    @property
    def may_form_batches(self) -> bool:
        """Whether a loader gives batches where nothing is said, or is told whether to."""
        size = self.loader.batch_size if self.loader is not None else None
        return size is not None and (size.default is not None or self.given_batch_size is not None)

    @property
    def is_unseeded(self) -> bool:
        """Whether a shuffle, or a loader that shuffles, draws from no seed of its own."""
        seed = self.loader.seed if self.loader is not None else SHUFFLE_SEED
        return seed is not None and self.value_of(seed) is None

    @property
    def takes_few(self) -> bool:
        """Whether a `take` leaves few elements: not all, and no number that is made of how many there are."""
        count, given = self.argument(0, "count"), argument(self.call, 0, "count")
        if isinstance(count, int):
            return 0 <= count <= _FEW
        if self.constants is None or given is None:
            return True
        counts = self.constants.possible(self.file, given, self.context)
        if counts and all(type(each) is int and not 0 <= each <= _FEW for each in counts):
            return False
        return not is_share(self.constants.inference, self.file, given, self.context)

    def most(self, given: int | None) -> int | None:
        """How many elements it leaves of so many, at most; None where that is not known."""
        if self.name == "take":
            taken = self.argument(0, "count")
            return min((n for n in (given, taken) if type(n) is int and n >= 0), default=None)
        if given is None or self.name not in NEVER_MORE | {"repeat"}:
            return None
        if self.name == "repeat":
            count = self.argument(0, "count")
            return given * count if type(count) is int and count >= 0 else None
        size = self.batch_size if self.name in BATCHING else 1
        return -(-given // size) if type(size) is int and size > 0 else given

    @property
    def _size_parameter(self) -> Parameter | None:
        if self.loader is not None:
            return self.loader.batch_size
        return BATCH_SIZE if self.name in BATCHING else None

    @property
    def given_batch_size(self) -> Expression | None:
        """The size of the batches that it forms, as it is written; None where it is left out."""
        size = self._size_parameter
        return argument(self.call, size.position, size.keyword) if size is not None else None

    @property
    def batch_size(self) -> Any:
        """The size of the batches that it forms, UNKNOWN where that is not known."""
        size = self._size_parameter
        return self.value_of(size) if size is not None else UNKNOWN


@dataclass(frozen=True, slots=True)
class Chain:
    """A dataset: its source and the operations on it, first to last.

    Arguments:
        source: canonical name of what made it; None where that is unknown.
        made: the call that made it, as an operation with nothing before it.
        inputs: the chains that a zip, or a similar source, joins.
        certain: whether this can be nothing but a tf.data dataset.
    """

    source: str | None = None
    made: Operation | None = None
    operations: tuple[Operation, ...] = ()
    inputs: tuple[Chain, ...] = ()
    certain: bool = False

    def then(self, operation: Operation, certain: bool = False) -> Chain:
        """This chain with one more operation."""
        return replace(self, operations=(*self.operations, operation), certain=self.certain or certain)

    @property
    def width(self) -> int:
        """How many chains it joins, and those join in turn; 1 for a single one."""
        return sum(chain.width for chain in self.inputs) or 1

    @property
    def paths(self) -> tuple[Chain, ...]:
        """The chain from each source to the consumer: the operations of what a zip joins, then those after the zip."""
        return tuple(
            replace(path, operations=(*path.operations, *self.operations), certain=self.certain)
            for joined in self.inputs
            for path in joined.paths
        ) or (self,)

    @property
    def batching(self) -> Operation | None:
        """The first operation that forms the batches that the consumer gets; None where that is not known."""
        return self.batchings[0] if self.batchings else None

    @property
    def batchings(self) -> tuple[Operation, ...]:
        """What forms the batches that the consumer gets: several operations in `zip((a.batch(8), b.batch(8)))`."""
        for operation in reversed(self.operations):
            if operation.name in BATCHING:
                return (operation,)
            if operation.name not in BATCH_NEUTRAL:
                return ()
        if self.made is not None and self.made.loader is not None:
            return (self.made,) if self.made.forms_batches else ()
        joined = [chain.batchings for chain in self.inputs]
        return tuple(batching for batchings in joined for batching in batchings) if all(joined) else ()

    @property
    def reshuffled_by(self) -> Operation | None:
        """What gives its rows another order in each pass; None where something keeps one, or may."""
        for operation in reversed(self.operations):
            if operation.name in KEEPING_ORDER or operation.name == "apply":
                return None
            if operation.name == "shuffle" and operation.argument(0, "buffer_size") != 1:
                again = argument(operation.call, 2, "reshuffle_each_iteration")
                if again is None or operation.argument(2, "reshuffle_each_iteration") in (True, None):
                    return None if any(arg.star for arg in operation.call.args) else operation
        made = self.made
        return made if made is not None and made.name in SHUFFLERS and self.is_shuffled_by_source else None

    @property
    def may_be_repeated_by_source(self) -> bool:
        """Whether what made it may repeat the data by itself, as `make_csv_dataset` does without `num_epochs=1`."""
        loader = self.made.loader if self.made is not None else None
        if self.made is None or loader is None or loader.epochs is None:
            return False
        return bool(self.made.value_of(loader.epochs) != 1)

    @property
    def is_shuffled_by_source(self) -> bool | None:
        """Whether what made it gives the elements in random order by itself; None where that is not known."""
        made = self.made
        if made is None or made.name in UNORDERED_SOURCES:
            return None
        if made.loader is None:
            return False
        shuffle = made.loader.shuffle
        value = made.value_of(shuffle)
        return True if value is None and shuffle.default is None else value if isinstance(value, bool) else None

    @property
    def work(self) -> Operation | None:
        """The last operation that does more than bookkeeping."""
        return next((o for o in reversed(self.operations) if o.name in HEAVY), None)

    @property
    def is_short(self) -> bool:
        """Whether a `take` leaves only a few elements, or a number of which nothing is known."""
        return any(operation.name == "take" and operation.takes_few for operation in self.operations)

    def most(self, given: int | None = None) -> int | None:
        """How many elements it has at most; None where that is not known.

        Arguments:
            given: how many its source gives; without it a `take` may say how many are left.
        """
        for operation in self.operations:
            given = operation.most(given)
        return given

    @property
    def is_distributed(self) -> bool:
        """Whether a distribution strategy takes the dataset over; it prefetches by itself."""
        return any(o.name == "experimental_distribute_dataset" for o in self.operations)

    @property
    def is_prefetched(self) -> bool:
        """Whether a prefetch covers all the work of the chain."""
        for operation in reversed(self.operations):
            if operation.name in _PREFETCHING:
                return True
            if operation.name in HEAVY:
                return False
        return False

    @property
    def last_prefetch(self) -> Operation | None:
        """The last prefetch of the chain."""
        return next((o for o in reversed(self.operations) if o.name in _PREFETCHING), None)

    @property
    def ends_synchronously(self) -> bool:
        """Whether the last work certainly runs in the consumer's own thread: it batches what a generator yields."""
        last = self.work
        if last is None:
            return False
        generated = (self.source or "").endswith(".from_generator")
        return last.name in BATCHING and generated and not any(o.name == "map" for o in self.operations)

    @property
    def ends_in_parallel(self) -> bool:
        """Whether the last work has threads of its own, which keep finished elements ready by themselves."""
        last = self.work
        return last is not None and argument(last.call, -1, "num_parallel_calls") is not None

    @property
    def ends_with_sequential_map(self) -> bool:
        """Whether the last work is a `map` without `num_parallel_calls`."""
        last = self.work
        return last is not None and last.name == "map" and argument(last.call, 1, "num_parallel_calls") is None

    @property
    def misplaced_prefetch(self) -> tuple[Operation, Operation] | None:
        """The last prefetch and the first work after it, where there is such work."""
        follower: Operation | None = None
        for operation in reversed(self.operations):
            if operation.name in _PREFETCHING:
                return (operation, follower) if follower is not None else None
            if operation.name in HEAVY:
                follower = operation
        return None

    def option(self, name: str) -> Any:
        """The value of a tf.data option set through `with_options`, UNKNOWN where it is not set."""
        for operation in reversed(self.operations):
            if operation.name == "with_options":
                options = argument(operation.call, 0, "options")
                for assignment in operation.file.tree.attributes_set(name):
                    target = assignment.target
                    if (
                        options is not None
                        and (dotted_name(target) or "").startswith(f"{dotted_name(options)}.")
                        and operation.file.tree.function(target) is operation.file.tree.function(options)
                    ):
                        return (
                            operation.constants.of(operation.file, assignment.value) if operation.constants else UNKNOWN
                        )
        return UNKNOWN
