"""Samples this process, as a notebook's cells run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.inside.tflint_program import follow
from tflint_gpu.run.inside.tflint_sample import Sampler
from tflint_gpu.run.program import INTERVAL, samples_taken


@dataclass(slots=True)
class ThisProcess:
    """A sampler of this process, which is made once, when it is first needed, and begun again for each span."""

    _sampler: Sampler | None = None

    @contextmanager
    def sampled(self, take: Callable[[bytes], None], *, asks_memory: bool) -> Iterator[None]:
        """Sample the process as long as the context lasts.

        Arguments:
            take: gets each line of the sampler, in a thread; it must not raise.
            asks_memory: whether TensorFlow is asked for the memory that it uses on the card.
        """
        if self._sampler is None:
            self._sampler = Sampler(INTERVAL, False)
            follow(self._sampler)
        self._sampler.asks_memory = asks_memory
        with samples_taken(take) as pipe:
            self._sampler.begin(pipe)
            try:
                yield
            finally:
                self._sampler.stop()
