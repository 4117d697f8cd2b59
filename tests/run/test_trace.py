"""TensorFlow's profile of some steps names the stage that is slow, with its line, and says why there is none."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.run.samples import Decoder, Profiled
from tflint_gpu.run.trace import read_trace

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
INSIDE = HERE.parents[1] / "tflint_gpu" / "run" / "inside"
WITHIN = 0.15
STAGES = {
    "python": "Prefetch::MapAndBatch::Map",
    "operations": "MapAndBatch::ParallelMapV2",
    "generator": "Prefetch::MapAndBatch::FlatMap::Generator",
    "interleave": "MapAndBatch::Interleave::Map",
    "shared": "MapAndBatch::Filter::FlatMap::Map",
}
_LONG = ("generator", "interleave")
_PARAMETERS = [pytest.param(name, marks=[pytest.mark.campaign] if name in _LONG else []) for name in STAGES]


def traced(folder: Path, *arguments: str, steps: int = 20) -> dict[str, Any]:
    """The report on a program in a folder, of which so many steps are profiled."""
    output = ["--isolated", "--trace", str(steps), "--output-format", "json", "-o", str(folder / "run.json")]
    command = [sys.executable, "-m", "tflint_gpu", "run", *output, *arguments]
    environment = {**os.environ, "SLEPT": str(folder / "slept.json")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return report


@pytest.fixture(scope="module", params=_PARAMETERS)
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report on a training with a slow stage, and what is known of that."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    shutil.copy(HERE / "stages.py", folder)
    report = traced(folder, "stages.py", name)
    text = (folder / "stages.py").read_text().splitlines()
    row = next(row for row, line in enumerate(text, 1) if line.rstrip().endswith(f"# planted: {name}"))
    slept = json.loads((folder / "slept.json").read_text())
    return {"name": name, "row": row, "folder": folder, "slept": slept, **report}


def test_the_slow_stage_is_named_first_with_its_line(planted: dict[str, Any]) -> None:
    trace = planted["trace"]
    first, *_ = stages = trace["pipelines"][0]["stages"]
    assert first["chain"] == STAGES[planted["name"]], stages
    assert first["row"] == planted["row"], first
    assert trace["steps"] >= 20 and trace["note"] == ""


def test_its_share_of_the_wait_is_what_it_took(planted: dict[str, Any]) -> None:
    """Whoever else wants the processors makes all stages slower: a share of the wait depends little on that."""
    trace, slept = planted["trace"], planted["slept"]
    share = trace["pipelines"][0]["stages"][0]["waited"] / trace["waited"]
    true = slept["slow"] / sum(slept.values()) if planted["name"] == "shared" else 1.0
    assert abs(share - true) < WITHIN * true, trace["pipelines"][0]["stages"]


def test_what_waits_for_input_in_fit_is_charged_to_the_line_of_the_stage(planted: dict[str, Any]) -> None:
    """Protects who reads `training` at the line of `fit`, where the input is all of the time."""
    on_line = [line for line in planted["lines"] if line["row"] == planted["row"]]
    ways = [way for line in on_line for way in line["ways"] if way["waits"] == "stage"]
    assert sum(way["idle"] for way in ways) > 0, on_line
    fit = planted["trainings"][0]["row"]
    at_fit = [way for line in planted["lines"] if line["row"] == fit for way in line["ways"] if way["waits"] == "data"]
    # TensorFlow's own stages, such as the last `Prefetch`, are on no line of yours.
    assert sum(way["idle"] for way in at_fit) < WITHIN * sum(way["idle"] for way in ways) + 0.02, at_fit


def test_the_profile_is_where_tensorboard_and_perfetto_read_it(planted: dict[str, Any]) -> None:
    trace = planted["trace"]
    profile = Path(trace["profile"])
    assert profile.relative_to(planted["folder"]).parts[:3] == ("tflint-gpu-trace", "plugins", "profile")
    with gzip.open(trace["perfetto"], "rt") as file:
        events = json.load(file)["traceEvents"]
    assert "Iterator::Root" in {event["name"] for event in events}
    assert {event["ph"] for event in events} == {"M", "X"}


def test_more_steps_than_there_are_give_what_there_was(tmp_path: Path) -> None:
    shutil.copy(HERE / "stages.py", tmp_path)
    trace = traced(tmp_path, "stages.py", "operations", "profiled", "14", steps=5000)["trace"]
    assert 14 <= trace["steps"] <= 20  # some may end before it is told that the profile has begun
    assert trace["note"] == "5000 steps were requested: the program ended."
    assert trace["pipelines"][0]["stages"][0]["chain"] == STAGES["operations"]


def test_fewer_steps_than_the_first_ones_give_no_profile(tmp_path: Path) -> None:
    shutil.copy(HERE / "stages.py", tmp_path)
    trace = traced(tmp_path, "stages.py", "operations", "steps", "6")["trace"]
    assert trace["profile"] is None
    assert trace["note"].startswith("The program ran 6 steps; the profile would begin after the first 10")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("print('no training')", "the program did not import TensorFlow."),
        ("import os\nos._exit(0)", "nothing was recorded: the program ended at once, or was ended by a signal."),
        ("import sys, types\nsys.modules['tensorflow'] = types.ModuleType('tensorflow')", "No training step was seen"),
    ],
)
def test_a_program_without_steps_is_told_so(tmp_path: Path, text: str, note: str) -> None:
    (tmp_path / "program.py").write_text(text)
    assert traced(tmp_path, "program.py")["trace"]["note"].startswith(note)


OWN = """
    import json, os, sys
    import tensorflow as tf
    from tflint_trace import StepTrace

    folder = sys.argv[1]
    told = []
    tf.profiler.experimental.start(folder + "/first")
    trace = StepTrace(2, folder + "/ours")
    told.append(trace.tick(lambda: 10))  # the program's own profile goes on: ours waits
    tf.profiler.experimental.stop()
    told.append(trace.tick(lambda: 11))  # begins
    assert trace.session is not None
    with tf.profiler.experimental.Profile(folder + "/second"):
        tf.constant(1.0) + 1.0
    told.append(trace.tick(lambda: 12))  # it was ended by that
    trace = StepTrace(2, folder + "/child")
    finished = iter([10, 13, 14, 15])
    trace.tick(lambda: next(finished))  # three steps end while it begins
    if os.fork() == 0:
        trace.forget()
        tf.profiler.experimental.start(folder + "/forked")
        os._exit(0)
    assert os.wait()[1] == 0
    told += [trace.tick(lambda: next(finished)), trace.tick(lambda: next(finished))]
    trace = StepTrace(2, folder + "/never")
    tf.profiler.experimental.start(folder + "/third")
    trace.tick(lambda: 10)
    told.append(trace.stop())
    tf.profiler.experimental.stop()
    print(json.dumps(told))
"""


def test_the_programs_own_use_of_the_profiler_comes_first(tmp_path: Path) -> None:
    """Protects a program from an error that it would not have had without ours."""
    environment = {**os.environ, "PYTHONPATH": str(INSIDE)}
    command = [sys.executable, "-c", textwrap.dedent(OWN), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    waiting, begun, ended, going, all_steps, never = json.loads(done.stdout)
    assert waiting is None and begun is None and going is None
    assert ended["why"] == "the program used TensorFlow's profiler itself" and Path(ended["profile"]).exists()
    assert (all_steps["steps"], all_steps["why"]) == (2, "")
    assert (never["profile"], never["why"]) == ("", "the program's own profile was running")
    own = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.xplane.pb")}
    assert own == {"first", "second", "third", "ours", "child"}


def test_what_is_no_profile_is_told_so(tmp_path: Path) -> None:
    broken = tmp_path / "host.xplane.pb"
    broken.write_bytes(b"no profile")
    trace = read_trace(sys.executable, 20, Profiled(20, 30, 0.5, str(broken), ""))
    assert trace.why.startswith("it cannot be read: ") and trace.pipelines == ()


def test_a_profile_comes_through_the_pipe() -> None:
    line = b'["X",1,{"steps":20,"finished":31,"seconds":0.5,"profile":"/p/h.xplane.pb","why":""}]'
    assert Decoder().read(line) == Profiled(20, 31, 0.5, "/p/h.xplane.pb", "")
