"""What statements of a file change besides the names that they bind, and what they do only to show, write or learn."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterator, Mapping

from tflint_gpu.model.library.keras_methods import FITTING_METHODS, FORWARD_METHODS
from tflint_gpu.model.python.refactoring.free_names import Function, bound, free, parameters, roots, stored

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Weights do not change how long a step takes.
_LEARNING = frozenset((*FITTING_METHODS, "apply_gradients", "minimize"))
_RUNNING = _LEARNING | FORWARD_METHODS | {"train", "test"}
_EFFECTS = _RUNNING | frozenset(
    (
        "update_state reset_state reset_states summary save save_weights load_weights restore expect_partial "
        "assert_consumed assert_existing_objects_matched export flush close print pprint info debug warning warn error "
        "log write writerow writelines dump display set_description set_postfix savefig show plot imshow plot_model "
        "to_csv scalar image histogram makedirs mkdir rmtree unlink check_call check_output download "
        "download_and_prepare urlretrieve basicConfig set_verbosity simplefilter filterwarnings"
    ).split()
)
# What may write a file that is read later: it counts as a change of the path.
_WRITING = frozenset(
    "write write_file write_text write_bytes writelines save savez savez_compressed save_weights dump to_csv makedirs "
    "mkdir touch TFRecordWriter save_img imwrite".split()
)
# What changes its object even where it is called for what it gives: `state = environment.reset()`.
_TAKING = frozenset(("pop", "popitem", "popleft", "setdefault", "reset"))
# What is read of an object that learned from data what it does to them: scalers, encoders, clusters.
_FITTED = re.compile(r"(?:inverse_)?transform|[a-z]\w*[^\W_]_")
_PASSING = frozenset(("enumerate", "reversed", "zip", "sorted", "list", "iter", "next"))
# Modules whose functions show, write, wait or run other programs.
_OUTSIDE = frozenset(
    "os shutil subprocess matplotlib pylab seaborn plotly wandb mlflow logging warnings gc time pprint nltk "
    "tqdm IPython".split()
)
# Modules that a call changes only by what it is named like.
_LIBRARIES = frozenset("tensorflow keras numpy pandas tensorflow_probability tensorflow_addons sklearn".split())
_SETTINGS = ("set", "enable", "disable", "use", "register", "experimental", "init", "add", "update", "append")


class Effects:
    """Knows which names' objects a statement may change.

    Arguments:
        tree: the parsed file. Its functions are known by their names; methods are not.
        trains: what learns changes its object, as where the program needs what was learned.
    """

    def __init__(self, tree: ast.Module, *, trains: bool = False) -> None:
        self._aside = _EFFECTS - _LEARNING if trains else _EFFECTS
        self._trains = trains
        self._outside = _imported(tree, _OUTSIDE)
        self._libraries = _imported(tree, _LIBRARIES)
        self._functions: dict[str, list[_Function]] = {}  # a notebook defines a function more than once
        for node in _functions(tree):
            self._functions.setdefault(node.name, []).append(node)
        self._definitions = {name for node in ast.walk(tree) if _defines(node) for name in bound(node)}  # type: ignore[arg-type]
        at_top = {name for statement in tree.body if not _defines(statement) for name in bound(statement)}
        self._objects = stored(tree) - self._definitions
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        has_method = any(isinstance(node, _Function) and node.name == "train" for node in ast.walk(tree))
        self._networks = set() if has_method else called & self._objects
        reads = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
        self._fitted = {ast.unparse(node.value) for node in reads if _FITTED.fullmatch(node.attr)}
        self._aliases = _aliases(tree, self._definitions)
        self._learning: set[str] = set()
        self._reach: dict[str, set[str]] = {}
        self._touching: set[str] = set()
        self._close(at_top)

    def _close(self, at_top: set[str]) -> None:
        """Follow calls between the functions until nothing new is found."""
        while True:
            learning = self._named(self._learns)
            reach = {
                name: {
                    name_reached
                    for node in nodes
                    for name_reached in self._reached(node, at_top if name in learning else None)
                }
                for name, nodes in self._functions.items()
            }
            touching = self._named(self._touches_arguments)
            if (learning, reach, touching) == (self._learning, self._reach, self._touching):
                return
            self._learning, self._reach, self._touching = learning, reach, touching

    def _named(self, holds: Callable[[_Function], bool]) -> set[str]:
        return {name for name, nodes in self._functions.items() if any(holds(node) for node in nodes)}

    def _touches_arguments(self, function: _Function) -> bool:
        if any(isinstance(node, ast.Call) and _writes(node) for node in ast.walk(function)):
            return True
        touched = {name for statement in function.body for name in self._touched(statement, False)}
        touched |= {origin for name in touched for origin in self._aliases.get(name, ())}
        return not touched.isdisjoint(parameters(function.args))

    def _learns(self, function: _Function) -> bool:
        calls = (_called(node) for node in ast.walk(function) if isinstance(node, ast.Call))
        return any(name in _LEARNING or name in self._learning for name in calls)

    def _reached(self, function: _Function, at_top: set[str] | None) -> set[str]:
        """The names outside of a function that a call of it binds or changes.

        Arguments:
            at_top: for a function that trains: what the module binds by itself needs no training first.
        """
        declared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
        if at_top is not None:
            return declared - at_top
        changed = {name for statement in function.body for name in self._touched(statement, False)}
        called = {name for statement in function.body for name in self._reached_by(statement)}
        return declared | (changed & free(function)) | called

    def changed(self, statement: ast.stmt, *, everything: bool = False) -> set[str]:
        """The names whose objects a statement may change: `x.a = 1`, `x[0] = 1`, `x.add(y)`, `prepare(x)`.

        Arguments:
            everything: count calls, too, that are made for what they show, write or learn.
        """
        names = self._touched(statement, everything) | self._reached_by(statement)
        return names | {origin for name in names for origin in self._aliases.get(name, ())}

    def _reached_by(self, statement: ast.stmt) -> set[str]:
        calls = (
            node for node in _executed(statement) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        )
        return {name for call in calls for name in self._reach.get(_called(call), ())}

    def _touched(self, statement: ast.stmt, everything: bool) -> set[str]:
        names: set[str] = set()
        for node in _executed(statement):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                names |= roots(node)
            elif isinstance(node, ast.AugAssign):
                names |= roots(node.target)
            elif isinstance(node, ast.Call):
                names |= roots(node.func) if _called(node) in _TAKING else set()
                names |= _arguments(node) if _writes(node) else set()
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                names |= self._handed(node.value) if everything or not self._is_aside(node.value) else set()
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            names |= self._built(statement.value)
        return names

    def only_shows(self, statement: ast.stmt) -> bool:
        """Whether a statement is a call that shows or writes something which is there already."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        call = statement.value
        parts = [*call.args, *call.keywords]
        if isinstance(call.func, ast.Name) and call.func.id in self._definitions | self._objects:
            return False
        is_plain = not any(isinstance(node, ast.Call) for part in parts for node in ast.walk(part))
        return is_plain and _called(call) not in _RUNNING | self._learning and self._is_aside(call)

    def _is_aside(self, call: ast.Call) -> bool:
        name = _called(call)
        takes_nothing = not call.args and not call.keywords
        if name == "train" and takes_nothing and roots(call.func) & self._networks:
            return False  # as TensorLayer and PyTorch switch the mode of a network
        if name == "fit" and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in self._fitted:
            return False
        if name in ("load_weights", "restore") and takes_nothing:
            return False  # Keras is told from where: an object of the program's own may make its model in it
        is_aside = name in self._aside or (name in self._learning and not self._trains)
        return is_aside or bool(roots(call.func) & self._outside)

    def _handed(self, call: ast.Call) -> set[str]:
        """The objects that a call gets: its receiver and its arguments."""
        name = _called(call)
        if isinstance(call.func, ast.Name) and name in self._functions and name not in self._touching:
            return set()
        receivers = roots(call.func) if isinstance(call.func, ast.Attribute) else self._built(call)
        if receivers & self._libraries and ("seed" in name or not name.startswith(_SETTINGS)):
            receivers = set()
        return receivers | _arguments(call)

    def _built(self, call: ast.Call) -> set[str]:
        """`model` for `model(x)`: a first call may build what is called."""
        called = call.func
        return {called.id} & self._objects if isinstance(called, ast.Name) else set()


def _imported(tree: ast.Module, modules: Container[str]) -> set[str]:
    """What names of some modules, and of what is in them, are called in a file."""
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if _module_of(node, alias) in modules
    }


def _module_of(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    return ((node.module or "") if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]


def _defines(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)


def _functions(tree: ast.AST) -> Iterator[_Function]:
    """All functions that are not methods."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, _Function):
                    yield child


def _aliases(tree: ast.Module, definitions: Container[str]) -> dict[str, set[str]]:
    """For a name, those of whose objects it may be a part: `layer` of `base` in `for layer in base.layers`."""
    direct: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            targets, value = [node.target], node.iter
        else:
            continue
        origins = {name for name in _origins(value) if name not in definitions}
        for target in targets:
            for name in stored(target):
                direct.setdefault(name, set()).update(origins - {name})
    return {name: _reachable(name, direct) for name in direct}


def _origins(value: ast.expr) -> set[str]:
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred):
        return _origins(value.value)
    if isinstance(value, ast.Tuple | ast.List):
        return {name for part in value.elts for name in _origins(part)}
    if isinstance(value, ast.Call) and _called(value) in _PASSING:
        return {name for part in value.args for name in _origins(part)}
    if isinstance(value, ast.Call) and _called(value).startswith("get_") and isinstance(value.func, ast.Attribute):
        return _origins(value.func.value)
    return set()


def _reachable(name: str, direct: Mapping[str, set[str]]) -> set[str]:
    names: set[str] = set()
    queue = [name]
    while queue:
        new = direct.get(queue.pop(), set()) - names
        names |= new
        queue += new
    return names


def _executed(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes that run with a statement, without the bodies of what it only defines."""
    stack: list[ast.AST] = [statement]
    for node in stack:
        yield node
        if isinstance(node, Function):
            continue
        stack.extend(ast.iter_child_nodes(node))


def _arguments(call: ast.Call) -> set[str]:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    plain = [value.value if isinstance(value, ast.Starred) else value for value in values]
    return {argument.id for argument in plain if isinstance(argument, ast.Name)}


def _writes(call: ast.Call) -> bool:
    modes = [arg.value for arg in call.args[1:2] if isinstance(arg, ast.Constant)]
    is_opened = _called(call) == "open" and any(str(mode)[:1] in ("w", "a", "x") for mode in modes)
    return is_opened or _called(call) in _WRITING


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
