"""Samples this process, as a notebook's cells run in it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.inside.tflint_program import follow
from tflint_gpu.run.inside.tflint_sample import Sampler
from tflint_gpu.run.program import INTERVAL, read_samples


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
        reading, writing = os.pipe()
        if self._sampler is None:
            self._sampler = Sampler(INTERVAL, False)
            follow(self._sampler)
        self._sampler.asks_memory = asks_memory
        done = threading.Event()
        reader = threading.Thread(target=read_samples, args=(reading, take, done), daemon=True)
        reader.start()
        self._sampler.begin(writing)
        try:
            yield
        finally:
            self._sampler.stop()
            os.close(writing)
            done.set()
            reader.join()
            os.close(reading)
