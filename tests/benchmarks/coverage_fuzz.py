"""Looks for input that brings down what reads users' files, guided by the lines of our code that the input reaches (atheris).

    pip install atheris
    python tests/benchmarks/coverage_fuzz.py TARGET --minutes 10 [--corpus FOLDER]

A target gets bytes and may answer them in the ways that its documentation names, with no other exception, within ten
seconds of the processor. What breaks that is written to `crash-...` in the working directory by libFuzzer, and the exit code is 77.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import pkgutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

import atheris  # noqa: E402  (not in the extra dev: it has wheels for Linux only)

with atheris.instrument_imports(include=["tflint_gpu"]):
    import tflint_gpu.model
    from tflint_gpu.checking.cache import Cache, Kept
    from tflint_gpu.checking.engine import Engine
    from tflint_gpu.dependencies import Dependencies, state_of
    from tflint_gpu.diagnostics import Diagnostic, Location
    from tflint_gpu.narrowing.baselines import Baseline, BaselineError
    from tflint_gpu.rule import UNREADABLE_FILE, entries, load
    from tflint_gpu.settings.config import SettingsResolver
    from tflint_gpu.settings.files import Discovery
    from tflint_gpu.settings.options import Options, SettingsError
    from tflint_gpu.text.decoding import decode_source
    from tflint_gpu.text.source import UnreadableSource
    from tflint_gpu.text.suppressions import Suppressions, removal, suppressing

    # A check imports what it asks for when it asks for it: then it would not be instrumented.
    for part in pkgutil.walk_packages(tflint_gpu.model.__path__, "tflint_gpu.model."):
        importlib.import_module(part.name)
    load(entry.code for entry in entries() if entry.code != UNREADABLE_FILE)

FOLDER = Path(tempfile.mkdtemp(prefix="coverage-fuzz-"))
SECONDS = 10  # of the processor
SECONDS_OF_A_CLOCK = 300


def comments(data: bytes) -> None:
    """Each row of a text gets a finding, which a comment must silence, and each comment can be taken away."""
    try:
        source = decode_source(data, Path("x.py"), "x.py")
    except UnreadableSource:
        return
    places = [source.locate(start) for start in source.line_starts]
    found = [Diagnostic("TFG101", "n", "m", "x.py", place, place, place.row, "warning") for place in places]
    edits, silenced = suppressing(source, found)
    after = Suppressions(source.edited(edits))
    assert all(after.hides(one) for one in silenced)
    for directive in Suppressions(source).directives:
        removal(source, directive, directive.codes)


def notebook(data: bytes) -> None:
    """A notebook is read, or the reason is told; what is written back is what was read."""
    try:
        source = decode_source(data, Path("x.ipynb"), "x.ipynb")
    except UnreadableSource:
        return
    assert source.encode() == data
    assert len(source.code) == len(source.text) and source.refusals is not None
    for offset in range(0, len(source.text), 7):
        source.locate(offset)


def settings(data: bytes) -> None:
    """A settings file holds, or is refused with the place."""
    path = FOLDER / "tflint-gpu.toml"
    path.write_bytes(data)
    with contextlib.suppress(SettingsError):
        SettingsResolver(Options(), None, False, FOLDER).for_file(FOLDER / "x.py").selection.codes_for(FOLDER / "x.py")


def baseline(data: bytes) -> None:
    """A baseline is read and written anew, or refused; never lost."""
    path = FOLDER / "baseline.json"
    path.write_bytes(data)
    try:
        known = Baseline.read(path)
    except BaselineError:
        return
    known.write()
    assert {*Baseline.read(path).entries} == {*known.entries}


def cache(data: bytes) -> None:
    """A cache that was damaged is not believed: what comes back is nothing, or what was stored; none brings a run down."""
    base = FOLDER / "kept"
    base.mkdir(exist_ok=True)
    path = str(base / "x.py")
    Path(path).write_bytes(b"import tensorflow\n")
    place = Location(1, 2)
    stored = Kept((Diagnostic("TFG101", "n", "m é", "x.py", place, place, 1, "warning"),))
    kept = Cache(FOLDER / "cache", base)
    kept.learn(Dependencies({path: []}, {path: state_of(path)}))
    kept.store(path, "ab", stored)
    kept.write()
    [entry] = (FOLDER / "cache").rglob("*.json")
    digest, _, whole = entry.read_bytes().partition(b"\n")
    damaged = bytearray(whole)
    for index in range(0, len(data) - 1, 2):
        damaged[(data[index] * 7 + index) % len(damaged)] ^= data[index + 1]
    written = bytes(damaged) if len(data) % 3 else data
    entry.write_bytes(digest + b"\n" + written)
    assert Cache(FOLDER / "cache", base).load(path, "ab") in (None, stored)
    # Who makes such a file on purpose gets what he wrote, and no traceback.
    entry.write_bytes(hashlib.blake2b(written, digest_size=16).hexdigest().encode() + b"\n" + written)
    Cache(FOLDER / "cache", base).load(path, "ab")


def program(data: bytes) -> None:
    """A program is checked by all rules; none of them fails, and no finding lies outside of the file."""
    path = FOLDER / "program" / "x.py"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"import tensorflow as tf\n" + data)
    resolver = SettingsResolver(Options(select=("ALL",)), None, True, path.parent)
    [file] = Discovery(resolver, path.parent).find(["."])
    result = Engine(resolver, path.parent).check(file)
    assert not result.errors, result.errors[0].detail
    rows = path.read_bytes().count(b"\n") + path.read_bytes().count(b"\r") + 1
    assert all(1 <= one.location.row <= rows for one in result.diagnostics)


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one for one in (comments, notebook, settings, baseline, cache, program)
}
SEEDS = {
    "comments": [b"a = 1  # noqa: TFG101, E501\nb = '''\n'''  # noqa\n# tflint-gpu: noqa: TFG1\nc = \\\n  2\n"],
    "notebook": [json.dumps({"cells": [{"cell_type": "code", "source": ["!ls\n", "a = 1\n"]}], "metadata": {}}).encode()],
    "settings": [b'select = ["TFG1"]\nper-file-ignores = {"a*.py" = ["ALL"]}\ntarget-tensorflow = "2.9"\ngpu-memory = "8GiB"\n'],
    "baseline": [b'{"tflint-gpu-baseline": 1, "findings": [{"file": "a", "code": "TFG101", "line": "x", "fingerprint": "0"}]}'],
    "cache": [bytes(range(60))],
    "program": [],
}  # fmt: skip


def main() -> None:
    """Fuzz one target until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--corpus", type=Path, help="keep what reaches new lines here")
    given = parser.parse_args()
    corpus = given.corpus or FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = SEEDS[given.target]
    if given.target == "program":
        seeds = [path.read_bytes() for path in sorted((TESTS.parent / "fixtures").rglob("*.py"))]
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    target = TARGETS[given.target]

    runs = 0

    def quietly(data: bytes) -> None:
        nonlocal runs
        began = time.process_time()
        with contextlib.redirect_stderr(io.StringIO()):
            target(data)
        runs += 1
        assert runs == 1 or time.process_time() - began < SECONDS  # the first one imports the rules

    limits = [
        f"-max_total_time={given.minutes * 60:.0f}",
        f"-timeout={SECONDS_OF_A_CLOCK}",
        "-max_len=4096",
        "-rss_limit_mb=4096",
    ]
    atheris.Setup([sys.argv[0], *limits, "-print_final_stats=1", str(corpus)], quietly)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
