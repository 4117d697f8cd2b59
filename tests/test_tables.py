"""Protects facts about TensorFlow, Keras and NumPy from standing twice: tables of their names are in `model/library`,
and each of these names stands once for one fact.
"""

from __future__ import annotations

import ast
import builtins
import itertools
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
    "tflint_gpu/verify/stubs/readers.py": "_LOADS_WEIGHTS _MODULE_OF",  # words of a text; where verify's own stand-ins are
    "tflint_gpu/model/tensorflow/effects/host_effects.py": "_IMPURE",  # words of a text
    "rules/kernels/own_tensors.py": "_NEUTRAL",  # what makes no floating point tensor
    "tflint_gpu/model/tensorflow/execution/program.py": "_MADE_UP",  # how a file looks that makes its data up
    "rules/kernels/tfg602_float64_compute.py": "_OWN_COMPUTATION",  # words of a text
    "rules/training/number_dtypes.py": "_FLOATING",  # what gives float32 whatever it gets
    "rules/training/step_sizes.py": "_LEAST _MOST",  # measured step sizes, and which of them bounds a prediction
}
"""The tables elsewhere, which say nothing that an API does. None may be added, and what is gone must be taken out."""

DIFFERENT = {
    ("counterparts._TYPES", "precision.FLOATS"): "NumPy's types raise as functions; the others are names of dtypes",
    ("counterparts._UNARY", "tensor_functions.NAMED_SECOND"): "NumPy's functions, and TensorFlow's",
    ("counterparts._UNSAFE", "operations.FILLS"): "NumPy's functions, and the last parts of anyone's",
    ("counterparts._UNSAFE", "shape_facts.OF_ARRAYS"): "functions, and methods",
    ("counterparts._UNSAFE", "tensor_functions.COMPARING"): "NumPy's functions, and Python's",
    ("counterparts._UNSAFE", "tensor_functions.REDUCING_METHODS"): "functions, and methods",
    (
        "keras_methods.MERGES",
        "keras_methods.WITHOUT_VALUES",
    ): "what computes element by element, and what a gradient needs",
    ("keras_methods.OF_OUTPUT", "tensor_functions.NAMED_SECOND"): "what a gradient needs, and what an argument means",
    ("nondeterminism.GENERATOR_DRAWS", "nondeterminism.NUMPY_DRAWS"): "TensorFlow's generators, and NumPy's",
    ("tensor_functions.DYNAMIC", "xla.WITHOUT_KERNEL"): "how many rows a result has, and what XLA can run",
}
"""Tables of the library with the same names that say different facts of them, and which."""


def tables_of(path: Path) -> Iterator[tuple[str, list[str], bool]]:
    """What a module assigns at its level, with the words in the strings of its value; whether it is a type."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            nodes = [node.value for node in ast.walk(statement.value) if isinstance(node, ast.Constant)]
            words = [word for text in nodes if isinstance(text, str) for word in words_of(text)]
            yield ast.unparse(target), words, ast.unparse(statement.value).startswith("Literal[")


def words_of(text: str) -> list[str]:
    """Words between blanks, or those of a regular expression that is a table: `tf\\.(?:add|sub|mul ...)`."""
    parts = [word for word in re.split(r"[\\.|()?:^$]+", text) if word] if "|" in text else []
    return parts if len(parts) >= 8 else text.split()


def names_in_library() -> set[str]:
    """The last parts of the names that the library knows, but those that Python or this project has, too."""
    names, own = set[str](), set[str]()
    for path in LIBRARY.glob("*.py"):
        if path.stem == "star_imports":  # all names there are, and nothing of any of them
            continue
        for _, words, is_type in tables_of(path):
            (own if is_type else names).update(name for word in words for name in names_of(word))
    parts = [name.rpartition(".") for name in names]
    known = {last for head, _, last in parts if head.partition(".")[0] in ("", "tf", "keras", "numpy")}
    return {name for name in known if name.isidentifier()} - PYTHON - own


def is_table(words: list[str], known: set[str]) -> bool:
    dotted = [word for word in words if DOTTED.fullmatch(word)]
    bare = [word for word in words if word in known]
    return len(dotted) >= 3 or (len(bare) >= 3 and 2 * len(bare) >= len(words) and PROSE.isdisjoint(words))


def sets_of(path: Path) -> Iterator[tuple[str, set[str]]]:
    """The sets of names that a module writes out; neither rows, which say something of each, nor types."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if value is None or any(_is_no_set(node) for node in ast.walk(value)):
            continue
        texts = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
        names = {name for text in texts if isinstance(text, str) for word in text.split() for name in names_of(word)}
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        yield f"{path.stem}.{ast.unparse(target)}", names


def _is_no_set(node: ast.AST) -> bool:
    is_nested = isinstance(node, ast.Tuple) and any(isinstance(e, ast.Tuple | ast.Call) for e in node.elts)
    return (
        is_nested or isinstance(node, ast.Dict | ast.DictComp) or (isinstance(node, ast.Name) and node.id == "Literal")
    )


def doubles(sets: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The pairs of sets of which one has half or more of the other's names."""
    return {
        (one, other)
        for one, other in itertools.combinations(sorted(sets), 2)
        if len(both := sets[one] & sets[other]) >= 3 and 2 * len(both) >= min(len(sets[one]), len(sets[other]))
    }


def test_no_name_stands_twice_in_the_library() -> None:
    """Protects a fact from being written out in two tables: the larger one names the smaller one, not its names."""
    assert doubles(dict(pair for path in LIBRARY.glob("*.py") for pair in sets_of(path))) == DIFFERENT.keys()


def test_a_double_is_seen(tmp_path: Path) -> None:
    """Protects it where a table repeats another one's names in another spelling, next to other names."""
    module = tmp_path / "rows.py"
    module.write_text(
        'LONG = spelled("tf.{add,cos,sin,exp}")\nSHORT = frozenset("tf.add tf.cos tf.sin tf.tan tf.abs".split())\n'
        'BUILT = LONG | {"tf.tan"}\nROWS = {"tf.add": 1, "tf.cos": 1, "tf.sin": 2}\n'
    )
    assert doubles(dict(sets_of(module))) == {("rows.LONG", "rows.SHORT")}


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
    assert is_table(words_of(r"tf\.(?:math\.)?(?:exp|log1p|sqrt|rsqrt|square|tanh|erf)"), known)
    assert not is_table(["fit", "predict"], known) and not is_table(["append", "extend", "pop", "insert"], known)
    assert not is_table("the model predict and fit".split(), known)
