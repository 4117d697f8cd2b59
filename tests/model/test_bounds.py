"""Programs that no one writes on purpose are no endless work: names in circles, and values made of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import libcst as cst
import pytest
from checks import ALL_RULES, findings, model_of

from tflint_gpu import bounds
from tflint_gpu.model import Model
from tflint_gpu.model.networks.construction.trainings import Trainings
from tflint_gpu.model.python.execution.callers import RunSite, callers
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.names.flow import Flow
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.value_flow.call_sites import CalledElsewhere
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.computed import computed_from
from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Constants
from tflint_gpu.model.python.value_flow.inheritance import constructor_call, overrides
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.effects.created_state import CreatedState
from tflint_gpu.model.tensorflow.effects.graph_draws import graph_draw
from tflint_gpu.model.tensorflow.effects.host_effects import HostEffects
from tflint_gpu.model.tensorflow.execution.histories import Histories
from tflint_gpu.model.tensorflow.execution.traceability import Traceability
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.iterations import Iterations
from tflint_gpu.model.tensorflow.loops.loop_numbers import LoopNumbers
from tflint_gpu.model.tensorflow.loops.shape_changes import ShapeChanges
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.tf_data.consumers import Consumers, Consumption
from tflint_gpu.model.tensorflow.tf_data.lengths import Lengths
from tflint_gpu.model.tensorflow.tf_data.mapped_functions import MappedFunctions
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.tf_data.python_loops import PythonLoops
from tflint_gpu.model.tensorflow.tracing.keras_functions import KerasFunctions
from tflint_gpu.model.tensorflow.tracing.traced_code import TracedCode
from tflint_gpu.model.tensorflow.tracing.traces import TracedFunctions
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.mixed_precision import MixedPrecision
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.model_classes import ModelClasses
from tflint_gpu.model.tensorflow.types.versions import value_of_test
from tflint_gpu.model.values.numpy_arrays import NumpyArrays
from tflint_gpu.model.values.values import Values
from tflint_gpu.rules.input_pipeline.element_loops import ElementLoops
from tflint_gpu.rules.input_pipeline.generator_inputs import GeneratorInputs
from tflint_gpu.rules.input_pipeline.randomness import Randomness
from tflint_gpu.rules.input_pipeline.samples import Samples
from tflint_gpu.rules.model_code.recursion import Recursions
from tflint_gpu.rules.training.fitted_models import FittedModels
from tflint_gpu.rules.training.frozen_globals import FrozenGlobals
from tflint_gpu.rules.training.inference_steps import InferenceSteps
from tflint_gpu.rules.training.loop_carried import _functions_named
from tflint_gpu.rules.training.number_dtypes import NumberDtypes

HEAD = "import tensorflow as tf\n"
STEP = "def step(x):\n    return float(tf.reduce_sum(x))\n"


@pytest.mark.parametrize(
    "code",
    [
        "for x in data:\n    random = random if (random(tf) if tf.keras else tf) else random\n    random(step)\n",
        "v0 = tf.function if c else None\n"
        + "".join(f"v{i + 1} = v{i} if c else v{i}\n" for i in range(60))
        + "v60(step)\n",
    ],
)
def test_names_for_tf_function(code: str, tmp_path: Path) -> None:
    model = model_of(HEAD + STEP + code, tmp_path)
    traced = {node.name.value for node in model.once(Tracing).wrapped(model.file)}  # type: ignore[union-attr]
    assert traced == ({"step"} if "v60" in code else set())


def test_a_dataset_joined_with_itself_again_and_again(tmp_path: Path) -> None:
    code = "ds = tf.data.Dataset.range(9)\n" + "ds = tf.data.Dataset.zip((ds, ds))\n" * 50 + "for x in ds:\n    f(x)\n"
    model = model_of(HEAD + code, tmp_path)
    (chain,) = model.once(Pipelines).chains(model.file, model.file.tree.module.body[-1].iter)
    assert chain.width <= 64 and not model.once(Lengths).is_demonstration(chain)
    assert findings(HEAD + code, tmp_path) == []


def test_a_long_chain_of_branches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the speed: the loop around a branch is looked for once, and not for each name that a branch binds."""
    searched: list[object] = []
    find = Flow._find_loop
    monkeypatch.setattr(Flow, "_find_loop", lambda flow, node: searched.append(node) or find(flow, node))
    branches = "".join(f"elif c == {i}:\n    x = x({i})\n" for i in range(100))
    model = model_of(f"{HEAD}if c:\n    x = 0\n{branches}x(1)\n", tmp_path)
    for call in model.file.tree.calls:
        model.inference.of(model.file, call.func)
    assert 0 < len(searched) == len(set(searched))


@pytest.mark.parametrize("start", ["0", "unknown()"])
def test_a_number_made_of_itself_again_and_again(start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the speed: what is asked of each row is answered by what was found of the row before."""
    computed: list[object] = []
    binary = Constants._binary
    monkeypatch.setattr(
        Constants,
        "_binary",
        lambda self, file, expr, context: computed.append(expr) or binary(self, file, expr, context),
    )
    model = model_of(f"{HEAD}n = {start}\n" + "n = n * 2 + n\n" * 60 + "f(n)\n", tmp_path)
    for assigned in model.file.tree.nodes(cst.Assign):
        model.value(assigned.value)
    assert model.value(model.file.tree.calls[-1].args[0].value) == (UNKNOWN if "unknown" in start else 0)
    assert len(computed) <= 2 * 60


# Every bound is met, and told, by a program that goes beyond it; and by none that stays below.

Asked = Callable[[Model], object]


def chain_of(n: int, inner: str = "return x", head: str = "", argument: str = "x") -> str:
    """Functions that call each other, the last of which does something."""
    calls = "".join(f"{head}def f{i}(x):\n    return f{i + 1}({argument})\n" for i in range(n))
    return f"{calls}{head}def f{n}(x):\n    {inner}\n"


def nested(n: int, opening: str, closing: str, inner: str) -> str:
    return opening * n + inner + closing * n


def calls_of(n: int, call: str = "f0({})") -> str:
    return "".join(call.format(i) + "\n" for i in range(n))


def last(model: Model) -> cst.BaseExpression:
    """The expression on the last line."""
    line = model.file.tree.module.body[-1]
    assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Expr)
    return line.body[0].value


def function_of(model: Model, name: str) -> Function:
    node = next(f for f in model.file.tree.functions if isinstance(f, cst.FunctionDef) and f.name.value == name)
    return model.inference.definitions.function(model.file, node)


def class_of(model: Model, name: str) -> Class:
    return Class(model.file, next(c for c in model.file.tree.classes if c.name.value == name))


def values(model: Model) -> None:
    """Follow what is returned, and what stands on lines of its own."""
    for node in (*model.file.tree.nodes(cst.Return), *model.file.tree.nodes(cst.Expr)):
        assert node.value is not None
        model.inference.of(model.file, node.value)
        model.value(node.value)


def rules(model: Model) -> None:
    for rule in ALL_RULES:
        list(rule.check(model))


def run(model: Model) -> None:
    """Have the interpreter run a program, as for the memory that training takes."""
    Trainings(model).estimates  # noqa: B018


def within(name: str, ask: Callable[[Model, cst.BaseExpression], object]) -> Asked:
    """Ask about the expression that a function returns."""

    def asked(model: Model) -> object:
        function = function_of(model, name).node
        found = next(one for one in model.file.tree.nodes(cst.Return) if model.file.tree.function(one) is function)
        assert found.value is not None
        return ask(model, found.value)

    return asked


def within_innermost(ask: Callable[[Model, cst.BaseExpression], object]) -> Asked:
    """The same for the last function of a chain."""
    return lambda model: within(f"f{len(model.file.tree.functions) - 1}", ask)(model)


def about_last(ask: Callable[[Model, cst.BaseExpression], object]) -> Asked:
    return lambda model: ask(model, last(model))


def of_function(name: str, ask: Callable[[Model, Function], object]) -> Asked:
    return lambda model: ask(model, function_of(model, name))


def callers_of(model: Model, node: cst.BaseExpression) -> None:
    sites = [RunSite(model.file, node)]
    for site in sites:
        sites += callers(model.inference, site)


def regions(model: Model) -> object:
    def functions(file: File, call: cst.Call) -> list[Function]:
        return [callee.function for callee in model.inference.callees(file, call)]

    return Summaries(model.inference, "nothing", lambda file, node: False, functions).holds(
        model.file, model.file.tree.all_loops[0]
    )


def element_calls(model: Model, function: Function) -> object:
    return ElementLoops(model.inference, model.once(Kinds), model.once(LoopData))._computed_by(function, 0)


def mapped(model: Model) -> object:
    (one,) = model.once(Pipelines).chains(model.file, last(model))
    return [list(model.once(MappedFunctions).named_calls(operation)) for operation in one.operations]


def version(model: Model, test: cst.BaseExpression) -> object:
    return value_of_test(model.file, test, model.inference.project.target, meet=model.inference.meet)


def policy(model: Model) -> object:
    return [list(MixedPrecision(model)._frames(model.file, call, 0)) for call in model.file.method_calls("set_policy")]


def arguments_of(model: Model, function: Function) -> object:
    return list(Traceability(model)._arguments(model, function))


def number(model: Model, expr: cst.BaseExpression) -> object:
    return model.once(LoopNumbers).of(model.file, expr)


NETWORK = "layers = tf.keras.layers\nmodel = tf.keras.Sequential([layers.Dense(1)])\n"
FIT = "model.compile('sgd', 'mse')\nmodel.fit(np.zeros((8, 4)), np.zeros((8, 1)))\n"
DATA = "ds = tf.data.Dataset.range(1000)\n"
LOOP = "for i in range(1000):\n    "


def many(n: int, body: str = "pass") -> str:
    return "".join(f"def g{i}(x=0):\n    {body}\n" for i in range(n))


PROGRAMS: dict[str, tuple[int, Callable[[int], str | dict[str, str]], Asked]] = {
    "REACHING_BINDINGS": (70, lambda n: "x = 0\n" + "".join("if c:\n    x = 1\n" for i in range(n)) + "x\n", values),
    "REEXPORTS": (
        9,
        lambda n: {
            "x.py": "from m0 import value\nvalue\n",
            **{f"m{i}.py": f"from m{i + 1} import value\n" for i in range(n)},
            f"m{n}.py": "value = 1\n",
        },
        values,
    ),
    "ALIASES": (
        7,
        lambda n: {
            "x.py": "import m0\nclass Mine(m0.A):\n    pass\n",
            **{f"m{i}.py": f"{HEAD}import m{i + 1}\nA = m{i + 1}.A\n" for i in range(n)},
            f"m{n}.py": f"{HEAD}class A:\n    pass\n",
        },
        lambda model: model.inference.definitions.lineage(class_of(model, "Mine")),
    ),
    "LINEAGE": (
        25,
        lambda n: "class C0:\n    pass\n" + "".join(f"class C{i + 1}(C{i}):\n    pass\n" for i in range(n)) + "C1\n",
        lambda model: [model.inference.definitions.lineage(Class(model.file, c)) for c in model.file.tree.classes],
    ),
    "SUBCLASSES": (
        40,
        lambda n: "class Base:\n    pass\n" + "".join(f"class C{i}(Base):\n    pass\n" for i in range(n)),
        lambda model: model.inference.subclasses(class_of(model, "Base")),
    ),
    "OVERRIDES": (
        9,
        lambda n: (
            "class Base:\n    def hook(self):\n        pass\n"
            + "".join(f"class C{i}(Base):\n    def hook(self):\n        return {i}\n" for i in range(n))
        ),
        lambda model: overrides(model.inference, class_of(model, "Base"), "hook"),
    ),
    "CONSTRUCTORS": (
        40,
        lambda n: (
            "class C0:\n    def __init__(self):\n        pass\n"
            + "".join(f"class C{i + 1}(C{i}):\n    def __init__(self):\n        super().__init__()\n" for i in range(n))
            + f"class Last(C{n}):\n    pass\n"
        ),
        lambda model: constructor_call(
            model.inference,
            class_of(model, "Last"),
            Function(model.file, model.file.tree.functions[0], class_of(model, "C0")),
        ),
    ),
    "VALUE_STEPS": (50, lambda n: "v0 = [1]\n" + "".join(f"v{i + 1} = v{i}\n" for i in range(n)) + f"v{n}\n", values),
    "ORIGINS": (30, lambda n: "x = [0]\n" + "".join(f"if c:\n    x = [{i}]\n" for i in range(n)) + "x\n", values),
    "CONTEXT_CALLS": (10, lambda n: chain_of(n) + "f0(1)\n", values),
    "MADE_WITHIN": (
        6,
        lambda n: (
            "class C:\n    def __init__(self, x):\n        self.x = x\n    def m(self):\n        return C(self)\n"
            f"C(1){'.m()' * n}.x\n"
        ),
        values,
    ),
    "CALL_SITES": (120, lambda n: "def f0(x):\n    return x\n" + calls_of(n), values),
    "HANDED_ON": (
        6,
        lambda n: "def f0(x):\n    return x\n" + "".join(f"f{i + 1} = f{i}\n" for i in range(n)) + f"f{n}(1)\n",
        lambda model: model.inference.call_sites(Function(model.file, model.file.tree.functions[0], None)),
    ),
    "OUTSIDE_FUNCTIONS": (
        210,
        lambda n: {"x.py": "import m\n" + calls_of(n, "m.g{}()"), "m.py": HEAD + many(n)},
        lambda model: CalledElsewhere(model.inference, "called", lambda function: function.calls).by(model.file),
    ),
    "CONTAINER_ITEMS": (210, lambda n: f"l = [{'0, ' * n}]\nfor x in l:\n    x\n", values),
    "CONSTANT_STEPS": (60, lambda n: f"x = [{('[' + '-1, ' * 95 + '], ') * n}]\nx\n", values),
    "CONSTANT_DEPTH": (210, lambda n: f"{'1 + ' * n}1\n", values),
    "CONSTANT_TEXT": (20_000, lambda n: f"'a' * {n}\n", values),
    "CONSTANT_SEQUENCE": (110, lambda n: f"[{'0, ' * n}]\n", values),
    "CONSTANT_ENTRIES": (210, lambda n: f"{{{''.join(f'{i}: 0, ' for i in range(n))}}}\n", values),
    "REGION_FUNCTIONS": (
        410,
        lambda n: many(n, "h()") + "def h():\n    pass\nfor x in data:\n" + calls_of(n, "    g{}()"),
        regions,
    ),
    "PROGRAM_CALLS": (
        4_001,
        lambda n: "def noted():\n    pass\n\n" + "noted()\n" * n,
        lambda model: model.once(Histories).events,
    ),
    "WALK_CALLS": (
        9,
        lambda n: (
            NETWORK
            + chain_of(n, "with tf.GradientTape() as tape:\n        loss = model(x)\n    return tape.gradient(loss, x)")
            + "for x in tf.data.Dataset.range(1000):\n    f0(x)\n"
        ),
        rules,
    ),
    "CALLERS": (9, lambda n: chain_of(n) + "f0(1)\n", within_innermost(callers_of)),
    "TRACED_ARGUMENT_SITES": (
        25,
        lambda n: "def f0(x):\n    return x\n" + calls_of(n),
        of_function("f0", arguments_of),
    ),
    "DEVICE_STEPS": (
        9,
        lambda n: "v0 = 1\n" + "".join(f"v{i + 1} = v{i}\n" for i in range(n)) + f"v{n}\n",
        about_last(lambda model, expr: model.once(Guards).asks_for_gpus(model.file, expr)),
    ),
    "VERSION_NAMES": (
        9,
        lambda n: "v0 = tf.__version__ > '2'\n" + "".join(f"v{i + 1} = v{i}\n" for i in range(n)) + f"v{n}\n",
        about_last(version),
    ),
    "INITIALISER_CALLS": (
        9,
        lambda n: chain_of(n, "return tf.zeros(1)") + "f0(1)\n",
        about_last(lambda model, call: model.once(Runtime).initialises(model.file, call)),  # type: ignore[arg-type]
    ),
    "MODEL_PARTS": (
        6,
        lambda n: nested(n, "tf.keras.Sequential([", "])", "tf.keras.layers.Dense(1)") + "\n",
        about_last(lambda model, expr: ModelClasses(model)._add({}, model.file, expr, {})),
    ),
    "LISTED_FUNCTIONS": (
        6,
        lambda n: nested(n, "[", "]", "tf.abs") + "\n",
        about_last(lambda model, expr: list(KerasFunctions(model)._single(model.inference.of(model.file, expr), 0))),
    ),
    "TRACED_CALLS": (
        9,
        lambda n: "@tf.function\ndef start(x):\n    return f0(x)\n" + chain_of(n),
        lambda model: model.once(TracedCode).functions,
    ),
    "TENSOR_CALLS": (
        9,
        lambda n: "@tf.function\ndef start(x):\n    return f0(tf.abs(x))\n" + chain_of(n),
        lambda model: model.once(TracedFunctions).traces,
    ),
    "WEIGHT_LAYERS": (
        7,
        lambda n: nested(n, "tf.keras.layers.TimeDistributed(", ")", "tf.keras.layers.Flatten()") + "\n",
        about_last(
            lambda model, call: CreatedState(model).has_weights(model.file, call, None)  # type: ignore[arg-type]
        ),
    ),
    "EFFECT_FUNCTIONS": (
        70,
        lambda n: many(n) + "def f0(x):\n" + calls_of(n, "    g{}()"),
        of_function("f0", lambda model, one: list(model.once(HostEffects).of(one, model.once(TracedFunctions)))),
    ),
    "RECURSION_CALLS": (
        9,
        lambda n: "@tf.function\ndef start(x):\n    return f0(x)\n" + chain_of(n, "return start(x)"),
        lambda model: Recursions(model).all,
    ),
    "RECURSION_FUNCTIONS": (
        210,
        lambda n: many(n, "h()") + "def h():\n    pass\n@tf.function\ndef f0(x):\n" + calls_of(n, "    g{}()"),
        lambda model: Recursions(model).all,
    ),
    "GLOBAL_SITES": (
        25,
        lambda n: "rate = 1\n@tf.function\ndef f0(x):\n    return x * rate\n" + calls_of(n) + "rate = 2\nf0(1)\n",
        lambda model: FrozenGlobals(model).all,
    ),
    "NUMBER_STEPS": (70, lambda n: f"{LOOP}{'i + (' * n}i{')' * n}\n", lambda model: number(model, expression(model))),
    "NUMBER_SITES": (20, lambda n: "def f0(x):\n    return x\n" + calls_of(n), within("f0", number)),
    "ELEMENT_CALLS": (5, lambda n: chain_of(n, "return np.sin(x)"), of_function("f0", element_calls)),
    "NAMED_FUNCTIONS": (
        60,
        lambda n: many(n) + "for x in data:\n" + calls_of(n, "    g{}()"),
        lambda model: list(
            _functions_named(model.file, model.file, model.file.tree.all_loops[0], model.inference.meet)
        ),
    ),
    "BUILDER_CALLS": (
        9,
        lambda n: chain_of(n, "return tf.keras.Sequential()") + "f0(1)\n",
        about_last(lambda model, expr: FittedModels(model)._builds(model.file, expr)),
    ),
    "PIPELINE_STEPS": (
        70,
        lambda n: DATA + "ds" + ".skip(1)" * n + "\n",
        about_last(lambda model, expr: model.once(Pipelines).chains(model.file, expr)),
    ),
    "PIPELINE_VARIANTS": (
        20,
        lambda n: DATA + "".join(f"if c:\n    ds = tf.data.Dataset.range({i})\n" for i in range(n)) + "ds\n",
        about_last(lambda model, expr: model.once(Pipelines).chains(model.file, expr)),
    ),
    "JOINED_DATASETS": (
        9,
        lambda n: DATA + "ds = tf.data.Dataset.zip((ds, ds))\n" * n + "ds\n",
        about_last(lambda model, expr: model.once(Pipelines).chains(model.file, expr)),
    ),
    "ITERATOR_STEPS": (
        10,
        lambda n: DATA + nested(n, "enumerate(", ")", "ds") + "\n",
        about_last(
            lambda model, expr: model.once(Consumers).dataset_of(
                cast("Consumption", SimpleNamespace(file=model.file, data=expr))
            )
        ),
    ),
    "DATASET_PARTS": (
        6,
        lambda n: nested(n, "(", ",)", "x") + "\n",
        about_last(lambda model, expr: model.once(Lengths).is_short(model.file, expr, None)),
    ),
    "MAPPED_CALLS": (9, lambda n: chain_of(n) + DATA + "ds.map(f0)\n", mapped),
    "LOCKED_CALLS": (
        7,
        lambda n: chain_of(n, "return len(x)"),
        of_function("f0", lambda model, one: PythonLoops(model)._loop(Callee(one))),
    ),
    "RANDOM_CALLS": (
        7,
        lambda n: chain_of(n, "return len(x)"),
        of_function("f0", lambda model, one: Randomness(model)._draw_in(model.file, one.node, None, 0)),
    ),
    "SAMPLE_STEPS": (
        11,
        lambda n: nested(n, "(", ",)", "x") + "\n",
        about_last(lambda model, expr: Samples(model)._hold_samples(model.file, expr, None, 0)),
    ),
    "USED_NAMES": (
        4,
        lambda n: (
            "def noise():\n    v0 = random.random()\n"
            + "".join(f"    v{i + 1} = v{i} * 2\n" for i in range(n))
            + f"    return v{n}\n"
        ),
        lambda model: graph_draw(model, model.file, model.file.tree.calls[0], "random.random"),
    ),
    "DTYPE_CALLS": (
        5,
        lambda n: chain_of(n, "return tf.exp(x)"),
        of_function("f0", lambda model, one: NumberDtypes(model).needed(one, one.parameters[0])),
    ),
    "INPUT_STEPS": (
        9,
        lambda n: nested(n, "tf.identity(", ")", "x") + "\n",
        about_last(lambda model, expr: InferenceSteps(model)._is_value(Origin(model.file, expr), frozenset())),
    ),
    "SHAPE_STEPS": (
        60,
        lambda n: nested(n, "-", "", "x") + "\n",
        about_last(lambda model, expr: ShapeChanges(model).of(model.file, expr)),
    ),
    "SHAPE_VALUES": (
        2100,
        lambda n: f"[{', '.join(f'h({i})' for i in range(n))}]\n",
        about_last(lambda model, expr: ShapeChanges(model).of(model.file, expr)),
    ),
    "SOURCE_VALUES": (
        210,
        lambda n: "v0 = h(0)\n" + "".join(f"v{i + 1} = h(v{i})\n" for i in range(n)) + f"v{n}\n",
        about_last(lambda model, expr: list(computed_from(model.inference, model.file, expr))),
    ),
    "GENERATED_STEPS": (
        9,
        lambda n: "x" + "[:]" * n + "\n",
        about_last(lambda model, expr: GeneratorInputs(model)._is_array(model.file, expr, None, 0)),
    ),
    "ARRAY_STEPS": (
        11,
        lambda n: "v0 = np.zeros(3)\n" + "".join(f"v{i + 1} = h(v{i})\n" for i in range(n)) + f"v{n}\n",
        about_last(lambda model, expr: model.once(NumpyArrays).is_loaded(model.file, expr)),
    ),
    "ABSTRACT_STEPS": (
        4100,
        lambda n: f"tf.concat([{'tf.ones(1), ' * n}], 0)\n",
        about_last(lambda model, expr: model.once(Values).of(model.file, expr)),
    ),
    "ABSTRACT_PARTS": (
        40,
        lambda n: "x = (1, 2)\n" + "x = (x, x)\n" * n + "x\n",
        about_last(lambda model, expr: model.once(Values).of(model.file, expr)),
    ),
    "ABSTRACT_ROUNDS": (
        9,
        lambda n: f"x = ({'tf.ones(1), ' * n})\nfor _ in y:\n    x = x[1:] + (tf.ones(2),)\nx\n",
        about_last(lambda model, expr: model.once(Values).of(model.file, expr)),
    ),
    "RUN_STEPS": (
        300,
        lambda n: NETWORK + f"for a in range({n}):\n    for b in range({n}):\n        a + b\n" + FIT,
        run,
    ),
    "RUN_CALLS": (14, lambda n: NETWORK + chain_of(n) + "f0(1)\n" + FIT, run),
    "RUN_ITERATIONS": (500, lambda n: NETWORK + f"for a in range({n}):\n    a\n" + FIT, run),
    "RUN_ITEMS": (3000, lambda n: NETWORK + f"x = [0] * {n}\n" + FIT, run),
    "RUN_NUMBER": (10**16, lambda n: NETWORK + f"x = {n} + 1\n" + FIT, run),
    "RUN_EXPONENT": (70, lambda n: NETWORK + f"x = 2 ** {n}\n" + FIT, run),
}
NOT_MET: dict[str, str] = {}
"""Bounds that no test meets, each with the reason."""


def expression(model: Model) -> cst.BaseExpression:
    return model.file.tree.nodes(cst.Expr)[-1].value


def bounds_met(name: str, n: int, folder: Path) -> set[bounds.Bound]:
    _, program, ask = PROGRAMS[name]
    written = program(n)
    files = {"x.py": written} if isinstance(written, str) else written
    for path, text in files.items():
        (folder / path).write_text(text)
    model = model_of(f"{HEAD}import numpy as np\n{files['x.py']}", folder)
    ask(model)
    return model.inference.bounds_met


NAMES = [name for name, value in vars(bounds).items() if isinstance(value, bounds.Bound)]


def test_each_bound_has_a_program_that_meets_it() -> None:
    assert PROGRAMS.keys() | NOT_MET.keys() == set(NAMES) and not PROGRAMS.keys() & NOT_MET.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bound_that_cuts_something_off_is_told(name: str, tmp_path: Path) -> None:
    assert getattr(bounds, name) in bounds_met(name, PROGRAMS[name][0], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_below_the_bound_nothing_is_told(name: str, tmp_path: Path) -> None:
    below = min(2, getattr(bounds, name).limit - 1)
    assert bounds_met(name, below, tmp_path) == set()


def test_each_bound_is_told_in_words_of_its_own() -> None:
    assert len({str(one) for one in bounds.ALL}) == len(bounds.ALL) == len(NAMES)


def test_the_page_of_the_documentation_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "bounds.md"
    assert page.read_text("utf-8") == bounds.page(), "see the command on the page"


def test_all_bounds_are_in_the_table() -> None:
    """Protects the word about what was not looked at: a bound of its own in some module would be met in silence."""
    root = Path(__file__).parents[2]
    cap = re.compile(
        r"^ *(_?[A-Z_]*(?:DEPTH|LIMIT|SITES|WIDTH|CALLERS|CALLS|STEPS|LONGEST|LARGEST)[A-Z_]*) = \d"
        r"|\b(depth): int = [1-9]",
        re.MULTILINE,
    )
    found = {
        f"{path.name}: {name or default}"
        for folder in ("tflint_gpu/model", "rules")
        for path in (root / folder).rglob("*.py")
        for name, default in cap.findall(path.read_text("utf-8"))
    }
    assert found == {"tfg314_embedded_array.py: _LIMIT"}, "the size that a graph may have at most"


@pytest.mark.parametrize(
    "name",
    "CALL_SITES SUBCLASSES OVERRIDES CONTAINER_ITEMS CONSTANT_SEQUENCE CONSTANT_ENTRIES LINEAGE TRACED_ARGUMENT_SITES "
    "NUMBER_SITES RUN_ITERATIONS RUN_ITEMS RUN_EXPONENT ITERATOR_STEPS".split(),
)
def test_as_many_as_the_bound_allows_are_looked_at(name: str, tmp_path: Path) -> None:
    bound = getattr(bounds, name)
    assert bound not in bounds_met(name, bound.limit, tmp_path)


def test_where_nothing_is_left_to_follow_a_bound_is_not_met(tmp_path: Path) -> None:
    model = model_of(HEAD + chain_of(bounds.CALLERS.limit), tmp_path)
    within(f"f{bounds.CALLERS.limit}", callers_of)(model)
    assert model.inference.bounds_met == set()


def test_each_bound_in_the_table_bounds_something() -> None:
    root = Path(__file__).parents[2]
    files = [*(root / "tflint_gpu" / "model").rglob("*.py"), *(root / "rules").rglob("*.py")]
    used = set(re.findall(r"\b([A-Z_]+)\.limit\b|\bfirst\(([A-Z_]+),", "".join(f.read_text("utf-8") for f in files)))
    assert {one or other for one, other in used} == set(NAMES)


@pytest.mark.parametrize(
    ("bound", "code", "ask"),
    [
        (
            "ARRAY_STEPS",
            "".join(f"v{i + 1} = h(v{i})\n" for i in range(12)) + "v12\n",
            lambda m, expr: m.once(NumpyArrays).is_loaded(m.file, expr),
        ),
        ("ARRAY_STEPS", nested(12, "(", ",)", "x") + "\n", lambda m, expr: m.once(Iterations).rows(m.file, expr, None)),
        (
            "PIPELINE_STEPS",
            f"tf.data.Dataset.zip({nested(70, '(', ',)', 'x')})\n",
            lambda m, expr: m.once(Pipelines).chains(m.file, expr),
        ),
    ],
)
def test_each_search_tells_what_a_bound_cuts_off(
    bound: str, code: str, ask: Callable[[Model, cst.BaseExpression], object], tmp_path: Path
) -> None:
    """Protects `--verbose`: a second search with the same bound was cut off in silence."""
    model = model_of(f"{HEAD}import numpy as np\n{code}", tmp_path)
    ask(model, last(model))
    assert getattr(bounds, bound) in model.inference.bounds_met


def test_a_library_that_many_files_hand_on_by_a_star(tmp_path: Path) -> None:
    """Protects names of TensorFlow behind any number of `import *`, also where these go round in a circle."""
    for number in range(12):
        (tmp_path / f"m{number}.py").write_text(f"from m0 import *\nfrom m{number + 1} import *\n")
    (tmp_path / "m12.py").write_text("from tensorflow import keras\nfrom m0 import *\n")
    model = model_of("from m0 import keras, other\nkeras.Model\nother.Model\n", tmp_path)
    assert model.name(last(model)) == "m0.other.Model"
    assert model.name(model.file.tree.nodes(cst.Attribute)[0]) == "keras.Model"
