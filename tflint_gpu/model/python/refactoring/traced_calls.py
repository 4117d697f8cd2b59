"""A call made in a function of its own under `tf.function`: what a user would do by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count
from keyword import iskeyword

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.names.imports import Spelling
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.refactoring.outlines import set_apart
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name


@dataclass(frozen=True, slots=True)
class CallOutline:
    """A function under `tf.function` that makes a call, and what replaces the call.

    Arguments:
        above: the statement of the module above which the function goes.
        definition: the lines of the `def` with its body, to insert above that statement; empty where the file has it.
        name: of the function, which is called instead.
        receiver: the text of what is called in it, its first argument.
        spelling: of `tf.function`.
    """

    above: Node
    definition: str
    name: str
    receiver: str
    spelling: Spelling


def call_outline(
    file: File, called: Expression, arguments: Sequence[cst.Arg], options: str = "", method: str = ""
) -> CallOutline | None:
    """A function at the top of a file that calls something with some arguments; None where they cannot be handed on.

    What is called is a parameter, so that each model is traced once, whoever calls the function how often.

    Arguments:
        options: for `tf.function`: "reduce_retracing=True".
        method: of what is called, where it is not called itself.
    """
    above = next((statement for statement in file.tree.module.body if file.tree.within(called, statement)), None)
    spelling = None if above is None else file.imports.spelling("tf.function", above)
    is_made = any(file.tree.within(call, called) for call in file.tree.calls)
    if above is None or spelling is None or is_made or any(arg.star for arg in arguments):
        return None
    own = (dotted_name(called) or "model").rpartition(".")[2]
    own = "model" if own == "self" else own
    parameters, given = [own], []
    for arg in arguments:
        named = arg.value.value if isinstance(arg.value, cst.Name) else ""
        named = "inputs" if not named or iskeyword(named) else named  # to libcst `None` is a name
        parameter = _unlike(arg.keyword.value if arg.keyword is not None else named, parameters)
        parameters.append(parameter)
        given.append(parameter if arg.keyword is None else f"{arg.keyword.value}={parameter}")
    decorator = f"@{spelling.text}({options})" if options else f"@{spelling.text}"
    body = f"    return {own}{method and f'.{method}'}({', '.join(given)})"
    for name in _names(own):
        text = f"{decorator}\ndef {name}({', '.join(parameters)}):\n{body}\n"
        if name not in file.tree.uses:
            definition = set_apart(file, above, text, "")
            return CallOutline(above, definition, name, file.code(called), spelling)
        if _is_there(file, name, text.strip(), above):
            return CallOutline(above, "", name, file.code(called), spelling)
    return None


def _names(called: str) -> Iterator[str]:
    """What a function may be named after what it calls."""
    own = called.lstrip("_") or "model"
    return chain((f"traced_{own}", f"call_{own}"), (f"traced_{own}_{number}" for number in count(2)))


def _is_there(file: File, name: str, text: str, above: Node) -> bool:
    """Whether the file has a function of this text before a statement of the module, and no other of its name."""
    bindings = file.tree.root.bindings.get(name, ())
    order = file.tree.order
    return len(bindings) == 1 and all(
        isinstance(b.node, cst.FunctionDef) and file.code(b.node) == text and order[b.node] < order[above]
        for b in bindings
    )


def _unlike(name: str, taken: Sequence[str]) -> str:
    """The name, with a number after it where it is taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(candidate for candidate in chain((name,), numbered) if candidate not in taken)
