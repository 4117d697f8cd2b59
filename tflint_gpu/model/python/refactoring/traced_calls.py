"""Calls made in functions of their own under `tf.function`: what a user would do by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from keyword import iskeyword

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.names.imports import Spelling
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.refactoring.outlines import NotMovable, set_apart
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name


@dataclass(frozen=True, slots=True)
class CallOutline:
    """A function under `tf.function` that makes a call, and what replaces the call.

    Arguments:
        call: the call that is made in it.
        above: the statement of the module above which the function goes.
        definition: the lines of the `def` with its body, to insert above that statement; empty where the file has it,
            or another call brings it.
        name: of the function, which is called instead.
        receiver: the text of what is called in it, its first argument.
        spelling: of `tf.function`.
    """

    call: cst.Call
    above: Node
    definition: str
    name: str
    receiver: str
    spelling: Spelling


@dataclass(frozen=True, slots=True)
class _Traced:
    """A function under `tf.function` that hands its parameters on to the first one, whatever its name.

    Arguments:
        keywords: of the other parameters, by which they are handed on; empty for those that come by position.
        method: of the first one, where it is not called itself.
    """

    decorator: str
    parameters: tuple[str, ...]
    keywords: tuple[str, ...]
    method: str

    def definition(self, name: str) -> str:
        """The `def` with its body."""
        others = zip(self.keywords, self.parameters[1:], strict=True)
        given = (f"{keyword}={p}" if keyword else p for keyword, p in others)
        called = f"{self.parameters[0]}{self.method and f'.{self.method}'}"
        return f"def {name}({', '.join(self.parameters)}):\n    return {called}({', '.join(given)})"

    def does_the_same_as(self, other: _Traced) -> bool:
        """Whether calls of the other one may call this one: what comes by position may have another name in it."""
        return replace(self, parameters=()) == replace(other, parameters=())


class CallOutlines:
    """Functions at the top of a file that make some of its calls; those that do the same share one."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._made: dict[str, _Traced] = {}

    def outline(
        self,
        call: cst.Call,
        called: Expression,
        options: str = "",
        method: str = "",
        may_share: Callable[[str], bool] = lambda name: True,
    ) -> CallOutline:
        """The function for one more call, which is below those before.

        What is called is a parameter, so that each model is traced once, whoever calls the function how often.

        Arguments:
            called: what is called in it.
            options: for `tf.function`: "(reduce_retracing=True)".
            method: of what is called, where it is not called itself.
            may_share: whether a function that does the same may be called here, too.

        Raises:
            NotMovable: its arguments, or what it calls, cannot be handed on.
        """
        file = self.file
        above = file.tree.child(file.tree.module, called)
        spelling = None if above is None else file.imports.spelling("tf.function", above)
        if above is None or spelling is None:
            raise NotMovable("this file imports no name through which `tf.function` can be written")
        if file.tree.inside(file.tree.calls, called):
            raise NotMovable(f"`{file.code(called)}` may give another model in each iteration")
        if any(arg.star for arg in call.args):
            raise NotMovable("the arguments that `*` passes are not known")
        own = (dotted_name(called) or "model").rpartition(".")[2]
        own = "model" if own == "self" else own
        traced = _Traced(f"@{spelling.text}{options}", *_parameters(own, call.args), method)
        for name in _names(own):
            definition = ""
            if name in self._made:
                is_there = traced.does_the_same_as(self._made[name])
            elif name not in file.tree.uses:
                definition, is_there = f"{traced.decorator}\n{traced.definition(name)}\n", False
                self._made[name] = traced
            else:
                is_there = _is_there(file, name, traced, above)
            if definition or (is_there and may_share(name)):
                return CallOutline(call, above, definition, name, file.code(called), spelling)
        raise AssertionError  # there is always another name


def traced_definitions(file: File, outlines: Iterable[CallOutline]) -> Iterator[tuple[Node, str]]:
    """What goes above statements of the module: the functions of some outlines, with empty lines around them."""
    texts: dict[Node, list[str]] = {}
    for outline in outlines:
        if outline.definition:
            texts.setdefault(outline.above, []).append(outline.definition)
    for above, functions in texts.items():
        yield above, set_apart(file, above, "\n\n".join(functions), "")


def _parameters(own: str, arguments: Sequence[cst.Arg]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parameters that take what is called and its arguments, and by which keywords they are handed on."""
    keywords = tuple(arg.keyword.value if arg.keyword is not None else "" for arg in arguments)
    parameters = [_unlike(own, keywords)]
    for arg, keyword in zip(arguments, keywords, strict=True):
        named = arg.value.value if isinstance(arg.value, cst.Name) else ""
        named = "inputs" if not named or iskeyword(named) else named  # to libcst `None` is a name
        parameters.append(keyword or _unlike(named, [*keywords, *parameters]))
    return tuple(parameters), keywords


def _names(called: str) -> Iterator[str]:
    """What a function may be named after what it calls."""
    own = called.lstrip("_") or "model"
    return chain((f"traced_{own}", f"call_{own}"), (f"traced_{own}_{number}" for number in count(2)))


def _is_there(file: File, name: str, traced: _Traced, above: Node) -> bool:
    """Whether the file has a function that does the same before a statement of the module, and no other of its name."""
    bindings = file.tree.root.bindings.get(name, ())
    node = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(node, cst.FunctionDef) or file.tree.order[node] >= file.tree.order[above]:
        return False
    own = tuple(parameter.name.value for parameter in node.params.params)
    keywords = traced.keywords
    is_alike = len(own) == len(keywords) + 1 and all(k in ("", p) for k, p in zip(keywords, own[1:], strict=True))
    decorators = [f"@{file.code(used.decorator)}" for used in node.decorators]
    if not is_alike or decorators != [traced.decorator]:
        return False
    return file.code(node) == replace(traced, parameters=own).definition(name)


def _unlike(name: str, taken: Sequence[str]) -> str:
    """The name, with a number after it where it is taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(candidate for candidate in chain((name,), numbered) if candidate not in taken)
