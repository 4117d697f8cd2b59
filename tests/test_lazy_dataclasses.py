"""Classes whose methods are compiled when they are first called behave as those of `dataclasses`."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import Any, ClassVar

import pytest

from tflint_gpu.lazy_dataclasses import compiled_at_first_call, constructor, dataclass, lazily_compiled

Decorator = Callable[..., Any]
_OPTIONS = [
    {},
    {"eq": False},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
    {"slots": True, "unsafe_hash": True},
    {"frozen": True, "slots": True, "order": True},
]


def _declared(decorator: Decorator, **options: Any) -> type[Any]:
    @decorator(**options)
    class Point:
        kind: ClassVar[str] = "point"
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, hash=False)
        note: str = field(default="", compare=False, repr=False)
        size: int = field(default=0, kw_only=True)
        _known: dict[str, int] = field(init=False, default_factory=dict, hash=False)

        def __post_init__(self) -> None:
            self._known["made"] = 1

    return Point


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent to another process."""

    name: str
    parts: tuple[int, ...] = ()


@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_a_class_does_what_that_of_the_standard_library_does(options: dict[str, bool]) -> None:
    lazy, eager = _declared(dataclass, **options), _declared(dataclasses.dataclass, **options)

    def told(kind: type[Any]) -> list[object]:
        first, same, other = kind(1), kind(1, note="differs"), kind(1, 3, ["a"], size=4)
        told = [repr(first), first == same, first == other, first != same, first == 1, kind.kind, other._known]
        told += [[field.name for field in fields(kind)], first.tags is same.tags, dataclasses.asdict(other)]
        told += [replace(other, x=5).x, kind.__match_args__, kind.__hash__ is None]
        told += [getattr(kind, "__slots__", None), hasattr(first, "__dict__")]
        if kind.__hash__ is not None:
            told += [hash(first) == hash(same), hash(first) == hash(first)]
        told += [_error(lambda: kind()), _error(lambda: kind(1, 2, [], "", 0)), _error(lambda: first < other)]
        return [*told, _error(lambda: setattr(first, "x", 9)), _error(lambda: delattr(first, "y")), first.x]

    assert told(lazy) == told(eager)


def _error(do: Callable[[], object]) -> type[BaseException] | None:
    try:
        do()
    except Exception as error:
        return type(error)
    return None


def test_a_constructor_takes_what_that_of_the_standard_library_takes() -> None:
    lazy, eager = _declared(dataclass), _declared(dataclasses.dataclass)
    signature = inspect.signature(constructor(lazy))
    assert [*signature.parameters] == [*inspect.signature(eager.__init__).parameters]
    assert signature.parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_method_takes_the_place_of_what_compiles_it() -> None:
    kind = _declared(dataclass, frozen=True, slots=True)
    before = kind.__init__
    assert kind(1) == kind(1) and kind.__init__ is not before
    late = object.__new__(kind)
    before(late, 7)  # as another thread calls it that was slower
    assert late.x == 7


def test_a_subclass_has_the_fields_of_its_base_and_its_own_methods() -> None:
    @dataclass(frozen=True)
    class Base:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        y: int = 2

        def __hash__(self) -> int:
            return 5

    assert (Derived(1).x, Derived(1).y, hash(Derived(1))) == (1, 2, 5)
    assert Base(1) == Base(2) and hash(Base(1)) == hash(Base(1)) and Derived(1) != Derived(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived(1).x = 2  # type: ignore[misc]


def test_instances_travel_between_processes() -> None:
    sent = Sent("a", (1, 2))
    assert pickle.loads(pickle.dumps(sent)) == sent


def test_two_threads_may_call_first_at_the_same_time() -> None:
    class Kind:
        pass

    entered, go = threading.Event(), threading.Event()

    def compiled(kind: type) -> Callable[..., Any]:
        entered.set()
        go.wait(10)
        return lambda self: 3

    Kind.double = compiled_at_first_call("double", compiled)  # type: ignore[attr-defined]
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(Kind().double())) for _ in range(2)]  # type: ignore[attr-defined]
    for thread in threads:
        thread.start()
    entered.wait(10)
    go.set()
    for thread in threads:
        thread.join()
    assert results == [3, 3]


_NODES = """
import dataclasses, sys
if sys.argv[1] == "lazily":
    from tflint_gpu.lazy_dataclasses import lazily_compiled
    with lazily_compiled("libcst"):
        import libcst
else:
    import libcst
assert dataclasses.dataclass.__module__ == "dataclasses"
module = libcst.parse_module("def f(a, *, b=1):\\n  if a is not b: return [x for x in (a, b)]  # why\\n")
print(repr(module), module.code, module.deep_equals(module.deep_clone()), hash(module) == hash(module))
print(repr(module.with_changes(body=[])), libcst.Name("a") == libcst.Name("a"))
for wrong in (lambda: libcst.Name(""), lambda: libcst.Name(), lambda: setattr(module.body[0].name, "value", "g")):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
class Upper(libcst.CSTTransformer):
    def leave_Name(self, original_node, updated_node):
        return updated_node.with_changes(value=updated_node.value.upper())
print(module.visit(Upper()).code)
@dataclasses.dataclass(frozen=True)
class Renamed(libcst.Name):
    former: str = ""
print(Renamed("a", former="b"))
try:
    dataclasses.dataclass(type("Loose", (libcst.Name,), {}))
except TypeError as error:
    print(error)
"""


def test_the_nodes_of_libcst_are_what_they_are() -> None:
    said = [
        subprocess.run([sys.executable, "-c", _NODES, how], capture_output=True, text=True, check=True).stdout
        for how in ("lazily", "eagerly")
    ]
    assert said[0] == said[1] != ""


def test_dataclasses_of_others_that_are_made_meanwhile_are_as_ever() -> None:
    """Protects a process in which another thread imports something while a rule imports libcst."""
    with lazily_compiled("libcst"):

        @dataclasses.dataclass
        class Other:
            size: dataclasses.InitVar[int]
            half: int = 0

            def __post_init__(self, size: int) -> None:
                self.half = size // 2

    assert Other(6) == Other(7) and Other(6).half == 3
