"""The model of one file: the one object that rules ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tflint_gpu.model.python.constants import Constants
from tflint_gpu.model.python.inference import Inference
from tflint_gpu.model.python.library import Library
from tflint_gpu.model.tensorflow.guards import Guards
from tflint_gpu.model.tensorflow.kinds import Kinds
from tflint_gpu.model.tensorflow.tracing import TF_FUNCTIONS

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model.networks.embedded_arrays import EmbeddedArrays
    from tflint_gpu.model.networks.trainings import Trainings
    from tflint_gpu.model.python.file import File
    from tflint_gpu.model.python.functions import Function
    from tflint_gpu.model.python.mentions import Mentions
    from tflint_gpu.model.python.origins import Context
    from tflint_gpu.model.python.project import Project
    from tflint_gpu.model.python.syntax import Expression, Node
    from tflint_gpu.model.tensorflow.batches import LoopData
    from tflint_gpu.model.tensorflow.compilations import Compilations
    from tflint_gpu.model.tensorflow.consumers import Consumers
    from tflint_gpu.model.tensorflow.created_state import CreatedState
    from tflint_gpu.model.tensorflow.distributed_training import DistributedTraining
    from tflint_gpu.model.tensorflow.eager_loops import EagerLoops
    from tflint_gpu.model.tensorflow.eager_modes import EagerModes
    from tflint_gpu.model.tensorflow.execution import Execution
    from tflint_gpu.model.tensorflow.feeds import Feeds
    from tflint_gpu.model.tensorflow.fitted_models import FittedModels
    from tflint_gpu.model.tensorflow.forward_passes import ForwardPasses
    from tflint_gpu.model.tensorflow.frozen_globals import FrozenGlobals
    from tflint_gpu.model.tensorflow.frozen_values import FrozenValues
    from tflint_gpu.model.tensorflow.function_objects import FunctionObjects
    from tflint_gpu.model.tensorflow.generator_inputs import GeneratorInputs
    from tflint_gpu.model.tensorflow.graph_lists import GraphLists
    from tflint_gpu.model.tensorflow.growth import Growths
    from tflint_gpu.model.tensorflow.host_functions import HostFunctions
    from tflint_gpu.model.tensorflow.host_reads import HostReads
    from tflint_gpu.model.tensorflow.host_values import HostValues
    from tflint_gpu.model.tensorflow.inference_steps import InferenceSteps
    from tflint_gpu.model.tensorflow.kept_results import KeptResults
    from tflint_gpu.model.tensorflow.lengths import Lengths
    from tflint_gpu.model.tensorflow.loop_numbers import LoopNumbers
    from tflint_gpu.model.tensorflow.loss_scaling import LossScaling
    from tflint_gpu.model.tensorflow.mapped_code import MappedCode
    from tflint_gpu.model.tensorflow.mapped_functions import MappedFunctions
    from tflint_gpu.model.tensorflow.mixed_precision import MixedPrecision
    from tflint_gpu.model.tensorflow.model_classes import ModelClasses
    from tflint_gpu.model.tensorflow.pipelines import Pipelines
    from tflint_gpu.model.tensorflow.precision import Precision
    from tflint_gpu.model.tensorflow.preparations import Preparations
    from tflint_gpu.model.tensorflow.program import Program
    from tflint_gpu.model.tensorflow.python_loops import PythonLoops
    from tflint_gpu.model.tensorflow.randomness import Randomness
    from tflint_gpu.model.tensorflow.read_pipelines import ReadPipelines
    from tflint_gpu.model.tensorflow.recurrent import Recurrent
    from tflint_gpu.model.tensorflow.recursion import Recursions
    from tflint_gpu.model.tensorflow.repetitions import Repetitions
    from tflint_gpu.model.tensorflow.retracing import Retracing
    from tflint_gpu.model.tensorflow.row_functions import RowFunctions
    from tflint_gpu.model.tensorflow.rows import Rows
    from tflint_gpu.model.tensorflow.runtime import Runtime
    from tflint_gpu.model.tensorflow.samples import Samples
    from tflint_gpu.model.tensorflow.side_effects import SideEffects
    from tflint_gpu.model.tensorflow.traceability import Assumed, Traceability
    from tflint_gpu.model.tensorflow.traced_code import TracedCode
    from tflint_gpu.model.tensorflow.tracing import Tracing
    from tflint_gpu.model.tensorflow.training import Training
    from tflint_gpu.model.tensorflow.training_steps import TrainingSteps
    from tflint_gpu.model.tensorflow.validations import Validations
    from tflint_gpu.model.tensorflow.visibility import Visibility
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

    def __init__(self, file: File, project: Project) -> None:
        self.file = file
        self.project = project
        self.inference = Inference(project, LIBRARY, file)
        self.constants = Constants(self.inference)
        self.kinds = Kinds(self.inference, self.constants)
        self.guards = Guards(self.inference)

    @classmethod
    def open(cls, source: SourceFile, project: Project) -> Model:
        """Parse a file that is to be checked.

        Raises:
            UnreadableSource: it does not parse.
        """
        return cls(project.open(source), project)

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
    def mentions(self) -> Mentions:
        """Where the file names parts of libraries."""
        from tflint_gpu.model.python.mentions import Mentions

        return Mentions(self.file)

    @cached_property
    def is_for_tensorflow_1(self) -> bool:
        """Whether the file is a program for TensorFlow 1, in graphs or not, or one that its API is meant in."""
        from tflint_gpu.model.tensorflow.tensorflow_1 import is_for_tensorflow_1

        return self.runtime.is_graph_program(self.file) or is_for_tensorflow_1(self.file, self.mentions, self.guards)

    @cached_property
    def imports_tensorflow_1(self) -> bool:
        """Whether the file works with one of the project that is for TensorFlow 1."""
        from tflint_gpu.model.tensorflow.tensorflow_1 import imports_tensorflow_1

        return imports_tensorflow_1(self.project, self.file)

    @cached_property
    def pipelines(self) -> Pipelines:
        """tf.data chains."""
        from tflint_gpu.model.tensorflow.pipelines import Pipelines

        return Pipelines(self.inference, self.constants, self.kinds)

    @cached_property
    def lengths(self) -> Lengths:
        """How many elements datasets have."""
        from tflint_gpu.model.tensorflow.lengths import Lengths

        return Lengths(self.inference, self.constants)

    @cached_property
    def mapped_functions(self) -> MappedFunctions:
        """What the functions do that datasets map."""
        from tflint_gpu.model.tensorflow.mapped_functions import MappedFunctions

        return MappedFunctions(self.inference, self.constants, self.guards)

    @cached_property
    def python_loops(self) -> PythonLoops:
        """What datasets run in Python for every element."""
        from tflint_gpu.model.tensorflow.python_loops import PythonLoops

        return PythonLoops(self.inference, self.constants, self.mapped_functions)

    @cached_property
    def read_pipelines(self) -> ReadPipelines:
        """The pipelines whose speed counts."""
        from tflint_gpu.model.tensorflow.read_pipelines import ReadPipelines

        return ReadPipelines(self.file, self.inference, self.pipelines, self.consumers, self.lengths)

    @cached_property
    def tracing(self) -> Tracing:
        """Which functions run under `tf.function`."""
        from tflint_gpu.model.tensorflow.tracing import Tracing

        return Tracing(self.inference, self.kinds)

    @cached_property
    def execution(self) -> Execution:
        """Which functions TensorFlow traces, with which tensors."""
        from tflint_gpu.model.tensorflow.execution import Execution

        return Execution(self.file, self.inference, self.constants, self.kinds, self.guards, self.tracing)

    @cached_property
    def traced_code(self) -> TracedCode:
        """What runs only while TensorFlow traces."""
        from tflint_gpu.model.tensorflow.traced_code import TracedCode

        return TracedCode(self.file, self.inference, self.constants, self.kinds, self.guards, self.execution)

    @cached_property
    def created_state(self) -> CreatedState:
        """What traced code creates that holds variables."""
        from tflint_gpu.model.tensorflow.created_state import CreatedState

        return CreatedState(self.file, self.inference, self.constants, self.kinds, self.traced_code, self.target)

    @cached_property
    def frozen_values(self) -> FrozenValues:
        """What Python draws once where TensorFlow traces."""
        from tflint_gpu.model.tensorflow.frozen_values import FrozenValues

        return FrozenValues(self.inference)

    @cached_property
    def mapped_code(self) -> MappedCode:
        """What runs once, or raises, where tf.data traces."""
        from tflint_gpu.model.tensorflow.mapped_code import MappedCode

        return MappedCode(
            self.file,
            self.inference,
            self.kinds,
            self.guards,
            self.pipelines,
            self.execution,
            self.traced_code,
            self.frozen_values,
            self.runtime,
        )

    @cached_property
    def embedded_arrays(self) -> EmbeddedArrays:
        """Which arrays become constants of a graph."""
        from tflint_gpu.model.networks.embedded_arrays import EmbeddedArrays

        return EmbeddedArrays(self.inference, self.constants, self.kinds, self.traced_code, self.mapped_code)

    @cached_property
    def side_effects(self) -> SideEffects:
        """What Python does beside its results while TensorFlow traces."""
        from tflint_gpu.model.tensorflow.side_effects import SideEffects

        return SideEffects(self.file, self.inference, self.traced_code)

    @cached_property
    def graph_lists(self) -> GraphLists:
        """Which lists a loop of the graph fills."""
        from tflint_gpu.model.tensorflow.graph_lists import GraphLists

        return GraphLists(self.file, self.inference, self.tracing, self.traced_code)

    @cached_property
    def model_classes(self) -> ModelClasses:
        """Of which classes models are made."""
        from tflint_gpu.model.tensorflow.model_classes import ModelClasses

        return ModelClasses(self.file, self.inference, self.kinds)

    @cached_property
    def host_functions(self) -> HostFunctions:
        """Which Python functions traced code runs on the host."""
        from tflint_gpu.model.tensorflow.host_functions import HostFunctions

        return HostFunctions(
            self.file,
            self.inference,
            self.constants,
            self.kinds,
            self.guards,
            self.tracing,
            self.traced_code,
            self.model_classes,
        )

    @cached_property
    def host_values(self) -> HostValues:
        """Where traced code asks tensors for their values."""
        from tflint_gpu.model.tensorflow.host_values import HostValues

        return HostValues(self.file, self.inference, self.tracing, self.traced_code, self.model_classes)

    @cached_property
    def training(self) -> Training:
        """Which code updates weights."""
        from tflint_gpu.model.tensorflow.training import Training

        return Training(self.inference, self.kinds)

    @cached_property
    def consumers(self) -> Consumers:
        """Who consumes tf.data chains."""
        from tflint_gpu.model.tensorflow.consumers import Consumers

        return Consumers(self.file, self.inference, self.constants, self.pipelines, self.training)

    @cached_property
    def feeds(self) -> Feeds:
        """Which Keras calls are fed by tf.data."""
        from tflint_gpu.model.tensorflow.feeds import Feeds

        return Feeds(self.inference, self.constants, self.kinds, self.pipelines, self.consumers)

    @cached_property
    def validations(self) -> Validations:
        """How calls of `fit` cut validation data into batches."""
        from tflint_gpu.model.tensorflow.validations import Validations

        return Validations(self.file, self.inference, self.constants, self.kinds, self.pipelines)

    @cached_property
    def generator_inputs(self) -> GeneratorInputs:
        """Which datasets read generators."""
        from tflint_gpu.model.tensorflow.generator_inputs import GeneratorInputs

        return GeneratorInputs(self.file, self.inference, self.constants, self.consumers, self.lengths)

    @cached_property
    def randomness(self) -> Randomness:
        """Which mapped functions draw random numbers."""
        from tflint_gpu.model.tensorflow.randomness import Randomness

        return Randomness(self.inference, self.constants)

    @cached_property
    def samples(self) -> Samples:
        """Which datasets have single samples as elements."""
        from tflint_gpu.model.tensorflow.samples import Samples

        return Samples(self.inference, self.constants)

    @cached_property
    def runtime(self) -> Runtime:
        """When TensorFlow's runtime is initialised, and how the GPUs are set up."""
        from tflint_gpu.model.tensorflow.runtime import Runtime

        return Runtime(self.inference, self.constants, self.guards)

    @cached_property
    def loop_data(self) -> LoopData:
        """What loops get from data sets."""
        from tflint_gpu.model.tensorflow.batches import LoopData

        return LoopData(self.inference, self.constants, self.pipelines)

    @cached_property
    def loops(self) -> EagerLoops:
        """Loops, and what a turn of them runs eagerly."""
        from tflint_gpu.model.tensorflow.eager_loops import EagerLoops

        return EagerLoops(
            self.file, self.inference, self.guards, self.tracing, self.training, self.runtime, self.loop_data
        )

    @cached_property
    def eager_modes(self) -> EagerModes:
        """Which switches make eager what TensorFlow would trace."""
        from tflint_gpu.model.tensorflow.eager_modes import EagerModes

        return EagerModes(self.file, self.inference, self.constants, self.kinds, self.guards, self.repetitions)

    @cached_property
    def training_steps(self) -> TrainingSteps:
        """Training steps that loops run."""
        from tflint_gpu.model.tensorflow.training_steps import TrainingSteps

        return TrainingSteps(self.inference, self.tracing, self.loops, self.loop_data)

    @cached_property
    def traceability(self) -> Traceability:
        """Which functions may be put under `tf.function` as they are."""
        from tflint_gpu.model.tensorflow.host_effects import HostEffects
        from tflint_gpu.model.tensorflow.traceability import Traceability

        return Traceability(
            self.file,
            self.inference,
            self.kinds,
            self.loop_data,
            self.loop_numbers,
            HostEffects(self.inference, self.kinds),
            self._if_traced,
            converts=self.target.keras < 3,
        )

    def _if_traced(self, function: Function) -> Assumed:
        """The file with one more function under `tf.function`."""
        from tflint_gpu.model.tensorflow.traceability import Assumed
        from tflint_gpu.model.tensorflow.tracing import Tracing

        other = Model(self.file, self.project)
        other.inference, other.constants = self.inference, self.constants
        other.kinds, other.guards = self.kinds, self.guards
        other.tracing = Tracing(self.inference, self.kinds, frozenset([function.node]))
        return Assumed(
            other.execution,
            other.traced_code,
            other.side_effects,
            other.created_state,
            other.host_values,
            other.graph_lists,
            other.frozen_values,
        )

    @cached_property
    def forward_passes(self) -> ForwardPasses:
        """Models that loops over batches run."""
        from tflint_gpu.model.tensorflow.forward_passes import ForwardPasses

        return ForwardPasses(
            self.inference,
            self.constants,
            self.kinds,
            self.tracing,
            self.training,
            self.runtime,
            self.loops,
            self.training_steps,
            self.loop_data,
            self.rows,
        )

    @cached_property
    def inference_steps(self) -> InferenceSteps:
        """Models that other loops run."""
        from tflint_gpu.model.tensorflow.inference_steps import InferenceSteps

        return InferenceSteps(
            self.inference,
            self.kinds,
            self.training,
            self.loops,
            self.loop_data,
            self.forward_passes,
            self.repetitions,
            self.loop_numbers,
            self.traced_code,
        )

    @cached_property
    def function_objects(self) -> FunctionObjects:
        """How long `tf.function` objects live."""
        from tflint_gpu.model.tensorflow.function_objects import FunctionObjects

        return FunctionObjects(self.file, self.inference, self.kinds, self.tracing, self.loop_data)

    @cached_property
    def loop_numbers(self) -> LoopNumbers:
        """Which Python numbers loops change."""
        from tflint_gpu.model.tensorflow.loop_numbers import LoopNumbers

        return LoopNumbers(self.inference, self.constants, self.loop_data)

    @cached_property
    def retracing(self) -> Retracing:
        """Which calls of `tf.function` objects make them trace again."""
        from tflint_gpu.model.tensorflow.retracing import Retracing

        return Retracing(self.file, self.inference, self.kinds, self.tracing, self.function_objects, self.loop_numbers)

    @cached_property
    def repetitions(self) -> Repetitions:
        """What loops do again and again."""
        from tflint_gpu.model.tensorflow.repetitions import Repetitions

        return Repetitions(self.file, self.inference, self.loop_data)

    @cached_property
    def growths(self) -> Growths:
        """Which tensors loops make longer turn by turn."""
        from tflint_gpu.model.tensorflow.growth import Growths

        return Growths(
            self.file, self.inference, self.kinds, self.execution, self.loops, self.repetitions, self.loop_data
        )

    @cached_property
    def preparations(self) -> Preparations:
        """Which loops over elements run beside training."""
        from tflint_gpu.model.tensorflow.preparations import Preparations

        return Preparations(self.file, self.inference, self.training, self.loops, self.repetitions, self.loop_data)

    @cached_property
    def fitted_models(self) -> FittedModels:
        """Models that loops build, fit and drop."""
        from tflint_gpu.model.tensorflow.fitted_models import FittedModels

        return FittedModels(self.inference, self.constants, self.kinds, self.loop_data, self.repetitions)

    @cached_property
    def weight_copies(self) -> WeightCopies:
        """Which training steps copy weights by way of the host."""
        from tflint_gpu.model.tensorflow.weight_copies import WeightCopies

        return WeightCopies(self.inference, self.kinds, self.training, self.repetitions)

    @cached_property
    def host_reads(self) -> HostReads:
        """Which training loops read results on the host."""
        from tflint_gpu.model.tensorflow.host_reads import HostReads

        return HostReads(self.file, self.inference, self.kinds, self.training, self.tracing, self.loop_data)

    @cached_property
    def kept_results(self) -> KeptResults:
        """Which lists keep the tensors of every training step."""
        from tflint_gpu.model.tensorflow.kept_results import KeptResults

        return KeptResults(self.file, self.inference, self.training, self.host_reads, self.loop_data)

    @cached_property
    def rows(self) -> Rows:
        """Which batches have one row."""
        from tflint_gpu.model.tensorflow.rows import Rows

        return Rows(self.inference, self.constants)

    @cached_property
    def row_functions(self) -> RowFunctions:
        """Which functions are called for every row, and work on all rows."""
        from tflint_gpu.model.tensorflow.row_functions import RowFunctions

        return RowFunctions(self.file, self.inference, self.constants)

    @cached_property
    def precision(self) -> Precision:
        """What computes in float64."""
        from tflint_gpu.model.tensorflow.precision import Precision

        return Precision(self.file, self.inference, self.constants, self.kinds, self.guards, self.execution)

    @cached_property
    def recurrent(self) -> Recurrent:
        """Which recurrent layers have no kernel of their own."""
        from tflint_gpu.model.tensorflow.recurrent import Recurrent

        return Recurrent(self.file, self.inference, self.constants, self.target)

    @cached_property
    def recursions(self) -> Recursions:
        """Which functions under `tf.function` call themselves."""
        from tflint_gpu.model.tensorflow.recursion import Recursions

        return Recursions(self.file, self.inference, self.tracing)

    @cached_property
    def frozen_globals(self) -> FrozenGlobals:
        """Which globals a `tf.function` reads that change later."""
        from tflint_gpu.model.tensorflow.frozen_globals import FrozenGlobals

        return FrozenGlobals(self.file, self.inference, self.traced_code)

    @cached_property
    def trainings(self) -> Trainings:
        """What the trainings of networks hold in memory."""
        from tflint_gpu.model.networks.trainings import Trainings

        return Trainings(self.file, self.inference, self.pipelines)

    @cached_property
    def program(self) -> Program:
        """Whether the file is a program that is run, and where it trains."""
        from tflint_gpu.model.tensorflow.program import Program

        return Program(self.file, self.inference, self.kinds, self.training, self.runtime)

    @cached_property
    def distributed_training(self) -> DistributedTraining:
        """Which training under strategies has parts made outside of their scopes."""
        from tflint_gpu.model.tensorflow.distributed_training import DistributedTraining
        from tflint_gpu.model.tensorflow.strategies import Strategies

        return DistributedTraining(
            self.inference, self.constants, self.kinds, Strategies(self.inference), self.compilations
        )

    @cached_property
    def compilations(self) -> Compilations:
        """Where models are compiled and trained."""
        from tflint_gpu.model.tensorflow.compilations import Compilations

        return Compilations(self.inference, self.kinds)

    @cached_property
    def mixed_precision(self) -> MixedPrecision:
        """Where the mixed_float16 policy is in force."""
        from tflint_gpu.model.tensorflow.mixed_precision import MixedPrecision

        return MixedPrecision(self.inference, self.constants, self.guards, self.compilations)

    @cached_property
    def loss_scaling(self) -> LossScaling:
        """Which training steps under mixed_float16 do not scale their loss."""
        from tflint_gpu.model.tensorflow.loss_scaling import LossScaling

        return LossScaling(self.inference, self.kinds, self.mixed_precision, self.compilations)

    @cached_property
    def visibility(self) -> Visibility:
        """Which GPUs the program lets TensorFlow see."""
        from tflint_gpu.model.tensorflow.visibility import Visibility

        return Visibility(self.file, self.constants, self.guards, self.runtime)
