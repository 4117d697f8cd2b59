"""`%%tflint_run` in a real kernel: the cell runs as it would without, and its lines are named by their cells."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import tflint_gpu

pytestmark = pytest.mark.slow

MODEL = """\

import time
import tensorflow as tf


class Slow(tf.keras.layers.Layer):
    def call(self, x):
        if tf.executing_eagerly():
            time.sleep(0.2)  # planted
        return x


model = tf.keras.Sequential([tf.keras.Input((4,)), Slow()])
batches = tf.data.Dataset.from_tensors(tf.ones((2, 4))).repeat(10)"""
LOOP = """\
%%tflint_run{}
began = time.monotonic()
for x in batches:
    model(x)
took = time.monotonic() - began
"a value"[:]"""
BROKEN = """\
%%tflint_run
time.sleep(0.3)
raise KeyError("no such key")"""


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cells of a notebook after it ran, and the report that one of them wrote."""
    folder = tmp_path_factory.mktemp("notebook")
    texts = ["%load_ext tflint_gpu", MODEL, LOOP.format(" -o run.json"), LOOP.format(""), "print(took)", BROKEN]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    with pytest.raises(nbclient.exceptions.CellExecutionError) as error:
        client.execute()
    assert error.value.ename == "KeyError", error.value
    return notebook.cells, json.loads((folder / "run.json").read_text()), error.value


def printed(cell: Any) -> str:
    return "".join(output["text"] for output in cell.outputs if output["output_type"] == "stream")


def test_a_cell_is_charged_by_its_lines_and_those_of_earlier_cells(cells: Any) -> None:
    report = cells[1]
    took = float(printed(cells[0][4]))
    row = MODEL.splitlines().index("            time.sleep(0.2)  # planted") + 1
    (line,) = [one for one in report["lines"] if one["filename"].endswith("In [2]") and one["row"] == row]
    assert line["function"] == "call" and abs(line["seconds"] - 2.0) < 0.5 * took
    (finding,) = [one for one in report["findings"] if one["code"] == "TFG207"]
    assert finding["filename"].endswith("In [3]") and finding["location"]["row"] == 4
    assert finding["seconds"] >= line["idle"] and finding["of"] == "its own lines"
    assert report["gpu_unused"]["diagnoses"]


def test_a_cell_shows_its_value_and_the_report(cells: Any) -> None:
    cell = cells[0][3]
    assert [output["data"]["text/plain"] for output in cell.outputs if "data" in output] == ["'a value'"]
    assert re.search(r"\d s  In \[2\]:9 in call +waiting without computing", printed(cell)), printed(cell)
    assert "In [4]: ended, ran for" in printed(cell) and "In [4]:4:5 TFG207" in printed(cell)


def test_a_cell_that_fails_gives_its_report_and_stops_the_notebook(cells: Any) -> None:
    assert cells[2].ename == "KeyError"
    assert "In [6]: raised KeyError" in printed(cells[0][5]) and "In [6]:2" in printed(cells[0][5])
    shown = [output for output in cells[0][5].outputs if output["output_type"] == "error"]
    assert sum(len(output["traceback"]) > 3 for output in shown) <= 1


def test_a_wrong_option_is_told_before_the_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    tflint_gpu.load_ipython_extension(shell)
    with pytest.raises(UsageError, match="-o FILE"):
        shell.run_cell_magic("tflint_run", "--gpu", "ran = True")
    assert "ran" not in shell.user_ns
    tflint_gpu.unload_ipython_extension(shell)
    assert shell.find_cell_magic("tflint_run") is None
