"""TFG511 forked-runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Guards, Invocations, Kinds, Runtime, argument, method_name
from tflint_gpu.model.library.higher_order import POOL_METHODS, PROCESS_POOLS, PROCESSES
from tflint_gpu.model.library.keras_methods import BATCH_METHODS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_before, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Expression, Initialiser, Invocation, Model

# Any of these in a program may choose another way to start processes.
_STARTING = (b"set_start_method", b"get_context", b"mp_context", b"spawn", b"forkserver")


class ForkedRuntime(Rule):
    """A process that is forked after TensorFlow has started runs a Keras model: it hangs.

    Why: on Linux, before Python 3.14, `multiprocessing` and `ProcessPoolExecutor` fork. The child gets a copy of
    TensorFlow's runtime, but none of its threads, and `fit`, `evaluate` or `predict` waits for them forever. The
    runtime starts if a tensor, a dataset, an optimizer, a metric, a `Sequential` model with an Input or
    `list_logical_devices` comes before the fork. The import of TensorFlow and `list_physical_devices` do not start it.

    Reported:
    - a function that runs a Keras model in a process that is forked after the runtime started

    Not reported:
    - functions that use no Keras model
    - programs that set the start method of processes anywhere

    Measured: with TensorFlow 2.21 and 2.15 on a CPU `predict`, `fit` and `evaluate` in a forked process ended after
    `import tensorflow` and `list_physical_devices`, and hung after `tf.constant`; `predict` also after a dataset, a
    `Sequential` model with an Input and `list_logical_devices`. A test repeats it with the installed TensorFlow.

    Fix: none, because a process that is spawned instead of forked needs picklable arguments, and it imports the
    program's main module again, which needs an `if __name__ == "__main__":` guard.

    Example:
        import multiprocessing

        import tensorflow as tf


        def scored(path):
            model = tf.keras.models.load_model("scores.keras")
            return model.predict(read(path), verbose=0)


        if __name__ == "__main__":
            scale = tf.constant(2.0)
            with multiprocessing.Pool(4) as pool:
                scores = pool.map(scored, paths)

    Use instead:
        import multiprocessing

        import tensorflow as tf


        def scored(path):
            model = tf.keras.models.load_model("scores.keras")
            return model.predict(read(path), verbose=0)


        if __name__ == "__main__":
            scale = tf.constant(2.0)
            with multiprocessing.get_context("spawn").Pool(4) as pool:
                scores = pool.map(scored, paths)
    """

    code = "TFG511"
    name = "forked-runtime"
    severity = "error"
    least_tensorflow = (2, 0)
    required_substrings = ((b"Process", b"Pool"),)
    nearby_substrings = tuple(f".{method}(".encode() for method in BATCH_METHODS)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield what forks a process for a function that runs a model, where the runtime has always started."""
        if model.inference.project.program_mentions(model.source, _STARTING):
            return
        reported: set[cst.Call] = set()
        for call, given in _forked(model):
            before = model.once(Runtime).initialiser_before(model.file, call) if call not in reported else None
            run = _model_run(model, given) if before is not None else None
            if before is not None and run is not None:
                reported.add(call)
                yield _finding(model, call, before, run)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A model in a forked process, after an operation and before it."""
        yield Experiment(
            finding.file, finding.node, workload=_WORKLOAD, only_workload=True, exceptions=("TimeoutError",)
        )


_WORKLOAD = Workload(
    before="""
        import multiprocessing

        import tensorflow as tf

        def work():
            tf.keras.Sequential([tf.keras.layers.Dense(1)]).predict(tf.ones((8, 3)), verbose=0)

        tf.constant(1.0)
        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
        process.join(60)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError("the forked process hangs")
        tflint_measure.reached()
    """,
    changes=(("\ntf.constant(1.0)", ""),),
)


def _forked(model: Model) -> Iterator[tuple[cst.Call, Expression]]:
    """The calls that make a process, or several, and the functions that these run."""
    for call in model.calls(*sorted(PROCESSES)):
        if (target := argument(call, 1, "target")) is not None:
            yield call, target
    pools = set(model.calls(*sorted(PROCESS_POOLS)))
    for call in model.file.tree.calls if pools else ():
        if not call.args or not isinstance(call.func, cst.Attribute):
            continue
        if model.inference.is_method_of(model.file, call, POOL_METHODS, PROCESS_POOLS):
            for origin in model.inference.of(model.file, call.func.value):
                if origin.call in pools:
                    yield origin.call, call.args[0].value


def _model_run(model: Model, given: Expression) -> Invocation | None:
    """A call of a Keras model's `fit`, `evaluate` or `predict` that each run of a function comes to."""
    callees = model.inference.callables(model.file, given)
    if len(callees) != 1:
        return None
    guards = model.once(Guards)
    for run in model.once(Invocations).of_function(callees[0].function):
        func = run.call.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in BATCH_METHODS:
            continue
        if any(True for file, node in run.places for _ in guards.choices(file, node)):
            continue
        if model.once(Kinds).has_method(run.file, func, run.context) and not model.inference.callees(
            run.file, run.call, run.context
        ):
            return run
    return None


def _finding(model: Model, call: cst.Call, before: Initialiser, run: Invocation) -> Finding:
    return Finding(
        model.file,
        call,
        f"`{method_name(run.call)}` hangs in a process that is forked here (Linux, Python before 3.14): "
        f"{before.text} has started TensorFlow, and the forked process has none of its threads",
        Prediction(
            "crash", ("Linux", "Python < 3.14"), basis="it hangs; measured with TensorFlow 2.15 and 2.21 on a CPU"
        ),
        help='use the processes of `multiprocessing.get_context("spawn")`, or start them before TensorFlow is used',
        notes=(
            *notes_before(before, "the runtime is initialised here"),
            *notes_on(run.path),
            Note(run.file, run.call, "this runs in the forked process"),
        ),
    )
