"""Origins: the places where values come from, and the path into what they contain."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node

Key: TypeAlias = int | str | float | bool | None


@dataclass(frozen=True, slots=True)
class Content:
    """A part of a value: an attribute, an item under a key, or (`element`) what iterating over it yields.

    An item without a key is some item.
    """

    kind: Literal["attribute", "item", "element"]
    key: Key = None


ELEMENT = Content("element")


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """One call of a function: where its parameters get their values.

    Arguments:
        function: whose parameters are bound.
        file, call: the call; without one the parameters stay what they are.
        caller: the context of the call.
        receiver: what `self` is.
        is_own: whether something of it is of the checked file, and of no other.
    """

    function: FunctionNode
    file: File | None = None
    call: cst.Call | None = None
    caller: Context | None = None
    receiver: Origin | None = None
    depth: int = 0
    is_own: bool = False

    @property
    def calls(self) -> tuple[tuple[File, cst.Call], ...]:
        """The calls that lead here, innermost first."""
        own = ((self.file, self.call),) if self.file is not None and self.call is not None else ()
        return (*own, *(self.caller.calls if self.caller is not None else ()))


@dataclass(slots=True)  # never changed; a frozen one takes three times as long to make
class Origin:
    """Where a value comes from.

    Arguments:
        node: an expression that no step goes beyond (a literal, a display, an operation, a call of something
            outside the project or of a class), a function or class, or, where nothing is known, a parameter or name.
        context: the call in which `node` is evaluated, where that matters.
        access_path: what of that value it is, outermost content last: `load()[0]` has one item.
        receiver: for a method the instance to which it is bound; for an instance its class, where the call may make
            those of several.
    """

    file: File
    node: Node
    context: Context | None = None
    access_path: tuple[Content, ...] = ()
    receiver: Origin | None = None

    def __hash__(self) -> int:
        return id(self.node) + len(self.access_path)  # nodes are equal only to themselves; this is asked most of all

    def content(self, content: Content) -> Origin:
        """Some content of this value, where no step leads into it."""
        return Origin(self.file, self.node, self.context, (*self.access_path, content))

    @property
    def whole(self) -> Origin:
        """The value that this is some content of."""
        return Origin(self.file, self.node, self.context)

    def is_of(self, file: File) -> bool:
        """Whether it comes from a file that is checked, or what it rests on does."""
        if self.file is file or (self.context is not None and self.context.is_own):
            return True
        return self.receiver is not None and self.receiver.is_of(file)

    @property
    def places(self) -> tuple[tuple[File, Node], ...]:
        """Where it is made, and the calls that lead there, innermost first."""
        return ((self.file, self.node), *(self.context.calls if self.context is not None else ()))

    def is_made_in(self, loop: Node) -> bool:
        """Whether an iteration of a loop makes it, by itself or by what it calls."""
        return any(file.tree.within(place, loop) for file, place in self.places)

    @property
    def call(self) -> cst.Call | None:
        """The call whose result this is, as a whole."""
        return self.node if self.node.__class__ is cst.Call and not self.access_path else None

    @property
    def name(self) -> str | None:
        """The canonical name of something outside the project: "tf.keras" is "keras"."""
        return (
            self.file.name(self.node)
            if isinstance(self.node, cst.Name | cst.Attribute) and not self.access_path
            else None
        )

    @property
    def made_by(self) -> str | None:
        """The canonical name of the function outside the project whose result this is."""
        if self.receiver is not None:
            return self.receiver.name if self.call is not None else None
        return self.file.name(self.node.func) if isinstance(self.node, cst.Call) and not self.access_path else None

    @property
    def is_class(self) -> bool:
        """Whether it is a class: one of the project, or what a library's name with a capital letter means."""
        if isinstance(self.node, cst.ClassDef):
            return not self.access_path
        return (self.name or "").rpartition(".")[2][:1].isupper()

    @property
    def is_none(self) -> bool:
        """Whether it is the constant None."""
        return self.is_of_none and not self.access_path

    @property
    def is_of_none(self) -> bool:
        """Whether it is None or a part of it: a program that goes on has something else there."""
        node = self.node
        return node.__class__ is cst.Name and node.value == "None"

    @property
    def is_open(self) -> bool:
        """Whether nothing is known of it: a parameter that nobody fills, a name that nothing defines, `...`."""
        if isinstance(self.node, cst.Param | cst.Ellipsis):
            return True
        if isinstance(self.node, cst.Name):
            return self.node.value not in ("None", "True", "False") and self.file.name(self.node) is None
        return False


@dataclass(frozen=True, slots=True)
class Part:
    """A value in a display of some: `3` in `loss, {"n": 3}`.

    Arguments:
        path: the indices and keys that lead to it; a key is None where it is no constant.
    """

    file: File
    expr: Expression
    context: Context | None = None
    path: tuple[Key, ...] = ()


Origins: TypeAlias = tuple[Origin, ...]
