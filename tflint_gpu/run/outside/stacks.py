"""What py-spy saw of a program, read as the sampler inside of a program would have told it.

py-spy tells the stacks of each thread in order, but not which of two threads' were seen at the same moment. Whether the
input pipeline works while the main thread waits is therefore learned from whole looks at all threads, one now and then:
of each kind of wait, how often it was so. The first looks count little against what the threads do on their own.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.inside.tflint_frames import Shown, read
from tflint_gpu.run.outside.functions import Functions
from tflint_gpu.run.outside.running import Running
from tflint_gpu.run.samples import Native, Place, Sample, Stack, Waits

_THREAD = re.compile(r'(?:Process (?P<process>\d+) )?Thread (?P<thread>\S+) "(?P<name>.*)"', re.DOTALL)
_OF_THE_SYSTEM = re.compile(r"/(libc|libpthread|libm|ld|ld-linux[^/]*|libstdc\+\+|libsystem_\w+)[-.\d]*\.(so|dylib)")
_WAITS_FOR_A_LOCK = re.compile(r"absl::|Absl|nsync::|std::|0x")
_FIRST_LOOKS = 2
_MOST_KNOWN = 20_000

Frame = tuple[str, str, int]
"""Function, file and row."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one thread did when it was looked at."""

    stack: Stack
    phase: str
    waits: Waits
    feeds: bool


@dataclass(slots=True)
class _Looks:
    """How often a wait of one kind was looked at; beside how many the pipeline worked, and nothing else did."""

    number: int = 0
    beside: int = 0
    alone: int = 0
    owed: float = 0.0
    owed_alone: float = 0.0


@dataclass(slots=True)
class Stacks:
    """Reads what py-spy saw of a process.

    Arguments:
        folders: of Python and of what is installed for its interpreter.

    Attributes:
        processes: that were seen.
    """

    running: Running
    folders: tuple[str, ...]
    processes: set[int] = field(default_factory=set)
    _shown: dict[tuple[str, str], Shown] = field(default_factory=dict)
    _places: dict[Frame, Place] = field(default_factory=dict)
    _functions: Functions = field(default_factory=Functions)
    _looks: defaultdict[tuple[Stack, str, str], _Looks] = field(default_factory=lambda: defaultdict(_Looks))

    def samples(self, document: dict[str, Any], began: float, ended: float) -> Iterator[Sample]:
        """The samples of a recording that lasted from `began` to `ended`, of which each is an equal part."""
        threads = self._threads(document)
        main = next((seen for process, is_main, seen in threads if is_main and process == self.running.pid), [])
        feeding = [
            seen.stack
            for process, is_main, stacks in threads
            if process == self.running.pid and not is_main
            for seen in stacks
            if seen.feeds and seen.stack
        ]
        span = (ended - began) / max(1, len(main))
        for number, seen in enumerate(main):
            waits, beside = self._beside(seen, feeding, number, len(main))
            yield Sample(began + (number + 1) * span, span, seen.stack, seen.phase, waits, beside)
        for process, is_main, others in threads:
            if is_main and process != self.running.pid:
                for number, seen in enumerate(others):
                    if seen.stack:
                        span = (ended - began) / len(others)
                        end = began + (number + 1) * span
                        yield Sample(end, span, seen.stack, seen.phase, seen.waits, is_main=False)

    def learn(self, threads: Iterable[dict[str, Any]]) -> None:
        """Take a whole look, as py-spy's `dump` tells it."""
        main, feeding = None, set()
        for thread in threads:
            frames = [(frame["name"], frame["filename"], frame["line"]) for frame in thread["frames"]]
            seen = self._read(frames)
            if seen is not None and _is_main(self.running.pid, str(thread["os_thread_id"]), thread["thread_name"]):
                main = seen
            elif seen is not None and seen.feeds and seen.stack:
                feeding.add(thread["os_thread_id"] or 0)
        if main is not None and main.waits in ("data", "execute"):
            looks = self._looks[main.stack[:1], main.phase, main.waits]
            looks.number += 1
            looks.beside += bool(feeding)
            looks.alone += bool(feeding) and self.running.computing(feeding) == 0

    def holders(self, document: dict[str, Any]) -> Counter[Seen]:
        """How often a thread held Python's lock, by what it did."""
        return Counter(seen for _, _, threads in self._threads(document) for seen in threads if seen.stack)

    def native(self, document: dict[str, Any]) -> Iterator[Native]:
        """The main thread's native functions; a wait for a lock counts for what called it."""
        counts: Counter[tuple[str, str, Place | None]] = Counter()
        count = 0
        for process, is_main, stacks in self._named(document):
            if process != self.running.pid or not is_main:
                continue
            count += len(stacks)
            for frames in stacks:
                names = [(name, file) for name, file, _ in _until_python(frames)]
                if not names:
                    continue
                own = [
                    each
                    for each in names
                    if not _OF_THE_SYSTEM.search(each[1]) and not _WAITS_FOR_A_LOCK.match(each[0])
                ]
                name, file = (own or names)[0]
                seen = self._read([frame for frame in frames if not _is_native(frame)])
                place = seen.stack[0] if seen is not None and seen.stack else None
                counts[Path(file).name, name, place] += 1
        for (library, function, place), number in counts.items():
            yield Native(number / count, library, function, place)

    def _beside(self, seen: Seen, feeding: Sequence[Stack], number: int, count: int) -> tuple[Waits, tuple[Stack, ...]]:
        """What a sample of the main thread waits for, and what fed the input pipeline meanwhile."""
        if not feeding or seen.waits not in ("data", "execute"):
            return seen.waits, ()
        looks = self._looks[seen.stack[:1], seen.phase, seen.waits]
        expected = _FIRST_LOOKS * min(1.0, len(feeding) / count)
        looks.owed += (looks.beside + expected) / (looks.number + _FIRST_LOOKS)
        looks.owed_alone += looks.alone / (looks.number + _FIRST_LOOKS)
        if looks.owed < 1:
            return seen.waits, ()
        looks.owed -= 1
        beside = (feeding[number * len(feeding) // count],)
        if seen.waits == "execute" and looks.owed_alone >= 1:
            looks.owed_alone -= 1
            return "feed", beside
        return seen.waits, beside

    def _threads(self, document: dict[str, Any]) -> list[tuple[int, bool, list[Seen]]]:
        """Process, whether it is its main thread, and what it did, of each thread."""
        read_once: dict[tuple[Frame, ...], Seen | None] = {}
        threads = []
        for process, is_main, stacks in self._named(document):
            for frames in stacks:
                if frames not in read_once:
                    read_once[frames] = self._read(frames)
            threads.append((process, is_main, [seen for frames in stacks if (seen := read_once[frames]) is not None]))
        return threads

    def _named(self, document: dict[str, Any]) -> Iterator[tuple[int, bool, list[tuple[Frame, ...]]]]:
        frames = [
            (str(frame["name"]), str(frame["file"]), int(frame["line"] or 0)) for frame in document["shared"]["frames"]
        ]
        for profile in document["profiles"]:
            if (match := _THREAD.fullmatch(profile["name"])) is None:
                continue
            process = int(match["process"] or self.running.pid)
            self.processes.add(process)
            stacks = [tuple(frames[number] for number in reversed(sample)) for sample in profile["samples"] if sample]
            yield process, _is_main(process, match["thread"], match["name"]), stacks

    def _read(self, frames: Sequence[Frame]) -> Seen | None:
        """None where no frame is of Python."""
        shown = [(self._show(name, file), number) for number, (name, file, _) in enumerate(frames) if file]
        if not shown:
            return None
        own, phase, waits, feeds = read(shown)
        return Seen(tuple(self._place(frames[number]) for _, number in own), phase, cast(Waits, waits), feeds)

    def _show(self, name: str, file: str) -> Shown:
        name = _plain(name)
        shown = self._shown.get((name, file))
        if shown is None:
            if len(self._shown) > _MOST_KNOWN:
                self._shown.clear()
            shown = self._shown[name, file] = Shown(file, name, self.folders)
        return shown

    def _place(self, frame: Frame) -> Place:
        place = self._places.get(frame)
        if place is None:
            if len(self._places) > _MOST_KNOWN:
                self._places.clear()
            name, file, row = frame
            path = os.path.normpath(self.running.here / file)
            first, last = self._functions.around(path, row, _plain(name))
            place = self._places[frame] = Place(path, row, _plain(name), first, last)
        return place


def _plain(name: str) -> str:
    """The name of a function, without those around it, which Python tells since 3.11."""
    return name.rpartition(".")[2] or name


def _is_main(process: int, thread: str, name: str | None) -> bool:
    return name == "MainThread" or thread == str(process)


def _is_native(frame: Frame) -> bool:
    return not frame[1].startswith("<") and not frame[1].endswith((".py", ".pyw"))


def _until_python(frames: Iterable[Frame]) -> Iterator[Frame]:
    for frame in frames:
        if not _is_native(frame):
            return
        yield frame
