"""Protects a check on a Ray cluster: the findings of one process, in their order, whatever happens to a worker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.checking.cluster import NoCluster, check_on_ray
from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.workers import check_files
from tflint_gpu.rule import Finding, Rule
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.kinds import OUTPUT_FORMATS

Write = Callable[..., list[Path]]
WRONG = "import tensorflow as tf\n\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n"


def test_without_ray_the_remedy_is_named(tmp_path: Path, write_files: Write, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NoCluster, match=r"pip install 'tflint-gpu\[ray\]'"):
        list(check_on_ray(Engine(SettingsResolver(working_directory=tmp_path), tmp_path), []))


@pytest.mark.slow
def test_without_ray_it_is_an_error_also_where_all_is_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(WRONG)
    program = (
        "import runpy, sys; sys.modules['ray'] = None; sys.argv[0] = 'check';"
        "runpy.run_module('tflint_gpu', run_name='__main__')"
    )

    def check(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, "check", "--isolated", *options, "a.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    assert check().returncode == 1
    done = check("--executor", "ray")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--executor ray: ray is not installed: run `pip install 'tflint-gpu[ray]'`" in done.stderr


class EndsWorkers(Rule):
    """Ends the worker that meets the word, the first time, or each time."""

    code, name = "TFG905", "ends-workers"
    folder = Path()

    def check(self, model: Any) -> Iterator[Finding]:
        once = self.folder / f"{model.source.path.name}.met"
        if "ALWAYS" in model.source.text or ("ONCE" in model.source.text and not once.exists()):
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from ()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.cloudpickle.register_pickle_by_value(sys.modules[EndsWorkers.__module__])
    yield ray
    ray.shutdown()


@pytest.mark.campaign
def test_a_cluster_and_one_process_agree(ray: Any, tmp_path: Path, write_files: Write) -> None:
    write_files(
        {f"p{n % 3}/f{n:02}.py": WRONG * (1 + n % 4) for n in range(40)} | {"p1/setup.py": "", "no.py": "x = 1\n"}
    )
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    told: list[tuple[int, int]] = []
    alone = check_files(Engine(resolver, tmp_path), files, 1)
    together = check_files(Engine(resolver, tmp_path), files, None, lambda *how: told.append(how), check_on_ray)
    assert [one.file.name for one in alone] == [one.file.name for one in together]
    assert [one.diagnostics for one in alone] == [one.diagnostics for one in together]
    assert told == [(done, 40) for done in range(1, 41)]


@pytest.mark.campaign
def test_what_a_lost_worker_had_is_done_again(ray: Any, tmp_path: Path, write_files: Write) -> None:
    words = {3: "# ONCE", 11: "# ALWAYS"}
    write_files({f"f{n:02}.py": f"import tensorflow as tf\n{words.get(n, '')}\n" + WRONG for n in range(16)})
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    rule = EndsWorkers()
    rule.__class__.folder = tmp_path
    from tflint_gpu.rule import load

    engine = Engine(resolver, tmp_path, [rule, *load(["TFG502"])])
    results = check_files(engine, files, None, elsewhere=check_on_ray)
    codes = {one.file.name: [found.code for found in one.diagnostics] for one in results}
    assert list(codes) == [f"f{n:02}.py" for n in range(16)]
    assert {name for name, found in codes.items() if found == ["TFG000"]} == {"f11.py"}
    assert (tmp_path / "f03.py.met").exists() and codes["f03.py"] == ["TFG502"]
    assert sum(found == ["TFG502"] for found in codes.values()) == 15


FAKE = """
import os, types

exceptions = types.SimpleNamespace(WorkerCrashedError=type("WorkerCrashedError", (Exception,), {}))
lost = []

def is_initialized(): return False
def init(**options): os.write(1, b"init\\n")
def put(value): return value
def cluster_resources(): return {"CPU": 1}
def wait(pending, num_returns): return pending[:1], pending[1:]

class remote:
    def __init__(self, function): self.function = function
    def options(self, **options): return self
    def remote(self, *arguments): return Answer(self.function, arguments)

class Answer:
    def __init__(self, *call): self.call = call

def get(answer):
    if not lost:
        lost.append(answer)
        print("A worker died or was killed while executing a task.")
        os.write(1, b"A worker died\\n")
        raise exceptions.WorkerCrashedError
    function, arguments = answer.call
    return function(*arguments)
"""
"""Stands for Ray where it is not installed: it writes wherever Ray's lines about a lost worker were seen."""


@pytest.mark.parametrize(
    "output_format",
    [pytest.param(name, marks=() if name in ("full", "json") else pytest.mark.slow) for name in OUTPUT_FORMATS],
)
def test_nothing_but_the_report_is_on_standard_output(tmp_path: Path, write_files: Write, output_format: str) -> None:
    """Protects programs that read the report: a worker is lost, and Ray says so in Python and past it."""
    write_files({"fake/ray.py": FAKE} | {f"code/f{number}.py": WRONG for number in range(8)})
    first = os.pathsep.join([str(tmp_path / "fake"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": first}
    reports = [
        subprocess.run(
            [
                *f"{sys.executable} -m tflint_gpu check --isolated --no-cache --output-format {output_format} .".split(),
                "--executor",
                executor,
            ],
            cwd=tmp_path / "code",
            env=environment,
            capture_output=True,
            timeout=300,
        )
        for executor in ("local", "ray")
    ]
    assert reports[0].stdout and b"TFG50" in reports[0].stdout
    assert without_times(reports[1].stdout) == without_times(reports[0].stdout)
    assert reports[1].stderr.count(b"A worker died") == 2, "and it is not lost"
    assert reports[1].returncode == reports[0].returncode == 1


def test_a_cluster_that_does_not_start_is_an_error_of_one_line(tmp_path: Path, write_files: Write) -> None:
    """Protects who waits on a busy machine: Ray's own words for it, no request to report a failure of this program."""
    slow = FAKE.replace('os.write(1, b"init\\n")', 'raise Exception("The current node timed out during startup.")')
    write_files({"fake/ray.py": slow, "code/f.py": WRONG})
    first = os.pathsep.join([str(tmp_path / "fake"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        f"{sys.executable} -m tflint_gpu check --isolated --no-cache --executor ray .".split(),
        cwd=tmp_path / "code",
        env={**os.environ, "PYTHONPATH": first},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and "this machine: The current node timed out" in done.stderr
    assert "Traceback" not in done.stderr


def without_times(report: bytes) -> bytes:
    """A report without what differs from one run to the next."""
    return re.sub(rb"[0-9T:.+-]{19,}Z?|\b[0-9a-f]{8}-[0-9a-f-]{27}\b", b"", report)


def cost(folder: Path, files: int) -> dict[str, float]:
    """Seconds that a check of so many programs takes in one process and on a cluster: `python test_cluster.py`."""
    for number in range(files):
        (folder / f"f{number}.py").write_text(WRONG * 40)
    resolver = SettingsResolver(working_directory=folder)
    found = Discovery(resolver, folder).find(["."])
    seconds = {}
    for executor, jobs in (("local", 1), ("local", 2), ("ray", None)):
        began = time.perf_counter()
        check_files(Engine(resolver, folder), found, jobs, elsewhere=check_on_ray if executor == "ray" else None)
        seconds[f"{executor} {jobs or ''}".strip()] = round(time.perf_counter() - began, 2)
    return seconds


if __name__ == "__main__":
    import tempfile

    for size in (16, 64, 256, 1024):
        with tempfile.TemporaryDirectory() as place:
            print(size, cost(Path(place), size), flush=True)
