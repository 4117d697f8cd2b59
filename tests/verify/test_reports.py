"""What `verify` tells: every format, for every kind of result."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browsers import browser, cut_off, scrolled

from tflint_gpu.diagnostics import Diagnostic, Location, Prediction
from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.gpu.watch import Recording
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.narrowing.measurements import read_measurements
from tflint_gpu.reports import View
from tflint_gpu.rule.experiment import Experiment
from tflint_gpu.verify.execution.host import Host
from tflint_gpu.verify.experiments.verification import Case, Sample, Verification
from tflint_gpu.verify.reports import FORMATS, Report, renderer
from tflint_gpu.verify.slicing.extract import Pair, Program
from tflint_gpu.verify.statistics.outcomes import Crash, Run, WholeRun
from tflint_gpu.verify.statistics.statistics import Verdict

pytestmark = pytest.mark.slow

CARD = Gpu(0, "NVIDIA Test", "GPU-1", "550.1", 80 << 30, 70 << 30)
SLOWDOWN = Prediction("slowdown", low=1.5, high=36.0)


def case(prediction: Prediction, *, name: str = "train.py", unit: str = "seconds per step", reason: str = "") -> Case:
    place = Location(3, 5)
    diagnostic = Diagnostic("TFG202", "eager-train-step", "a message", name, place, place, 3, "warning", prediction)
    if reason:
        return Case(diagnostic, prediction, reason=reason)
    programs = (Program("train.py", {"train.py": f"{word} = 1\n"}) for word in ("flagged", "repaired"))
    return Case(diagnostic, prediction, Experiment(None, None, unit=unit), pair=Pair(*programs))  # type: ignore[arg-type]


def sample(seconds: float, *, recording: Recording | None = None, run: Run | None = None) -> Sample:
    return Sample(run or Run(seconds=seconds), (seconds, seconds * 1.1, seconds * 0.9), 4.0, {}, recording)


def slow(recording: Recording | None = None) -> Verification:
    verdict = Verdict("confirmed", "the flagged code takes 20 times as long", 20.0, 18.5, 22.25)
    before, after = (tuple(sample(s, recording=recording) for _ in range(3)) for s in (0.02, 0.001))
    return Verification(case(SLOWDOWN), verdict, "cpu" if recording is None else "gpu:0", before, after)


def crashed() -> Verification:
    crash = sample(0.0, run=Run(crash=Crash("builtins.ValueError", "no such device")))
    verdict = Verdict("crash confirmed", "the flagged code raised ValueError in all 2 rounds")
    return Verification(case(Prediction("crash")), verdict, "cpu", (crash, crash), (sample(0.1), sample(0.1)))


def held() -> Verification:
    before, after = (tuple(sample(0.1, run=Run(memory=size << 30)) for _ in range(3)) for size in (60, 2))
    verdict = Verdict("memory confirmed", "it holds more", 30.0, 29.0, 31.0)
    return Verification(case(Prediction("memory"), unit="bytes"), verdict, "gpu:0", before, after)


def of_the_rule() -> Verification:
    confirmed = slow()
    return replace(confirmed, verdict=confirmed.verdict.as_reference())


def not_run(name: str = "train.py", reason: str = "it needs a GPU") -> Verification:
    return Verification(case(Prediction("memory"), name=name, reason=reason), Verdict("not run", reason), "cpu")


def rendered(output_format: str, *results: Verification, gpu: Gpu | None = None, interrupted: str = "") -> str:
    report = Report(
        results, gpu=gpu, tensorflow="2.21.0", interrupted=interrupted, date="2026-01-02", command="tflint-gpu verify ."
    )
    return renderer(output_format)(report, View(Path("/project")))


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(
    "results",
    [(), (slow(),), (crashed(),), (held(),), (not_run(),), (slow(), crashed(), held(), not_run())],
    ids=len,
)
def test_every_format_shows_every_verdict(output_format: str, results: tuple[Verification, ...]) -> None:
    text = rendered(output_format, *results)
    assert text.endswith("\n")
    for result in results:
        assert result.verdict.verdict in text


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_rules_own_workload_is_a_reference_and_confirms_nothing(output_format: str) -> None:
    """Protects from "confirmed, 33 times" for a line that costs nothing: none of it was run."""
    text = rendered(output_format, of_the_rule())
    assert "reference: the rule's own workload, not this code" in unescape(" ".join(text.split()))
    assert "confirmed" not in text.replace("confirm nothing about a GPU", "")
    if output_format != "json":
        assert "1 reference" in text and "your code was not measured" in text
    document = json.loads(rendered("json", of_the_rule(), slow()))
    assert [result["verdict"] for result in document["results"]] == [None, "confirmed"]
    assert (document["verdicts"], document["references"]) == ({"confirmed": 1}, 1)
    assert "your code was not measured" not in rendered("full", of_the_rule(), slow())


def test_a_finding_shows_a_reference_as_one(tmp_path: Path) -> None:
    """Protects `check --verified`, and SARIF's counts of verdicts."""
    path = tmp_path / "verified.json"
    path.write_text(rendered("json", of_the_rule()))
    (measurement,) = read_measurements(path).values()
    assert measurement.verdict == ""
    told = "20 times (18.5 to 22.2) on the CPU: reference: the rule's own workload, not this code"
    assert measurement.text == told


def test_the_whole_run_is_told() -> None:
    run = Run(seconds=0.02, whole=WholeRun(100, 1, 0.0, 0.5))
    repaired = Run(seconds=0.001, whole=WholeRun(100, 1, 0.0, 1.5))
    sides = ((replace(sample(s, run=one), notes={"once": 0.5}),) * 3 for s, one in ((0.02, run), (0.001, repaired)))
    before, after = sides
    text = rendered("full", replace(slow(), before=before, after=after))
    assert "the whole run, 100 steps: 2.5 s, with the fix 1.6 s" in text
    notes = {"once": 0.5, "whole": {"steps": None, "shapes": 30, "trace": 0.2, "seen": 8, "samples": 1}}
    after = tuple(replace(one, run=Run(seconds=0.001), notes=notes) for one in after)
    text = rendered("full", replace(slow(), before=before, after=after))
    assert "the data has at least 30 different shapes, and the fixed code takes 200 ms to trace each" in text


def test_a_factor_of_a_pipeline_is_called_that_and_its_part_of_the_run_is_told(tmp_path: Path) -> None:
    """Protects from 12 times for a pipeline where the training became twice as fast."""
    pipeline = replace(slow().case, experiment=Experiment(None, None, probes=(Reading(),)), share=0.5)  # type: ignore[arg-type]
    result = replace(slow(), case=pipeline)
    for output_format in ("full", "markdown"):
        text = " ".join(rendered(output_format, result).split())
        assert "20x (18.5 to 22.2) of the pipeline alone" in text
        assert "of its time here; the fix makes the run up to 1.9x as fast" in text
    path = tmp_path / "verified.json"
    path.write_text(rendered("json", result))
    (measurement,) = read_measurements(path).values()
    assert measurement.text == "20 times (18.5 to 22.2) of the pipeline alone on the CPU: confirmed"


class Reading:
    text = "tflint_measure.consume("


@pytest.mark.parametrize("output_format", ["full", "markdown", "html"])
def test_one_cause_of_several_findings_is_told_once(output_format: str) -> None:
    reason = "the flagged program did not finish: ModuleNotFoundError: No module named 'torchy'"
    text = " ".join(rendered(output_format, *(not_run(name, reason) for name in ("a.py", "b.py", "c.py"))).split())
    assert text.replace("&#39;", "'").count("No module named 'torchy'") == 1
    assert text.count("for the same reason as a.py:3:5 TFG202") == 2


def test_what_is_not_run_is_no_experiment_and_verdicts_are_counted_apart() -> None:
    """Protects readers of the first and the last line: 4 findings, one weaker, one measured with another, one not run."""
    weak = replace(slow(), verdict=Verdict("weaker than predicted", "less", 1.2, 1.1, 1.3))
    results = (slow(), replace(slow(), is_shared=True), weak, not_run())
    for output_format in ("full", "markdown"):
        text = rendered(output_format, *results)
        assert "2 experiments on the CPU" in text
        assert "2 confirmed, 1 weaker than predicted, 1 not run" in text
    document = json.loads(rendered("json", *results))
    assert document["verdicts"] == {"confirmed": 2, "weaker than predicted": 1, "not run": 1}


@pytest.mark.parametrize("output_format", ["full", "markdown", "html"])
def test_a_factor_is_shown_with_its_interval_and_times_with_their_unit(output_format: str) -> None:
    text = rendered(output_format, slow())
    assert "20x (18.5 to 22.2)" in text and "1.5x to 36x" in text and "TFG202" in text and "train.py:3:5" in text
    if output_format != "markdown":
        assert "20 ms/step" in text and "1 ms/step" in text


def one_of_two() -> Report:
    """A repair without which half of what two save is lost."""
    part = case(SLOWDOWN)
    prediction = Prediction("slowdown")
    of_both = replace(part.diagnostic, code="TFG202+TFG206", location=Location(2, 1), name="joint-repair")
    experiment = replace(part.experiment, variant="2 fixes together") if part.experiment is not None else None
    joint = replace(part, diagnostic=of_both, prediction=prediction, experiment=experiment, joined=(part, part))
    all_of_them = replace(slow(), case=joint, verdict=Verdict("confirmed", "both", 39.0, 38.0, 40.0))
    return Report((replace(slow(), case=replace(part, among=joint)),), (all_of_them,), tensorflow="2.21.0")


@pytest.mark.parametrize("output_format", ["full", "markdown", "html"])
def test_a_share_is_shown_with_its_interval_and_the_factor_of_all(output_format: str) -> None:
    text = " ".join(renderer(output_format)(one_of_two(), View(Path("/project"))).split())
    assert (
        "share: 50% (45% to 57%) of the time that 2 fixes together save at train.py:2:1 (together 39x (38 to 40))"
        in text
    )
    assert "2 fixes together" in text and "TFG202+TFG206" in text


def test_a_share_goes_into_json_and_from_there_to_what_check_says(tmp_path: Path) -> None:
    (tmp_path / "verified.json").write_text(renderer("json")(one_of_two(), View(tmp_path)))
    document = json.loads((tmp_path / "verified.json").read_text())
    (result,), (joint,) = document["results"], document["joint"]
    assert (result["joint"]["ratio"], result["joint"]["share"]["share"]) == (39.0, 0.5)
    assert result["key"] in joint["joins"]
    assert "--select TFG202,TFG206 train.py" in result["again"], "alone it is another number"
    (measured,) = read_measurements(tmp_path / "verified.json").values()
    assert "with the other fixes applied; 50% (45% to 57%) of what 2 fixes together save (39 times)" in measured.text


@pytest.mark.parametrize("output_format", ["full", "markdown", "html"])
def test_what_is_paid_once_has_a_line_of_its_own(output_format: str) -> None:
    """Protects readers of a factor: a repair that traces for seconds costs them, and a user pays that too."""
    result = slow()
    before = tuple(replace(one, notes={"once": 0.2}) for one in result.before)
    after = tuple(replace(one, notes={"once": 3.0}) for one in result.after)
    text = rendered(output_format, replace(result, before=before, after=after))
    assert "one-time costs such as tracing and compiling: 200 ms, with the fix 3 s" in text
    assert "once:" not in rendered(output_format, result)


@pytest.mark.parametrize("output_format", ["full", "markdown", "html"])
def test_on_the_cpu_every_line_says_so_and_on_a_card_none(output_format: str) -> None:
    on_cpu = rendered(output_format, slow(), crashed())
    assert "confirmed (CPU)" in on_cpu and "crash confirmed (CPU)" in on_cpu and "nothing about a GPU" in on_cpu
    on_card = rendered(output_format, slow(watched(40)), gpu=CARD)
    assert "(CPU)" not in on_card and "NVIDIA Test" in on_card and "40" in on_card


def watched(percent: int) -> Recording:
    return Recording("ready", tuple(CardSample(i / 10, percent, 1 << 30, 2 << 30, 100.0, 1500) for i in range(20)))


def watched_while_measuring() -> Recording:
    """Idle for a second, busy for one, with the throttled in half of that, and with a neighbour."""
    samples = tuple(
        CardSample(
            i / 10,
            80 if i > 10 else 0,
            1 << 30,
            2 << 30,
            300.0,
            1980 if i <= 15 else 1200,
            ("heat",) * (i > 15),
            1,
            3 << 30,
        )
        for i in range(21)
    )
    return Recording("ready", samples, window=(1.0, 2.0))


def told(one: Sample, **notes: object) -> Sample:
    versions = {"python": "3.12.1", "tensorflow": "2.21.0", "keras": "3.15.1", "cuda": "12.5.1", "cudnn": "9"}
    known = {"versions": versions, "settings": {"TF32": "on"}, "seed": 1, "once": 2.5, "ran_on": {"GPU:0": 3}, **notes}
    return replace(one, notes=known, host_memory=3 << 30, steps=tuple(0.001 * n for n in range(1, 102)))


def test_the_page_has_what_an_engineer_asks_for() -> None:
    """Protects the page from a number without its conditions: each of these was asked for by name."""
    seen = slow(watched_while_measuring())
    seen = replace(
        seen,
        before=tuple(told(one, memory={"/device:GPU:0": {"current": 1, "peak": 5 << 30}}) for one in seen.before),
        after=tuple(told(one, ran_on={"CPU:0": 3}) for one in seen.after),
    )
    report = Report(
        (seen,), (), CARD, "GPU 0 is busy: its clocks are throttled: heat", "2.21.0",
        host=Host("Test CPU", 16, 64 << 30, (0.5, 7.25)), options=("--device", "gpu:0", "--seed", "7"),
    )  # fmt: skip
    text = renderer("html")(report, View(Path("/project")))
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))
    for what in (
        "Python 3.12.1", "Keras 3.15.1", "CUDA (that TensorFlow was built with) 12.5.1", "cuDNN (that TensorFlow was built with) 9", "driver 550.1",
        "TF32: on", "Test CPU, 16 cores, 64.0 GiB", "0.5 before, 7.2 after", "seed 1",
        "p50 51 ms/step 51 ms/step", "p90 91 ms/step", "p99 100 ms/step", "one-time costs such as tracing 2.5 s",
        "peak host memory 3,072 MiB", "(NVML) 1,024 MiB", "(TensorFlow) 5,120 MiB -",
        "GPU utilisation while measuring 80%", "1,200 to 1,980 MHz", "300 W", "heat (50% of the samples)",
        "device that holds the results GPU:0 CPU:0", "tflint-gpu verify --device gpu:0 --seed 7 --select TFG202 --at 3:5 train.py",
        "GPU 0 is busy", "confirmed (busy GPU)",
        "while the flagged program measured, another process was on the GPU with 3.0 GiB",
    ):  # fmt: skip
        assert what in shown, what
    for plot in (": distribution", "Clock over time", "Power over time", "throttled"):
        assert plot in text, plot


def test_the_page_begins_with_the_verdict_and_shows_code_as_code() -> None:
    """Protects who opens the page: the answer first, conditions last, no backtick that was meant as markup."""
    result = slow()
    diagnostic = replace(result.case.diagnostic, message="`model(x)` runs <eagerly>")
    text = rendered("html", replace(result, case=replace(result.case, diagnostic=diagnostic)))
    body = text[text.index("<body>") :]
    assert "<code>model(x)</code> runs &lt;eagerly&gt;" in body
    assert "`" not in re.sub(r"(?s)<pre.*?</pre>", "", body)
    assert body.index("<h1>") < body.index('class="verdict') < body.index("TFG202") < body.index("<h2>Conditions")


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_of_the_page_is_cut_off(width: int, tmp_path: Path) -> None:
    """In a real browser: long names, long messages and both plots and programs."""
    long = "models/" + "deep_" * 40 + "network.py"
    result = slow(watched_while_measuring())
    diagnostic = replace(result.case.diagnostic, filename=long, message="`" + "attribute." * 60 + "call` is slow")
    wide = replace(result, case=replace(result.case, diagnostic=diagnostic))
    page = tmp_path / "page.html"
    page.write_text(rendered("html", wide, crashed(), not_run(name=long), gpu=CARD), "utf-8")
    with browser(width, 900) as window:
        window.get(page.as_uri())
        window.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert cut_off(window, width) == []
        assert scrolled(window) == []
        assert window.execute_script("return document.documentElement.scrollWidth") <= width
        window.execute_script("document.querySelector('h2').style.width = '3000px'")
        assert cut_off(window, width) != [], "it would be seen"


def test_a_page_without_a_card_has_no_empty_rows_or_plots() -> None:
    text = rendered("html", slow())
    assert "SM clock" not in text and "Power over time" not in text and "NVML" not in text and "<td></td>" not in text


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_card_that_no_program_used_is_not_what_was_measured_on(output_format: str) -> None:
    """Protects readers from a time of the CPU under a card's name: what the programs told is what is reported."""
    text = rendered(output_format, replace(slow(watched(40)), device="cpu"), gpu=CARD)
    if output_format == "json":
        assert json.loads(text)["results"][0]["device"] == "cpu"
    else:
        assert "no program used " in text and "(CPU)" in text


def test_what_the_cpu_did_besides_a_card_is_not_reported_as_the_card_s(tmp_path: Path) -> None:
    """Protects `check --verified` from the card's name at a time that only the CPU took."""
    (tmp_path / "r.json").write_text(rendered("json", slow(watched(40)), gpu=CARD))
    (on_card,) = read_measurements(tmp_path / "r.json").values()
    assert on_card.text == "20 times (18.5 to 22.2) on NVIDIA Test: confirmed"
    (tmp_path / "r.json").write_text(rendered("json", replace(slow(watched(40)), device="cpu"), gpu=CARD))
    (on_cpu,) = read_measurements(tmp_path / "r.json").values()
    assert on_cpu.text == "20 times (18.5 to 22.2) on the CPU: confirmed"


def test_json_has_every_sample_in_the_shape_that_is_documented() -> None:
    document = json.loads(rendered("json", slow(watched(35)), crashed(), gpu=CARD))
    assert document["device"]["name"] == "NVIDIA Test"
    first, second = document["results"]
    assert (first["code"], first["filename"], first["location"]) == (
        "TFG202",
        "/project/train.py",
        {"row": 3, "column": 5},
    )
    assert first["predicted"] == {"kind": "slowdown", "low": 1.5, "high": 36.0}
    assert first["measured"] == {
        "ratio": 20.0, "low": 18.5, "high": 22.25, "before": [0.02] * 3, "after": [0.001] * 3, "unit": "seconds per step",
        "of": None, "share_of_run": None,
    }  # fmt: skip
    assert (first["verdict"], first["gpu"]["before"]) == ("confirmed", 35.0)
    assert first["again"] == "tflint-gpu verify --select TFG202 --at 3:5 train.py"
    assert len(first["samples"]["before"][0]["gpu"]["samples"]) == 20 and len(first["key"]) == 32
    assert second["samples"]["before"][0]["crash"] == {
        "exception": "builtins.ValueError", "text": "no such device", "during": "", "place": "",
    }  # fmt: skip


def test_json_has_no_number_that_json_has_not() -> None:
    odd = sample(float("nan"))
    text = rendered("json", replace(slow(), before=(odd, odd, odd)))
    assert "NaN" not in text and json.loads(text)


def test_a_run_that_ended_early_says_so() -> None:
    for output_format in FORMATS:
        assert "Ctrl-C" in rendered(output_format, slow(), interrupted="Ctrl-C")


class _Parts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and value and not value.startswith(("#", "data:")):
                self.loaded.append(value)


def test_the_page_needs_no_network_and_has_a_plot_for_each_finding() -> None:
    parts = _Parts()
    text = rendered("html", slow(watched(40)), held(), gpu=CARD)
    parts.feed(text)
    assert parts.loaded == [] and "script" not in parts.tags and "@import" not in text
    assert not re.search(r"url\((?![\"']?(?:#|data:))", text)
    assert parts.tags.count("svg") >= 3, "times, utilisation and memory"
    assert "time per step (ms)" in text and "GPU utilisation" in text


@pytest.mark.parametrize("output_format", FORMATS)
def test_hostile_texts_do_no_harm(output_format: str) -> None:
    name = "a|b\x1b[31m<script>alert(1)</script>`x`.py"
    text = rendered(output_format, not_run(name=name, reason="<b>no</b> | \x1b[2J"))
    if output_format == "json":
        assert json.loads(text)["results"][0]["filename"].endswith(name)
        return
    assert "\x1b[31m" not in text and "\x1b[2J" not in text
    if output_format == "markdown":
        text = re.sub(r"(`+).*?[^`]\1(?!`)", "code", text)  # there, nothing is markup
    if output_format in ("html", "markdown"):
        assert "<script>" not in text and "<b>no" not in text
    if output_format == "markdown":
        row = next(line for line in text.splitlines() if "TFG202" in line and line.startswith("|"))
        assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"(?<!\\)\|", _head_of(text)))


def _head_of(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("| finding"))


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_a_library_of_the_page_the_remedy_is_told(library: str) -> None:
    code = (
        f"import sys; sys.modules['{library}'] = None\n"
        "from tflint_gpu.drawing.libraries import MissingLibrary\nfrom tflint_gpu.verify.reports import renderer\n"
        "try:\n    renderer('html')\nexcept MissingLibrary as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert "tflint-gpu[report]" in done.stdout, done.stderr
