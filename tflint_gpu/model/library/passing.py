"""What calls of libraries do with the functions and values that they are given."""

from __future__ import annotations

from tflint_gpu.model.library.higher_order import RUNNING, RUNNING_METHODS
from tflint_gpu.model.python.value_flow.calls import Library

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
