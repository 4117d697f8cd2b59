"""The origins of names: what the bindings that reach a name give it, here or in the file that it is imported from.

Which bindings reach it depends on the branches that run, so on their tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_gpu.bounds import REACHING_BINDINGS
from tflint_gpu.model.python.project.definitions import Definition, definition_of, starred_definition
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.seen.answers import Answers
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.operators import decided, is_negation
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node
from tflint_gpu.model.python.value_flow import call_sites, contents, results
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.python.value_flow.resolver import Resolver


def of_name(resolver: Resolver, file: File, expr: cst.Name, context: Context | None) -> Iterator[Origin]:
    """The origins of a name where it is read."""
    dotted = file.name(expr)
    if dotted is not None and is_library(dotted):
        yield Origin(file, expr)
        return
    bindings = file.flow.lookup(expr.value, expr)
    if context is not None and len(bindings) > 1:
        bindings = file.flow.lookup(expr.value, expr, partial(_decided, resolver, file, context)) or bindings
    if len(bindings) > REACHING_BINDINGS.limit and file.flow.is_cut(bindings):
        resolver.meet(REACHING_BINDINGS)
    if not bindings:
        known = definition_of(resolver.project, file, dotted, resolver.meet) if dotted is not None else None
        definition = known or starred_definition(resolver.project, file, expr.value, resolver.meet)
        if definition is not None:
            yield from of_definition(resolver, definition, expr)
        else:
            yield Origin(file, expr)
    for binding in bindings:
        yield from of_binding(resolver, file, binding, expr, context)


def _decided(resolver: Resolver, file: File, context: Context, branch: cst.If) -> bool | None:
    return resolver.tests.holds(file, branch.test, context)


def of_definition(resolver: Resolver, definition: Definition, expr: Expression) -> Iterator[Origin]:
    """What the bindings of a name of another file give it; `expr` is the name, where it is read."""
    for binding in definition.bindings:
        yield from of_binding(resolver, definition.file, binding, expr, None)


def of_binding(
    resolver: Resolver, file: File, binding: Binding, expr: Expression, context: Context | None
) -> Iterator[Origin]:
    """What a binding gives its name; `expr` is the name, where it is read."""
    value = binding.value
    if binding.kind == "import":
        definition = definition_of(resolver.project, file, binding.target, resolver.meet)
        if definition is not None and definition.binding is not binding:
            yield from of_definition(resolver, definition, expr)
        else:
            yield Origin(file, expr)
    elif binding.kind in ("function", "class"):
        yield Origin(file, binding.node, context)
    elif binding.kind == "parameter":
        yield from call_sites.parameter_origins(resolver, file, binding.node, context)
    elif value is None:
        yield Origin(file, expr)
    elif binding.kind == "for":
        found_here = tuple(e for o in resolver.of(file, value, context) for e in resolver.elements(o))
        yield from contents.along(resolver, found_here, binding.path)
    elif binding.kind in ("assign", "match"):
        yield from contents.along(resolver, resolver.of(file, value, context), binding.path)
    elif binding.kind == "with":
        entered = tuple(e for o in resolver.of(file, value, context) for e in results.entered(resolver, o))
        yield from contents.along(resolver, entered, binding.path)
    elif binding.kind == "augment" and isinstance(value, cst.List | cst.Tuple | cst.ListComp):
        yield from resolver.of(file, value, context)  # `datasets += [one]`
    else:
        yield Origin(file, binding.node, context)


class BranchTests:
    """Whether the tests of branches hold, which decides what is reached.

    Arguments:
        resolver: finds constants, and the functions that calls run.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._held: Answers[tuple[Node, Context | None], bool | None] = resolver.seen.answers("tests", None)
        self._recursive: Answers[Node, bool] = resolver.seen.answers("recursive functions", True)

    def holds(self, file: File, test: Expression, context: Context | None = None) -> bool | None:
        """Whether a test must hold (True) or must fail (False); None where that is not known."""
        if isinstance(test, cst.BooleanOperation) or is_negation(test):
            return decided(test, lambda part: self.holds(file, part, context))
        if context is not None:
            context = self.resolver.relevant(file, test, context)
        is_own = self.resolver.is_own(file, context)
        return self._held.ask((test, context), is_own, lambda: self._truth(file, test, context))

    def _truth(self, file: File, test: Expression, context: Context | None) -> bool | None:
        if context is not None and self._may_call_itself(file, context.function):
            return None  # with other arguments
        if any(isinstance(node, cst.Attribute) and node.attr.value in file.set_from_outside for node in walk(test)):
            return None
        compared = _compared_with_none(test)
        value = self.resolver.constants.of(file, test if compared is None else compared[0], context)
        if value is not None and not isinstance(value, int | float | str):
            return None  # a list that is empty where it is written may be filled later
        return bool(value) if compared is None else (value is None) is compared[1]

    def _may_call_itself(self, file: File, function: FunctionNode) -> bool:
        def calls_itself() -> bool:
            return any(
                not (callees := self.resolver.callees(file, call)) or any(c.function.node is function for c in callees)
                for call in file.calls_of_own_name(function)
            )

        return self._recursive.ask(function, self.resolver.is_own(file), calls_itself)

    def is_switched_off(self, file: File, node: Node, context: Context | None) -> bool:
        """Whether a test that is known in a context keeps a place from being reached: `if training:` for False.

        Not a demand that fails: `KEY = ""; assert KEY` waits for the reader to fill something in.
        """
        return any(
            not is_demand and self.holds(file, test, context) is (not needed)
            for test, needed, is_demand in file.branches.around(node)
        )


def _compared_with_none(test: Expression) -> tuple[Expression, bool] | None:
    """What `x is None` asks of, and True; for `x is not None` False."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    [second] = test.comparisons
    is_none = isinstance(second.comparator, cst.Name) and second.comparator.value == "None"
    if not is_none or not isinstance(second.operator, cst.Is | cst.IsNot):
        return None
    return test.left, isinstance(second.operator, cst.Is)
