"""Facts about shapes: which functions set the shape of their result, and which take it from data."""

from __future__ import annotations

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.operations import operation_named

_OTHER_SIZES = {
    "random.sample": Parameter("k", 1),
    "random.choices": Parameter("k", -1),
    "cv2.resize": Parameter("dsize", 1),
    "skimage.transform.resize": Parameter("output_shape", 1),
}
CHOOSING = frozenset(["tf.where", "numpy.where"])
READING = tuple(
    (
        "cv2.imread cv2.imdecode PIL.Image.open imageio. skimage.io.imread matplotlib.image.imread "
        "matplotlib.pyplot.imread tf.image.decode_ tf.io.decode_image tf.io.decode_jpeg tf.io.decode_png "
        "keras.utils.load_img keras.preprocessing.image.load_img tf.audio.decode_wav tf.io.decode_raw "
        "tf.io.decode_wav numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile librosa.load soundfile.read "
        "scipy.io.wavfile.read pandas.read_ nibabel.load pydicom.dcmread"
    ).split()
)
"""What reads from a file or bytes something of whatever size that has."""
RESIZING = regex(r"resiz|resampl|rescale|crop|pad|thumbnail|letterbox|preprocess(?!_input)")
"""Words in the names of functions of the project, or of others, that bring images or sequences to one size."""
GRAPHS = ("spektral.data.", "spektral.data.loaders.", "tensorflow_gnn.", "deepgraph.", "dgl.")
"""Libraries whose loaders give graphs, each batch with another number of nodes."""
OF_ARRAYS = frozenset(
    "astype copy numpy transpose flatten ravel squeeze clip round swapaxes mean sum max min std cumsum repeat".split()
)
"""Methods of arrays whose result has a shape that follows from the array's."""
TEXT_METHODS = frozenset(
    "encode texts_to_sequences texts_to_matrix encode_plus batch_encode_plus tokenize split".split()
)
"""Methods that make as many numbers of a text as it has words."""
COUNTING = ("len", "int", "float", "bool", "round")
"""Builtins that give one Python number."""
ELEMENTWISE = ("tf.", "numpy.", "keras.applications.")
"""What keeps the size of its argument whatever its name says."""


def size_of(name: str | None) -> Parameter | None:
    """The parameter that says the shape of a function's result; without that argument it is one number."""
    return operation_named(name).size or _OTHER_SIZES.get(name or "")
