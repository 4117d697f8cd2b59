"""Calls that read data from elsewhere, and what is put around them or in their place.

The functions that are put there live in `tflint_files`, `tflint_environment`, `tflint_modules` and `tflint_values`,
which are laid next to the program. They read what is there, and make up what is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.devices import TPU_SETUP
from tflint_gpu.model.library.files import OUTSIDE
from tflint_gpu.model.library.keras_datasets import KERAS_NUMBERS, KERAS_TEXTS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import argument, method_name

FILES, VALUES, ENVIRONMENT, ABSENT = "tflint_files", "tflint_values", "tflint_environment", "tflint_modules"
ARCHIVES, TABLES, NETWORKS = "tflint_archives", "tflint_tables", "tflint_networks"
MODULES = (FILES, ENVIRONMENT, VALUES, ABSENT, ARCHIVES, TABLES, NETWORKS)
RECORDERS = frozenset("wandb neptune comet_ml mlflow aim clearml sacred".split())
"""Modules that keep a record of experiments elsewhere, which verify's are none of."""

BARS = re.compile(r"\btqdm(?:\.notebook\b|_notebook\b)|\btnrange\b")

# What is put around the called function or method has the name of what it does.
_METHODS_AROUND = {
    "writing_to": ("save", "savefig"),
    "image_folder": ("flow_from_directory",),
    "reading_itself": ("read_text", "read_bytes"),
    "listing_itself": ("glob", "rglob"),
}
STARTS = re.compile(r"(?:^|[_-])(?:starts?|after|warm_?up)(?:$|_)")
"""Names of settings that say from when on an agent learns."""

_LOADS_WEIGHTS = re.compile(r"(?:load|restore|assign)_(?:\w+_)?(?:weights|params|parameters|checkpoint|npz)(?:_\w+)?")
_MODULE_OF = (
    (ARCHIVES, ("known_table",)),
    (TABLES, ("archive", "loading", "table")),
    (NETWORKS, ("loaded", "weights")),
    (ABSENT, ("left_out", "unshown", "refused")),
    (VALUES, "old_array decoded records parsed image_folder text_folder listing_itself".split()),
    (
        ENVIRONMENT,
        ("camera environment old_environment arguments flags old_optimizer fetched retrieved answered").split(),
    ),
)
# `x[5000:]`, `x[:-5000]`, `x.reshape(60000, 784)`, `data.skip(5000)`
_CUTS = re.compile(r"\[\s*-?(\d+)\s*:|:\s*-?(\d+)\s*\]|(?:\.(?:reshape|take|skip)|\brange)\(\s*\(?\s*(\d+)\b")
_LATE = 500
_READING_NOTHING = frozenset("writing writing_to refused unshown old_optimizer old_array decoded".split())
_BARE = {"open": "reading", "urlretrieve": "retrieved"}  # the second may be imported in two ways
_READERS = {name: wrapper for wrapper, names in OUTSIDE.items() for name in names.split()}
_RECORDERS = tuple(f"{gym}.wrappers.{name}" for gym in ("gym", "gymnasium") for name in ("Monitor", "RecordVideo"))
CATALOGUE = frozenset(
    (
        "mnist fashion_mnist kmnist emnist cifar10 cifar100 svhn_cropped stl10 celeb_a cats_vs_dogs tf_flowers "
        "oxford_flowers102 horses_or_humans rock_paper_scissors beans food101 malaria imdb_reviews imagenet2012 "
        "imagenette cycle_gan stanford_dogs caltech101 cassava citrus_leaves colorectal_histology deep_weeds eurosat "
        "patch_camelyon iris penguins coco voc"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Around:
    """A called function around which something is put.

    Arguments:
        call: whose function it is.
        function: of one of the modules.
    """

    call: cst.Call
    function: str

    @property
    def opening(self) -> str:
        """What stands before the called function."""
        module = next((module for module, functions in _MODULE_OF if self.function in functions), FILES)
        return f"{module}.{self.function}("

    @property
    def reads(self) -> bool:
        """Whether it answers where something is read, and so makes up what an address would give."""
        return self.function not in _READING_NOTHING


def read_elsewhere(file: File) -> Iterator[Around]:
    """The calls of a file that read what may not be here."""
    for name, function in _READERS.items():
        yield from (Around(call, function) for call in file.calls(name))
    bare = {**_BARE, **dict(_other_names(file))}
    for call in file.tree.calls:
        name = call.func.value if isinstance(call.func, cst.Name) else ""
        if name in bare and file.name(call.func) in (None, name):
            yield Around(call, bare[name])
    for function, methods in _METHODS_AROUND.items():
        for method in methods:
            for call in file.method_calls(method):
                if file.name(call.func) not in _READERS:
                    yield Around(call, function)
    pieces = list(file.calls("sentencepiece.SentencePieceProcessor"))
    for call in (*pieces, *(file.method_calls("load", "Load") if pieces else ())):
        if call.args and file.name(call.func) not in _READERS:
            yield Around(call, "reading")
    for call in file.tree.calls:  # of the project's own functions, one whose result is not used fills a model
        is_own = isinstance(file.tree.parents[call], cst.Expr) and _LOADS_WEIGHTS.fullmatch(_last_name(call.func))
        if is_own or method_name(call) == "load_weights":
            yield Around(call, "weights")
    for call in file.calls("keras.optimizers.*"):
        if any(arg.keyword is not None and arg.keyword.value in ("lr", "decay") for arg in call.args):
            yield Around(call, "old_optimizer")
    for call in file.calls("keras.applications.*"):
        if (file.name(call.func) or "").endswith(".decode_predictions"):
            yield Around(call, "decoded")
    for call in file.calls("numpy.array"):
        if len(call.args) == 1 and isinstance(call.args[0].value, cst.ListComp | cst.Subscript):
            yield Around(call, "old_array")  # rows of a text, which may be of unequal length
    is_old = any(_is_step_of_four(node) for node in file.tree.parents) or _takes_one_from_reset(file)
    for call in file.calls("gym.make", "gymnasium.make"):
        yield Around(call, "old_environment" if is_old else "environment")
    if any(_is_required_flag(file, call) or _may_be_asked_flag(file, call) for call in file.calls("absl.flags.*")):
        for call in file.calls("absl.app.run"):
            yield Around(call, "flags")
    if any(_must_be_given(call) or _may_be_asked(call) for call in file.method_calls("add_argument")):
        for call in file.method_calls("parse_args", "parse_known_args"):
            yield Around(call, "arguments")


def _other_names(file: File) -> Iterator[tuple[str, str]]:
    """The names that a file gives to functions which need no import: `builtin_open = open`."""
    for node in file.tree.parents:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=other))], value=cst.Name(value=name)):
                if name in _BARE:
                    yield other, _BARE[name]


def _last_name(called: cst.BaseExpression) -> str:
    called = called.attr if isinstance(called, cst.Attribute) else called
    return called.value if isinstance(called, cst.Name) else ""


def _is_step_of_four(node: cst.CSTNode) -> bool:
    """Whether a step of an environment is taken apart as gym did before 0.26: `state, reward, done, info`."""
    if not isinstance(node, cst.Assign) or not isinstance(node.value, cst.Call):
        return False
    target = node.targets[0].target
    return method_name(node.value) == "step" and isinstance(target, cst.Tuple) and len(target.elements) == 4


def _takes_one_from_reset(file: File) -> bool:
    """Whether what an environment's `reset` gives is taken as the observation itself: since gym 0.26 it is a pair."""
    for call in file.method_calls("reset"):
        parent = file.tree.parents[call]
        is_target_of_one = isinstance(parent, cst.Assign) and not isinstance(parent.targets[0].target, cst.Tuple)
        if is_target_of_one or isinstance(parent, cst.Arg | cst.ListComp):
            return True
    return False


def _is_required_flag(file: File, call: cst.Call) -> bool:
    """Whether a flag of absl must have a value by it, or may name a folder to write to."""
    if (text_of(argument(call, 0, "name")) or "").endswith(("dir", "folder")):
        return True
    if (file.name(call.func) or "").rpartition(".")[2].startswith(("mark_flag_as_", "mark_flags_as_")):
        return True
    return any(
        arg.keyword is not None and arg.keyword.value == "required" and file.code(arg.value) == "True"
        for arg in call.args
    )


def _may_be_asked_flag(file: File, call: cst.Call) -> bool:
    """Whether a flag of absl turns something on, or chooses among a few things or kinds."""
    kind = (file.name(call.func) or "").rpartition(".")[2]
    has_text = text_of(argument(call, 1, "default")) is not None
    return kind in ("DEFINE_bool", "DEFINE_boolean", "DEFINE_enum") or (kind == "DEFINE_string" and has_text)


def _must_be_given(call: cst.Call) -> bool:
    """Whether a program ends at once without this argument on its command line."""
    name = argument(call, 0, "name")
    required = argument(call, 9, "required")
    is_optional = argument(call, 9, "nargs") is not None
    is_positional = isinstance(name, cst.SimpleString) and not str(name.evaluated_value).startswith("-")
    return (is_positional and not is_optional) or (isinstance(required, cst.Name) and required.value == "True")


def _may_be_asked(call: cst.Call) -> bool:
    """Whether an argument turns something on, chooses among a few things, or says when something begins."""
    action, choices = argument(call, 9, "action"), argument(call, 9, "choices")
    is_switch = isinstance(action, cst.SimpleString) and action.evaluated_value == "store_true"
    return choices is not None or is_switch or any(STARTS.search(text_of(arg.value) or "") for arg in call.args)


def replaced_functions(file: File) -> Iterator[tuple[cst.Call, str]]:
    """The calls whose function is replaced, each with what it becomes: nothing of the library is needed for them."""
    for name in sorted(KERAS_TEXTS | KERAS_NUMBERS):
        for call in file.calls(f"keras.datasets.{name}.load_data"):
            yield call, f'{VALUES}.keras_numbers("{name}"{cut_of(file)})'
    for call in file.calls(*_RECORDERS):
        yield call, f"{ENVIRONMENT}.unrecorded"
    for name, stand_in in sorted(TPU_SETUP.items()):
        for call in file.calls(name):
            if not any(isinstance(parent, cst.Try) for parent in file.tree.ancestors(call)):  # else it says what to do
                yield call, f"{ENVIRONMENT}.{stand_in}"
    for name, stand_in in (("load", "catalogued"), ("builder", "builder")):
        calls = list(file.calls(f"tensorflow_datasets.{name}"))
        if any(_may_be_known(call) for call in calls):  # which is reached, and with which name, shows when it runs
            yield from ((call, f"{VALUES}.{stand_in}") for call in calls)


def cut_of(file: File) -> str:
    """The argument of what stands for a data set that says at which row the code takes data apart; none: nowhere."""
    row = last_row_of(file)
    return f", cut={row}" if row >= _LATE else ""


def last_row_of(file: File) -> int:
    """The last row at which the code takes data apart; 0 where it does not."""
    return max((int(n) for match in _CUTS.finditer(file.source.code) for n in match.groups() if n), default=0)


def _may_be_known(call: cst.Call) -> bool:
    """Whether a data set of the catalogue is asked for, or one whose name shows when the program runs."""
    name = text_of(argument(call, 0, "name"))
    return name is None or name.partition(":")[0].partition("/")[0].replace("_corrupted", "") in CATALOGUE


def text_of(node: cst.BaseExpression | None) -> str | None:
    """The text that a literal is; None for anything else."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else None
    return value if isinstance(value, str) else None
