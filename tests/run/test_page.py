"""The page of a run: one account in all tables, the code beside it, drawings that need no network."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browsers import browser, cut_off, scrolled

from tests.run.test_reports import GPU, finding, ledger
from tests.run.test_reports import report as short_report
from tflint_gpu.drawing import pages
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.price import Price
from tflint_gpu.reports import View
from tflint_gpu.run.costs import Cost, costs
from tflint_gpu.run.datasets import Step
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.outside.running import Running
from tflint_gpu.run.reports import html, renderer, words
from tflint_gpu.run.reports.excerpts import Excerpt, excerpts
from tflint_gpu.run.reports.panels import panels
from tflint_gpu.run.result import Report
from tflint_gpu.run.samples import Memory, Place, Sample, StepDone, Waits
from tflint_gpu.run.trace import Pipeline, Stage, Trace
from tflint_gpu.text.source import SourceFile

PROGRAM = """\
import tensorflow as tf


def load(row):
    row = 1
    return row


@tf.autograph.experimental.do_not_convert
def train(model, data):
    first = 1
    second = 2
    third = 3
    fourth = 4
    fifth = 5
    for x in data:
        model(x)
        print(x)
    sixth = 6
    seventh = 7
    eighth = 8
    ninth = 9
    return model


train(1, 2)
"""
TRAIN, LOAD, LAST = (17, "train", 10, 23), (5, "load", 4, 6), (26, "<module>", 1, 26)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def place(project: Path, row: int, function: str, first: int, last: int) -> Place:
    return Place(str(project / "train.py"), row, function, first, last)


def training(project: Path, card: bool = True, steps: bool = True) -> Report:
    """Three epochs with two GPUs, of which the first is watched."""
    known, now = Ledger(card, 0.0), 0.0
    train, load, last = (place(project, *one) for one in (TRAIN, LOAD, LAST))

    def did(seconds: float, phase: str, waits: Waits, use: int, *feeding: Place) -> None:
        nonlocal now
        now += seconds
        if card:
            known.take_card(now, CardSample(now, use, memory=3 << 30, power=200.0))
            known.take_other(now, CardSample(now, use // 2), "GPU 1")
        known.take(Sample(now, seconds, (train, last), phase, waits, ((feeding[0], last),) if feeding else ()))

    did(3.0, "import", "", 0)
    for _ in range(3):
        known.take(StepDone("epoch", train, now, 0.0)) if steps else None
        for number in range(15):
            did(0.23, "data", "data", 5, load)
            did(0.5 if number != 7 else 2.0, "fit", "execute", 80)
            known.take(StepDone("fit", train, now - 0.73, 0.73 if number != 7 else 2.23)) if steps else None
        did(0.37, "callbacks", "", 0)
    known.take(Memory(1 << 30, 2 << 30)) if card else None
    known.finish()
    seen = Report("train.py --x '<b>'", now + 1.0, 0, known, GPU if card else None, "", price=Price(2.0, "EUR"))
    told = costs([finding(17), finding(5)], seen.entries, View(project))
    return replace(seen, costs=told, findings=2)


def shown(project: Path, seen: Report) -> str:
    return renderer("html")(seen, View(project))


class Page(HTMLParser):
    """What a page loads, whether its elements are closed, and the rows of its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.tables: dict[str, list[dict[str, str]]] = {}
        self.title = self._cell = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.loads += [known[name] or "" for name in ("src", "href", "xlink:href") if name in known]
        self.ids += [known["id"] or ""] if "id" in known else []
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "h2":
            self.title = ""
        elif tag == "tr":
            self.tables.setdefault(self.title, []).append({})
        elif tag == "td":
            self._cell = known["data-name"] or ""
            self.tables[self.title][-1][self._cell] = ""

    def handle_data(self, data: str) -> None:
        if "h2" in self.open:
            self.title += data
        elif "td" in self.open:
            self.tables[self.title][-1][self._cell] += data.strip()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(project: Path) -> None:
    text = shown(project, training(project))
    page = Page(text)
    assert page.open == [] and len(page.ids) == len(set(page.ids))
    assert all(one.startswith("#") and one[1:] in page.ids for one in page.loads)
    assert "Fake &lt;H100&gt;" in text and "<b>'" not in text
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in unescape(text)
    assert "Copyright (c) 2022 Leon Sorokin" in script, "the licence of uPlot comes with it"
    visible = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL)
    assert "`" not in visible and "<code>check</code>" in visible, "what is code looks like code"


def test_a_page_without_drawings_may_run_no_script(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('{% extends "frame.html" %}{% block verdict %}{{ text }}{% endblock %}')
    text = pages.rendered(tmp_path, title="", remarks=[], facts={}, text="<script>alert(1)</script>")
    assert "script-src" not in text and "<script" not in text


def test_the_page_begins_with_the_verdict(project: Path) -> None:
    text = shown(project, short_report(project))
    body = text[text.index("<body>") :]
    assert body.index("<h1>The GPU did nothing for 100% of the run") < body.index("<h2>") < body.index("<h2>Conditions")


def test_the_page_is_about_training_where_there_is_one(project: Path) -> None:
    text = shown(project, training(project))
    body = text[text.index("<body>") :]
    assert "<h1>In training (<code>fit</code> at train.py:17 in train) the GPU did nothing for" in body
    assert (
        body.index("steps per second")
        < body.index("p99")
        < body.index("Not counted: imports 3.0 s")
        < body.index("<h2>")
    )
    assert "EUR for each day of training." in body
    slow = Page(text).tables["Slow steps (more than twice the median), grouped by what only they did"]
    assert [row["steps"] for row in slow[1:]] == ["1 of 30"]
    assert "steps per second" not in shown(project, training(project, steps=False))


def numbers(rows: list[dict[str, str]], column: str) -> list[float]:
    return [round(float(row[column].removesuffix("%")) * 10) for row in rows if row.get(column)]


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("card", [True, False])
def test_all_shares_add_up(card: bool, steps: bool, project: Path) -> None:
    """Protects the reader from two numbers for one thing: lines, phases and the headline are of the same whole."""
    seen = training(project, card, steps)
    text = shown(project, seen)
    tables = Page(text).tables
    of, what = ("of training" if steps else "of the run"), ("GPU idle" if card else "a GPU would have waited")
    waits = "the GPU waits" if card else what
    *lines, total = numbers(tables[f"Where {waits}: lines of the program"], f"idle, {of}")
    assert sum(lines) == total and len(lines) > 1
    assert total == round(1000 * seen.share(seen.idle))
    *times, whole = numbers(tables["Phases of the main thread"], of)
    *idle, same = numbers(tables["Phases of the main thread"], f"{what}, {of}")
    assert sum(times) == whole == 1000 and sum(idle) == same == total
    assert f"{words.percent(seen.share(seen.idle))} of the {'time' if steps else 'run'}" in text


def test_the_code_has_the_shares_of_the_table(project: Path) -> None:
    """Protects from two numbers for one line where rounding moves a tenth."""
    rows = [(1.0, (row, *TRAIN[1:])) for row in (11, 17, 22)]
    known, now = Ledger(False, 0.0), 0.0
    for seconds, where in rows:
        now += seconds
        known.take(Sample(now, seconds, (place(project, *where),), "callbacks", ""))
    known.finish()
    text = shown(project, Report("train.py", now, 0, known))
    (_, *lines, _) = Page(text).tables["Where a GPU would have waited: lines of the program"]
    in_table = [line["idle, of the run"] for line in lines]
    assert in_table == re.findall(r'<span class="share">([\d.]+%)', text[: text.rindex("</article>")])[-3:]
    assert sorted(in_table) == ["33.3%", "33.3%", "33.4%"] and "100.0% of the run" in text


def test_rounded_shares_keep_their_sum() -> None:
    assert words.tenths([1 / 3, 1 / 3, 1 / 3], 1000) == [334, 333, 333]
    assert words.tenths([0.0004, 0.0003, 0.0004], 1) == [1, 0, 0]
    assert words.tenths([0.0096, 0.5], 510) == [10, 500]
    assert words.tenths([0.6, 0.401], 1000) == [599, 401]
    assert words.tenths([], 0) == []


def told(project: Path, *rows: tuple[float, tuple[int, str, int, int]], **more: Any) -> list[Excerpt]:
    known, now = Ledger(False, 0.0), 0.0
    for seconds, where in rows:
        now += seconds
        known.take(Sample(now, seconds, (place(project, *where),), "callbacks", ""))
    known.finish()
    seen = Report("train.py", now, 0, known, **more)
    return excerpts(seen, View(project), words.most_expensive(seen))


def test_the_text_around_an_expensive_line(project: Path) -> None:
    first, second = told(project, (3.0, TRAIN), (1.0, (21, *TRAIN[1:])), (1.0, LOAD))
    assert (first.function, first.idle, second.function) == ("train", 4.0, "load")
    assert [[row.number for row in piece] for piece in first.pieces] == [[14, 15, 16, 17, 18, 19, 20, 21, 22, 23]]
    assert [row.number for row in first.whole] == list(range(9, 24)), "with its decorator"
    assert {row.number: row.idle for row in first.whole if row.idle} == {17: 3.0, 21: 1.0}
    assert first.whole[8].text == "        model(x)" and first.whole[8].parts == {"callbacks": 3.0}
    assert second.whole == [] and [row.number for row in second.pieces[0]] == [4, 5, 6], (
        "it is shown as a whole already"
    )


def test_places_that_are_far_from_each_other_are_pieces(project: Path) -> None:
    (one,) = told(project, (1.0, (10, *TRAIN[1:])), (1.0, (23, *TRAIN[1:])))
    assert [[row.number for row in piece] for piece in one.pieces] == [[9, 10, 11, 12, 13], [20, 21, 22, 23]]


def test_a_line_in_no_function_is_of_its_file(project: Path) -> None:
    (one,) = told(project, (1.0, LAST))
    assert (one.function, len(one.whole), one.file) == ("", 26, "train.py")


def test_a_comprehension_is_of_the_function_around_it(project: Path) -> None:
    (one,) = told(project, (1.0, (17, "<listcomp>", 17, 17)))
    assert one.function == "train"


def test_a_file_that_changed_or_is_gone_is_named(project: Path) -> None:
    file = project / "train.py"
    os.utime(file, (2000.0, 2000.0))
    assert told(project, (1.0, TRAIN), started=3000.0)[0].remark == ""
    assert "was changed after the program began" in told(project, (1.0, TRAIN), started=1000.0)[0].remark
    file.write_text("def :\n")
    (one,) = told(project, (1.0, TRAIN), (1.0, (1, "<module>", 1, 26)))
    assert one.function == "" and [row.text for row in one.pieces[0]] == ["def :"]
    file.unlink()
    (one,) = told(project, (1.0, TRAIN))
    assert one.remark == "no longer exists, or cannot be read" and one.pieces == []
    known = ledger(project, (1.0, "", "", ((12, "train"),)))
    assert "<code>train.py</code> no longer exists" in shown(project, Report("train.py", 1.0, 0, known))


def test_the_cells_of_a_notebook_have_their_text(project: Path) -> None:
    known = Ledger(False, 0.0)
    known.take(Sample(1.0, 1.0, (Place(str(project / "In [3]"), 2, "<module>", 1, 2),), "", ""))
    known.finish()
    text = "model = 1\r\nmodel.fit(2)\r\n"
    view = View(project, sources={"In [3]": SourceFile.decode(text.encode(), Path("In [3].py"), "In [3]")})
    seen = Report("In [3]", 1.0, 0, known, started=1.0)
    (cell,) = excerpts(seen, view, words.most_expensive(seen))
    assert (cell.file, cell.remark) == ("In [3]", "") and [row.number for row in cell.pieces[0]] == [1, 2]
    assert "<code>model.fit(2)</code>" in renderer("html")(seen, view)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_a_process_that_runs_already_began_before_it_was_watched() -> None:
    before = time.time()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        since = Running.of(process.pid).since
        assert since is not None and before - 0.1 <= since <= time.time() + 0.1
    assert Running(1).since is None


def test_native_functions_are_shown(project: Path) -> None:
    seen = training(project)
    seen.ledger.native["lib<m>.so", "sin", place(project, *TRAIN)] = 0.25
    (_, row) = Page(shown(project, seen)).tables["Native functions of the main thread, with the line that called them"]
    assert list(row.values()) == ["25.0%", "lib<m>.so", "sin", "train.py:17 in train"]


def test_a_finding_stands_under_its_line(project: Path) -> None:
    text = shown(project, training(project))
    code = text[text.index("The code, with") : text.index("finds on these lines")]
    row = code.index("model(x)")
    assert row < code.index("TFG900 slow", row) < code.index("print(x)", row)


def test_each_phase_has_a_colour_of_its_own() -> None:
    css = (Path(html.__file__).parent / "page.css").read_text("utf-8")
    light, dark = (dict(re.findall(r"(--[\w-]+): (#\w+);", part)) for part in css.split("@media", 1))
    names = {words.colour(name) for name in words._PHASES}
    assert len(names) == len(words._PHASES)
    for colours in (light, dark):
        assert names <= set(colours) and len({colours[name] for name in colours}) == len(colours)
    assert words.colour("a phase of tomorrow") == "--phase-other" and "--phase-other" in light


def test_a_step_fills_the_time_that_it_took(project: Path) -> None:
    """Protects the drawing of long steps, of which most bins see no end; what lies between steps stays empty."""
    known, where = Ledger(False, 0.0), place(project, *TRAIN)
    known.take(Sample(3.0, 3.0, (where,), "fit", ""))
    for began, seconds in ((0.5, 0.5), (2.5, 0.4)):
        known.take(StepDone("fit", where, began, seconds))
    known.finish()
    (panel,) = (
        one for one in panels(Report("", 3.0, 0, known), project, lambda *_: "") if one.title.startswith("Time of")
    )
    filled = [number * known.timeline.width for number, time in enumerate(panel.series[0].values) if time is not None]
    assert filled == [0.5, 0.625, 0.75, 0.875, 1.0, 2.5, 2.625, 2.75, 2.875]
    assert panel.series[0].values[8] == 500.0 and panel.unit == "ms"


WIDTHS, SCHEMES = (400, 1280), ("light", "dark")


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    with browser(1280, 900) as one:
        yield one


def opened(window: Any, width: int, scheme: str, project: Path, seen: Report) -> Any:
    page = project / "page.html"
    page.write_text(shown(project, seen), "utf-8")
    off = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    window.execute_cdp_cmd("Network.enable", {})
    window.execute_cdp_cmd("Network.emulateNetworkConditions", off)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    window.get_log("browser")
    window.get(page.as_uri())
    return window


def check(window: Any, width: int) -> None:
    assert cut_off(window, width) == []
    assert scrolled(window) == []
    assert window.execute_script("return document.documentElement.scrollWidth") <= width
    assert window.execute_script("return performance.getEntriesByType('resource').map(one => one.name)") == []
    assert window.get_log("browser") == []


PIXELS = """
return [...document.querySelectorAll("#timeline canvas")].map(canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, found = new Set();
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255)
    found.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
  return [...found];
});
"""
PICTURES = "return [...document.querySelectorAll('#timeline canvas')].map(canvas => canvas.toDataURL())"
KEYS = """
return [...document.querySelectorAll(arguments[0])].map(key => getComputedStyle(key).backgroundColor);
"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_in_a_browser(width: int, scheme: str, project: Path, window: Any) -> None:
    """Without a network: nothing is cut off or asked for, all is drawn, and a phase has its colour everywhere."""
    opened(window, width, scheme, project, training(project))
    check(window, width)
    drawn = window.execute_script(PIXELS)
    titles = window.execute_script("return [...document.querySelectorAll('.panel')].map(one => one.innerText)")
    assert len(drawn) == len(titles) >= 6 and all(drawn), titles
    for title in (
        "GPU 0 in use",
        "GPU 1 in use",
        "Memory of the GPU",
        "Time of a training step",
        "train.py:17 in train",
    ):
        assert any(one.startswith(title) for one in titles), titles
    (phases,) = (number for number, title in enumerate(titles) if title.startswith("Phases"))
    legend = window.execute_script(KEYS, f".panel:nth-of-type({phases + 1}) .legend .key")
    assert len(legend) == 4 and set(legend) <= set(drawn[phases])
    assert set(window.execute_script(KEYS, "body > .legend .key")) <= set(legend)
    assert set(window.execute_script(KEYS, "td .key")) <= set(legend)


def shown_span(window: Any) -> str:
    span: str = window.execute_script("return document.getElementById('shown').textContent")
    return span


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_a_drag_zooms_all_panels_and_a_double_click_shows_all(width: int, project: Path, window: Any) -> None:
    from selenium.webdriver import ActionChains

    opened(window, width, "light", project, training(project))
    whole, before = shown_span(window), window.execute_script(PICTURES)
    over = window.find_elements("css selector", "#timeline .u-over")[-1]
    window.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
    ActionChains(window).move_to_element(over).click_and_hold().move_by_offset(
        over.size["width"] // 4, 0
    ).release().perform()
    after = window.execute_script(PICTURES)
    assert shown_span(window) != whole and all(one != other for one, other in zip(before, after, strict=True))
    assert window.execute_script("return document.getElementById('at').textContent").strip()
    ActionChains(window).double_click(over).perform()
    assert shown_span(window) == whole
    assert window.execute_script("return document.getElementById('all').hidden")
    check(window, width)


@pytest.mark.slow
def test_a_finger_zooms_as_a_mouse_does(project: Path, window: Any) -> None:
    opened(window, 400, "light", project, training(project))
    whole = shown_span(window)
    window.execute_script("""
        const over = document.querySelector("#timeline .u-over"), box = over.getBoundingClientRect();
        for (const [name, part] of [["down", .25], ["move", .4], ["up", .5]])
          over.dispatchEvent(new PointerEvent("pointer" + name,
            {pointerType: "touch", bubbles: true, clientX: box.left + part * box.width, clientY: box.top + 9}));
    """)
    assert shown_span(window) != whole
    window.execute_script("document.getElementById('all').click()")
    assert shown_span(window) == whole
    check(window, 400)


@pytest.mark.slow
def test_a_whole_function_is_opened_and_a_link_shows_its_line(project: Path, window: Any) -> None:
    opened(window, 1280, "light", project, training(project))
    visible = "return [...document.querySelectorAll('.line code')].filter(one => one.checkVisibility()).map(one => one.innerText)"
    assert "    first = 1" not in window.execute_script(visible)
    window.execute_script("document.querySelectorAll('.code details').forEach(one => { one.open = true; })")
    assert "    first = 1" in window.execute_script(visible)
    check(window, 1280)
    window.execute_script("document.querySelector('td a').click()")
    assert window.execute_script("return document.querySelector('.line:target').checkVisibility()")


def profiled(project: Path) -> Trace:
    """A profile of twenty steps, with a stage in the code, a GPU and a kernel with a long name."""
    path = ("Root", "MapAndBatch", "ParallelMapV2")
    slow = Stage(path, "ParallelMapDataset:2", 0.6, 1.2, 80, {"parallelism": 2, "autotune": "true"})
    slow = replace(slow, steps=(Step(str(project / "train.py"), 5, 5, "map"),))
    kernel = {"seconds": 0.2, "count": 40, "precision": "float16", "tensor_cores": True, "operation": "MatMul"}
    gpu = {"name": "/device:GPU:0", "span": 1.0, "busy": 0.3, "kernel_seconds": 0.25, "tensor_cores": 0.2}
    gpu |= {
        "precisions": {"float16": 0.25},
        "gaps": {"count": 7, "seconds": 0.5, "longest": 0.1, "waiting_for_input": 0.4},
    }
    gpu |= {"kernels": [{**kernel, "name": "sm90_xmma_gemm_" + "f16" * 40}]}
    folder = project / "tflint-gpu-trace" / "plugins" / "profile" / "2026_11_30" / "host.xplane.pb"
    return Trace(20, 20, 31, 1.0, str(folder), "", (Pipeline(0.6, (slow,)),), gpus=(gpu,))


def test_the_profile_is_on_the_page(project: Path) -> None:
    """Protects who looks at the page for what `--trace` recorded: the stage, its line, the GPU and its kernels."""
    page = Page(text := shown(project, replace(training(project), trace=profiled(project))))
    stages, kernels = (row for row in page.tables["TensorFlow's profile of 20 steps (1 s)"] if row)
    assert (stages["waited"], stages["stage"], stages["line"]) == (
        "60%",
        "MapAndBatch::ParallelMapV2",
        "train.py:5map",
    )
    assert "2 at a time" in stages["parallelism"]
    assert (kernels["share"], kernels["precision"], kernels["operation"]) == ("80%", "float16", "MatMul")
    assert "GPU:0 ran kernels for 30%" in text and "tensorboard --logdir tflint-gpu-trace" in text
    without = shown(project, training(project))
    assert 'id="profile"' not in without
    ended = replace(training(project), trace=Trace(20, finished=6))
    assert "a profile would begin after the first 10" in shown(project, ended).replace("the profile", "a profile")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_of_the_profile_is_cut_off(width: int, project: Path, window: Any) -> None:
    opened(window, width, "light", project, replace(training(project), trace=profiled(project)))
    check(window, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_of_the_page_is_cut_off(width: int, project: Path, window: Any) -> None:
    """With a long name and a long help."""
    seen = short_report(project, card=False)
    long = replace(finding(12), message="`" + "attribute." * 60 + "call` waits", filename="deep/" * 50 + "train.py")
    opened(window, width, "light", project, replace(seen, costs=(Cost(long, 1.0), *seen.costs)))
    check(window, width)


@pytest.mark.slow
@pytest.mark.parametrize(("library", "is_needed"), [("jinja2", True), ("matplotlib", False)])
def test_what_the_page_needs(library: str, is_needed: bool) -> None:
    code = (
        f"import sys; sys.modules['{library}'] = None\n"
        "from tflint_gpu.drawing.libraries import MissingLibrary\nfrom tflint_gpu.run.reports import renderer\n"
        "try:\n    renderer('html')\nexcept MissingLibrary as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == (
        f'the HTML report needs {library}: pip install "tflint-gpu[report]" (in a checkout of tflint-gpu: pip install ".[report]")\n'
        if is_needed
        else "",
        "",
    )
