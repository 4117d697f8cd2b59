"""Protects `verify` on every machine: whatever NVML answers, nothing raises, samples are kept and a reader learns why."""

from __future__ import annotations

import itertools
import sys
import threading
from dataclasses import replace

import pytest
from fake_nvml import GIB, LOST, MISMATCH, NO_DRIVER, NO_LIBRARY, NOT_FOUND, NOT_SUPPORTED, UNKNOWN, FakeNvml

from tflint_gpu.doctor.cards import Choice, Gpu, Nvml, Survey, choose, load_nvml, survey
from tflint_gpu.verify.gpu import Recording, Sample, Watch


def record(nvml: FakeNvml, samples: int = 3, pids: tuple[int, ...] = (4711,)) -> Recording:
    """Watch the first card until the fake has been asked for so many samples; the clock counts them."""
    enough = threading.Event()
    nvml.on_round = lambda count: enough.set() if count >= samples else None
    seconds = itertools.count()
    watch = Watch(CARD, interval=0.0, nvml=nvml, clock=lambda: float(next(seconds)))
    watch.follow(pids)
    with watch:
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
        alike = Survey("ready", tuple(replace(gpu, name="Fake") for gpu in self.GPUS.gpus))
        assert choose(alike, "auto", "1").gpu == alike.gpus[1]

    def test_only_visible_cards_count(self) -> None:
        """Protects "needs two GPUs" from cards that the user hides."""
        assert [gpu.index for gpu in choose(self.GPUS, "gpu:0", "3,1", "PCI_BUS_ID").others] == [1]
        assert choose(self.GPUS, "gpu:0", "3", "PCI_BUS_ID").others == ()
        assert [gpu.index for gpu in choose(self.GPUS, "gpu:0").others] == [1, 2, 3]

    @pytest.mark.parametrize(
        ("device", "visible", "note"),
        [
            ("gpu:4", None, "there is no gpu:4: 4 visible"),
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
        assert recording.samples[0] == Sample(1.0, 10, 3 * GIB, 10 * GIB + 1, 250.5, 1980)
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

    @pytest.mark.parametrize("processes", [(), ((1, GIB),), ((4711, None),)])
    def test_a_process_that_is_not_on_the_list(self, processes: tuple[tuple[int, int | None], ...]) -> None:
        """In a container: None and a note, never 0 bytes; the growth of the card remains."""
        recording = record(FakeNvml(processes=processes))
        assert recording.memory is None and recording.card_growth is not None
        assert len(recording.notes) == 1 and "never told the memory of the process" in recording.notes[0]

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

    def test_mig_is_said(self) -> None:
        """A reader learns why the utilisation is missing."""
        with Watch(Gpu(0, "", "", "", None, None, mig=True), nvml=FakeNvml(mig=1)) as watch:
            pass
        assert "MIG is on" in watch.recording.notes[0]

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
        monkeypatch.setattr("tflint_gpu.verify.gpu._PATIENCE", 0.01)
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
