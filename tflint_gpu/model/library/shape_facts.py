"""Facts about shapes: which functions set the shape of their result, and which take it from data."""

from __future__ import annotations

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.library.spellings import spelled
from tflint_gpu.model.library.tensor_functions import ARRAY_METHODS, REDUCING_METHODS

_OTHER_SIZES = {
    "random.sample": Parameter("k", 1),
    "random.choices": Parameter("k", -1),
    "cv2.resize": Parameter("dsize", 1),
    "skimage.transform.resize": Parameter("output_shape", 1),
}
SAMPLEWISE = ("tf.math.", "tf.strings.", "tf.io.decode_raw")
"""Functions whose result has a first axis only where their argument has one."""
TAKING_SIZES = spelled("tf.{range,zeros,ones,reshape,fill,tile,one_hot,image.resize}")
"""What takes whole numbers."""
RESIZING = regex(r"resiz|resampl|rescale|crop|pad|thumbnail|letterbox|preprocess(?!_input)")
"""Words in the names of functions of the project, or of others, that bring images or sequences to one size."""
GRAPHS = ("spektral.data.", "spektral.data.loaders.", "tensorflow_gnn.", "deepgraph.", "dgl.")
"""Libraries whose loaders give graphs, each batch with another number of nodes."""
OF_ARRAYS = ARRAY_METHODS - {"reshape"} | REDUCING_METHODS | {"numpy", "swapaxes", "cumsum", "repeat"}
"""Methods of arrays whose result has a shape that follows from the array's."""
TOKENIZING = frozenset(["texts_to_sequences", "texts_to_matrix", "sequences_to_matrix"])
"""Methods of Keras's `Tokenizer`: a row for each sample that they get."""
TEXT_METHODS = TOKENIZING - {"sequences_to_matrix"} | frozenset(
    "encode encode_plus batch_encode_plus tokenize split".split()
)
"""Methods that make as many numbers of a text as it has words."""
BOUNDS_OF_A_ROW = (("observation_space", "low"), ("observation_space", "high"))
"""Attributes of a gym's environment that have as many numbers as an observation has."""
ENVIRONMENTS = regex(r"(?i)(?:\w*_)?env(?:ironment)?")
"""Names of one gym environment, whose `reset` and `step` give one observation; several are `envs`."""
COUNTING = ("len", "int", "float", "bool", "round")
"""Builtins that give one Python number."""
ELEMENTWISE = ("tf.", "numpy.", "keras.applications.")
"""What keeps the size of its argument whatever its name says."""


def size_of(name: str | None) -> Parameter | None:
    """The parameter that says the shape of a function's result; without that argument it is one number."""
    return operation_named(name).size or _OTHER_SIZES.get(name or "")
