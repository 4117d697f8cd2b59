"""A loop over elements that Python computes, with the processor time that they took; the argument says how long one takes.

A fourth as much is computed in the loop's body, which then waits for something that lets other threads run.
"""

import json
import os
import sys
import time
from pathlib import Path

TRUTH = {"elements": 0.0, "body": 0.0}
SECONDS = float(sys.argv[1])
TOTAL = 2.5


def elements():
    for number in range(int(TOTAL / SECONDS)):
        began = time.thread_time()
        while time.thread_time() < began + SECONDS:
            pass
        TRUTH["elements"] += time.thread_time() - began
        yield number


def body():
    began = time.thread_time()
    while time.thread_time() < began + SECONDS / 4:
        pass
    TRUTH["body"] += time.thread_time() - began


for _ in elements():
    body()
    time.sleep(SECONDS / 4)
Path(os.environ["ELEMENTS_TRUTH"]).write_text(json.dumps(TRUTH))
