"""Steps into what values contain: items, elements and attributes, stored and loaded.

Nothing is computed for a container but what is asked of it: a list display, a `zip(...)` or a generator function's call
is its own description.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import CONTAINER_ITEMS, OVERRIDES
from tflint_gpu.model.python.project.decorators import is_decorated
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Attribute, Class, Function, is_property
from tflint_gpu.model.python.syntax.scopes import Binding, Path
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    Node,
    argument,
    constant_of,
    dotted_name,
    method_name,
    positional_parameters,
    text_of,
)
from tflint_gpu.model.python.value_flow import inheritance, results
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Content, Context, Key, Origin, Origins
from tflint_gpu.model.python.value_flow.resolver import Resolver

_SEQUENCES = (cst.Tuple, cst.List, cst.Set)
_COMPREHENSIONS = (cst.ListComp, cst.GeneratorExp, cst.SetComp)
# Objects outside the project that keep their keyword arguments as attributes.
_KEEPERS = frozenset(
    [
        "tf.train.Checkpoint",
        "types.SimpleNamespace",
        "argparse.Namespace",
        "easydict.EasyDict",
        "tf.train.CheckpointManager",
    ]
)
_QUEUES = frozenset(["collections.deque"])
_ADDING = ("update", "setdefault")


def along(resolver: Resolver, origins: Origins, path: Path) -> Iterator[Origin]:
    """What an unpacking path names in some values."""
    for index in path:
        origins = tuple(content for origin in origins for content in resolver.item(origin, index))
    yield from origins


def item(resolver: Resolver, origin: Origin, key: Key) -> Origins:
    """What is under a key or index; without a key, any item."""
    node, file, context = origin.node, origin.file, origin.context
    if origin.access_path:
        return _item_of_part(resolver, origin, key)
    if isinstance(node, cst.Tuple | cst.List):
        stored = _stored(resolver, origin, key)
        if isinstance(key, int) and not any(isinstance(e, cst.StarredElement) for e in node.elements):
            inside = -len(node.elements) <= key < len(node.elements)
            own = resolver.of(file, node.elements[key].value, context) if inside else ()
            return (*own, *stored) or (origin.content(Content("item", key)),)
        return resolver.elements(origin)
    if isinstance(node, cst.Dict):
        return _item_of_dict(resolver, origin, key)
    if isinstance(node, cst.DictComp):
        return (*resolver.of(file, node.value, context), *_stored(resolver, origin, key))
    if isinstance(node, _COMPREHENSIONS):
        return resolver.elements(origin)
    if _is_slice(node):
        return resolver.elements(origin)
    if isinstance(node, cst.Call):
        if _is_list_call(file, node):
            return resolver.elements(origin)
        if _is_dict_call(file, node):
            held = [a.value for a in node.args if a.keyword is not None and key in (a.keyword.value, None)]
            own = tuple(
                content
                for value in resolver.first(CONTAINER_ITEMS, held)
                for content in resolver.of(file, value, context)
            )
            return (*own, *_stored(resolver, origin, key)) or (origin.content(Content("item", key)),)
        cls = resolver.instance_class(origin)
        if cls is not None:
            return _item_of_instance(resolver, origin, cls, key)
    return (origin.content(Content("item", key)),)


def _item_of_part(resolver: Resolver, origin: Origin, key: Key) -> Origins:
    """An item of what `enumerate`, `zip` and `items` yield: the tuple exists only in Python's head."""
    call = origin.node
    if origin.access_path != (ELEMENT,) or not isinstance(call, cst.Call) or not isinstance(key, int):
        return (origin.content(Content("item", key)),)
    file, context = origin.file, origin.context
    args = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if file.names.is_builtin(call.func, "enumerate") and args:
        inner = resolver.of(file, args[0], context)
        return (origin.content(Content("item", 0)),) if key == 0 else _all_elements(resolver, inner)
    if file.names.is_builtin(call.func, "zip") and 0 <= key < len(args):
        return _all_elements(resolver, resolver.of(file, args[key], context))
    if method_name(call) == "items" and isinstance(call.func, cst.Attribute):
        mappings = resolver.of(file, call.func.value, context)
        if key == 0:
            return tuple(content for mapping in mappings for content in resolver.elements(mapping))
        return tuple(content for mapping in mappings for content in resolver.item(mapping, None))
    if method_name(call) == "enumerate" and isinstance(call.func, cst.Attribute) and key == 1:
        return _all_elements(resolver, resolver.of(file, call.func.value, context))
    return (origin.content(Content("item", key)),)


def _item_of_dict(resolver: Resolver, origin: Origin, key: Key) -> Origins:
    node = origin.node
    assert isinstance(node, cst.Dict)
    items: list[Origin] = list(_stored(resolver, origin, key))
    for element in resolver.first(CONTAINER_ITEMS, node.elements):
        if isinstance(element, cst.StarredDictElement):
            for inner in resolver.of(origin.file, element.value, origin.context):
                items.extend(resolver.item(inner, key))
        elif isinstance(element, cst.DictElement) and (key is None or _literal(element.key) in (key, None)):
            items.extend(resolver.of(origin.file, element.value, origin.context))
    return tuple(items) or (origin.content(Content("item", key)),)


def lacks(origin: Origin, key: Key) -> bool:
    """Whether a value is a mapping that names all its keys, not this one, and that nothing adds to."""
    node, file = origin.node, origin.file
    if origin.access_path:
        return False
    if isinstance(node, cst.Dict):
        keys = [_literal(e.key) if isinstance(e, cst.DictElement) else None for e in node.elements]
    elif isinstance(node, cst.Call) and _is_dict_call(file, node):
        keys = [arg.keyword.value if arg.keyword is not None and not arg.star else None for arg in node.args]
    else:
        return False
    if None in keys or key in keys:
        return False
    name = file.bound_to(node)
    return name is None or not (
        file.stores.get(name) or any(dotted_name(_receiver(c)) == name for c in file.method_calls(*_ADDING))
    )


def _item_of_instance(resolver: Resolver, origin: Origin, cls: Class, key: Key) -> Origins:
    fields = resolver.definitions.fields(cls)
    if isinstance(key, int) and 0 <= key < len(fields):
        return attribute(resolver, origin, fields[key])
    method = resolver.definitions.method(cls, "__getitem__")
    return (
        results.of_method(resolver, origin, method) if method is not None else (origin.content(Content("item", key)),)
    )


def _stored(resolver: Resolver, origin: Origin, key: Key) -> Origins:
    """What is put into a container that is bound to a name: `d[key] = v`, `l.append(v)`, `l.extend(values)`."""
    file, name = origin.file, origin.file.bound_to(origin.node)
    if name is None:
        return ()
    items: list[Origin] = []
    for target, value in file.stores.get(name, ()):
        index = target.slice[0].slice if len(target.slice) == 1 else None
        known = _literal(index.value) if isinstance(index, cst.Index) else None
        if key is None or known is None or known == key:
            items.extend(resolver.of(file, value))
    if isinstance(origin.node, cst.Dict) and any(
        dotted_name(_receiver(c)) == name for c in file.method_calls("update")
    ):
        items.append(origin.content(Content("item", key)))
    if isinstance(origin.node, cst.List | cst.ListComp | cst.Call):
        for call in file.appends.get(name, ()):
            items.extend(resolver.of(file, call.args[0].value))
        for call in file.extends.get(name, ()):
            items.extend(_all_elements(resolver, resolver.of(file, call.args[0].value)))
        items.extend(_appended_elsewhere(resolver, origin, name) if not items else ())
    return tuple(items)


def _appended_elsewhere(resolver: Resolver, origin: Origin, name: str) -> Iterator[Origin]:
    """What is appended to a list under another name: `agent.memory`, a parameter of the function that gets it."""
    last = name.rpartition(".")[2]
    owner = resolver.definitions.enclosing(origin.file, origin.node) if last != name else None

    def is_it(file: File, expr: Expression | None) -> bool:
        return expr is not None and any(held.node is origin.node for held in resolver.of(file, expr))

    for file in (origin.file,) if owner is None else resolver.seen.users(owner.file, owner.name):
        for other, calls in file.appends.items() if owner is not None else ():
            if other.endswith(f".{last}") and other != name and is_it(file, _receiver(calls[0])):
                yield from (value for call in calls for value in resolver.of(file, call.args[0].value))
        for call in file.calls_given.get(last, ()):
            for callee in resolver.callees(file, call):
                inside, within = resolver.contexts.enter(file, call, None, callee), callee.function
                for parameter, bound in (resolver.contexts.given(inside) or {}).items() if inside is not None else ():
                    assert isinstance(parameter, cst.Param)
                    for append in within.file.appends.get(parameter.name.value, ()):
                        if within.file.tree.function(append) is within.node and is_it(bound.file, bound.value):
                            yield from resolver.of(within.file, append.args[0].value, inside)


def elements(resolver: Resolver, origin: Origin) -> Origins:
    """What iterating over a value yields."""
    node, file, context = origin.node, origin.file, origin.context
    if origin.access_path:
        return (origin.content(ELEMENT),)
    if isinstance(node, _SEQUENCES):
        yielded: list[Origin] = list(_stored(resolver, origin, None))
        for element in resolver.first(CONTAINER_ITEMS, node.elements):
            held = resolver.of(file, element.value, context)
            yielded.extend(_all_elements(resolver, held) if isinstance(element, cst.StarredElement) else held)
        return tuple(yielded) or (origin.content(ELEMENT),)
    if isinstance(node, cst.Dict):
        keys = [e.key for e in resolver.first(CONTAINER_ITEMS, node.elements) if isinstance(e, cst.DictElement)]
        return tuple(element for key in keys for element in resolver.of(file, key, context)) or (
            origin.content(ELEMENT),
        )
    if isinstance(node, _COMPREHENSIONS):
        return (*resolver.of(file, node.elt, context), *_stored(resolver, origin, None))
    if isinstance(node, cst.DictComp):
        return resolver.of(file, node.key, context)
    if isinstance(node, cst.Subscript) and _is_slice(node):  # part of a list holds what the list holds
        return _all_elements(resolver, resolver.of(file, node.value, context))
    if isinstance(node, cst.Call):
        if _is_list_call(file, node):
            first = [arg.value for arg in node.args if arg.keyword is None][:1]
            given = tuple(
                element for expr in first for element in _all_elements(resolver, resolver.of(file, expr, context))
            )
            return (*given, *_stored(resolver, origin, None)) or (origin.content(ELEMENT),)
        if method_name(node) == "values" and isinstance(node.func, cst.Attribute) and not node.args:
            return tuple(
                element for held in resolver.of(file, node.func.value, context) for element in resolver.item(held, None)
            )
        if method_name(node) == "keys" and isinstance(node.func, cst.Attribute):
            return tuple(
                element for held in resolver.of(file, node.func.value, context) for element in resolver.elements(held)
            )
        found_here = results.yielded(resolver, file, node, context)
        if found_here is not None:
            return found_here or (origin.content(ELEMENT),)
    cls = resolver.instance_class(origin)
    if cls is not None:
        return _elements_of_instance(resolver, origin, cls) or (origin.content(ELEMENT),)
    return (origin.content(ELEMENT),)


def _elements_of_instance(resolver: Resolver, origin: Origin, cls: Class) -> Origins:
    method = resolver.definitions.method(cls, "__iter__")
    if method is not None:
        yielded = results.of_method(resolver, origin, method)
        if method.file.yields_of.get(method.node):
            return yielded
        others = [other for other in yielded if other != origin and not other.access_path]
        if others:
            return tuple(inner for other in others for inner in resolver.elements(other))
    method = resolver.definitions.method(cls, "__next__") or resolver.definitions.method(cls, "__getitem__")
    return results.of_method(resolver, origin, method) if method is not None else ()


def _all_elements(resolver: Resolver, origins: Origins) -> Origins:
    return tuple(element for origin in origins for element in resolver.elements(origin))


def attribute(resolver: Resolver, origin: Origin, name: str) -> Origins:
    """What an attribute of a value holds."""
    node, file = origin.node, origin.file
    if isinstance(node, cst.ClassDef) and not origin.access_path:
        return _of_class(resolver, origin, Class(file, node), name)
    cls = resolver.instance_class(origin)
    if cls is not None:
        return _of_instance(resolver, origin, cls, name)
    if origin.made_by in _KEEPERS:
        assert isinstance(node, cst.Call)
        kept = argument(node, -1, name)
        if kept is not None:
            return resolver.of(file, kept, origin.context)
    return (origin.content(Content("attribute", name)),)


def stored(resolver: Resolver, file: File, expr: cst.Attribute, context: Context | None) -> Origins:
    """What `self.x` holds where its own function has just set it; nothing where another one may have."""
    bindings, name = file.flow.stored(expr), expr.attr.value
    cls = resolver.definitions.self_class(file, expr.value) if bindings else None
    if cls is None or resolver.definitions.method(cls, name) is not None or not isinstance(expr.value, cst.Name):
        return ()
    function = file.tree.function(expr)
    setters = {a.file.tree.function(a.node) for a in resolver.definitions.attributes(cls, name)} - {None, function}
    if any(not isinstance(setter, cst.FunctionDef) or setter.name.value != "__init__" for setter in setters):
        first = min((binding.node for binding in bindings), key=file.tree.order.__getitem__)
        is_later = any(file.tree.order[binding.node] > file.tree.order[expr] for binding in bindings)
        if is_later or file.flow.runs_methods(expr.value.value, first, expr):
            return ()
    return tuple(origin for binding in bindings for origin in _bound(resolver, file, binding, context))


def _bound(resolver: Resolver, file: File, binding: Binding, context: Context | None) -> Iterator[Origin]:
    if binding.value is None or binding.kind == "augment":
        yield Origin(file, binding.node, context)
    else:
        yield from along(resolver, resolver.of(file, binding.value, context), binding.path)


def _of_class(resolver: Resolver, origin: Origin, cls: Class, name: str) -> Origins:
    method = resolver.definitions.method(cls, name)
    if method is not None:
        return (
            Origin(method.file, method.node, receiver=origin if is_decorated(method.node, "classmethod") else None),
        )
    values = [o for a in resolver.definitions.attributes(cls, name) for o in resolver.of(a.file, a.value)]
    return tuple(values) or (origin.content(Content("attribute", name)),)


def _of_instance(resolver: Resolver, origin: Origin, cls: Class, name: str) -> Origins:
    definitions = resolver.definitions
    method = definitions.method(cls, name)
    is_self = isinstance(origin.node, cst.Param) and not origin.access_path
    below = _of_subclasses(resolver, origin, cls, name, method) if is_self else ()
    if below and (method is None or inheritance.is_left_to_subclasses(resolver, cls, method)):
        return below
    if method is not None:
        return tuple(dict.fromkeys((*_of_method(resolver, origin, method), *below)))
    fields = definitions.fields(cls)
    if name in fields:
        given = _argument_of(resolver, origin, fields.index(name), name)
        if given:
            return given
    values: list[Origin] = []
    assignments, constructor = definitions.attributes(cls, name), definitions.method(cls, "__init__")
    if constructor is not None:
        assignments = [a for a in assignments if not _is_replaced(a, constructor)] or assignments
    for assigned in assignments:
        function = assigned.file.tree.function(assigned.node)
        context = None
        if function is not None:
            context = resolver.contexts.constructed(origin, definitions.function(assigned.file, function))
            if context.call is not None and resolver.tests.is_switched_off(assigned.file, assigned.node, context):
                continue
        if assigned.file.flow.is_overwritten(f"self.{name}", assigned.node):
            continue
        if isinstance(assigned.node, cst.AugAssign):
            values.append(Origin(assigned.file, assigned.node))
            continue
        values.extend(along(resolver, resolver.of(assigned.file, assigned.value, context), assigned.path))
    if not values:
        values.extend(_set_from_outside(resolver, origin, cls, name))
    if not values:
        values.extend(_forwarded(resolver, origin, cls, name))
    if all(value.is_none for value in values):
        values.extend(_set_by_subclasses(resolver, origin, cls, name))
    built = tuple(value for value in values if not value.is_none)  # `self.model = None` in __init__, built later
    return built or tuple(values) or (origin.content(Content("attribute", name)),)


def _is_replaced(assigned: Attribute, constructor: Function) -> bool:
    """Whether the constructor of a base class sets an attribute, and another one runs instead, without calling it."""
    function = assigned.file.tree.function(assigned.node)
    if not isinstance(function, cst.FunctionDef) or function.name.value != "__init__" or function is constructor.node:
        return False
    return not any(method_name(call) == "__init__" for call in constructor.calls)


def _forwarded(resolver: Resolver, origin: Origin, cls: Class, name: str) -> Iterator[Origin]:
    """What a `__getattr__` that returns `getattr(self.inner, name)` gives."""
    method = resolver.definitions.method(cls, "__getattr__")
    if method is None or len(method.parameters) != 1:
        return
    asked = method.parameters[0].name.value
    for value in method.file.returned(method.node):
        if isinstance(value, cst.Call) and method.file.names.is_builtin(value.func, "getattr") and len(value.args) == 2:
            inner, attribute_name = (arg.value for arg in value.args)
            if isinstance(attribute_name, cst.Name) and attribute_name.value == asked:
                for held in resolver.of(method.file, inner, resolver.contexts.constructed(origin, method)):
                    yield from resolver.attribute(held, name)


def _of_method(resolver: Resolver, origin: Origin, method: Function) -> Origins:
    if is_property(method.node):
        return results.of_method(resolver, origin, method)
    return (Origin(method.file, method.node, receiver=origin),)


def _of_subclasses(resolver: Resolver, origin: Origin, cls: Class, name: str, method: Function | None) -> Origins:
    """What `self.name` is where `self` is of a subclass that replaces it, whichever of them."""
    if method is None and resolver.definitions.attributes(cls, name):
        return ()
    values: list[Origin] = []
    for below in inheritance.overrides(resolver, cls, name):
        first = positional_parameters(below.node)[:1]
        receiver = Origin(below.file, first[0]) if first and below.is_method else origin
        values.extend(_of_method(resolver, receiver, below))
    return tuple(values)


def _set_by_subclasses(resolver: Resolver, origin: Origin, cls: Class, name: str) -> Iterator[Origin]:
    """What `self.name` is in a class that never sets it, or to None, whichever of its subclasses `self` is."""
    is_self = isinstance(origin.node, cst.Param) and not origin.access_path
    below = resolver.subclasses(cls) if is_self else ()
    own = set(resolver.definitions.attributes(cls, name))
    assigned = dict.fromkeys(a for c in below for a in resolver.definitions.attributes(c, name) if a not in own)
    if len(assigned) > OVERRIDES.limit:
        resolver.meet(OVERRIDES)
        return
    for assignment in assigned:
        if not isinstance(assignment.node, cst.AugAssign):
            yield from along(resolver, resolver.of(assignment.file, assignment.value), assignment.path)


def _argument_of(resolver: Resolver, origin: Origin, position: int, keyword: str) -> Origins:
    """What a call of a class gets as an argument."""
    call = origin.call
    for index, arg in enumerate(call.args if call is not None else ()):
        if (arg.keyword is not None and arg.keyword.value == keyword) or (
            arg.keyword is None and not arg.star and index == position
        ):
            return resolver.of(origin.file, arg.value, origin.context)
    return ()


def _set_from_outside(resolver: Resolver, origin: Origin, cls: Class, name: str) -> Iterator[Origin]:
    """`trainer.model = model`, where the class itself never sets it."""
    for assignment in origin.file.tree.attributes_set(name):
        receivers = resolver.of(origin.file, assignment.target.value)
        if any(resolver.instance_class(receiver) == cls for receiver in receivers):
            yield from along(resolver, resolver.of(origin.file, assignment.value), assignment.path)


def _is_slice(node: Node) -> bool:
    return isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Slice)


def _is_list_call(file: File, call: cst.Call) -> bool:
    """`list()`, `deque(maxlen=9)`: filled by `append`; a `list(x)` is what `x` is."""
    return file.name(call.func) in _QUEUES or (not call.args and file.names.is_builtin(call.func, "list"))


def _is_dict_call(file: File, call: cst.Call) -> bool:
    return file.names.is_builtin(call.func, "dict") and all(arg.keyword is not None for arg in call.args)


def _receiver(call: cst.Call) -> Expression | None:
    return call.func.value if isinstance(call.func, cst.Attribute) else None


def _literal(expr: Expression) -> Key:
    if isinstance(expr, cst.SimpleString):
        return text_of(expr)
    if isinstance(expr, cst.Integer):
        return constant_of(expr)
    return None
