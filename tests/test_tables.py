"""Protects facts about TensorFlow, Keras and NumPy from standing twice: tables of their names are in `model/library`."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from tflint_gpu.model.library.spellings import names_of

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "tflint_gpu" / "model" / "library"
DOTTED = re.compile(r"(?:tf|keras|numpy)\.\w[\w.*]*")
PYTHON = {*dir(builtins), *(name for cls in (str, bytes, list, dict, set, int, float) for name in dir(cls))}
PROSE = {"a", "the", "of", "which", "no"}
APART = ("tflint_gpu/verify/harness", "tflint_gpu/verify/stand_ins", "tflint_gpu/run/inside")
"""Code that runs in the user's process, where nothing of the machine can be imported."""
LEFT = {
    "tflint_gpu/model/interpreter/builtin_functions.py": "_NUMBERS",  # Python's functions with which it computes them
    "tflint_gpu/run/datasets.py": "_FROM_WITHIN",  # phases of a run, in its own words
    "tflint_gpu/verify/statistics/outputs.py": "TOLERANCES",  # chosen: how far outputs may differ
    "tflint_gpu/verify/stubs/readers.py": "_MODULE_OF",  # where verify's own stand-ins are
    "rules/training/step_sizes.py": "_LEAST _MOST",  # measured step sizes, and which of them bounds a prediction
}
"""The tables elsewhere, which say nothing that an API does. None may be added, and what is gone must be taken out."""


def tables_of(path: Path) -> Iterator[tuple[str, list[str], bool]]:
    """What a module assigns at its level, with the words in the strings of its value; whether it is a type."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            nodes = [node.value for node in ast.walk(statement.value) if isinstance(node, ast.Constant)]
            words = [word for text in nodes if isinstance(text, str) for word in text.split()]
            yield ast.unparse(target), words, ast.unparse(statement.value).startswith("Literal[")


def names_in_library() -> set[str]:
    """The last parts of the names that the library knows, but those that Python or this project has, too."""
    names, own = set[str](), set[str]()
    for path in LIBRARY.glob("*.py"):
        for _, words, is_type in tables_of(path):
            (own if is_type else names).update(name for word in words for name in names_of(word))
    parts = [name.rpartition(".") for name in names]
    known = {last for head, _, last in parts if head.partition(".")[0] in ("", "tf", "keras", "numpy")}
    return {name for name in known if name.isidentifier()} - PYTHON - own


def is_table(words: list[str], known: set[str]) -> bool:
    dotted = [word for word in words if DOTTED.fullmatch(word)]
    bare = [word for word in words if word in known]
    return len(dotted) >= 3 or (len(bare) >= 3 and 2 * len(bare) >= len(words) and PROSE.isdisjoint(words))


def test_tables_of_names_stand_in_the_library() -> None:
    known, found = names_in_library(), list[str]()
    for path in (path for folder in ("tflint_gpu", "rules") for path in sorted((ROOT / folder).rglob("*.py"))):
        name = path.relative_to(ROOT).as_posix()
        if path.parent != LIBRARY and "/prefilter" not in name and not name.startswith(APART):
            found += [
                f"{name}: {table}"
                for table, words, is_type in tables_of(path)
                if not is_type and is_table(words, known)
            ]
    assert sorted(found) == sorted(f"{module}: {table}" for module, tables in LEFT.items() for table in tables.split())


def test_a_table_is_seen_in_any_form() -> None:
    known = names_in_library()
    assert is_table(["tf.add", "numpy.cos", "keras.ops.abs"], known) and is_table(
        ["fit", "predict", "x", "evaluate"], known
    )
    assert not is_table(["fit", "predict"], known) and not is_table(["append", "extend", "pop", "insert"], known)
    assert not is_table("the model predict and fit".split(), known)
