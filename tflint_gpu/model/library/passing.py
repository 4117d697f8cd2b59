"""What calls of libraries do with the functions and values that they are given."""

from __future__ import annotations

from collections.abc import Mapping

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.higher_order import RUNNING, RUNNING_METHODS, Handing


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
