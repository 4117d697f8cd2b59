"""Waits that know how long they took; beside a program of the tests it lies in a folder of installed packages."""

import contextlib
import json
import mmap
import os
import struct
import sys
import time

TRUTH = {}
ALONE = sys.argv[1:]  # the waits that are planted; none named: all
# What the fake card did: how long it was idle, since when it is as it is, and whether that is idle.
CARD = struct.Struct("ddd")
with open(os.environ["WAITS_CARD"], "r+b") as _file:
    _CARD = mmap.mmap(_file.fileno(), CARD.size)
_waiting = 0


def _tell(change):
    global _waiting
    now = time.monotonic()
    idle, since, is_idle = CARD.unpack(_CARD[:])
    _waiting += change
    _CARD[:] = CARD.pack(idle + (now - since if is_idle else 0.0), now, _waiting > 0)


_tell(0)


@contextlib.contextmanager
def timed(name):
    began = time.monotonic()
    _tell(1)
    yield
    _tell(-1)
    TRUTH[name] = TRUTH.get(name, 0.0) + time.monotonic() - began


def is_planted(name):
    return not ALONE or name in ALONE


def wait(name, seconds):
    if is_planted(name):
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
