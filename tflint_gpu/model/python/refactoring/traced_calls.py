"""A call made in a function of its own under `tf.function`: what a user would do by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    file: File,
    called: Expression,
    arguments: Sequence[cst.Arg],
    options: str = "",
    method: str = "",
    may_share: Callable[[str], bool] = lambda name: True,
) -> CallOutline | None:
    """A function at the top of a file that calls something with some arguments; None where they cannot be handed on.

    What is called is a parameter, so that each model is traced once, whoever calls the function how often.

    Arguments:
        options: for `tf.function`: "(reduce_retracing=True)".
        method: of what is called, where it is not called itself.
        may_share: whether a function of the file that does the same may be called here, too.
    """
    above = next((statement for statement in file.tree.module.body if file.tree.within(called, statement)), None)
    spelling = None if above is None else file.imports.spelling("tf.function", above)
    is_made = any(file.tree.within(call, called) for call in file.tree.calls)
    if above is None or spelling is None or is_made or any(arg.star for arg in arguments):
        return None
    own = (dotted_name(called) or "model").rpartition(".")[2]
    own = "model" if own == "self" else own
    parameters = [own]
    for arg in arguments:
        named = arg.value.value if isinstance(arg.value, cst.Name) else ""
        named = "inputs" if not named or iskeyword(named) else named  # to libcst `None` is a name
        parameters.append(_unlike(arg.keyword.value if arg.keyword is not None else named, parameters))
    keywords = [arg.keyword.value if arg.keyword is not None else "" for arg in arguments]
    decorator = f"@{spelling.text}{options}"
    for name in _names(own):
        if name not in file.tree.uses:
            text = f"{decorator}\n{_definition(name, parameters, keywords, method)}\n"
            return CallOutline(above, set_apart(file, above, text, ""), name, file.code(called), spelling)
        if _is_there(file, name, decorator, keywords, method, above) and may_share(name):
            return CallOutline(above, "", name, file.code(called), spelling)
    return None


def _definition(name: str, parameters: Sequence[str], keywords: Sequence[str], method: str) -> str:
    """A function that hands its parameters on to the first one.

    Arguments:
        keywords: of the others, by which they are handed on; empty for those that come by position.
    """
    given = (f"{keyword}={p}" if keyword else p for keyword, p in zip(keywords, parameters[1:], strict=True))
    called = f"{parameters[0]}{method and f'.{method}'}"
    return f"def {name}({', '.join(parameters)}):\n    return {called}({', '.join(given)})"


def _names(called: str) -> Iterator[str]:
    """What a function may be named after what it calls."""
    own = called.lstrip("_") or "model"
    return chain((f"traced_{own}", f"call_{own}"), (f"traced_{own}_{number}" for number in count(2)))


def _is_there(file: File, name: str, decorator: str, keywords: Sequence[str], method: str, above: Node) -> bool:
    """Whether the file has a function that does the same before a statement of the module, and no other of its name.

    What comes by position may have another name in it.
    """
    bindings = file.tree.root.bindings.get(name, ())
    node = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(node, cst.FunctionDef) or file.tree.order[node] >= file.tree.order[above]:
        return False
    own = [parameter.name.value for parameter in node.params.params]
    is_alike = len(own) == len(keywords) + 1 and all(k in ("", p) for k, p in zip(keywords, own[1:], strict=True))
    decorators = [f"@{file.code(used.decorator)}" for used in node.decorators]
    return is_alike and decorators == [decorator] and file.code(node) == _definition(name, own, keywords, method)


def _unlike(name: str, taken: Sequence[str]) -> str:
    """The name, with a number after it where it is taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(candidate for candidate in chain((name,), numbered) if candidate not in taken)
