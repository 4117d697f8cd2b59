"""The events of a profile of TensorFlow's, in the format that it brings a module for."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

_PROTOCOL = ("tsl", "profiler", "protobuf", "xplane_pb2.py")


class Event:
    """Something that took a while: in picoseconds, on a clock that all lines share."""

    __slots__ = ("_names", "_stats", "begin", "end", "name")

    def __init__(self, name: str, begin: int, event: Any, names: Any) -> None:
        self.name = name
        self.begin = begin
        self.end = begin + event.duration_ps
        self._stats = event.stats
        self._names = names

    @property
    def stats(self) -> dict[str, Any]:
        """What else is known of it."""
        known = {}
        for stat in self._stats:
            kind = stat.WhichOneof("value")
            if kind is not None:
                value = getattr(stat, kind)
                known[self._names[stat.metadata_id].name] = self._names[value].name if kind == "ref_value" else value
        return known


class Line:
    """A thread of the host, or a stream of a GPU, with its events: what is around another one comes first."""

    def __init__(self, plane: Any, line: Any) -> None:
        self.name = line.display_name or line.name
        zero = line.timestamp_ns * 1000
        self.events = [
            Event(plane.event_metadata[event.metadata_id].name, zero + event.offset_ps, event, plane.stat_metadata)
            for event in line.events
        ]
        self.events.sort(key=lambda event: (event.begin, -event.end))


def read(profile: bytes, protocol: Any) -> dict[str, list[Line]]:
    """The lines of each plane: of the host, of each GPU."""
    space = protocol.XSpace()
    space.ParseFromString(profile)
    return {plane.name: [Line(plane, line) for line in plane.lines] for plane in space.planes}


def protocol() -> Any:
    """The module that reads the format.

    Raises:
        ImportError: this interpreter has no TensorFlow that has it.
    """
    package = importlib.util.find_spec("tensorflow")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        path = os.path.join(folder, *_PROTOCOL)
        spec = importlib.util.spec_from_file_location("xplane_pb2", path) if os.path.exists(path) else None
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("this TensorFlow cannot read the profile: 2.12 or later is needed")
