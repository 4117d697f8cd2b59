"""What the code means: the public face of the model, all that a rule may use.

A rule gets the `Model` of the file that is checked, and its analyses through it: `model.once(Pipelines)`. A name is
imported when it is first used, so that a rule costs what it uses.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflint_gpu.model.library.counterparts import COUNTERPARTS, RAISES, RAISES_EAGERLY, alternatives
    from tflint_gpu.model.library.datasets import (
        BATCH_NEUTRAL,
        BATCHING,
        DATASET_SUBSTRINGS,
        MAPPING_METHODS,
        SHUFFLING_LOADERS,
        TRANSFORMATIONS,
    )
    from tflint_gpu.model.library.devices import device_problem, parse_device
    from tflint_gpu.model.library.higher_order import TF_FUNCTIONS
    from tflint_gpu.model.library.keras_methods import (
        FORWARD_METHODS,
        TRACED_METHODS,
        UPDATES,
        WEIGHT_ATTRIBUTES,
        WEIGHTED,
    )
    from tflint_gpu.model.library.nondeterminism import CLOCKS, GENERATOR_DRAWS, GENERATORS
    from tflint_gpu.model.library.operations import OTHER_WORK, operation_named
    from tflint_gpu.model.library.precision import (
        CASTS,
        DOUBLE_SPELLINGS,
        DOUBLES,
        FLOATX_SETTERS,
        POLICIES,
        POLICY_SETTERS,
    )
    from tflint_gpu.model.library.tensor_functions import STATIC_ATTRIBUTES, returns_tensor
    from tflint_gpu.model.model import Analysis, Model, Once
    from tflint_gpu.model.networks.construction.steps import StepWorks
    from tflint_gpu.model.networks.construction.trainings import Trainings
    from tflint_gpu.model.networks.shapes.sizes import Estimate, as_bytes
    from tflint_gpu.model.networks.shapes.work import Work
    from tflint_gpu.model.python.execution.callers import EveryWay, RunSite, callers, loops_around, runs_once, ways
    from tflint_gpu.model.python.execution.handed_down import handed_down
    from tflint_gpu.model.python.execution.summaries import Summaries
    from tflint_gpu.model.python.execution.walks import Frame, Invocation
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.python.project.functions import Class, Function
    from tflint_gpu.model.python.project.mentions import Mention
    from tflint_gpu.model.python.project.project import Project
    from tflint_gpu.model.python.project.sources import Sources
    from tflint_gpu.model.python.refactoring.arguments import without_arguments
    from tflint_gpu.model.python.refactoring.free_names import free
    from tflint_gpu.model.python.refactoring.moves import (
        head,
        in_one_block,
        may_move_down,
        needed_before,
        needed_behind,
        reads_any,
        text_at,
    )
    from tflint_gpu.model.python.refactoring.outlines import (
        NotMovable,
        Outline,
        outline,
        outline_of_function,
        set_apart,
    )
    from tflint_gpu.model.python.refactoring.traced_calls import CallOutline, traced_definitions
    from tflint_gpu.model.python.syntax.children import children, names_in, spelling, walk
    from tflint_gpu.model.python.syntax.operators import operands
    from tflint_gpu.model.python.syntax.scopes import AttributeAssignment, Binding
    from tflint_gpu.model.python.syntax.syntax import (
        Expression,
        FunctionNode,
        LoopNode,
        Node,
        argument,
        asks_for_main,
        dict_values,
        displayed,
        dotted_name,
        iterable,
        method_name,
        method_place,
        own_attribute,
    )
    from tflint_gpu.model.python.value_flow.calls import Bound, Callee, arguments, filled, given_before
    from tflint_gpu.model.python.value_flow.computed import computed_from
    from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Constants
    from tflint_gpu.model.python.value_flow.inference import Inference
    from tflint_gpu.model.python.value_flow.origins import ELEMENT, Content, Context, Origin, Origins
    from tflint_gpu.model.tensorflow.effects.array_arguments import ArrayArguments
    from tflint_gpu.model.tensorflow.effects.blockers import Blocker
    from tflint_gpu.model.tensorflow.effects.created_state import Created, CreatedState
    from tflint_gpu.model.tensorflow.effects.frozen_values import FrozenValues, drawn_in_graph
    from tflint_gpu.model.tensorflow.effects.graph_draws import graph_draw
    from tflint_gpu.model.tensorflow.effects.graph_lists import GraphLists, Leak
    from tflint_gpu.model.tensorflow.effects.host_effects import HostEffects
    from tflint_gpu.model.tensorflow.effects.host_functions import GradientKind, HostFunctions, OnGradient
    from tflint_gpu.model.tensorflow.effects.host_values import HostValue, HostValues, ValueUse
    from tflint_gpu.model.tensorflow.effects.kept_values import KeptValues
    from tflint_gpu.model.tensorflow.effects.mapped_code import MappedCode, Misplaced, Misuse
    from tflint_gpu.model.tensorflow.effects.missing_kernels import MissingKernel, MissingKernels
    from tflint_gpu.model.tensorflow.effects.side_effects import EffectKind, SideEffect, SideEffects
    from tflint_gpu.model.tensorflow.effects.tensor_uses import TensorUses
    from tflint_gpu.model.tensorflow.execution.construction import Construction
    from tflint_gpu.model.tensorflow.execution.contexts import ExecutionContexts
    from tflint_gpu.model.tensorflow.execution.eager_loops import EagerLoops
    from tflint_gpu.model.tensorflow.execution.forward_passes import EagerForward, ForwardPasses, called_model
    from tflint_gpu.model.tensorflow.execution.function_objects import FunctionObjects, ShortLived
    from tflint_gpu.model.tensorflow.execution.histories import Event, Histories
    from tflint_gpu.model.tensorflow.execution.host_reads import HostReads, StepReads, is_conditional, times_steps
    from tflint_gpu.model.tensorflow.execution.invocations import Invocations
    from tflint_gpu.model.tensorflow.execution.program import FirstTraining, Program
    from tflint_gpu.model.tensorflow.execution.repetitions import Repetitions, innermost
    from tflint_gpu.model.tensorflow.execution.request_handlers import RequestHandlers
    from tflint_gpu.model.tensorflow.execution.traceability import Traceability
    from tflint_gpu.model.tensorflow.execution.traced_calls import TracedCalls
    from tflint_gpu.model.tensorflow.execution.training_steps import EagerStep, TrainingSteps
    from tflint_gpu.model.tensorflow.execution.unknown_ranks import UnknownRanks
    from tflint_gpu.model.tensorflow.loops.batches import Batches, LoopData
    from tflint_gpu.model.tensorflow.loops.block_bindings import body_of
    from tflint_gpu.model.tensorflow.loops.drawn_numbers import is_drawn
    from tflint_gpu.model.tensorflow.loops.iterations import CountedIterations, Iterations
    from tflint_gpu.model.tensorflow.loops.loop_flow import (
        FEW,
        FEW_IN_ALL,
        IterationFlow,
        changed_in,
        counter_of,
        elements_of,
        is_changed_in,
        is_occasional,
        names_of,
        outside,
    )
    from tflint_gpu.model.tensorflow.loops.loop_numbers import ChangingLoop, LoopNumbers
    from tflint_gpu.model.tensorflow.loops.python_arguments import PythonArguments
    from tflint_gpu.model.tensorflow.loops.rows import Rows
    from tflint_gpu.model.tensorflow.loops.shape_changes import ShapeChanges
    from tflint_gpu.model.tensorflow.loops.yielded_numbers import yields_numbers
    from tflint_gpu.model.tensorflow.runtime.keras_versions import is_keras_3
    from tflint_gpu.model.tensorflow.runtime.runtime import (
        GROWTH,
        INTER_THREADS,
        INTRA_THREADS,
        LOGICAL,
        VISIBLE,
        Initialiser,
        Runtime,
    )
    from tflint_gpu.model.tensorflow.runtime.strategies import ScopeSide, Strategies
    from tflint_gpu.model.tensorflow.runtime.tensorflow_1 import imports_tensorflow_1, is_for_tensorflow_1
    from tflint_gpu.model.tensorflow.runtime.visibility import Visibility, VisibleGpus
    from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
    from tflint_gpu.model.tensorflow.tf_data.consumers import Consumers, Consumption
    from tflint_gpu.model.tensorflow.tf_data.counts import counted_by
    from tflint_gpu.model.tensorflow.tf_data.keras_inputs import KerasInput, KerasInputs
    from tflint_gpu.model.tensorflow.tf_data.lengths import Lengths
    from tflint_gpu.model.tensorflow.tf_data.mapped_functions import SEQUENTIAL_UP_TO, MappedFunctions, State
    from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
    from tflint_gpu.model.tensorflow.tf_data.plain_code import (
        asks_outside,
        expression_tests,
        is_plain,
        statement_tests,
    )
    from tflint_gpu.model.tensorflow.tf_data.python_loops import PythonLoop, PythonLoops
    from tflint_gpu.model.tensorflow.tf_data.read_pipelines import ReadPipelines
    from tflint_gpu.model.tensorflow.tracing.keras_functions import KerasFunctions
    from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode, entry
    from tflint_gpu.model.tensorflow.tracing.traces import FUNCTIONAL_API, TRACING_SUBSTRINGS, Trace, TracedFunctions
    from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
    from tflint_gpu.model.tensorflow.tracing.xla_roots import XlaCompilations
    from tflint_gpu.model.tensorflow.training.compilations import Compilations
    from tflint_gpu.model.tensorflow.training.mixed_precision import MixedPrecision
    from tflint_gpu.model.tensorflow.training.training import Training
    from tflint_gpu.model.tensorflow.training.try_outs import TryOuts
    from tflint_gpu.model.tensorflow.types.guards import Guards
    from tflint_gpu.model.tensorflow.types.kinds import Kinds, is_of_other_framework, keras_kind
    from tflint_gpu.model.tensorflow.types.tapes import TAPES, taken
    from tflint_gpu.model.values.numpy_arrays import NumpyArray, NumpyArrays
    from tflint_gpu.model.values.shown import ShownType, types_in
    from tflint_gpu.model.values.value import TEXT, DatasetValue, LayerValue, SequenceValue, StructureValue, TensorValue
    from tflint_gpu.model.values.values import Values


def _exported() -> dict[str, str]:
    """The names that the imports above bind, and the modules that they come from."""
    block = Path(__file__).read_text("utf-8").partition("if TYPE_CHECKING:\n")[2].partition("\n\n")[0]
    statements = [statement.partition(" import ") for statement in block.split("from tflint_gpu.model.")[1:]]
    return {name: module for module, _, names in statements for name in names.replace(",", " ").strip("() \n").split()}


_MODULES = _exported()
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"tflint_gpu.model exports no {name!r}")
    exported = globals()[name] = getattr(import_module(f"tflint_gpu.model.{_MODULES[name]}"), name)
    return exported
