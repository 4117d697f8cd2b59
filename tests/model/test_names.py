"""Canonical names: what an expression refers to, through every way of importing."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import libcst as cst
import pytest
from checks import model_of

from tflint_gpu.model.python.syntax.tree import Tree


def name_of_last_call(code: str, folder: Path) -> str | None:
    model = model_of(code, folder)
    return model.name(model.file.tree.calls[-1].func)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import tensorflow as tf\ntf.sin(1)", "tf.sin"),
        ("import tensorflow\ntensorflow.math.sin(1)", "tf.math.sin"),
        ("import tensorflow.compat.v2 as tf\ntf.keras.Model()", "keras.Model"),
        ("import tensorflow.compat.v1 as tf\ntf.placeholder()", "tf.compat.v1.placeholder"),
        ("import tensorflow as tf\ntf.compat.v1.Session()", "tf.compat.v1.Session"),
        ("import tensorflow as tf\ntf.compat.v2.keras.Input()", "keras.Input"),
        ("from tensorflow import keras\nkeras.layers.Dense(1)", "keras.layers.Dense"),
        ("from tensorflow.keras import layers as L\nL.Dense(1)", "keras.layers.Dense"),
        ("from tensorflow.keras.layers import Dense as D\nD(1)", "keras.layers.Dense"),
        ("from tensorflow.python.keras.layers import Dense\nDense(1)", "keras.layers.Dense"),
        ("import tf_keras as keras\nkeras.Model()", "keras.Model"),
        ("import keras\nkeras.ops.sin(1)", "keras.ops.sin"),
        ("from numpy import sin\nsin(1)", "numpy.sin"),
        ("import numpy.linalg as la\nla.norm(1)", "numpy.linalg.norm"),
        ("import tensorflow as tf\nK = tf.keras.backend\nK.sum(1)", "keras.backend.sum"),
        ("import tensorflow as tf\ndef f():\n    g = tf.sin\n    return g(1)", "tf.sin"),
        ("def f():\n    import tensorflow as tf\n    return tf.sin(1)", "tf.sin"),
        (
            "try:\n    import tensorflow.compat.v2 as tf\nexcept ImportError:\n    import tensorflow as tf\ntf.sin(1)",
            "tf.sin",
        ),
        ("try:\n    import keras\nexcept ImportError:\n    from tensorflow import keras\nkeras.Model()", "keras.Model"),
        ("from tensorflow.keras.models import *\nSequential()", "keras.models.Sequential"),
        ("import tensorflow.compat.v1 as tf\ntf.config.list_physical_devices()", "tf.config.list_physical_devices"),
        ("import tensorflow.compat.v1 as tf\ntf.GradientTape()", "tf.GradientTape"),
        ("import tensorflow.compat.v1 as tf\ntf.keras.Model()", "keras.Model"),
        ("import tensorflow as tf\ntf.optimizers.Adam()", "keras.optimizers.Adam"),
        ("from tensorflow import optimizers\noptimizers.Adam()", "keras.optimizers.Adam"),
        ("import tensorflow.compat.v1 as tf\ntf.configure()", "tf.compat.v1.configure"),
        ("from keras.engine.topology import Layer\nLayer()", "keras.layers.Layer"),
        ("from keras.engine import Model as M\nM()", "keras.Model"),
        ("from tensorflow.python.keras.engine import base_layer\nbase_layer.Layer()", "keras.layers.Layer"),
        ("import tensorflow as tf\ntf = None\ntf.sin(1)", None),
        ("import tensorflow as tf\ndef f(tf):\n    return tf.sin(1)", None),
        ("import tensorflow as tf\n[tf.sin(1) for tf in x]", None),
        ("try:\n    import numpy as np\nexcept ImportError:\n    import jax.numpy as np\nnp.sin(1)", None),
        ("import tensorflow as tf\nclass A:\n    tf = 1\n    def f(self):\n        return tf.sin(1)", "tf.sin"),
        ("import tensorflow as tf\nfor tf in []:\n    pass\ntf.sin(1)", None),
        ("sin(1)", None),
        ("x().sin(1)", None),
    ],
)
def test_canonical_name(code: str, name: str | None, tmp_path: Path) -> None:
    """Protects every rule: they ask for canonical names only."""
    assert name_of_last_call(code, tmp_path) == name


HANDED_ON = {
    "a part of it, by a name of its own": ("from kit.backend import blocks\nblocks.Dense()", "keras.layers.Dense"),
    "not what has the name of such a part": ("from kit.backend import Net\nNet()", "kit.backend.Net"),
    "by a star": ("from shared import *\ntf.sin(1)", "tf.sin"),
    "by a star of a star": ("from outer import *\ntf.sin(1)", "tf.sin"),
    "by a star of a package": ("from kit import *\nkeras.Model()", "keras.Model"),
    "as an attribute of a module": ("import kit.backend as B\nB.keras.Model()", "keras.Model"),
    "as an attribute, module from its package": ("from kit import backend\nbackend.keras.Model()", "keras.Model"),
    "not what the star does not have": ("from shared import *\njax.sin(1)", None),
    "not past the file's own name": ("from shared import *\ntf = load()\ntf.sin(1)", None),
    "not an attribute of what the module defines": ("import kit.backend as B\nB.Model()", "kit.backend.Model"),
}


@pytest.mark.parametrize("case", HANDED_ON)
def test_a_library_that_another_file_hands_on(case: str, tmp_path: Path) -> None:
    """Protects every rule, in files that have TensorFlow from a module of their project."""
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text("from .backend import *\n")
    (tmp_path / "kit" / "backend.py").write_text(
        "import os\nif os.getenv('TF_KERAS'):\n    from tensorflow import keras\nelse:\n    import keras\n"
        "blocks = keras.layers  # for all\nNet = mine.keras.Model\n"
    )
    (tmp_path / "shared.py").write_text("import tensorflow as tf\n")
    (tmp_path / "outer.py").write_text("from outer import *\nfrom shared import *\n")
    code, name = HANDED_ON[case]
    assert name_of_last_call(code, tmp_path) == name


def test_names_below_compat_v1_that_are_the_same_object() -> None:
    """Protects the table of names: TensorFlow itself says that both are one object."""
    tf = pytest.importorskip("tensorflow")
    from tflint_gpu.model.library.spellings import SAME_IN_V1

    for name in SAME_IN_V1:
        new, old = getattr(tf, name), getattr(tf.compat.v1, name)
        parts = dir(old) if isinstance(old, ModuleType) else ()
        public = [part for part in parts if not part.startswith("_")]
        assert new is old or all(
            getattr(new, part, None) is getattr(old, part) or isinstance(getattr(old, part), ModuleType)
            for part in public
        )


@pytest.mark.slow
def test_names_agree_with_libcst(tmp_path: Path) -> None:
    """Protects the fast traversal: where libcst's QualifiedNameProvider knows one import, we know the same or nothing."""
    for path in sorted((Path(__file__).parents[2] / "fixtures").rglob("*.py"))[::15]:
        model = model_of(path.read_text(), tmp_path)
        wrapper = cst.MetadataWrapper(cst.parse_module(model.source.code), unsafe_skip_copy=True)
        resolved = wrapper.resolve(cst.metadata.QualifiedNameProvider)
        for call, other in zip(model.file.tree.calls, Tree(wrapper.module).calls, strict=True):
            ours = model.name(call.func)
            name_set = resolved.get(other.func, set())
            names = name_set() if callable(name_set) else name_set  # libcst computes some names only when asked
            theirs = {q.name for q in names if q.source.name == "IMPORT"}
            if ours is not None and len(theirs) == 1:
                last = next(iter(theirs)).rpartition(".")[2]
                assert ours.rpartition(".")[2] == last, path


@pytest.mark.slow
def test_spans_agree_with_libcst(tmp_path: Path) -> None:
    """Protects every reported place: our offsets are those of libcst's PositionProvider."""
    compared = 0
    for path in sorted((Path(__file__).parents[2] / "fixtures").rglob("*.py"))[::9]:
        model = model_of(path.read_text(), tmp_path)
        wrapper = cst.MetadataWrapper(cst.parse_module(model.source.code), unsafe_skip_copy=True)
        positions = wrapper.resolve(cst.metadata.PositionProvider)
        for call, other in zip(model.file.tree.calls, Tree(wrapper.module).calls, strict=True):
            start = model.source.locate(model.file.span(call)[0])
            end = model.source.locate(model.file.span(call)[1])
            theirs = positions[other]
            assert (start.row, start.column - 1) == (theirs.start.line, theirs.start.column)
            assert (end.row, end.column - 1) == (theirs.end.line, theirs.end.column)
            compared += 1
    assert compared > 100


def test_spans_with_form_feeds_and_returns(tmp_path: Path) -> None:
    """Protects old files: libcst drops a form feed, the offsets must not."""
    model = model_of("x = 1\n\x0c\ndef f():\n    return g(2)\n", tmp_path)
    assert model.file.code(model.file.tree.calls[0]) == "g(2)"


def test_mixed_tabs_and_spaces(tmp_path: Path) -> None:
    """Protects files that Python reads and libcst does not: they are checked, and places and texts are their own."""
    code = "def f(x):\n\tif x:\n    \t\tg(x, 2)\n\treturn h(\n\t  x)\n\nk(3)\n"
    compile(code, "x.py", "exec")
    with pytest.raises(cst.ParserSyntaxError):
        cst.parse_module(code)
    model = model_of(code, tmp_path)
    assert [model.file.code(call) for call in model.file.tree.calls] == ["g(x, 2)", "h(\n\t  x)", "k(3)"]
    assert model.source.locate(model.file.span(model.file.tree.calls[0])[0]).column == 7


def test_an_annotation_that_names_what_is_bound_twice(tmp_path: Path) -> None:
    """Protects against a crash: annotations are no part of the traversal, so they have no place in its order."""
    code = "import tensorflow as tf\nclass T: pass\nclass T: pass\n@tf.function\ndef f(x: T):\n    return g(x)\n"
    model = model_of(code, tmp_path)
    annotation = next(iter(model.file.tree.functions)).params.params[0].annotation
    assert annotation is not None
    assert model.name(annotation.annotation) is None


def test_aliases_in_a_circle(tmp_path: Path) -> None:
    """Protects against endless work: what a library calls it is asked of names that name each other."""
    code = "import keras.backend as K\nwhile K:\n    K = K\n    K = K\na = b\nb = a\nK.sum(1)\na.sum(1)\n"
    model = model_of(code, tmp_path)
    assert [model.file.names.written(call.func) for call in model.file.tree.calls] == [None, None]


def test_aliases_of_aliases_are_followed_once(tmp_path: Path) -> None:
    """Protects the speed: two ways to each of many aliases are no more work than one."""
    steps = "".join(f"if c:\n    v{i + 1} = v{i}\nelse:\n    v{i + 1} = v{i}\n" for i in range(60))
    model = model_of(f"import tensorflow.compat.v1 as v0\n{steps}v60.Session()\n", tmp_path)
    assert model.file.names.written(model.file.tree.calls[0].func) == "tensorflow.compat.v1.Session"


IMPORT = "import tensorflow as tf"
FOR_TYPES = {
    "for types alone": (f"if TYPE_CHECKING:\n    {IMPORT}", None),
    "by the module's name": (f"if typing.TYPE_CHECKING:\n    {IMPORT}", None),
    "at run time": (IMPORT, "tf.function"),
    "under another condition": (f"if READY:\n    {IMPORT}", None),
    "by a function": (f"def load():\n    global tf\n    {IMPORT}", None),
    "in the other branch": (f"if TYPE_CHECKING:\n    pass\nelse:\n    {IMPORT}", "tf.function"),
    "for both": (f"if TYPE_CHECKING:\n    {IMPORT}\n{IMPORT}", "tf.function"),
}


@pytest.mark.parametrize(("head", "spelled"), FOR_TYPES.values(), ids=FOR_TYPES.keys())
@pytest.mark.parametrize("depth", [0, 1])
def test_what_is_imported_for_types_is_no_name(head: str, spelled: str | None, depth: int, tmp_path: Path) -> None:
    """Protects modules that import TensorFlow in their functions: a decorator of a fix raised where nothing else had."""
    names = "import typing\nfrom typing import TYPE_CHECKING\n"
    model = model_of(f"{names}{head}\nclass Attack:\n    def step(self):\n        place()\n", tmp_path)
    step = next(node for node in model.file.tree.nodes(cst.FunctionDef))
    assert model.file.names.spelled("tf.function", model.file.tree.calls[-1] if depth else step) == spelled


WHERE_IMPORTED = {
    "in the function, and below it as well": (
        "",
        "    import tensorflow as tf\n",
        "import tensorflow\n",
        "tf.function",
    ),
    "below the function": ("", "", "import tensorflow as tf\n", None),
    "in another function": ("def other():\n    import tensorflow as tf\n", "", "", None),
    "under a condition": ("if READY:\n    import tensorflow as tf\n", "", "", None),
    "under a condition, and used": ("if READY:\n    import tensorflow as tf\n", "    tf.shape(x)\n", "", "tf.function"),
    "under two names": ("import tensorflow\n", "    import tensorflow as t\n", "", "t.function"),
}


@pytest.mark.parametrize("case", WHERE_IMPORTED)
def test_what_is_imported_when_a_function_runs(case: str, tmp_path: Path) -> None:
    """Protects fixes in functions that import TensorFlow themselves, or that run before the file does."""
    above, inside, below, spelled = WHERE_IMPORTED[case]
    model = model_of(f"{above}def run(x):\n{inside}    return x.batch(2)\nrun(0)\n{below}", tmp_path)
    (call,) = model.method_calls("batch")
    assert model.file.names.spelled("tf.function", call) == spelled
