"""What tests of several rooms need: the command as users run it, and a rule that finds words."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import libcst
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background, where Ctrl-C would reach no test
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as below `nohup`: what the tests start would inherit it
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).parent))

from checkout import ROOT, is_installed
from extras import absent_module, is_dev_installed
from warm import WITH_ALL_RULES, Warm, as_text

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.model.python.names.branches import Branches
from tflint_gpu.model.python.syntax.tree import Tree
from tflint_gpu.rule import Edit, Finding, Fix, Rule
from tflint_gpu.text.source import SourceFile

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

if TYPE_CHECKING:
    from forked import ForkedPrograms

if not is_installed():
    # As by `python -m pytest` in a checkout or an unpacked sdist: what tests start in other folders finds the package.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip the modules of an extra that is not installed as a whole; where it is, a missing module is an error."""
    report = yield
    absent = absent_module(str(report.longrepr)) if report.failed and isinstance(collector, pytest.Module) else None
    if absent is not None and not is_dev_installed():
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: no module {absent}: pip install -e '.[dev]'")
    return report


def pytest_collection_finish() -> None:
    """Keep what lives until the end from each search for garbage: Keras searches whenever a session is cleared."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """As above, of TensorFlow's modules and of what tests leave in caches."""
    has_tensorflow = "tensorflow" in sys.modules
    if has_tensorflow not in _FROZEN or next(_TESTS) % 20 == 0:
        _FROZEN.add(has_tensorflow)
        gc.collect()
        gc.freeze()


_FROZEN = {False}
_TESTS = itertools.count(1)


@pytest.fixture(scope="session")
def commands() -> Iterator[Warm]:
    """What `python -m tflint_gpu` imports to check, in one process for all tests."""
    running = Warm(
        "from tflint_gpu.checking import added_suppressions, cache, engine, fixes, workers\n"
        "from tflint_gpu.cli import check, rule\n"
        "from tflint_gpu.cli.check import fixing, narrowing, reporting\n"
        f"{WITH_ALL_RULES}"
    )
    yield running
    running.close()


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkedPrograms]:
    """Programs that use TensorFlow, with one import of it for all tests."""
    from forked import ForkedPrograms  # which needs what only POSIX has

    running = ForkedPrograms()
    yield running
    running.close()


@pytest.fixture
def tflint(tmp_path: Path, commands: Warm) -> Command:
    """Run `python -m tflint_gpu` in the test's own directory."""

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        data = None if stdin is None else stdin.encode()
        done = commands.run(
            "tflint_gpu", *arguments, cwd=tmp_path, stdin=data, environment={**inherited, **environment}
        )
        return as_text(done)

    return run


@dataclass(frozen=True)
class Span:
    """Stands for a syntax node: the fake model below knows where it is."""

    start: int
    end: int


@dataclass(frozen=True)
class SourceOnly:
    """As much of a file as the engine asks for when it places a finding; nothing is around a place in it."""

    source: SourceFile
    tree = Tree(libcst.parse_module(""))
    branches = Branches(tree)

    def span(self, node: Any) -> tuple[int, int]:
        return node.start, node.end

    def fitted(self, node: Any, code: str) -> str:
        return code


class FindsWords(Rule):
    """Finds each `word` in the source and offers to replace it."""

    code = "TFG901"
    name = "finds-words"
    word = "BAD"
    replacement: str | None = "GOOD"
    applicability: Any = "safe"

    def check(self, model: Any) -> Iterator[Finding]:
        fake: Any = SourceOnly(model.source)
        for match in re.finditer(self.word, model.source.text):
            node: Any = Span(match.start(), match.end())
            fix = None
            if self.replacement is not None:
                fix = Fix("say it better", self.applicability, (Edit(node, self.replacement),))
            yield Finding(fake, node, f"found {match[0]}", Prediction("no-effect"), fix=fix)


@pytest.fixture
def make_rule() -> Callable[..., Rule]:
    """A rule that finds words, with other class attributes if wished."""

    def make(**attributes: Any) -> Rule:
        return type("Toy", (FindsWords,), attributes)()

    return make


@pytest.fixture
def write_files(tmp_path: Path) -> Callable[..., list[Path]]:
    """Write files below the test's directory from a mapping of names to texts."""

    def write(files: dict[str, str] | Sequence[str]) -> list[Path]:
        named = files if isinstance(files, dict) else dict.fromkeys(files, "")
        paths = []
        for name, text in named.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            paths.append(path)
        return paths

    return write
