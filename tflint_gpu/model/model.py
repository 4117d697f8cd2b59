"""The model of one file: the one object that rules ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tflint_gpu.model.parts import Part
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.library import Library
from tflint_gpu.model.tensorflow.tracing.tracing import TF_FUNCTIONS
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kinds

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model.networks.construction.embedded_arrays import EmbeddedArrays
    from tflint_gpu.model.networks.construction.trainings import Trainings
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.python.project.functions import Function
    from tflint_gpu.model.python.project.mentions import Mentions
    from tflint_gpu.model.python.project.project import Project
    from tflint_gpu.model.python.syntax.syntax import Expression, Node
    from tflint_gpu.model.python.value_flow.origins import Context
    from tflint_gpu.model.tensorflow.distributed_training import DistributedTraining
    from tflint_gpu.model.tensorflow.dtypes.mixed_precision import MixedPrecision
    from tflint_gpu.model.tensorflow.dtypes.precision import Precision
    from tflint_gpu.model.tensorflow.eager.eager_loops import EagerLoops
    from tflint_gpu.model.tensorflow.eager.forward_passes import ForwardPasses
    from tflint_gpu.model.tensorflow.eager.host_reads import HostReads
    from tflint_gpu.model.tensorflow.eager.traceability import Assumed, Traceability
    from tflint_gpu.model.tensorflow.eager.training_steps import TrainingSteps
    from tflint_gpu.model.tensorflow.eager_modes import EagerModes
    from tflint_gpu.model.tensorflow.effects.created_state import CreatedState
    from tflint_gpu.model.tensorflow.effects.frozen_values import FrozenValues
    from tflint_gpu.model.tensorflow.effects.graph_lists import GraphLists
    from tflint_gpu.model.tensorflow.effects.host_effects import HostEffects
    from tflint_gpu.model.tensorflow.effects.host_functions import HostFunctions
    from tflint_gpu.model.tensorflow.effects.host_values import HostValues
    from tflint_gpu.model.tensorflow.effects.mapped_code import MappedCode
    from tflint_gpu.model.tensorflow.effects.side_effects import SideEffects
    from tflint_gpu.model.tensorflow.fitted_models import FittedModels
    from tflint_gpu.model.tensorflow.frozen_globals import FrozenGlobals
    from tflint_gpu.model.tensorflow.generator_inputs import GeneratorInputs
    from tflint_gpu.model.tensorflow.growth import Growths
    from tflint_gpu.model.tensorflow.inference_steps import InferenceSteps
    from tflint_gpu.model.tensorflow.kept_results import KeptResults
    from tflint_gpu.model.tensorflow.loops.batches import LoopData
    from tflint_gpu.model.tensorflow.loops.function_objects import FunctionObjects
    from tflint_gpu.model.tensorflow.loops.loop_numbers import LoopNumbers
    from tflint_gpu.model.tensorflow.loops.repetitions import Repetitions
    from tflint_gpu.model.tensorflow.loss_scaling import LossScaling
    from tflint_gpu.model.tensorflow.preparations import Preparations
    from tflint_gpu.model.tensorflow.randomness import Randomness
    from tflint_gpu.model.tensorflow.recurrent import Recurrent
    from tflint_gpu.model.tensorflow.recursion import Recursions
    from tflint_gpu.model.tensorflow.retracing import Retracing
    from tflint_gpu.model.tensorflow.row_functions import RowFunctions
    from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
    from tflint_gpu.model.tensorflow.runtime.visibility import Visibility
    from tflint_gpu.model.tensorflow.samples import Samples
    from tflint_gpu.model.tensorflow.strategies import Strategies
    from tflint_gpu.model.tensorflow.tf_data.consumers import Consumers
    from tflint_gpu.model.tensorflow.tf_data.feeds import Feeds
    from tflint_gpu.model.tensorflow.tf_data.lengths import Lengths
    from tflint_gpu.model.tensorflow.tf_data.mapped_functions import MappedFunctions
    from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
    from tflint_gpu.model.tensorflow.tf_data.python_loops import PythonLoops
    from tflint_gpu.model.tensorflow.tf_data.read_pipelines import ReadPipelines
    from tflint_gpu.model.tensorflow.tracing.execution import Execution
    from tflint_gpu.model.tensorflow.tracing.keras_functions import KerasFunctions
    from tflint_gpu.model.tensorflow.tracing.traced_code import TracedCode
    from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
    from tflint_gpu.model.tensorflow.training.compilations import Compilations
    from tflint_gpu.model.tensorflow.training.program import Program
    from tflint_gpu.model.tensorflow.training.training import Training
    from tflint_gpu.model.tensorflow.types.model_classes import ModelClasses
    from tflint_gpu.model.tensorflow.types.rows import Rows
    from tflint_gpu.model.tensorflow.validations import Validations
    from tflint_gpu.model.tensorflow.weight_copies import WeightCopies
    from tflint_gpu.targets import Target
    from tflint_gpu.text.source import SourceFile

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
    wrapping=TF_FUNCTIONS | {"functools.partial", "partial", "tf.autograph.experimental.do_not_convert"},
)


class Model:
    """What one file means, seen as the program or module that is checked, with the files that it reaches.

    Each part is given what it asks, and is imported and built when first asked for: most files need few of them.

    Arguments:
        file: the file that is checked.
        project: finds and opens the others.
    """

    named: ClassVar[dict[str, str]] = {
        "File": "file",
        "Project": "project",
        "Target": "target",
        "Inference": "inference",
        "Constants": "constants",
        "Kinds": "kinds",
        "Guards": "guards",
    }

    mentions: Part[Mentions] = Part("python.project.mentions.Mentions")
    """Where the file names parts of libraries."""
    pipelines: Part[Pipelines] = Part("tensorflow.tf_data.pipelines.Pipelines")
    """tf.data chains."""
    lengths: Part[Lengths] = Part("tensorflow.tf_data.lengths.Lengths")
    """How many elements datasets have."""
    mapped_functions: Part[MappedFunctions] = Part("tensorflow.tf_data.mapped_functions.MappedFunctions")
    """What the functions do that datasets map."""
    python_loops: Part[PythonLoops] = Part("tensorflow.tf_data.python_loops.PythonLoops")
    """What datasets run in Python for every element."""
    read_pipelines: Part[ReadPipelines] = Part("tensorflow.tf_data.read_pipelines.ReadPipelines")
    """The pipelines whose speed counts."""
    tracing: Part[Tracing] = Part("tensorflow.tracing.tracing.Tracing")
    """Which functions run under `tf.function`."""
    keras_functions: Part[KerasFunctions] = Part("tensorflow.tracing.keras_functions.KerasFunctions")
    """Which functions Keras is given to trace."""
    execution: Part[Execution] = Part("tensorflow.tracing.execution.Execution")
    """Which functions TensorFlow traces, with which tensors."""
    traced_code: Part[TracedCode] = Part("tensorflow.tracing.traced_code.TracedCode")
    """What runs only while TensorFlow traces."""
    created_state: Part[CreatedState] = Part("tensorflow.effects.created_state.CreatedState")
    """What traced code creates that holds variables."""
    frozen_values: Part[FrozenValues] = Part("tensorflow.effects.frozen_values.FrozenValues")
    """What Python draws once where TensorFlow traces."""
    mapped_code: Part[MappedCode] = Part("tensorflow.effects.mapped_code.MappedCode")
    """What runs once, or raises, where tf.data traces."""
    embedded_arrays: Part[EmbeddedArrays] = Part("networks.construction.embedded_arrays.EmbeddedArrays")
    """Which arrays become constants of a graph."""
    host_effects: Part[HostEffects] = Part("tensorflow.effects.host_effects.HostEffects")
    """What functions do, or may do, on the host."""
    side_effects: Part[SideEffects] = Part("tensorflow.effects.side_effects.SideEffects")
    """What Python does beside its results while TensorFlow traces."""
    graph_lists: Part[GraphLists] = Part("tensorflow.effects.graph_lists.GraphLists")
    """Which lists a loop of the graph fills."""
    model_classes: Part[ModelClasses] = Part("tensorflow.types.model_classes.ModelClasses")
    """Of which classes models are made."""
    host_functions: Part[HostFunctions] = Part("tensorflow.effects.host_functions.HostFunctions")
    """Which Python functions traced code runs on the host."""
    host_values: Part[HostValues] = Part("tensorflow.effects.host_values.HostValues")
    """Where traced code asks tensors for their values."""
    training: Part[Training] = Part("tensorflow.training.training.Training")
    """Which code updates weights."""
    consumers: Part[Consumers] = Part("tensorflow.tf_data.consumers.Consumers")
    """Who consumes tf.data chains."""
    feeds: Part[Feeds] = Part("tensorflow.tf_data.feeds.Feeds")
    """Which Keras calls are fed by tf.data."""
    validations: Part[Validations] = Part("tensorflow.validations.Validations")
    """How calls of `fit` cut validation data into batches."""
    generator_inputs: Part[GeneratorInputs] = Part("tensorflow.generator_inputs.GeneratorInputs")
    """Which datasets read generators."""
    randomness: Part[Randomness] = Part("tensorflow.randomness.Randomness")
    """Which mapped functions draw random numbers."""
    samples: Part[Samples] = Part("tensorflow.samples.Samples")
    """Which datasets have single samples as elements."""
    runtime: Part[Runtime] = Part("tensorflow.runtime.runtime.Runtime")
    """When TensorFlow's runtime is initialised, and how the GPUs are set up."""
    loop_data: Part[LoopData] = Part("tensorflow.loops.batches.LoopData")
    """What loops get from data sets."""
    loops: Part[EagerLoops] = Part("tensorflow.eager.eager_loops.EagerLoops")
    """Loops, and what a turn of them runs eagerly."""
    eager_modes: Part[EagerModes] = Part("tensorflow.eager_modes.EagerModes")
    """Which switches make eager what TensorFlow would trace."""
    training_steps: Part[TrainingSteps] = Part("tensorflow.eager.training_steps.TrainingSteps")
    """Training steps that loops run."""
    forward_passes: Part[ForwardPasses] = Part("tensorflow.eager.forward_passes.ForwardPasses")
    """Models that loops over batches run."""
    inference_steps: Part[InferenceSteps] = Part("tensorflow.inference_steps.InferenceSteps")
    """Models that other loops run."""
    function_objects: Part[FunctionObjects] = Part("tensorflow.loops.function_objects.FunctionObjects")
    """How long `tf.function` objects live."""
    loop_numbers: Part[LoopNumbers] = Part("tensorflow.loops.loop_numbers.LoopNumbers")
    """Which Python numbers loops change."""
    retracing: Part[Retracing] = Part("tensorflow.retracing.Retracing")
    """Which calls of `tf.function` objects make them trace again."""
    repetitions: Part[Repetitions] = Part("tensorflow.loops.repetitions.Repetitions")
    """What loops do again and again."""
    growths: Part[Growths] = Part("tensorflow.growth.Growths")
    """Which tensors loops make longer turn by turn."""
    preparations: Part[Preparations] = Part("tensorflow.preparations.Preparations")
    """Which loops over elements run beside training."""
    fitted_models: Part[FittedModels] = Part("tensorflow.fitted_models.FittedModels")
    """Models that loops build, fit and drop."""
    weight_copies: Part[WeightCopies] = Part("tensorflow.weight_copies.WeightCopies")
    """Which training steps copy weights by way of the host."""
    host_reads: Part[HostReads] = Part("tensorflow.eager.host_reads.HostReads")
    """Which training loops read results on the host."""
    kept_results: Part[KeptResults] = Part("tensorflow.kept_results.KeptResults")
    """Which lists keep the tensors of every training step."""
    rows: Part[Rows] = Part("tensorflow.types.rows.Rows")
    """Which batches have one row."""
    row_functions: Part[RowFunctions] = Part("tensorflow.row_functions.RowFunctions")
    """Which functions are called for every row, and work on all rows."""
    precision: Part[Precision] = Part("tensorflow.dtypes.precision.Precision")
    """What computes in float64."""
    recurrent: Part[Recurrent] = Part("tensorflow.recurrent.Recurrent")
    """Which recurrent layers have no kernel of their own."""
    recursions: Part[Recursions] = Part("tensorflow.recursion.Recursions")
    """Which functions under `tf.function` call themselves."""
    frozen_globals: Part[FrozenGlobals] = Part("tensorflow.frozen_globals.FrozenGlobals")
    """Which globals a `tf.function` reads that change later."""
    trainings: Part[Trainings] = Part("networks.construction.trainings.Trainings")
    """What the trainings of networks hold in memory."""
    program: Part[Program] = Part("tensorflow.training.program.Program")
    """Whether the file is a program that is run, and where it trains."""
    compilations: Part[Compilations] = Part("tensorflow.training.compilations.Compilations")
    """Where models are compiled and trained."""
    mixed_precision: Part[MixedPrecision] = Part("tensorflow.dtypes.mixed_precision.MixedPrecision")
    """Where the mixed_float16 policy is in force."""
    strategies: Part[Strategies] = Part("tensorflow.strategies.Strategies")
    """What runs in the scopes of distribution strategies."""
    distributed_training: Part[DistributedTraining] = Part("tensorflow.distributed_training.DistributedTraining")
    """Which training under strategies has parts made outside of their scopes."""
    loss_scaling: Part[LossScaling] = Part("tensorflow.loss_scaling.LossScaling")
    """Which training steps under mixed_float16 do not scale their loss."""
    visibility: Part[Visibility] = Part("tensorflow.runtime.visibility.Visibility")
    """Which GPUs the program lets TensorFlow see."""

    def __init__(self, file: File, project: Project) -> None:
        self.file = file
        self.project = project
        self.inference = Inference(project, LIBRARY, file)
        self.constants = self.inference.constants
        self.kinds = Kinds(self.inference, self.constants)
        self.guards = Guards(self.inference)

    @classmethod
    def open(cls, source: SourceFile, project: Project) -> Model:
        """Parse a file that is to be checked.

        Raises:
            UnreadableSource: it does not parse.
        """
        return cls(project.open(source), project)

    def close(self) -> None:
        """Drop everything, so that it dies now: the parts know each other, and some the model, in circles."""
        vars(self.inference).clear()
        vars(self).clear()

    @property
    def source(self) -> SourceFile:
        """The file's text."""
        return self.file.source

    @property
    def target(self) -> Target:
        """The TensorFlow version that findings speak about."""
        return self.project.target

    def calls(self, *names: str) -> Iterator[cst.Call]:
        """All calls of functions by canonical name in the file; "numpy.*" means everything below numpy."""
        return self.file.calls(*names)

    def method_calls(self, *methods: str) -> Iterator[cst.Call]:
        """All calls `anything.method(...)` in the file, whatever the receiver is."""
        return self.file.method_calls(*methods)

    def reaches(self, marker: bytes) -> bool:
        """Whether a file of the project that this one's imports reach has some bytes."""
        return self.project.reached_mention(self.source, re.compile(re.escape(marker)))

    def name(self, expr: Node | None) -> str | None:
        """Canonical name of an expression of the file: "tf.function", "keras.layers.Dense", "numpy.sin"."""
        return self.file.name(expr)

    def value(self, expr: Expression | None, file: File | None = None, context: Context | None = None) -> Any:
        """The constant that an expression is, or `constants.UNKNOWN`; of this file, if no other is named."""
        return self.constants.of(file or self.file, expr, context)

    @cached_property
    def is_for_tensorflow_1(self) -> bool:
        """Whether the file is a program for TensorFlow 1, in graphs or not, or one that its API is meant in."""
        from tflint_gpu.model.tensorflow.runtime.tensorflow_1 import is_for_tensorflow_1

        return self.runtime.is_graph_program(self.file) or is_for_tensorflow_1(self.file, self.mentions, self.guards)

    @cached_property
    def imports_tensorflow_1(self) -> bool:
        """Whether the file works with one of the project that is for TensorFlow 1."""
        from tflint_gpu.model.tensorflow.runtime.tensorflow_1 import imports_tensorflow_1

        return imports_tensorflow_1(self.project, self.file)

    @cached_property
    def traceability(self) -> Traceability:
        """Which functions may be put under `tf.function` as they are."""
        from tflint_gpu.model.tensorflow.eager.traceability import Traceability

        return Traceability(
            self.file,
            self.inference,
            self.kinds,
            self.loop_data,
            self.loop_numbers,
            self.host_effects,
            self._if_traced,
            converts=self.target.keras < 3,
        )

    def _if_traced(self, function: Function) -> Assumed:
        """The file with one more function under `tf.function`."""
        from tflint_gpu.model.tensorflow.eager.traceability import Assumed
        from tflint_gpu.model.tensorflow.tracing.tracing import Tracing

        other = Model.__new__(Model)
        other.file, other.project = self.file, self.project
        other.inference, other.constants = self.inference, self.constants
        other.kinds, other.guards = self.kinds, self.guards
        vars(other)["tracing"] = Tracing(self.inference, self.kinds, frozenset([function.node]))
        return Assumed(
            other.execution,
            other.traced_code,
            other.side_effects,
            other.created_state,
            other.host_values,
            other.graph_lists,
            other.frozen_values,
        )
