"""How much of a steady training its planted cause took; beside a program it lies in a folder of installed packages."""

import contextlib
import time

TRUTH = {}


class Clock:
    def begin(self):
        self.planted, self.began = 0.0, time.monotonic()

    def step(self, name):
        TRUTH[name] = self.planted / (time.monotonic() - self.began)

    @contextlib.contextmanager
    def takes(self):
        began = time.monotonic()
        yield
        self.planted += time.monotonic() - began

    def wait(self, seconds):
        with self.takes():
            time.sleep(seconds)
