"""What is known of tensors, held against TensorFlow: runs programs and notes what each parameter of a function holds.

Of Ariadne's test suite, for example (github.com/ponder-lab/ML, `com.ibm.wala.cast.python.test/data`):

    python tests/benchmarks/peer_tensors.py FOLDER [--expected CSV [--others]]

Prints how many parameters hold tensors, of how many of these the model knows that they do, their dtype and their shape,
and each that it knows otherwise than TensorFlow. Programs that import private parts of TensorFlow, and those with ragged
or sparse tensors, are left out. With --expected (file, function, parameter, types) only the files that it names are run,
and what is known is also counted against it. tests/PEER_TENSORS.md has the results.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import re
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.model.model import Model
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.value_flow.call_sites import parameter_origins
from tflint_gpu.model.values.value import TensorValue, Value, text
from tflint_gpu.model.values.values import Values
from tflint_gpu.targets import Target
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import UnreadableSource

SECONDS = 90
Held = tuple[str, str, tuple[int | None, ...] | None]
"""Of a parameter in one call: its kind, dtype and shape."""
_LEFT_OUT = re.compile(r"tensorflow\.python|ragged|Sparse", re.IGNORECASE)
_TYPE = re.compile(r"([A-Z]+_?\d*)\[(.*)\]")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--expected", type=Path)
    parser.add_argument("--others", action="store_true", help="run the files that --expected does not name")
    options = parser.parse_args()
    rows = list(csv.DictReader(options.expected.open())) if options.expected else []
    named = {row["file"] for row in rows}
    files = [
        path for path in sorted(options.folder.glob("*.py")) if not named or (path.name in named) != options.others
    ]
    files = [path for path in files if not _LEFT_OUT.search(path.read_text("utf-8", "replace"))]
    with_large_stack(lambda: examine(files, [] if options.others else rows))
    return 0


def examine(files: list[Path], rows: list[dict[str, str]]) -> None:
    """Print what is known of the parameters of some files."""
    counts: Counter[str] = Counter()
    values: dict[tuple[str, str, int], list[Value]] = {}
    for path, held in ran(files):
        for function, place, name, known in parameters_of(path):
            values[path.name, function, place] = known
            seen = held.get(f"{function.rpartition('.')[2]}.{name}", [])
            if seen and len(known) > 0:
                count(counts, f"{path.name}: {function}({name})", known, seen)
    print(json.dumps(counts))
    if rows:
        print(json.dumps(against(rows, values)))


def count(counts: Counter[str], place: str, known: list[Value], seen: list[Held]) -> None:
    """Add one parameter that was seen in a run."""
    is_tensor = all(kind == "tensor" for kind, _, _ in seen)
    tensors = [value for value in known if isinstance(value, TensorValue) and not value.is_number]
    counts["tensors"] += is_tensor
    if len(tensors) < len(known) or not is_tensor:
        return
    counts["known as tensors"] += 1
    counts["with dtype"] += all(value.dtype for value in tensors)
    counts["with shape"] += all(value.shape is not None for value in tensors)
    if any(not any(agrees(value, one) for value in tensors) for one in seen):
        counts["known otherwise than TensorFlow"] += 1
        print(f"{place}: {' | '.join(map(text, tensors))}, but {seen[:4]}")


def agrees(value: TensorValue, held: Held) -> bool:
    """Whether what is known of a value holds of one."""
    _, dtype, shape = held
    if value.dtype not in ("", dtype) or value.shape is None or shape is None:
        return value.dtype in ("", dtype)
    pairs = zip(value.shape, shape, strict=False)
    return len(value.shape) == len(shape) and all(a is None or b is None or a == b for a, b in pairs)


def parameters_of(path: Path) -> Iterator[tuple[str, int, str, list[Value]]]:
    """Each parameter of the functions of a file that are there once: the function, its place, its name, its values."""
    target = Target(tensorflow=(2, 21), keras=3, source="newest")
    try:
        model = Model.open(decode_source(path.read_bytes(), path, path.name), Project(path.parent, target))
    except UnreadableSource:
        return
    values, definitions = model.once(Values), model.inference.definitions
    functions = [definitions.function(model.file, node) for node in model.file.tree.functions]
    names = Counter(function.name for function in functions)
    for function in functions:
        if names[function.name] > 1:
            continue
        for place, parameter in enumerate(function.node.params.params):
            origins = parameter_origins(model.inference, model.file, parameter, None)
            known = [values.at(origin) for origin in origins if not origin.is_none]
            name = function.name if function.owner is None else f"{function.owner.name}.{function.name}"
            yield name, place, parameter.name.value, known


def against(rows: Iterable[dict[str, str]], values: dict[tuple[str, str, int], list[Value]]) -> dict[str, int]:
    """How many of the tensors that a peer expects are known, and how."""
    counts: Counter[str] = Counter()
    for row in rows:
        expected = set(expectations(row["types"]))
        if not expected or not row["parameter"]:
            continue
        known = next(
            (
                known
                for (file, function, place), known in values.items()
                if file == row["file"] and place == int(row["parameter"])
                and function.endswith(row["function"].partition("$")[0].rpartition(".")[2])
            ),
            None,
        )  # fmt: skip
        if known is None:
            continue
        counts["expected"] += 1
        tensors = [value for value in known if isinstance(value, TensorValue) and not value.is_number]
        if not tensors or len(tensors) < len(known):
            continue
        shapes = {shape for _, shape in expected}
        if None not in shapes and len({len(shape) for shape in shapes if shape is not None}) == 1:
            columns = zip(*(shape for shape in shapes if shape is not None), strict=True)
            shapes.add(tuple(column[0] if len(set(column)) == 1 else None for column in columns))
        counts["as a tensor"] += 1
        counts["dtype"] += {value.dtype for value in tensors} <= {dtype for dtype, _ in expected}
        counts["shape"] += {value.shape for value in tensors} <= shapes
    return dict(counts)


def expectations(types: str) -> Iterator[tuple[str, tuple[int | None, ...] | None]]:
    """The dtypes and shapes of `FLOAT_32[2, ?] | INT_32[]`."""
    for written in types.split(" | "):
        match = _TYPE.fullmatch(written.strip())
        if match is not None:
            lengths = [length.strip() for length in match[2].split(",") if length.strip()]
            shape = tuple(int(length) if length.isdecimal() else None for length in lengths)
            yield match[1].lower().replace("_", ""), None if match[2] == "..." else shape


def ran(files: Iterable[Path]) -> Iterator[tuple[Path, dict[str, list[Held]]]]:
    """What the parameters hold when each file runs, each in a separate process; nothing after some time."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    import tensorflow

    assert tensorflow.__version__  # each process has it from here
    for path in files:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            signal.alarm(SECONDS)
            os.write(writing, json.dumps(run_one(path)).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
        os.waitpid(process, 0)
        noted = json.loads(told) if told else {}
        yield path, {name: [(kind, dtype, shape if shape is None else tuple(shape)) for kind, dtype, shape in held]
                     for name, held in noted.items()}  # fmt: skip


def run_one(path: Path) -> dict[str, list[Held]]:
    """Run a program and note what its functions get."""
    noted: dict[str, list[Held]] = defaultdict(list)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or (code.co_filename != str(path) and "__autograph_generated" not in code.co_filename):
            return
        for name in code.co_varnames[: code.co_argcount]:
            if name in frame.f_locals:
                held = held_by(frame.f_locals[name])
                seen = noted[f"{code.co_name.removeprefix('tf__')}.{name}"]
                if held not in seen and len(seen) < 30:
                    seen.append(held)

    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    silent = io.StringIO()
    with contextlib.suppress(BaseException), contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        code = compile(path.read_text(), str(path), "exec")
        sys.setprofile(note)
        try:
            exec(code, {"__name__": "__main__", "__file__": str(path)})
        finally:
            sys.setprofile(None)
    return dict(noted)


def held_by(value: Any) -> Held:
    """The kind, dtype and shape of a value."""
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return type(value).__name__, "", None
    dtype = value.dtype if isinstance(value.dtype, str) else getattr(value.dtype, "name", str(value.dtype))
    try:
        shape = tuple(None if length is None else int(length) for length in value.shape)
    except (TypeError, ValueError):
        return "tensor", str(dtype), None
    return "tensor", str(dtype), shape


if __name__ == "__main__":
    sys.exit(main())
