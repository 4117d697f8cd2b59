"""Functions of libraries that run, wrap or hand on what they are given: which arguments, with what, and how often.

One row for all spellings of one way; `value_flow.runs` reads them. Processes are left out: what one leaves behind is
gone with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.spellings import spelled


@dataclass(frozen=True, slots=True)
class Handing:
    """How a function of a library runs the functions that it is given.

    Arguments:
        functions: which arguments they are, alone or in lists: the position and the keyword of each.
        passes: what they get: each "element" of the arguments behind them (`map`), an element "unpacked" (`starmap`) or
            one of the "first" argument (`sorted(xs, key=f)`), the "following" arguments as they are (`submit(f, x)`),
            those in a tuple ("args"), the object whose method runs them ("receiver"), "tensors" whatever they are, or
            something "unknown".
        args: the position and the keyword of the tuple.
        repeats: whether it runs them again and again.
        mode: whether they run as their caller does ("same": traced where it is traced), or whatever traces that, on the
            "host"; "traced": always under a trace.
    """

    functions: tuple[tuple[int, str], ...]
    passes: Literal["element", "unpacked", "first", "following", "args", "receiver", "tensors", "unknown"]
    args: tuple[int, str] = (1, "args")
    repeats: bool = False
    mode: Literal["same", "host", "traced"] = "same"


PYTHON_FUNCTIONS = spelled("tf.{py_function,numpy_function,py_func,compat.v1.py_func}")
"""They run the function they are given on the host, with real values."""

CONDITIONALS = spelled("tf.{,compat.v1.}cond keras.ops.cond")
BRANCHES = CONDITIONALS | {"tf.case", "tf.switch_case"}
"""They run one of the functions that they are given."""
ROW_MAPS = spelled("tf.{,compat.v1.}map_fn keras.backend.map_fn")
"""They run a function for each row of a tensor, one after the other or a few at once."""
_EACH = Handing(((0, "func"),), "element", repeats=True)
_UNPACKED = Handing(((0, "func"),), "unpacked", repeats=True)
_KEY = Handing(((-1, "key"),), "first", repeats=True)
_LATER = Handing(((0, "func"),), "following", mode="host")
_BODY = Handing(((0, "fn"),), "tensors", repeats=True)

_FUNCTIONS: tuple[tuple[str, Handing], ...] = (
    ("map filter itertools.takewhile itertools.dropwhile itertools.filterfalse", _EACH),
    ("itertools.starmap", _UNPACKED),
    ("functools.reduce", Handing(((0, "function"),), "unknown", repeats=True)),
    ("sorted min max heapq.nlargest heapq.nsmallest", _KEY),
    ("itertools.groupby", Handing(((1, "key"),), "first", repeats=True)),
    ("threading.Thread", Handing(((1, "target"),), "args", (3, "args"), mode="host")),
    ("threading.Timer", Handing(((1, "function"),), "args", (2, "args"), mode="host")),
    ("asyncio.to_thread", _LATER),
    (" ".join(sorted(PYTHON_FUNCTIONS)), Handing(((0, "func"),), "args", (1, "inp"), mode="host")),
    (" ".join(CONDITIONALS), Handing(((1, "true_fn"), (2, "false_fn")), "unknown")),
    ("tf.case", Handing(((0, "pred_fn_pairs"), (-1, "default")), "unknown")),
    ("tf.switch_case", Handing(((1, "branch_fns"), (-1, "default")), "unknown")),
    (
        "tf.while_loop tf.compat.v1.while_loop keras.ops.while_loop",
        Handing(((0, "cond"), (1, "body")), "tensors", repeats=True),
    ),
    ("tf.map_fn tf.scan tf.foldl tf.foldr", _BODY),
    ("tf.nn.experimental.rnn", Handing(((0, "cell"),), "tensors", repeats=True)),
    ("tf.vectorized_map", Handing(((0, "fn"),), "tensors", mode="traced")),
)
_POOLS = spelled(
    "concurrent.futures.{,thread.}ThreadPoolExecutor multiprocessing.pool.ThreadPool multiprocessing.dummy.Pool"
)
_METHODS: tuple[tuple[str, frozenset[str], Handing], ...] = (
    ("submit", _POOLS, _LATER),
    ("map imap imap_unordered map_async", _POOLS, Handing(((0, "func"),), "element", repeats=True, mode="host")),
    ("starmap starmap_async", _POOLS, Handing(((0, "func"),), "unpacked", repeats=True, mode="host")),
    ("apply_async", _POOLS, Handing(((0, "func"),), "args", mode="host")),
    ("run experimental_run_v2", frozenset(), Handing(((0, "fn"),), "args")),
    ("apply", frozenset(), Handing(((0, "transformation_func"),), "receiver")),
)

PROCESSES = spelled("multiprocessing.{,process.,context.}Process")
PROCESS_POOLS = spelled("multiprocessing.{,pool.}Pool concurrent.futures.{,process.}ProcessPoolExecutor")
"""What makes processes for functions; on Linux before Python 3.14 they are forks."""
POOL_METHODS = frozenset(name for names, makers, _ in _METHODS if makers for name in names.split()) | {"apply"}
"""Methods of pools, of threads or of processes, that run their first argument."""

RUNNING = {name: handing for names, handing in _FUNCTIONS for name in names.split()}
RUNNING_METHODS = {name: (makers, handing) for names, makers, handing in _METHODS for name in names.split()}
FOR_ELEMENTS = frozenset(
    name.rpartition(".")[2]
    for name, handing in (*RUNNING.items(), *((method, handing) for method, (_, handing) in RUNNING_METHODS.items()))
    if handing.passes in ("element", "unpacked", "first")
)
"""The last parts of the names of those that run a function for each element of something."""


@dataclass(frozen=True, slots=True)
class Library:
    """What is to be known of functions outside the project.

    Arguments:
        passing: their result is, or yields, what their first argument is or yields: `tqdm`, `random.sample`.
        choosing: their result is an element of their first argument: `random.choice`.
        wrapping: their result is called as their first argument is: `tf.function`.
        running: those that run functions which they are given, by their names; of builtins the bare ones.
        running_methods: the same of methods, by their last names: each with the functions that make the objects which
            have it; none: any object that is not one of the project's.
        running_words: the last parts of the names of both.
    """

    passing: frozenset[str]
    choosing: frozenset[str]
    wrapping: frozenset[str]
    running: Mapping[str, Handing]
    running_methods: Mapping[str, tuple[frozenset[str], Handing]]
    running_words: frozenset[str]


TF_FUNCTIONS = frozenset(["tf.function", "tf.contrib.eager.defun", "tf.compat.v1.wrap_function"])
PARTIAL = frozenset(["functools.partial", "partial"])
LIBRARY = Library(
    passing=frozenset(
        (
            "tqdm tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm tqdm.tqdm_notebook tqdm.std.tqdm rich.progress.track "
            "tqdm.autonotebook.tqdm tensorflow_datasets.as_numpy copy.copy copy.deepcopy "
            "progressbar.progressbar alive_progress.alive_it fastprogress.progress_bar "
            "random.sample random.choices itertools.islice itertools.cycle"
        ).split()
    ),
    choosing=frozenset(["random.choice"]),
    wrapping=TF_FUNCTIONS | PARTIAL | {"tf.autograph.experimental.do_not_convert", "tf.recompute_grad"},
    running=RUNNING,
    running_methods=RUNNING_METHODS,
    running_words=frozenset(name.rpartition(".")[2] for name in (*RUNNING, *RUNNING_METHODS)),
)
