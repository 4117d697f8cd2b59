"""What the interpreter asks about all that is outside the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tflint_gpu.model.interpreter.values import Arguments, Instance, Site
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression


class Exhausted(Exception):
    """The program is longer than the interpreter's budget."""


class World(Protocol):
    """What the interpreter asks about all that is outside the project."""

    def called(self, callee: Any, given: Arguments, site: Site) -> Any:
        """What a call of something external, or of what the world made, gives."""

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute of what the world made."""

    def set_attribute(self, value: Any, name: str, new: Any) -> None:
        """An attribute of what the world made is set."""

    def operated(self, symbol: str, left: Any, right: Any) -> Any:
        """What an operator gives of which one side is the world's."""

    def item(self, value: Any, key: Any) -> Any:
        """An item of what the world made."""

    def elements(self, value: Any) -> list[Any] | None:
        """What iterating over something of the world's yields."""

    def entered(self, value: Any, site: Expression, file: File) -> Callable[[], None]:
        """A `with` is entered; what is returned is called at its end."""

    def instance_called(self, instance: Instance, given: Arguments, site: Site) -> Any:
        """An instance of a class is called that derives from one of the world's."""

    def instance_method(self, instance: Instance, name: str, given: Arguments, site: Site) -> Any:
        """A method is called that an instance inherits from outside the project."""
