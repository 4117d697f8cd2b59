"""Protects `verify` on every machine: whatever NVML answers, nothing raises, samples are kept and a reader learns why."""

# ruff: noqa: N802 - the fake has NVML's own names.

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_nvml import GIB, LOST, MISMATCH, NO_DRIVER, NO_LIBRARY, NOT_FOUND, NOT_SUPPORTED, UNKNOWN, FakeNvml, Handle

from tflint_gpu.gpu.cards import Choice, Gpu, Survey, choose, survey
from tflint_gpu.gpu.nvml import Nvml, load_nvml
from tflint_gpu.gpu.processes import descendants, numbers
from tflint_gpu.gpu.watch import Recording, Sample, Watch
from tflint_gpu.verify.execution.processes import Family

NOBODY = 1 << 30
"""A number that no process here can have: Linux ends at 4,194,304."""
NAMESPACES = subprocess.run(["unshare", "--user", "--pid", "--fork", "true"], capture_output=True).returncode == 0


class Later(FakeNvml):
    """A card whose processes come after the first sample."""

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[Any]:
        return super().nvmlDeviceGetComputeRunningProcesses(handle) if self.rounds > 1 else []


@contextlib.contextmanager
def nested_process(command: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The numbers of a process and of the one that it starts."""
    with subprocess.Popen(command, start_new_session=True) as process:
        while not (inner := descendants(process.pid) - {process.pid}):
            assert process.poll() is None
        yield process.pid, next(iter(inner))
        Family(process.pid, "no mark").kill()


def record(nvml: FakeNvml, samples: int = 3, pids: tuple[int, ...] = (4711,), *, at_rest: bool = False) -> Recording:
    """Watch the first card until the fake has been asked for so many samples; the clock counts them.

    Arguments:
        at_rest: name the processes after the first sample, as `verify` does.
    """
    enough, named = threading.Event(), threading.Event()

    def on_round(count: int) -> None:
        assert count == 1 or named.wait(30)
        if count >= samples:
            enough.set()

    nvml.on_round = on_round
    seconds = itertools.count()
    watch = Watch(CARD, interval=0.0, nvml=nvml, clock=lambda: float(next(seconds)))
    if not at_rest:
        watch.follow(pids)
    with watch:
        watch.follow(pids)
        named.set()
        assert watch.recording.state != "ready" or enough.wait(30)
    return watch.recording


CARD = Gpu(0, "Fake H000", "GPU-000-abc", "580.65", 80 * GIB, 70 * GIB, False, (9, 0), True, 0, ((4711, 3 * GIB),))


class TestSurvey:
    def test_one_gpu(self) -> None:
        """The facts of the report, in bytes."""
        assert survey(FakeNvml()) == Survey("ready", (CARD,))

    def test_what_slows_a_card(self) -> None:
        """Reasons in words; having nothing to do is none."""
        assert survey(FakeNvml(throttle=0x1)).gpus[0].slowed == ()
        assert survey(FakeNvml(throttle=0x44)).gpus[0].slowed == ("a power limit set in software", "heat")

    def test_four_gpus(self) -> None:
        """Each under NVML's index."""
        found = survey(FakeNvml(free=(1, 2, 3, 4)))
        assert [(gpu.index, gpu.free_memory) for gpu in found.gpus] == [(0, 1), (1, 2), (2, 3), (3, 4)]

    @pytest.mark.parametrize(
        ("refuses", "state"),
        [
            ({"init": NO_LIBRARY}, "no library"),
            ({"init": NO_DRIVER}, "no driver"),
            ({"init": MISMATCH}, "no driver"),
            ({"init": NOT_FOUND}, "no GPU"),
            ({"init": UNKNOWN}, "error"),
            ({"count": UNKNOWN}, "error"),
            ({"driver": LOST}, "lost"),
        ],
    )
    def test_machines_without(self, refuses: dict[str, int], state: str) -> None:
        """A missing driver is a state with a note that tells NVML's own words."""
        found = survey(FakeNvml(refuses=refuses))
        assert (found.state, found.gpus) == (state, ())
        assert f"error {next(iter(refuses.values()))}" in found.note

    def test_driver_without_gpu(self) -> None:
        """As on a machine whose card was taken out."""
        found = survey(FakeNvml(free=()))
        assert found.state == "no GPU" and "580.65" in found.note

    def test_one_dead_gpu_does_not_hide_the_others(self) -> None:
        """NVML refuses a handle for it; the others can be measured."""
        found = survey(FakeNvml(free=(1, 2, 3), dead={1}))
        assert found.state == "ready" and [gpu.index for gpu in found.gpus] == [0, 2]
        assert found.note == "no answer from GPU 1"

    def test_all_dead(self) -> None:
        """Cards that do not answer are lost, not absent."""
        assert survey(FakeNvml(dead={0})).state == "lost"

    def test_facts_that_a_card_does_not_tell(self) -> None:
        """Old cards know no MIG; a shared memory has no size of its own."""
        (gpu,) = survey(FakeNvml(refuses={"mig": NOT_SUPPORTED, "memory": NOT_SUPPORTED})).gpus
        assert (gpu.mig, gpu.total_memory, gpu.free_memory) == (None, None, None)

    @pytest.mark.parametrize("refuses", [{}, {"count": UNKNOWN}, {"handle": LOST}, {"shutdown": UNKNOWN}])
    def test_nvml_is_closed_again(self, refuses: dict[str, int]) -> None:
        """Also after an error: a second user in the process counts on the balance."""
        nvml = FakeNvml(refuses=refuses)
        survey(nvml)
        assert nvml.open == 0

    def test_without_the_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """nvidia-ml-py is not installed: said, not raised."""
        monkeypatch.setitem(sys.modules, "pynvml", None)
        assert load_nvml() is None
        assert survey().state == "no library"
        with Watch(CARD) as watch:
            pass
        assert watch.recording == Recording("no library")

    def test_the_real_package_has_all_that_is_used(self) -> None:
        """The fake answers to the same names as the module that it stands for."""
        module = load_nvml()
        used = [name for name in vars(Nvml) if name.startswith("nvml")]
        assert len(used) > 10
        assert [name for name in [*used, "NVMLError"] if not hasattr(module, name) or not hasattr(FakeNvml, name)] == []


class TestChoose:
    GPUS = survey(FakeNvml(free=(5, 9, 9, 1)))

    @pytest.mark.parametrize(
        ("device", "visible", "index"),
        [
            ("auto", None, 1),
            ("gpu", None, 1),
            ("gpu:0", None, 0),
            ("gpu:3", None, 3),
            ("cpu", None, None),
            ("auto", "0,3", 0),
            ("gpu:0", "3,1", 3),
            ("gpu:1", " 3 , 1 ", 1),
            ("gpu:0", "GPU-222", 2),
            ("gpu:0", "GPU-", None),
            ("auto", "3,-1,1", 3),
            ("auto", "", None),
            ("auto", "-1", None),
            ("gpu:2", "0,1", None),
            ("gpu:4", None, None),
        ],
    )
    def test_which(self, device: str, visible: str | None, index: int | None) -> None:
        """`auto` leaves a busy card alone; numbers count what CUDA_VISIBLE_DEVICES shows, as TensorFlow's do."""
        gpu = choose(self.GPUS, device, visible, "PCI_BUS_ID").gpu
        assert (gpu and gpu.index) == index

    def test_numbers_of_cuda_are_not_nvmls(self) -> None:
        """Without CUDA_DEVICE_ORDER numbers count the fastest card first: among cards of several kinds nobody else knows."""
        with pytest.raises(ValueError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
            choose(self.GPUS, "auto", "1")
        assert choose(self.GPUS, "auto", "GPU-222").gpu == self.GPUS.gpus[2]
        assert "CUDA counts the fastest first" in choose(self.GPUS, "gpu:1").note
        assert "CUDA counts" not in choose(self.GPUS, "gpu:1", order="PCI_BUS_ID").note + choose(self.GPUS, "auto").note
        alike = Survey("ready", tuple(replace(gpu, name="Fake") for gpu in self.GPUS.gpus))
        assert choose(alike, "auto", "1").gpu == alike.gpus[1]

    def test_only_visible_cards_count(self) -> None:
        """Protects "needs two GPUs" from cards that the user hides."""
        assert [gpu.index for gpu in choose(self.GPUS, "gpu:0", "3,1", "PCI_BUS_ID").others] == [1]
        assert choose(self.GPUS, "gpu:0", "3", "PCI_BUS_ID").others == ()
        assert [gpu.index for gpu in choose(self.GPUS, "gpu:0").others] == [1, 2, 3]

    PARTED = survey(FakeNvml(free=(5, 9, 7), parts={1: (0, 2)}))

    @pytest.mark.parametrize(
        ("device", "visible", "uuid"),
        [
            ("gpu:0", None, "GPU-000-abc"),
            ("gpu:1", None, "MIG-10-abc"),
            ("gpu:2", None, "MIG-12-abc"),
            ("gpu:3", None, "GPU-222-abc"),
            ("auto", "MIG-12", "MIG-12-abc"),
            ("gpu:0", "1", "MIG-10-abc"),
            ("gpu:0", "GPU-111", "MIG-10-abc"),
            ("gpu:0", "MIG-1", None),
            ("gpu:0", "MIG-GPU-111/1/0", None),
            ("gpu:1", "MIG-10-abc,GPU-222-abc", "GPU-222-abc"),
        ],
    )
    def test_parts_of_a_card_are_chosen_as_cuda_shows_them(
        self, device: str, visible: str | None, uuid: str | None
    ) -> None:
        """Protects a MIG user from a measurement that names a card which CUDA does not give to anybody as a whole."""
        gpu = choose(self.PARTED, device, visible, "PCI_BUS_ID").gpu
        assert (gpu and gpu.uuid) == uuid

    def test_cuda_shows_a_part_alone(self) -> None:
        """Protects "needs two GPUs" from a part, beside which a process sees no other device."""
        assert choose(self.PARTED, "gpu:1").others == ()
        assert [gpu.index for gpu in choose(self.PARTED, "gpu:0").others] == [2]

    def test_mig_without_a_part_is_no_gpu(self) -> None:
        """Protects from a run on a card that CUDA does not show: MIG is on and nothing is set up."""
        choice = choose(survey(FakeNvml(mig=1)), "auto")
        assert choice.gpu is None and "no usable MIG instance" in choice.note

    @pytest.mark.parametrize(
        ("nvml", "note"),
        [
            (FakeNvml(processes=()), "10.0 GiB of its memory are in use"),
            (FakeNvml(), "another process is on it with 3.0 GiB of its memory"),
            (FakeNvml(processes=((1, None), (2, None))), "2 other processes are on it"),
            (FakeNvml(free=(79 * GIB,), processes=(), throttle=0x40), "its clocks are throttled: heat"),
            (FakeNvml(free=(79 * GIB,), processes=()), ""),
        ],
        ids=["memory", "process", "processes", "heat", "at rest"],
    )
    def test_a_busy_card_is_told(self, nvml: FakeNvml, note: str) -> None:
        """Protects a figure from a neighbour that nobody mentions, before anything is run."""
        choice = choose(survey(nvml), "auto")
        assert choice.note == (f"GPU 0 is busy: {note}" if note else "")

    @pytest.mark.parametrize(
        ("device", "visible", "note"),
        [
            ("gpu:4", None, "gpu:4 does not exist: 4 GPUs are visible"),
            ("gpu", "-1", "CUDA_VISIBLE_DEVICES hides"),
            ("cpu", None, ""),
        ],
    )
    def test_why_none(self, device: str, visible: str | None, note: str) -> None:
        """A measurement on the CPU that was meant for a GPU has its reason."""
        choice = choose(self.GPUS, device, visible, "PCI_BUS_ID")
        assert choice.note.startswith(note) and bool(choice.note) == bool(note)

    def test_the_reason_is_the_survey_s(self) -> None:
        """No driver: not blamed on CUDA_VISIBLE_DEVICES."""
        assert choose(Survey("no driver", note="no driver"), "auto") == Choice(None, "no driver")

    @pytest.mark.parametrize("device", ["GPU", "gpu:", "gpu:-1", "gpu:x", "cuda", "", "gpu:1 "])
    def test_unknown_device(self, device: str) -> None:
        """A typing error must not turn into a measurement on another device."""
        with pytest.raises(ValueError, match="unknown device"):
            choose(self.GPUS, device)


class TestWatch:
    def test_samples(self) -> None:
        """Units: percent, bytes, watts, MHz, seconds since the beginning."""
        recording = record(FakeNvml())
        assert recording.samples[0] == Sample(1.0, 10, 3 * GIB, 10 * GIB + 1, 250.5, 1980, energy=1250.5)
        assert [sample.seconds for sample in recording.samples[:3]] == [1.0, 2.0, 3.0]
        assert (recording.state, recording.notes) == ("ready", ())

    def test_summary(self) -> None:
        """Mean utilisation, peak memory, growth above the first sample."""
        samples = (Sample(0, 0, None, 100), Sample(1, 50, 7, 900), Sample(2, None, 5, 400), Sample(3))
        recording = Recording("ready", samples)
        assert (recording.utilisation, recording.memory, recording.card_growth) == (25, 7, 800)
        nothing = Recording("ready", (Sample(0),))
        assert (nothing.utilisation, nothing.memory, nothing.card_growth) == (None, None, None)

    def test_a_gpu_lost_in_the_middle(self) -> None:
        """The samples so far are kept, the loss is noted, the thread ends and NVML is closed."""
        nvml = FakeNvml(lost_after=4)
        recording = record(nvml, samples=5)
        assert recording.state == "lost" and len(recording.samples) == 4
        assert recording.notes == ("GPU 0 was lost after 4 samples: error 15",)
        assert nvml.open == 0 and nvml.rounds == 5

    def test_a_gpu_lost_before(self) -> None:
        """Between survey and run."""
        recording = record(FakeNvml(dead={0}))
        assert (recording.state, recording.samples) == ("lost", ())

    def test_a_driver_gone_before(self) -> None:
        """`nvmlInit` worked for the survey and does not now."""
        nvml = FakeNvml(refuses={"init": NO_DRIVER})
        assert record(nvml).state == "no driver" and nvml.open == 0

    def test_only_the_followed_processes(self) -> None:
        """Someone else's memory is not counted; that of several own processes is added up."""
        nvml = FakeNvml(processes=((1, GIB), (2, 2 * GIB), (3, 4 * GIB)))
        assert record(nvml, pids=(1, 3)).memory == 5 * GIB

    @pytest.mark.parametrize(
        "processes", [(), ((NOBODY, GIB),), ((4711, None),), ((4711, 0),)], ids=["empty", "host's", "unsaid", "zero"]
    )
    def test_where_a_container_hides_the_process_the_card_s_growth_is_taken_and_said(
        self, processes: tuple[tuple[int, int | None], ...]
    ) -> None:
        """Never 0 bytes: drivers that know a process in a container tell 0 of it, others tell nothing or the host's."""
        recording = record(FakeNvml(processes=processes))
        assert recording.is_hidden and recording.memory == recording.card_growth
        assert len(recording.notes) == 1 and "the increase in GPU memory in use" in recording.notes[0]

    def test_where_the_list_is_open_a_process_that_is_not_on_it_held_nothing(self) -> None:
        """Protects a memory verdict from someone else's growth: the process is not hidden, it is not there."""
        recording = record(FakeNvml(processes=((1, GIB),)))
        assert recording.memory is None and recording.card_growth is not None and not recording.is_hidden
        assert len(recording.notes) == 1 and "held no GPU memory" in recording.notes[0]
        assert "another process was on the GPU with 1.0 GiB" in recording.disturbances[0]

    def test_the_program_in_bubblewrap_is_the_process_that_holds_the_memory(self) -> None:
        """Protects memory in the sandbox: the process that is started holds none, its grandchild does."""
        with nested_process(("sh", "-c", "sleep 60 & wait")) as (leader, inner):
            assert inner != leader
            recording = record(FakeNvml(processes=((inner, 2 * GIB), (1, GIB))), pids=(leader,))
        assert recording.memory == 2 * GIB and recording.samples[0].others == 1

    @pytest.mark.skipif(not NAMESPACES, reason="no user namespaces here")
    def test_a_driver_that_tells_the_number_in_the_inner_namespace_is_understood(self) -> None:
        """Protects memory in bubblewrap where NVML tells the innermost number, and a stranger of that number from it."""
        with nested_process(("unshare", "--user", "--pid", "--fork", "sleep", "60")) as (leader, inner):
            assert numbers(inner)[0] == inner and numbers(inner)[-1] == 1
            own = record(Later(processes=((1, 2 * GIB),)), pids=(leader,), at_rest=True)
            stranger = record(FakeNvml(processes=((1, GIB),)), pids=(leader,), at_rest=True)
        assert (own.memory, own.samples[-1].others) == (2 * GIB, 0)
        assert (stranger.memory, stranger.samples[-1].others) == (None, 1)

    @pytest.mark.parametrize(
        ("query", "missing", "note"),
        [
            ("utilisation", "utilisation", "utilisation: error 3"),
            ("power", "power", "power: error 3"),
            ("clock", "clock", "SM clock: error 3"),
            ("memory", "card_memory", "memory: error 3"),
            ("processes", "memory", "memory of processes: error 3"),
        ],
    )
    def test_an_unsupported_query(self, query: str, missing: str, note: str) -> None:
        """One number is missing, with one note however many samples; the others are there."""
        recording = record(FakeNvml(refuses={query: NOT_SUPPORTED}))
        absent = {name for name in Sample.__slots__ if all(getattr(item, name) is None for item in recording.samples)}
        assert (recording.state, absent) == ("ready", {missing})
        assert recording.notes[0] == note and recording.notes.count(note) == 1

    def test_a_part_of_a_card_is_watched_and_not_all_of_it(self) -> None:
        """Protects a MIG user from the neighbours' memory; a reader learns why the utilisation is missing."""
        nvml = FakeNvml(parts={0: (3,)})
        with Watch(survey(nvml).gpus[0].parts[0], nvml=nvml) as watch:
            pass
        first = watch.recording.samples[0]
        assert first.card_memory == 3 and (first.utilisation, first.power, first.clock) == (None, 250.5, 1980)
        assert "MIG is on" in watch.recording.notes[0]

    def test_a_card_is_found_again_by_its_uuid(self) -> None:
        """Protects from the neighbour's figures where a card is lost between choosing and watching: numbers move up."""
        moved = replace(survey(FakeNvml(free=(1, 2))).gpus[1], index=0)
        nvml = FakeNvml(free=(1 * GIB, 2 * GIB))
        with Watch(moved, nvml=nvml) as watch:
            pass
        assert watch.recording.samples[0].card_memory == 78 * GIB + 1

    def test_only_the_time_of_measuring_counts(self) -> None:
        """Protects the utilisation from import, tracing and the end of a program."""
        samples = tuple(Sample(float(second), 90 if 3 < second <= 5 else 0) for second in range(10))
        recording = Recording("ready", samples, began=100.0)
        assert recording.within(103.0, 105.0).utilisation == 90
        assert recording.within(103.1, 103.2).utilisation == 90, "shorter than that from one sample to the next"
        assert recording.utilisation == 18

    def test_clocks_that_are_held_down_are_told_with_their_share(self) -> None:
        """Protects a ratio from a card that got hot in the second half, unless a reader knows."""
        assert record(FakeNvml(throttle=0x40)).disturbances == (
            "the clocks were throttled: heat (100% of the samples)",
        )
        assert record(FakeNvml()).disturbances == ()
        hot = tuple(Sample(float(second), slowed=("heat",) if second > 7 else ()) for second in range(10))
        assert Recording("ready", hot).disturbances == ("the clocks were throttled: heat (20% of the samples)",)

    def test_no_gpu_to_watch(self) -> None:
        """On the CPU the same code runs and records nothing."""
        nvml = FakeNvml()
        with Watch(None, nvml=nvml) as watch:
            watch.follow([1])
        assert watch.recording == Recording("no GPU") and nvml.rounds == 0

    def test_a_bug_in_the_library(self) -> None:
        """An error that is not NVML's ends the watch, not the measurement."""
        nvml = FakeNvml()
        nvml.nvmlDeviceGetPowerUsage = lambda handle: "much"  # type: ignore[method-assign, assignment, return-value]
        with Watch(CARD, nvml=nvml) as watch:
            pass
        assert watch.recording.state == "error" and "TypeError" in watch.recording.notes[0]

    def test_an_exception_passes_and_the_thread_ends(self) -> None:
        """Ctrl-C in the middle leaves no thread and NVML closed."""
        nvml = FakeNvml()
        with pytest.raises(KeyboardInterrupt), Watch(CARD, interval=0.0, nvml=nvml):
            raise KeyboardInterrupt
        assert nvml.open == 0
        assert [thread.name for thread in threading.enumerate() if thread.name == "gpu-watch"] == []

    def test_a_call_that_never_returns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A card that hangs in a call: the watch gives up, keeps its samples and leaves NVML alone."""
        monkeypatch.setattr("tflint_gpu.gpu.watch._PATIENCE", 0.01)
        hangs, released = threading.Event(), threading.Event()

        def hang(count: int) -> None:
            if count == 2:
                hangs.set()
                released.wait(30)

        nvml = FakeNvml(on_round=hang)
        with Watch(CARD, interval=0.0, nvml=nvml) as watch:
            assert hangs.wait(30)
        assert watch.recording.state == "lost" and len(watch.recording.samples) == 1
        assert nvml.open == 1
        released.set()
        for thread in threading.enumerate():
            if thread.name == "gpu-watch":
                thread.join(30)
