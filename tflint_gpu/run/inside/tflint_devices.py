"""Operations of the host, kernels of a GPU and its memory, in TensorFlow's profile."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Iterable, Iterator

if TYPE_CHECKING:
    from tflint_gpu.run.inside.tflint_events import Event, Line

_OPERATION = re.compile(r"[\w./\-]+:(?:_Mkl(?:Native)?|_)?([A-Z]\w*)")
_PICO = 1e12
_MOST, _MOST_MOMENTS = 50, 200
_PROCESS = "ExecutorState::Process"
# What the names of kernels of cuBLAS, cuDNN, CUTLASS, Eigen and TensorFlow's own say of their operands.
_PRECISIONS = [
    ("float8", re.compile(r"e4m3|e5m2|fp8|f8f8")),
    ("tfloat32", re.compile(r"tf32")),
    ("bfloat16", re.compile(r"bf16|bfloat16|nvjet_t|DT_BFLOAT16", re.I)),
    ("float16", re.compile(r"fp16|(?<![b\d])f16|half|hgemm|h884|h1688|hmma|nvjet_h", re.I)),
    ("float64", re.compile(r"f64|double|dgemm|d884", re.I)),
    ("float32", re.compile(r"f32|fp32|float|sgemm|scudnn|ffma", re.I)),
    ("int", re.compile(r"int8|i8816|i16832|DT_INT|\bint\b|\blong\b")),
]
_TENSOR_CORES = re.compile(r"16816|1688|884|i16832|hmma|wgmma|tensorop|xmma_(gemm|implicit|sparse|warp)|nvjet")
_OTHER_CORES = re.compile(r"simt|ffma")  # what the same libraries multiply without them

Span = Any  # begin and end, in picoseconds


def operations(lines: list[Line], functions: dict[Any, Any]) -> list[dict[str, Any]]:
    """The kinds of operations that the host ran, without those in other ones, the longest first.

    Arguments:
        functions: the stage of an input pipeline by the number of its function's run.
    """
    seconds: Counter[tuple[str, str]] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for line in lines:
        until = in_function = 0
        stage = ""
        for event in line.events:
            if event.name == _PROCESS and event.begin >= in_function:
                key = functions.get(event.stats.get("id"))
                in_function, stage = event.end, "" if key is None else key[1]
            operation = _OPERATION.fullmatch(event.name) if event.begin >= until else None
            if operation:
                until = event.end
                kind = operation.group(1), stage if event.begin < in_function else ""
                seconds[kind] += event.end - event.begin
                counts[kind] += 1
    return [
        {"operation": kind[0], "stage": kind[1].split("::")[-1], "seconds": total / _PICO, "count": counts[kind]}
        for kind, total in seconds.most_common(_MOST)
    ]


def precision(kernel: str) -> str:
    """The type of a kernel's operands by its name; empty where that does not tell."""
    return next((name for name, pattern in _PRECISIONS if pattern.search(kernel)), "")


def uses_tensor_cores(kernel: str) -> bool:
    """Whether a kernel with this name runs in tensor cores."""
    return bool(_TENSOR_CORES.search(kernel)) and not _OTHER_CORES.search(kernel)


class Device:
    """The kernels and copies of a GPU, which its streams run one beside another."""

    def __init__(self, name: str, lines: list[Line]) -> None:
        self.name = name
        self.kernels: list[tuple[Event, str]] = []
        self.copies: Counter[str] = Counter()
        for event in (event for line in lines for event in line.events):
            stats = event.stats
            if "kernel_details" in stats:
                self.kernels.append((event, str(stats.get("tf_op", ""))))
            elif "memcpy_details" in stats:
                self.copies[event.name] += event.end - event.begin

    def told(self, waits: list[Span]) -> dict[str, Any]:
        """For a report. Arguments: waits: when the host waited for its input."""
        busy = united((event.begin, event.end) for event, _ in self.kernels)
        gaps = [(busy[number][1], busy[number + 1][0]) for number in range(len(busy) - 1)]
        known: dict[tuple[str, str], list[int]] = defaultdict(list)
        precisions: Counter[str] = Counter()
        for event, operation in self.kernels:
            known[event.name, operation].append(event.end - event.begin)
            precisions[precision(event.name)] += event.end - event.begin
        kernels = sorted(known.items(), key=lambda item: -sum(item[1]))
        return {
            "name": self.name,
            "span": (busy[-1][1] - busy[0][0]) / _PICO,
            "busy": length(busy) / _PICO,
            "kernel_seconds": sum(precisions.values()) / _PICO,
            "tensor_cores": sum(sum(took) for (name, _), took in kernels if uses_tensor_cores(name)) / _PICO,
            "precisions": {name: took / _PICO for name, took in precisions.most_common()},
            "gaps": {
                "count": len(gaps),
                "seconds": length(gaps) / _PICO,
                "longest": max((end - begin for begin, end in gaps), default=0) / _PICO,
                "waiting_for_input": length(common(gaps, united(waits))) / _PICO,
            },
            "copies": {name: took / _PICO for name, took in self.copies.most_common()},
            "kernels": [
                {
                    "name": name,
                    "operation": operation,
                    "precision": precision(name),
                    "tensor_cores": uses_tensor_cores(name),
                    "count": len(took),
                    "seconds": sum(took) / _PICO,
                }
                for (name, operation), took in kernels[:_MOST]
            ],
        }


class Memory:
    """What TensorFlow's allocators tell of each allocation; those of the host's own memory tell nothing."""

    def __init__(self, lines: list[Line]) -> None:
        names = ("MemoryAllocation", "MemoryDeallocation")
        events = sorted(
            (event for line in lines for event in line.events if event.name in names), key=lambda event: event.begin
        )
        self.by_allocator: dict[str, list[tuple[int, bool, dict[str, Any]]]] = defaultdict(list)
        for event in events:
            stats = event.stats
            self.by_allocator[str(stats.get("allocator_name", ""))].append((event.begin, event.name == names[0], stats))

    def told(self) -> list[dict[str, Any]]:
        """Each allocator: its peak, what was allocated then since the profile began, and bytes over time."""
        return [self._told(name, moments) for name, moments in self.by_allocator.items()]

    def _told(self, name: str, moments: list[tuple[int, bool, dict[str, Any]]]) -> dict[str, Any]:
        begun, ended = moments[0][0], moments[-1][0]
        bins: dict[int, int] = {}
        live: dict[Any, tuple[str, int]] = {}
        peak, at_peak = -1, dict(live)
        for moment, is_new, stats in moments:
            address = stats.get("addr")
            if is_new:
                live[address] = str(stats.get("tf_op", "")), int(stats.get("allocation_bytes", 0))
            else:
                live.pop(address, None)
            used = int(stats.get("bytes_allocated", 0))
            if used > peak:
                peak, at_peak = used, dict(live)
            place = (moment - begun) * (_MOST_MOMENTS - 1) // max(1, ended - begun)
            bins[place] = max(bins.get(place, 0), used)
        held: Counter[str] = Counter()
        for operation, size in at_peak.values():
            held[operation] += size
        return {
            "allocator": name,
            "peak": peak,
            "fragmentation": moments[-1][2].get("fragmentation"),
            "held_at_peak": [{"operation": operation, "bytes": size} for operation, size in held.most_common(10)],
            "seconds_each": (ended - begun) / _PICO / (_MOST_MOMENTS - 1),
            "timeline": list(bins.items()),
        }


def united(spans: Iterable[Span]) -> list[Span]:
    """The times in any of these, in order."""
    whole: list[Span] = []
    for begin, end in sorted(spans):
        if whole and begin <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        else:
            whole.append((begin, end))
    return whole


def length(spans: Iterable[Span]) -> int:
    """How long they are together."""
    return sum(end - begin for begin, end in spans)


def common(some: list[Span], others: list[Span]) -> Iterator[Span]:
    """The times in both of two lists that are in order."""
    first = 0
    for begin, end in some:
        while first < len(others) and others[first][1] <= begin:
            first += 1
        for other in others[first:]:
            if other[0] >= end:
                break
            yield max(begin, other[0]), min(end, other[1])
