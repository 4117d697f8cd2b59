"""TFG401 missing-memory-growth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import FirstTraining, Program, Runtime, method_name
from tflint_gpu.rule import Edit, Experiment, Finding, Fix, Note, Prediction, Rule, Workload, next_statement, wrap

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class MissingMemoryGrowth(Rule):
    """A training program reserves nearly all memory of every visible GPU.

    Why: when TensorFlow initialises a GPU it reserves nearly all of its memory, on every GPU it sees, whether the model
    needs it or not. A second process on the same GPU, for instance a notebook that runs during training, then finds
    none. Memory growth makes TensorFlow allocate memory as needed. It is an allocation policy: it adds no memory and
    does not keep a model from running out of memory. So this is advice for those who share a GPU. Processes started by
    `n_jobs` in joblib or scikit-learn share the GPU too: each reserves its memory, and settings made with `tf.config`
    in the program do not apply to them (measured with joblib 1.6). An environment variable applies to all:
    `TF_FORCE_GPU_ALLOW_GROWTH=true`.

    Reported:
    - the first location where a program trains or predicts; a check of several files reports one program for each
      project, and that finding names the other programs

    Not reported:
    - a program that sets up GPU memory or GPU visibility, itself or in a file of the project that it imports
    - libraries
    - modules whose `__main__` block only tries out the model that they define

    Measured: follows from TensorFlow's source (`GPUOptions.allow_growth` is off by default,
    tensorflow/python/eager/context.py); on an NVIDIA H200 a program held 141,418 MiB, and 590 MiB with memory growth.
    `tflint-gpu verify` measures it on your GPU.

    Fix: unsafe: it changes how memory is allocated, and other programs on the GPU may rely on that.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y)

    Use instead:
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y)
    """

    code = "TFG401"
    name = "missing-memory-growth"
    severity = "advice"
    least_tensorflow = (2, 0)
    nearby_substrings = (
        b".fit",
        b".predict",
        b".evaluate",
        b"apply_gradients",
        b"_on_batch",
        b".minimize(",
        b"assign_sub",
    )
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True
    once_a_project = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first place at which a program trains, when nothing sets up its GPUs."""
        if not model.once(Program).imports_tensorflow or model.once(Program).uses_tpu:
            return
        if model.once(Runtime).sets_memory():
            return
        first = model.once(Program).first_training
        if first is None or first.is_self_test:
            return
        yield Finding(
            model.file,
            first.place,
            "this program reserves nearly all memory of every visible GPU: no memory growth or limit is set",
            Prediction("memory", ("gpu",), basis="TensorFlow's default allocator, tensorflow/python/eager/context.py"),
            help="turn memory growth on before the first operation, if the GPU is shared; it adds no memory",
            fix=_fix(model, first),
            notes=() if first.file is model.file else (Note(first.file, first.node, "the training"),),
        )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The program up to its first training: what it holds on the GPU, as it is and with growth turned on."""
        call = model.file.call_at(finding.node)
        assert call is not None
        held = next_statement(model.file, model.file.tree.statement(call), "tflint_measure.reached(hold=2.0)")
        yield Experiment(
            model.file,
            call,
            probes=wrap(model.file, call.func, "fit") if method_name(call) == "fit" else (held,),
            opening_of_repair="tflint_measure.grow_memory()",
            requires="a GPU",
            unit="bytes",
            workload=_WORKLOAD,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        product = tf.linalg.matmul(tf.ones((256, 256)), tf.ones((256, 256)))
        tflint_measure.reached(hold=2.0)
    """,
    changes=(("import tensorflow as tf", "import tensorflow as tf\n\ntflint_measure.grow_memory()"),),
)


def _fix(model: Model, first: FirstTraining) -> Fix | None:
    """Insert the guarded loop where only the program runs it: in its main block, or else after the imports.

    What the module does before that block may initialise the GPUs: then the loop has to come before it.
    """
    last = model.file.imports.last
    tensorflow = model.file.imports.spelling("tf", last.body[-1]) if last is not None else None
    if last is None or tensorflow is None or not all(isinstance(s, cst.Import | cst.ImportFrom) for s in last.body):
        return None
    gpu = model.file.names.free("gpu", "physical_gpu")
    row = model.source.row(model.file.span(last)[1])
    main = first.main
    is_early = main is not None and model.once(Runtime).initialiser_before(model.file, main) is None
    if main is not None and is_early and isinstance(main.body, cst.IndentedBlock) and not tensorflow.statement:
        begin = main.body.body[0]
        indentation = model.file.indentation(begin)
        loop = f"{_loop(gpu, tensorflow.text, indentation)}{indentation}"
        return Fix("Turn memory growth on for every GPU", "unsafe", (Edit(begin, loop, "before"),))
    following = next(
        (s for s in model.file.tree.module.body if model.file.tree.order[s] > model.file.tree.order[last]), None
    )
    if following is not None and model.once(Runtime).initialiser_before(model.file, following) is not None:
        return None  # an import initialises the GPUs
    blank = "" if not model.source.line(row + 1).strip() else "\n"
    added = f"{tensorflow.statement}\n" if tensorflow.statement else ""
    loop = f"{added}\n{_loop(gpu, tensorflow.text)}{blank}"
    return Fix("Turn memory growth on for every GPU", "unsafe", (Edit(last, loop, "below"),))


def _loop(gpu: str, tensorflow: str, indentation: str = "") -> str:
    return (
        f'for {gpu} in {tensorflow}.config.list_physical_devices("GPU"):\n'
        f"{indentation}    {tensorflow}.config.experimental.set_memory_growth({gpu}, True)\n"
    )
