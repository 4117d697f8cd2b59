"""The model of one file: the one object that rules ask."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst

from tflint_gpu.diagnostics import Location
from tflint_gpu.model.python.classes import Classes
from tflint_gpu.model.python.flow import Flow
from tflint_gpu.model.python.functions import Functions
from tflint_gpu.model.python.indentation import OriginalOffsets, expand_indentation
from tflint_gpu.model.python.names import Names
from tflint_gpu.model.python.syntax import Expression, Node, method_name
from tflint_gpu.model.python.tree import Tree
from tflint_gpu.model.python.values import Values
from tflint_gpu.text.nesting import check_nesting
from tflint_gpu.text.source import SourceFile, UnreadableSource

if TYPE_CHECKING:
    from tflint_gpu.model.python.project import Project
    from tflint_gpu.model.tensorflow.execution import Execution
    from tflint_gpu.model.tensorflow.guards import Guards
    from tflint_gpu.model.tensorflow.keras_models import KerasModels
    from tflint_gpu.model.tensorflow.pipelines import Pipelines
    from tflint_gpu.model.tensorflow.program import Program
    from tflint_gpu.model.tensorflow.runtime import Runtime
    from tflint_gpu.model.tensorflow.training import Training
    from tflint_gpu.targets import Target


class Model:
    """What one file means. Parts that not every rule needs are built when first asked for."""

    def __init__(self, source: SourceFile, module: cst.Module, project: Project, parsed: str) -> None:
        self.source = source
        self._parsed = parsed
        self.project = project
        self.tree = Tree(module)
        self.flow = Flow(self.tree)
        self.names = Names(self.tree, self.flow)
        self.values = Values(self)
        self.classes = Classes(self)
        self.functions = Functions(self)

    @classmethod
    def parse(cls, source: SourceFile, project: Project) -> Model:
        """Parse a file with libcst's native parser.

        The model's source is an `IPythonScript` if the file can be parsed as one only.

        Raises:
            UnreadableSource: it does not parse, or is nested so deeply that parsing could crash.
        """
        check_nesting(source.code)
        try:
            return cls(source, project.sources.parse(source.path, source.code), project, source.code)
        except Exception as error:  # ParserSyntaxError, and plain ValueError for broken literals
            refusal = _unreadable(source, error)
            if not refusal.by_libcst_only:
                return cls._parse_script(source, project, refusal.reason)
            expanded = expand_indentation(source.code)
            if expanded == source.code:
                raise refusal.reason from error
        try:
            return cls(source, project.sources.parse(source.path, expanded), project, expanded)
        except Exception as error:
            raise refusal.reason from error

    @classmethod
    def _parse_script(cls, source: SourceFile, project: Project, reason: UnreadableSource) -> Model:
        """Parse what is Python of a file with IPython lines; of one without them, raise why Python refused it."""
        from tflint_gpu.text.scripts import IPythonScript  # few files need it, and it takes milliseconds to import

        script = IPythonScript.of(source)
        if script is None:
            raise reason
        return cls.parse(script, project)

    @property
    def target(self) -> Target:
        """The TensorFlow version that findings speak about."""
        return self.project.target

    def name(self, expr: Node | None) -> str | None:
        """Canonical name of an expression: "tf.function", "keras.layers.Dense", "numpy.sin"."""
        return self.names.of(expr)

    def value(self, expr: Expression | None) -> Any:
        """The constant that an expression is, or `values.UNKNOWN`."""
        return self.values.of(expr)

    def indentation(self, statement: Node) -> str:
        """The whitespace in front of a statement's line."""
        start = self.span(statement)[0]
        text = self.source.line(self.source.row(start))
        return text[: len(text) - len(text.lstrip())]

    def code(self, node: Node) -> str:
        """The text of a node, as it stands in the file."""
        start, end = self.span(node)
        return self.source.text[start:end]

    def span(self, node: Node) -> tuple[int, int]:
        """Character offsets of a node's own syntax: without surrounding whitespace."""
        return self._spans[node]

    @cached_property
    def _spans(self) -> dict[Node, tuple[int, int]]:
        from tflint_gpu.model.python.spans import spans_of

        spans = spans_of(self.tree.module, self._parsed)
        if self._parsed is self.source.code:
            return spans
        original = OriginalOffsets(self.source.code)
        return {node: (original[start], original[end]) for node, (start, end) in spans.items()}

    @cached_property
    def _named_calls(self) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            name = self.names.of(call.func)
            if name is not None:
                result.setdefault(name, []).append(call)
        return result

    @cached_property
    def _method_calls(self) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            name = method_name(call)
            if name is not None:
                result.setdefault(name, []).append(call)
        return result

    def calls(self, *names: str) -> Iterator[cst.Call]:
        """All calls of functions by canonical name; "numpy.*" means everything below numpy."""
        for name in names:
            if name.endswith("*"):
                for known, calls in self._named_calls.items():
                    if known.startswith(name[:-1]):
                        yield from calls
            else:
                yield from self._named_calls.get(name, ())

    def call_at(self, place: Node) -> cst.Call | None:
        """The call whose function, or whose method's name, is at `place`; `place` itself if it is a call."""
        if isinstance(place, cst.Call):
            return place
        return self._calls_by_function.get(place)

    @cached_property
    def _calls_by_function(self) -> dict[Node, cst.Call]:
        functions: dict[Node, cst.Call] = {call.func: call for call in self.tree.calls}
        return functions | {c.func.attr: c for c in self.tree.calls if isinstance(c.func, cst.Attribute)}

    def calls_ending_with(self, name: str) -> list[cst.Call]:
        """All calls `name(...)` and `anything.name(...)`."""
        plain = self._plain_calls.get(name, [])
        return [*plain, *self._method_calls.get(name, [])]

    @cached_property
    def _plain_calls(self) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            if isinstance(call.func, cst.Name):
                result.setdefault(call.func.value, []).append(call)
        return result

    def method_calls(self, *methods: str) -> Iterator[cst.Call]:
        """All calls `anything.method(...)`, whatever the receiver is."""
        for method in methods:
            yield from self._method_calls.get(method, ())

    @cached_property
    def execution(self) -> Execution:
        """Which functions TensorFlow traces."""
        from tflint_gpu.model.tensorflow.execution import Execution

        return Execution(self)

    @cached_property
    def pipelines(self) -> Pipelines:
        """tf.data chains and who consumes them."""
        from tflint_gpu.model.tensorflow.pipelines import Pipelines

        return Pipelines(self)

    @cached_property
    def keras_models(self) -> KerasModels:
        """Which expressions are Keras models."""
        from tflint_gpu.model.tensorflow.keras_models import KerasModels

        return KerasModels(self)

    @cached_property
    def training(self) -> Training:
        """Which loops and functions train, validate or predict."""
        from tflint_gpu.model.tensorflow.training import Training

        return Training(self)

    @cached_property
    def guards(self) -> Guards:
        """Under which conditions code runs."""
        from tflint_gpu.model.tensorflow.guards import Guards

        return Guards(self)

    @cached_property
    def program(self) -> Program:
        """Whether the file is a program that is run, and where it trains."""
        from tflint_gpu.model.tensorflow.program import Program

        return Program(self)

    @cached_property
    def runtime(self) -> Runtime:
        """When TensorFlow's runtime is initialised, and how the GPUs are set up."""
        from tflint_gpu.model.tensorflow.runtime import Runtime

        return Runtime(self)

    def close(self) -> None:
        """Drop everything, so that the tree dies now and not when the garbage collector runs."""
        self.__dict__.clear()


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a file could not be parsed, and whether only libcst is to blame."""

    reason: UnreadableSource
    by_libcst_only: bool = False


def _unreadable(source: SourceFile, error: Exception) -> _Refusal:
    """What is wrong with a file that libcst refuses, in Python's own words where it refuses it too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.code)
    except SyntaxError as refusal:
        location = _clamped(source, refusal.lineno or 1, refusal.offset or 1)
        return _Refusal(UnreadableSource(f"does not parse: {refusal.msg}", location))
    except (ValueError, RecursionError, MemoryError) as refusal:  # null bytes; nested too deeply for Python
        return _Refusal(UnreadableSource(f"does not parse: {refusal}"))
    row, column = (error.raw_line, error.raw_column + 1) if isinstance(error, cst.ParserSyntaxError) else (1, 1)
    text = "Python parses this file, but libcst does not, so it was not checked"
    return _Refusal(UnreadableSource(text, _clamped(source, row, column)), by_libcst_only=True)


def _clamped(source: SourceFile, row: int, column: int) -> Location:
    row = min(max(row, 1), len(source.line_starts))
    column = min(max(column, 1), len(source.line(row)) + 1)
    return source.locate(source.line_starts[row - 1] + column - 1)
