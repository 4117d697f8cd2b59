"""Which stage of an input pipeline its consumer waits for, in TensorFlow's profile.

Each call for a stage's next element is an event of its thread, `Iterator::Root::Prefetch::ParallelMapV2`: the path from
the consumer to the stage. What computes in a call is the innermost of those in it, unless other threads work for its
stage: these call the stage behind it. So a wait is followed from stage to stage until one is reached whose threads ask
for nothing: that is what all others wait for. No list of stages is needed. Where that one's function has no thread,
the functions that have them are waited for.

A call that began before the profile, or ended after it, is not in it. Those in it are known by that: nothing is around
them, and what is waited for before the first whole call of a stage's threads is not charged.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tflint_gpu.run.inside.tflint_events import Event, Line

_CALL, _FUNCTION, _BEGUN = "Iterator::", "InstantiatedCapturedFunction::", "InstantiatedCapturedFunction::RunAsync"
_RUNS = ("ExecutorState::Process", "ExecutorDoneCallback")
_ON_A_DEVICE = "Prefetch::Generator"  # asks the pipeline of the host for its elements, in a thread
_NUMBER = re.compile(r"(?<!Zip)(?<!Concatenate)\[\d+\]")  # of an epoch, of a dataset that a function made
_LAST_NUMBER = re.compile(r"\[\d+\]$")
_PICO = 1e12
_TAKES_LONGER = 0.1
_NOT_TOLD = "unavailable"  # of a stage that is busy
_NO_SETTINGS = ("id", "parent_id", "shapes", "types", "name")

Key = Any  # the pipeline, and the path from its consumer to the stage


class Stage:
    """A stage of a pipeline.

    Attributes:
        calls: for its next element.
        itself: picoseconds of these without the calls in them.
        called: how often its function was, in its calls.
        ran, runs: picoseconds of its function in other threads, and how often it was begun there.
        waited: picoseconds that the consumer waited for it.
        known: what its calls tell of it, the last one last.
    """

    def __init__(self) -> None:
        self.calls = self.itself = self.called = self.ran = self.runs = 0
        self.waited = 0.0
        self.known: dict[str, Any] = {}

    def told(self, path: str, has_threads: bool) -> dict[str, Any]:
        """What a report needs; the calls of a stage that has threads wait for these."""
        # A call that only finds the end of an element of `interleave` calls no function.
        calls = self.called if 2 * self.called >= self.calls else self.calls
        worked, elements = (self.ran, self.runs) if self.runs else (0 if has_threads else self.itself, calls)
        return {
            "path": path.split("::"),
            "datasets": self.known.get("name", ""),
            "waited": self.waited / _PICO,
            "worked": worked / _PICO,
            "elements": elements,
            "settings": {name: value for name, value in self.known.items() if name not in _NO_SETTINGS},
        }


class Pipelines:
    """All that were asked for an element.

    Attributes:
        functions: the stage of each run of a function, by the number of the run.
    """

    def __init__(self, lines: list[Line]) -> None:
        self.stages: dict[Key, Stage] = defaultdict(Stage)
        self.functions: dict[Any, Key] = {}
        self._outermost: list[tuple[int, int, Key]] = []
        self._begun: set[Any] = set()
        self._roots: dict[Any, Any] = {}
        self._parents: dict[Any, Any] = {}
        self._spans: list[tuple[int, int, int, Key, Key]] = []
        self._runs: list[tuple[int, int, int, Key]] = []
        for line in lines:
            self._name(line)
        roots = set(self._roots.values())
        self._only_root = roots.pop() if len(roots) == 1 else None
        for thread, line in enumerate(lines):
            self._read(thread, line)
        for thread, line in enumerate(lines):
            self._read_runs(thread, line)
        on_a_device = [key for key in self.stages if key[1] == _ON_A_DEVICE]
        self._on_a_device = on_a_device[0] if on_a_device else None
        self._threads_since: dict[Key | None, int] = {}
        for begin, *_, outermost in self._spans:
            before = self._before(outermost)
            self._threads_since[before] = min(begin, self._threads_since.get(before, begin))
        self._calls: dict[Any, list[tuple[int, int]]] = defaultdict(list)  # of each pipeline's consumer
        for begin, end, key in sorted(self._outermost, key=lambda call: call[:2]):
            if self._before(key) is None:
                self._calls[key[0]].append((begin, end))
        self._charge()

    @property
    def waits(self) -> list[tuple[int, int]]:
        """When the consumers waited, in picoseconds."""
        return [call for calls in self._calls.values() for call in calls]

    def told(self) -> list[dict[str, Any]]:
        """Each pipeline with its stages, what was waited for most first, in seconds of a span."""
        known: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for key, each in self.stages.items():
            known[key[0]].append(each.told(key[1], key in self._threads_since))
        known.pop(None, None)  # calls whose consumer's is not in the profile
        pipelines = []
        for root, told in known.items():
            waited, span = self._waited(root)
            charged = sum(stage["waited"] for stage in told)
            for stage in told:
                stage["waited"] *= waited / charged if charged else 0.0
            told.sort(key=lambda stage: (-stage["waited"], -stage["worked"]))
            pipelines.append({"waited": waited, "span": span, "calls": len(self._calls[root]), "stages": told})
        return sorted(pipelines, key=lambda pipeline: -pipeline["waited"])

    def _waited(self, root: Any) -> tuple[float, float]:
        """Seconds in which a pipeline's consumer waited, and from its first call to its last; 0 where there is one."""
        calls = self._calls[root]
        waits = calls[:-1] or calls
        span = calls[-1][0] - calls[0][0] if calls else 0
        return sum(end - begin for begin, end in waits) / _PICO, span / _PICO

    def _name(self, line: Line) -> None:
        for event in line.events:
            if event.name.startswith(_CALL):
                stats = event.stats
                self._parents[stats.get("id")] = stats.get("parent_id")
                if event.name.count("::") == 2:  # as the user's last dataset; a root has another name in each epoch
                    self._roots[stats.get("parent_id")] = stats.get("name"), stats.get("shapes")

    def _key(self, event: Event, number: Any) -> Key:
        for _ in range(100):
            if number is None or number in self._roots:
                break
            number = self._parents.get(number)
        return self._roots.get(number, self._only_root), _NUMBER.sub("", event.name)[len(_CALL) :]

    def _before(self, key: Key) -> Key | None:
        """The stage for whose threads this is the first call; None: a consumer's."""
        return self._on_a_device if key[1] == "Root" else _above(key)

    def _read(self, thread: int, line: Line) -> None:
        """The spans in which the innermost call of a thread is the same, and what ran the functions of which stage."""
        around: list[tuple[Event, Key]] = []
        outermost: Key | None = None
        is_whole, at, inside_until = False, 0, 0

        def go_on(to: int) -> None:
            nonlocal at
            while around:
                call, key = around[-1]
                end = min(to, call.end)
                if end > at:
                    self.stages[key].itself += end - at
                    if is_whole and outermost is not None:
                        self._spans.append((at, end, thread, key, outermost))
                    at = end
                if call.end > to:
                    break
                around.pop()
            at = max(at, to)

        for event in line.events:
            if event.name.startswith(_CALL):
                go_on(event.begin)
                stats = event.stats
                key = self._key(event, stats.get("id"))
                stage = self.stages[key]
                stage.calls += 1
                stage.known.update((name, value) for name, value in stats.items() if value != _NOT_TOLD)
                if not around:
                    outermost, is_whole = key, event.end <= inside_until
                    if is_whole:
                        self._outermost.append((event.begin, event.end, key))
                around.append((event, key))
            elif event.name.startswith(_FUNCTION):
                go_on(event.begin)
                # A thread of a stage runs its function between two calls for the elements that it is given.
                its = around[-1][1] if around else None if outermost is None else _above(outermost)
                self._take_function(event, its)
            else:
                inside_until = max(inside_until, event.end)
        go_on(max([event.end for event, _ in around], default=at))

    def _take_function(self, event: Event, key: Key | None) -> None:
        number = event.stats.get("id")
        if key is None or number is None:
            return
        self.functions[number] = key
        if event.name == _BEGUN:
            self._begun.add(number)
            self.stages[key].runs += 1
        else:
            self.stages[key].called += 1

    def _read_runs(self, thread: int, line: Line) -> None:
        until = 0
        for event in line.events:
            if until <= event.begin < event.end and event.name in _RUNS:
                number = event.stats.get("id")
                key = self.functions.get(number)
                if key is not None:
                    until = event.end
                    self._runs.append((event.begin, event.end, thread, key))
                    if number in self._begun:
                        self.stages[key].ran += event.end - event.begin

    def _charge(self) -> None:
        """Charge each moment in which a consumer waits."""
        moments: list[tuple[int, bool, int, bool, Any]] = []
        for (begin, end, thread, innermost, outermost), behind in zip(self._spans, self._behind()):
            before = self._before(outermost)
            calls = self._calls[innermost[0]]
            if before is None and len(calls) > 1 and begin >= calls[-1][0]:
                continue  # the span ends with the last call
            moments += (begin, True, thread, False, _Call(innermost, before, behind)), (end, False, thread, False, None)
        for begin, end, thread, key in self._runs:
            moments += (begin, True, thread, True, key), (end, False, thread, True, None)
        moments.sort(key=lambda moment: moment[:2])
        last = 0
        now = _Now(self._threads_since, set(self.functions.values()))
        for at, begins, thread, is_run, doing in moments:
            if at > last:
                for blamed, share in now.blamed(at).items():
                    self.stages[blamed].waited += share * (at - last)
            last = at
            those: dict[int, Any] = now.runs if is_run else now.calls
            if begins:
                those[thread] = doing
            else:
                del those[thread]

    def _behind(self) -> list[Key | None]:
        """For each span the stage whose threads work meanwhile, and take longer: its next element is waited for again.

        A thread computes for nothing then: without that it would have waited for as much longer.
        """
        behind: list[Key | None] = [None] * len(self._spans)
        computed: dict[Any, list[int]] = {}  # spans since its last element, by the thread and the stage
        for number, (begin, end, thread, key, _) in enumerate(self._spans):
            if key not in self._threads_since:
                for (its, stage), spans in computed.items():
                    if its == thread and stage[1].startswith(key[1]):
                        spans.append(number)
                continue
            spans = computed.get((thread, key), [])
            if end - begin > _TAKES_LONGER * sum(self._spans[each][1] - self._spans[each][0] for each in spans):
                for each in spans:
                    behind[each] = key
            computed[thread, key] = []
        return behind


class _Call(NamedTuple):
    """What a thread asks for: the stage, that for which it works (None: for the consumer), and what it hides behind."""

    key: Key
    before: Key | None
    behind: Key | None


class _Now:
    """What goes on at a moment.

    Arguments:
        threads_since: the stages that have threads, by the moment since which these are seen.
        with_functions: the stages whose function is run.

    Attributes:
        calls: the innermost of each thread.
        runs: for each thread the stage whose function it runs.
    """

    def __init__(self, threads_since: dict[Key | None, int], with_functions: set[Key]) -> None:
        self.threads_since = threads_since
        self.with_functions = with_functions
        self.calls: dict[int, _Call] = {}
        self.runs: dict[int, Key] = {}

    def blamed(self, at: int) -> Counter[Key]:
        """What the consumers wait for, with the share of each."""
        shares: Counter[Key] = Counter()
        for call in self.calls.values():
            if call.before is None:
                self._blame(call.behind or call.key, at, 1.0, shares)
        return shares

    def _blame(self, key: Key, at: int, share: float, shares: Any) -> None:
        asked: list[Key] = []
        if key in self.threads_since:
            if at <= self.threads_since[key]:
                return
            asked = [call.behind or call.key for call in self.calls.values() if call.before == key]
        if asked:
            for inner in asked:
                self._blame(inner, at, share / len(asked), shares)
            return
        running = [key]
        if key in self.with_functions and key not in self.runs.values() and self.runs:
            running = list(self.runs.values())
        for each in running:
            shares[each] += share / len(running)


def _above(key: Key) -> Key | None:
    """The stage that asks this one for its elements; None: it is the last one."""
    path = _LAST_NUMBER.sub("", key[1].rpartition("::")[0])
    return (key[0], path) if path else None
