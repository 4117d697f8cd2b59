"""The pipelines whose speed counts: what training or a loop reads, and what is batched for somebody elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.model.library.datasets import BATCHING
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.syntax.syntax import method_name
from tflint_gpu.model.tensorflow.tf_data.chains import Chain
from tflint_gpu.model.tensorflow.tf_data.consumers import Consumers, Consumption
from tflint_gpu.model.tensorflow.tf_data.lengths import Lengths
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.training.training import iterator_of

_GRAPH_ITERATORS = frozenset(["make_one_shot_iterator", "make_initializable_iterator"])


class ReadPipelines(Analysis):
    """The pipelines of one file that are more than a demonstration."""

    pipelines = Once(Pipelines)
    consumers = Once(Consumers)
    lengths = Once(Lengths)

    @cached_property
    def chains(self) -> list[Chain]:
        """What is read, and what is batched: where nobody is seen to read it, a caller elsewhere does."""
        return list(self._chains())

    def _chains(self) -> Iterator[Chain]:
        read = [i for i in self.consumers.consumptions if i.kind != "unused" and not self._is_in_a_graph(i)]
        wanted = [i.chain for i in read if not i.is_glance and i.kind != "iterate"]
        shown = {o.call for i in read for o in i.chain.operations}
        shown -= {o.call for chain in wanted for o in chain.operations}
        for call in self.file.method_calls(*BATCHING):
            wanted += [c for c in self.pipelines.chains(self.file, call) if c.certain and call not in shown]
        for chain in wanted:
            if not self.lengths.is_demonstration(chain):
                yield from (path for path in chain.paths if not self.lengths.is_demonstration(path))

    def _is_in_a_graph(self, item: Consumption) -> bool:
        """Whether `get_next()` only makes a node of a graph of TensorFlow 1, which a session reads elsewhere."""
        if item.loop is not None or not isinstance(item.node, cst.Call) or method_name(item.node) != "get_next":
            return False
        made = (origin.call for origin in self.inference.of(item.file, iterator_of(item.node)))
        return any(call is not None and method_name(call) in _GRAPH_ITERATORS for call in made)
