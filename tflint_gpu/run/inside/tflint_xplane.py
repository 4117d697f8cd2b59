"""What TensorFlow's profile of some steps says: `tflint-gpu run --trace` has the program's own interpreter read it.

    python tflint_xplane.py PROFILE TRACE

PROFILE is an `.xplane.pb`, from which TRACE is written for Perfetto; the account goes to standard output, as JSON. The
format is read by the module that the program's TensorFlow brings for it. That is loaded alone, without TensorFlow: its
place and what is read of it are the same from 2.12 to 2.21.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING or __package__:
    from tflint_gpu.run.inside.tflint_devices import Device, Memory, operations
    from tflint_gpu.run.inside.tflint_events import Line, protocol, read
    from tflint_gpu.run.inside.tflint_pipelines import Pipelines
else:
    from tflint_devices import Device, Memory, operations
    from tflint_events import Line, protocol, read
    from tflint_pipelines import Pipelines

HOST, GPU = "/host:CPU", "/device:GPU:"


def account(planes: dict[str, list[Line]]) -> dict[str, Any]:
    """What the profile says of the input pipelines, the operations, the GPUs and their memory."""
    host = planes.get(HOST, [])
    pipelines = Pipelines(host)
    devices = [Device(name, lines) for name, lines in planes.items() if name.startswith(GPU)]
    return {
        "pipelines": pipelines.told(),
        "operations": operations(host, pipelines.functions),
        "gpus": [device.told(pipelines.waits) for device in devices if device.kernels],
        "memory": Memory(host).told(),
    }


def chrome(planes: dict[str, list[Line]]) -> Iterator[dict[str, Any]]:
    """The events as Perfetto and `chrome://tracing` read them."""
    begun = min((line.events[0].begin for lines in planes.values() for line in lines if line.events), default=0)
    for process, (name, lines) in enumerate(planes.items(), 1):
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
        for thread, line in enumerate(lines, 1):
            at = {"pid": process, "tid": thread}
            yield {"ph": "M", "name": "thread_name", "args": {"name": line.name}, **at}
            for event in line.events:
                times = {"ts": (event.begin - begun) / 1e6, "dur": (event.end - event.begin) / 1e6}
                args = {key: str(value) for key, value in event.stats.items()}
                yield {"ph": "X", "name": event.name, **times, "args": args, **at}


def write_chrome(planes: dict[str, list[Line]], path: str) -> None:
    """Write them to a file, compressed."""
    with gzip.open(path, "wt", compresslevel=3) as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[')
        for number, event in enumerate(chrome(planes)):
            file.write((",\n" if number else "\n") + json.dumps(event))
        file.write("]}\n")


def main() -> None:
    """Read and write what the command line names."""
    with open(sys.argv[1], "rb") as file:
        planes = read(file.read(), protocol())
    write_chrome(planes, sys.argv[2])
    json.dump(account(planes), sys.stdout)


if __name__ == "__main__":
    main()
