"""Classes of TensorFlow and Keras, and what makes their objects. Names are canonical (`names.canonical`)."""

from __future__ import annotations

from typing import Literal

from tflint_gpu.model.library.spellings import spelled

KerasKind = Literal["layer", "model", "metric", "loss"]

SEQUENTIAL = spelled("keras.{,models.}Sequential")
FUNCTIONAL = spelled("keras.{,models.}Model")
"""What makes a model of its inputs and outputs, or is the base of a model's class."""
MODEL_CLASSES = SEQUENTIAL | FUNCTIONAL
MODEL_LOADERS = spelled("keras.{models,saving}.load_model")
BUILT_COPIES = MODEL_LOADERS | {"keras.models.clone_model"}
"""Functions that give a model which has its weights already."""
MODELS = spelled("keras.models.model_from_{json,config,yaml} keras.{,models.}{Model,Sequential}.from_config").union(
    MODEL_CLASSES, BUILT_COPIES
)
"""What makes a model."""
INPUTS = spelled("keras.{,layers.}Input")
INPUT_LAYERS = INPUTS | spelled("keras.{,layers.}InputLayer")
"""The first layers of models, which say what these take; so do the arguments of others."""
INPUT_SHAPES = frozenset("input_shape input_dim batch_input_shape".split())

KERAS_BASES: dict[str, KerasKind] = {
    **dict.fromkeys(MODEL_CLASSES, "model"),
    **dict.fromkeys(spelled("keras.{,layers.}Layer"), "layer"),
    **dict.fromkeys(spelled("keras.{,metrics.}Metric"), "metric"),
    **dict.fromkeys(spelled("keras.{,losses.}Loss"), "loss"),
}
KERAS_FOLDERS: tuple[tuple[str, KerasKind], ...] = (
    ("keras.layers.", "layer"),
    ("keras.metrics.", "metric"),
    ("keras.losses.", "loss"),
)
SEQUENCES = spelled(
    "keras.utils.{,data_utils.}Sequence keras.utils.PyDataset keras.preprocessing.sequence.TimeseriesGenerator"
)
"""What gives Keras batches by their index."""
OPTIMIZERS = spelled("keras.{,optimizers.}Optimizer")
LOSS_SCALING = spelled("keras.{mixed_precision,optimizers,mixed_precision.experimental}.LossScaleOptimizer")
SAVED_MODELS = spelled("tf.{,compat.v1.}saved_model.load")
LOADED = SAVED_MODELS | spelled("tensorflow_hub.{load,KerasLayer}")
"""What makes objects with the traced functions that somebody saved."""
RUNTIMES = SAVED_MODELS | spelled(
    """
    tf.lite.{,python.interpreter.}Interpreter {tflite_runtime,ai_edge_litert}.interpreter.Interpreter MNN.Interpreter
    onnxruntime.InferenceSession tf.compat.v1.Session tf.{,compat.v1.}Graph
    """
)
"""What runs an exported model and has no method of a Keras model's name for it.

tf.lite.Interpreter has `invoke`, onnxruntime's session `run`, MNN's interpreter `runSession`.
"""
TENSORS = frozenset(["tf.Tensor", "tf.types.experimental.TensorLike"])
VARIABLES = spelled("{tf,keras}.Variable keras.backend.variable")
