"""What a function does, or may do, that is no operation of TensorFlow: it would be done only while it is traced."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import EFFECT_FUNCTIONS
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.devices import STRATEGY_METHODS
from tflint_gpu.model.library.keras_methods import COMPUTING_METHODS
from tflint_gpu.model.library.tensor_functions import HOST_READS, is_of_host
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.containers import COMPUTING
from tflint_gpu.model.python.syntax.syntax import Expression, Node, method_name
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.effects.asked_types import AskedTypes
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.effects.python_on_tensors import PythonOnTensors
from tflint_gpu.model.tensorflow.tracing.reached_functions import ReachedFunctions
from tflint_gpu.model.tensorflow.tracing.traces import Trace, TracedFunctions
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_LIBRARIES = frozenset("tf keras tensorflow_addons tensorflow_probability sonnet".split())
# Modules that know nothing of tensors that are traced: of what other modules do nothing is known.
_HOST_MODULES = frozenset(
    (
        "PIL copy csv cv2 datetime glob gym gymnasium h5py imageio io itertools json librosa logging math matplotlib "
        "mlflow numpy os pandas pathlib pickle plotly pprint psutil random re scipy seaborn shutil skimage "
        "sklearn socket subprocess sys tensorboardX threading time timeit tqdm wandb warnings"
    ).split()
)
# They take what a tensor tells of itself while it is traced, as far as that is known then.
_ASKING_FOR_SHAPES = frozenset(["numpy.shape", "numpy.ndim"])
# Of these modules a function of what is known while it is traced is as right then as later, but for the parts that draw
# numbers, read files or change what they are given.
_PURE_MODULES = ("numpy.", "math.")
_IMPURE = regex(r"numpy\.(?:random\..*|.*(?:load|save|from|set|print|err|put|copyto|fill_diagonal|shuffle|memmap).*)")
_BUILTINS = COMPUTING | {"super", "getattr", "hasattr", "type", "pow"}
_CONVERSIONS = frozenset("float int bool str complex format repr".split())
_LITERALS = (cst.Integer, cst.Float, cst.SimpleString)
_UNTRACEABLE = (cst.Try, cst.Yield, cst.Await, cst.Del, cst.Raise, cst.ClassDef)


class HostEffects(Analysis):
    """Analysis of the effects that a function, and all that it calls, may have on the host."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.python = model.once(PythonOnTensors)
        self.types = model.once(AskedTypes)
        self.converts_layers = model.target.keras < 3  # Keras has AutoGraph convert what its layers do
        self.reached = model.once(ReachedFunctions)

    def of(self, function: Function, execution: TracedFunctions, *, by_keras: bool = False) -> Iterator[Blocker]:
        """What a function does, or may do, other than compute with tensors.

        Arguments:
            by_keras: Keras calls the function, as a loss.
        """
        converts = self.converts_layers or not (by_keras or self._is_layer(function))
        queue, seen = [(function, converts)], {function.node}
        for reached, converts in queue:  # grows meanwhile
            trace = execution.of(reached)
            yield from self._in_function(reached, trace, is_first=reached is function)
            yield from self.python.in_function(trace, converts=converts)
            yield from self.types.in_function(trace)
            for called in self.reached.called(reached):
                if called.node not in seen:
                    seen.add(called.node)
                    queue.append((called, converts and (self.converts_layers or not self._is_layer(called))))
            if len(queue) > EFFECT_FUNCTIONS.limit:
                self.inference.meet(EFFECT_FUNCTIONS)
                yield Blocker(
                    reached.file, reached.node, doubt="the code runs more functions than the analysis examines"
                )
                return

    def _is_layer(self, function: Function) -> bool:
        """Whether a function is the `call` of a layer or model."""
        return function.name == "call" and function.owner is not None and bool(self.kinds.of_class(function.owner))

    def _in_function(self, function: Function, trace: Trace, *, is_first: bool) -> Iterator[Blocker]:
        file = function.file
        for node in walk(function.node.body):
            if isinstance(node, cst.Call):
                yield from self._of_call(function, node, trace)
            elif isinstance(node, cst.Global | cst.Nonlocal):
                names = ", ".join(f"`{item.name.value}`" for item in node.names)
                yield Blocker(file, node, f"the code writes {names}, which would happen only during tracing")
            elif isinstance(node, cst.Assign | cst.AugAssign | cst.AnnAssign):
                yield from self._of_assignment(function, node)
            elif isinstance(node, cst.If | cst.While | cst.IfExp | cst.Assert):
                if not self._is_static(file, node.test) or trace.holds_tensor(node.test):
                    yield Blocker(file, node.test, doubt="the condition `{}` may depend on a tensor")
            elif isinstance(node, cst.With):
                yield from (Blocker(file, i) for i in node.items if not self._is_of_tensorflow(file, i.item))
            elif is_first and isinstance(node, _UNTRACEABLE):
                yield Blocker(file, node)

    def _is_static(self, file: File, expr: Expression) -> bool:
        """Whether a value is known while TensorFlow traces: a constant, a shape, whether something is None."""
        if isinstance(expr, cst.BooleanOperation):
            return self._is_static(file, expr.left) and self._is_static(file, expr.right)
        if isinstance(expr, cst.BinaryOperation):
            return self._is_static(file, expr.left) and self._is_static(file, expr.right)
        if isinstance(expr, cst.UnaryOperation):
            return self._is_static(file, expr.expression)
        if isinstance(expr, cst.Comparison):
            if all(isinstance(comparison.operator, cst.Is | cst.IsNot) for comparison in expr.comparisons):
                return True
            return all(
                self._is_static(file, operand) for operand in (expr.left, *(c.comparator for c in expr.comparisons))
            )
        if isinstance(expr, cst.Call):
            return any(file.names.is_builtin(expr.func, name) for name in ("len", "isinstance", "hasattr"))
        if isinstance(expr, cst.Name) and expr.value == "training":
            return True
        if any(
            isinstance(node, cst.Attribute) and node.attr.value in ("shape", "dtype", "ndim") for node in walk(expr)
        ):
            return True
        return self.inference.must_be(file, expr, _is_constant) or isinstance(expr, _LITERALS)

    # Calls.

    def _of_call(self, function: Function, call: cst.Call, trace: Trace) -> Iterator[Blocker]:
        file, func = function.file, call.func
        name = file.name(func)
        if name is not None and name.partition(".")[0] in _LIBRARIES:
            texts = (arg.value for arg in call.args) if name == "tf.print" else ()
            if is_of_host(name) or any(map(_is_made_text, texts)):
                yield Blocker(file, func, _only_while_traced(file.code(func)))
            return
        if isinstance(func, cst.Name) and file.names.is_builtin(func, func.value):
            yield from self._of_builtin(file, call, func.value, trace)
            return
        if self.inference.callees(file, call) or self._is_computation(file, func):
            return
        method = method_name(call)
        if method is None or name is not None:
            is_known = name is not None and "." in name and name not in _ASKING_FOR_SHAPES
            is_host = is_known and str(name).partition(".")[0] in _HOST_MODULES
            if is_host and str(name).startswith(_PURE_MODULES) and self._is_of_constants(trace, call):
                return
            yield Blocker(file, func, _only_while_traced(file.code(func)) if is_host else "")
        elif method in HOST_READS | {"eval"} and not call.args:
            yield Blocker(file, func, f"`.{method}()` in the code needs a value, which no tensor has during tracing")
        elif method not in COMPUTING_METHODS and not self._is_own_container(function, call):
            yield Blocker(file, func)

    def _is_of_constants(self, trace: Trace, call: cst.Call) -> bool:
        """Whether a function that only computes gets values that are known while it is traced."""
        given = (arg.value for arg in call.args)
        is_pure = _IMPURE.fullmatch(trace.file.name(call.func) or "") is None
        return is_pure and all(trace.holds_value(value) for value in given)

    def _of_builtin(self, file: File, call: cst.Call, name: str, trace: Trace) -> Iterator[Blocker]:
        if name in ("print", "open", "input"):
            yield Blocker(file, call.func, _only_while_traced(name))
        elif name in _CONVERSIONS:
            given = [arg.value for arg in call.args]
            is_static = all(self._is_static(file, argument) or trace.holds_value(argument) for argument in given)
            if not is_static or trace.holds_tensor(*given):
                yield Blocker(
                    file, call.func, f"`{name}` in the code needs a value, which no tensor has during tracing"
                )
        elif name not in _BUILTINS:
            yield Blocker(file, call.func)

    def _is_computation(self, file: File, func: Expression) -> bool:
        """Whether what is called is certainly a model, a layer, a loss or a function of TensorFlow.

        So is `strategy.run`; what the replicas do is asked of the function that they run.
        """
        if isinstance(func, cst.Attribute) and func.attr.value in STRATEGY_METHODS:
            return self.kinds.must_be(file, func.value, "strategy")
        if self.kinds.is_model(file, func) or self.kinds.must_be(file, func, "model", "layer", "metric", "loss"):
            return True
        return self.inference.must_be(
            file,
            func,
            lambda origin: (origin.name or "").partition(".")[0] in _LIBRARIES and "." in (origin.name or ""),
        )

    def _is_own_container(self, function: Function, call: cst.Call) -> bool:
        """`found.append(x)` of a list that the function makes."""
        func = call.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in ("append", "extend"):
            return False
        return self.inference.must_be(
            function.file,
            func.value,
            lambda o: isinstance(o.node, cst.List) and o.file is function.file and _is_in(o.file, o.node, function),
        )

    def _is_of_tensorflow(self, file: File, expr: Expression) -> bool:
        name = file.name(expr.func) if isinstance(expr, cst.Call) else None
        if name is not None:
            return name.partition(".")[0] in _LIBRARIES and not is_of_host(name)
        return self.inference.must_be(file, expr, lambda o: (o.made_by or "") == "tf.GradientTape")

    # What outlives the call.

    def _of_assignment(self, function: Function, node: cst.Assign | cst.AugAssign | cst.AnnAssign) -> Iterator[Blocker]:
        file = function.file
        targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in (part for left in targets for part in walk(left)):
            if isinstance(target, cst.Attribute) and _is_target(file, target):
                text = f"the code sets `{file.code(target)}`, which would happen only during tracing"
                yield Blocker(file, target, text)
            elif isinstance(target, cst.Subscript) and not self.inference.must_be(
                file, target.value, lambda o: _is_in(o.file, o.node, function) and not isinstance(o.node, cst.Param)
            ):
                text = f"the code changes `{file.code(target.value)}`, which would happen only during tracing"
                yield Blocker(file, target, text)


def _is_constant(origin: Origin) -> bool:
    node = origin.node
    is_named = isinstance(node, cst.Name) and node.value in ("True", "False", "None")
    return not origin.access_path and (is_named or isinstance(node, _LITERALS))


def _only_while_traced(what: str) -> str:
    return f"`{what}` in the code would run only during tracing"


def _is_made_text(expr: Expression) -> bool:
    """Whether a text is made of values: of those that are there while it is traced."""
    if isinstance(expr, cst.BinaryOperation):
        return isinstance(expr.operator, cst.Modulo) and isinstance(expr.left, cst.BaseString)
    return isinstance(expr, cst.FormattedString) or (isinstance(expr, cst.Call) and method_name(expr) == "format")


def _is_in(file: File, node: Node, function: Function) -> bool:
    return file is function.file and (node is function.node or file.tree.within(node, function.node))


def _is_target(file: File, node: cst.Attribute) -> bool:
    """Whether it is what is set, and not the way to it."""
    return not isinstance(file.tree.parents.get(node), cst.Attribute | cst.Subscript | cst.Index | cst.Call)
