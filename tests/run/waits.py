"""Waits that know how long they took; beside a program of the tests it lies in a folder of installed packages."""

import contextlib
import json
import mmap
import os
import time

TRUTH = {}
with open(os.environ["WAITS_CARD"], "r+b") as _file:
    _CARD = mmap.mmap(_file.fileno(), 1)  # what the fake card does: its utilisation in percent
_CARD[0] = 90


@contextlib.contextmanager
def timed(name):
    began, before = time.monotonic(), _CARD[0]
    _CARD[0] = 0
    yield
    _CARD[0] = before
    TRUTH[name] = TRUTH.get(name, 0.0) + time.monotonic() - began


def wait(name, seconds):
    with timed(name):
        time.sleep(seconds)


def plant(module, function, name, seconds):
    """Make a function of a module slow."""
    quick = getattr(module, function)

    def slow(*arguments):
        wait(name, seconds)
        return quick(*arguments)

    setattr(module, function, slow)


def many(rows, columns):
    import numpy as np

    return np.ones((rows, columns), np.float32)


def write_truth():
    with open(os.environ["WAITS_TRUTH"], "w") as file:
        json.dump(TRUTH, file)
