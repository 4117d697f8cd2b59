"""What operations on tensors and arrays give: its shape and dtype, for all the names that an operation has.

A row is a behaviour and the names that have it, written as in `spellings`. Names are canonical
(`names.canonical`). `tests/model/test_operations.py` runs every name with the installed TensorFlow, Keras and NumPy,
and holds the row against what it gave.

>>> operation_named("numpy.abs").shape, operation_named("tf.concat").says
('same', Parameter(keyword='axis', position=1, default=Ellipsis))
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.spellings import names_of, spelled

ResultShape = Literal[
    "",  # not known
    "same",  # that of the tensor
    "broadcast",  # that of two tensors together
    "chosen",  # that of a condition and two tensors together
    "rows",  # the tensor's in the first dimension, another one in others
    "filled",  # what an argument says, or no dimension without it
    "counted",  # what numbers say that are given one by one
    "reshaped",  # what an argument says, for the tensor's elements
    "expanded",  # the tensor's with one more dimension, of 1
    "squeezed",  # the tensor's without dimensions of 1
    "joined",  # tensors of a list one after the other along an axis
    "stacked",  # tensors of a list along a new axis
    "appended",  # two tensors one after the other along an axis
    "repeated",  # the tensor's, longer along an axis
    "product",  # the rows of one matrix by the columns of another
    "reduced",  # the tensor's without an axis
    "transposed",  # the tensor's, its axes in another order
    "tiled",  # the tensor's, longer along each axis
    "padded",  # the tensor's, with more around it
    "gathered",  # slices of the tensor by their indices
    "summed",  # what an equation of Einstein's says
    "second",  # that of the second tensor
    "drawn",  # what an argument says, and then that of the others
    "parts",  # several tensors: one for each part along an axis
    "largest",  # two tensors, of the largest elements of each row and where they are
    "sliced",  # a part of the tensor from a place on, as large as an argument says
    "points",  # what lies at some places of the tensor
    "contracted",  # the dimensions of two tensors without those over which they are summed
    "masked",  # for each length as many as the longest has
    "decoded",  # an image: height, width, channels
    "examples",  # a dictionary, of what the features say
    "scalar",  # no dimension
    "sizes",  # one dimension, of the tensor's rank
]
ResultDtype = Literal["same", "float", "sum", "mean", "bool", "given", "named", ""]
_OF_NO_ELEMENTS = frozenset(
    ("", "filled", "counted", "drawn", "reduced", "masked", "decoded", "examples", "scalar", "sizes")
)
"""Results that are not made of the elements of a tensor, or do not show them any more."""
_SHAPES = frozenset(["shape", "newshape", "size", "dims", "num"])
"""The names of parameters that say a shape; the others say an axis."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What an operation gives for its first argument, or for those that `shape` names.

    Arguments:
        dtype: "same" as the argument's; "float": the same, but that NumPy makes floats of integers; "given" by a
            parameter `type`; "sum" and "mean": as NumPy's `sum` and `mean` do, which TensorFlow's leave as
            it is; "named" as the operation; "" where no row says it.
        says: the parameter for the shape or the axis; its default is the axis without that argument, `...` where it
            must be there.
        is_array: lists become tensors or arrays, too.
        draws: each call gives other values.
        each: "element": each number of the result is made of those at the same place of the arguments; "image": each
            image of a batch is treated by itself.
        tensors: how many tensors it takes at least, one after the other.
        is_at_least: each number of the result is at least the second argument.
        type: the parameter for the dtype; its default is the dtype without that argument, None where the content says
            it.
    """

    shape: ResultShape
    dtype: ResultDtype = ""
    says: Parameter | None = None
    is_array: bool = False
    draws: bool = False
    each: Literal["", "element", "image"] = ""
    tensors: int = 1
    is_at_least: bool = False
    type: Parameter | None = None

    def combines(self, arguments: int) -> bool:
        """Whether it makes each number of those at the same place of several tensors, if it gets so many arguments."""
        return self.each == "element" and 1 < self.tensors <= arguments

    @property
    def size(self) -> Parameter | None:
        """The parameter for the shape; None where none says it."""
        return self.says if self.says is not None and self.says.keyword in _SHAPES else None

    @property
    def joins(self) -> bool:
        """Whether it gives more elements than any of its arguments has."""
        return self.shape in ("joined", "appended")

    @property
    def makes_of_list(self) -> bool:
        """Whether it makes one tensor or array of a list."""
        return self.shape == "stacked" or (self.is_array and self.shape == "same")

    @property
    def is_alike(self) -> bool:
        """Whether its result has the shape and the dtype of its argument."""
        return self.shape == "same" and self.dtype == "same"

    @property
    def casts(self) -> bool:
        """Whether it gives a tensor another dtype, and does nothing else."""
        is_given = self.type is not None and self.type.keyword == "dtype"
        return is_given and self.shape == "same" and self.dtype == "given" and not self.is_array

    @property
    def is_of_floats(self) -> bool:
        """Whether it makes floating point numbers of such, as many as there were."""
        return self.shape == "same" and self.dtype == "float"

    @property
    def keeps_dtype(self) -> bool:
        """Whether TensorFlow's gives floating point numbers the dtype that they have."""
        return self.dtype in ("same", "float", "sum", "mean") and self.type is None and not self.draws

    @property
    def keeps_rows(self) -> bool:
        """Whether its result has the rows of an argument, as many as there are."""
        return self.shape in ("same", "broadcast", "chosen", "rows", "expanded")

    @property
    def is_of_each(self) -> bool:
        """Whether it gives each element, or each image, another one in its place."""
        return bool(self.each) and self.shape == "same"

    @property
    def computes(self) -> bool:
        """Whether it computes with the elements of a tensor, and does not only arrange or convert them."""
        is_plain = self.shape in ("same", "broadcast", "chosen") and self.dtype not in ("given", "named")
        return not self.draws and (is_plain or self.each == "image" or self.shape == "product")

    @property
    def is_of_tensor(self) -> bool:
        """Whether its result is made of the elements of a tensor that it gets."""
        return self.shape not in _OF_NO_ELEMENTS


_AXIS = Parameter("axis", 1)
_FIRST_AXIS = Parameter("axis", 1, 0)
_DTYPE = Parameter("dtype", 1)
_ROWS: tuple[tuple[Operation, str], ...] = (
    (
        Operation("same", "same", each="element"),
        """
        {tf,tf.math,numpy,keras.ops,keras.backend}.{abs,sign,round,square} {tf,tf.math,numpy,keras.ops}.negative
        {tf,tf.math,numpy,keras.ops}.{ceil,floor} numpy.{absolute,around,trunc,positive,conj,conjugate,copy,nan_to_num}
        keras.ops.{absolute,trunc,conj,copy,nan_to_num} tf.{identity,stop_gradient} tf.math.{conj,rint}
        {numpy,keras.ops}.reciprocal keras.{ops,backend}.stop_gradient
        """,
    ),
    (
        Operation("same", "same", each="element", type=_DTYPE),
        "{tf,numpy,keras.ops,keras.backend}.{zeros_like,ones_like}",
    ),
    (
        Operation("same", "same", each="element", type=Parameter("dtype", 2)),
        "{numpy,keras.ops}.full_like",
    ),
    (
        Operation("same", "same", each="element", tensors=3, is_at_least=True),
        "tf.clip_by_value {numpy,keras.ops,keras.backend}.clip",
    ),
    (
        Operation("same", "same", each="image"),
        """
        tf.image.{adjust_brightness,adjust_contrast,adjust_gamma,adjust_hue,adjust_saturation,flip_left_right}
        tf.image.{flip_up_down,rgb_to_hsv,hsv_to_rgb,rgb_to_yuv,yuv_to_rgb,rgb_to_yiq,yiq_to_rgb}
        """,
    ),
    (
        Operation("same", "same"),
        """
        tf.image.stateless_random_{brightness,contrast,hue,saturation,flip_left_right,flip_up_down,jpeg_quality}
        numpy.{flip,fliplr,flipud,roll,sort} keras.ops.{flip,roll,sort} tf.{clip_by_norm,reverse,roll,sort}
        keras.backend.reverse numpy.empty_like
        """,
    ),
    (
        Operation("same", "same", draws=True),
        """
        tf.image.{random_brightness,random_contrast,random_hue,random_saturation,random_flip_left_right}
        tf.image.{random_flip_up_down,random_jpeg_quality} tf.random.shuffle keras.random.{shuffle,dropout}
        {tf.nn,keras.backend}.dropout numpy.random.permutation
        """,
    ),
    (
        Operation("same", "float", each="element"),
        """
        {tf,tf.math,numpy,keras.ops}.{exp,sqrt,sin,cos,tan,sinh,cosh,tanh} {tf.math,numpy,keras.ops}.{log,log1p,expm1}
        {tf,tf.math}.{sigmoid,asin,acos,atan,asinh,acosh,atanh} {tf.math,tf.nn,keras.ops,keras.activations}.softplus
        {numpy,keras.ops}.{arcsin,arccos,arctan,arcsinh,arccosh,arctanh,log2,log10}
        tf.math.{rsqrt,reciprocal,reciprocal_no_nan,erf,erfc,lgamma,digamma,log_sigmoid,softsign}
        numpy.{fabs,rint,exp2,cbrt,deg2rad,rad2deg,radians,degrees,sinc}
        tf.nn.{relu,relu6,leaky_relu,elu,selu,gelu,silu,swish,sigmoid,tanh,softsign}
        keras.activations.{relu,relu6,leaky_relu,elu,selu,gelu,silu,swish,sigmoid,hard_sigmoid,tanh,softsign}
        keras.activations.{exponential,linear,mish,hard_silu}
        keras.ops.{relu,relu6,leaky_relu,elu,selu,gelu,silu,swish,sigmoid,hard_sigmoid,softsign}
        keras.ops.{hard_silu,log_sigmoid,rsqrt,erf}
        keras.backend.{exp,log,sqrt,sin,cos,relu,elu,sigmoid,hard_sigmoid,tanh,softplus,softsign}
        """,
    ),
    (Operation("same", "float", each="image"), "tf.image.per_image_standardization"),
    (
        Operation("same", "float"),
        """
        {tf.nn,keras.activations,keras.ops}.{softmax,log_softmax} keras.backend.{softmax,l2_normalize}
        {tf.math,tf.nn}.l2_normalize keras.ops.normalize keras.utils.normalize
        """,
    ),
    (
        Operation("same", "bool", each="element"),
        """
        tf.math.{is_nan,is_inf,is_finite} {numpy,keras.ops}.{isnan,isinf,isfinite} numpy.signbit
        {tf,tf.math,numpy,keras.ops}.logical_not
        """,
    ),
    (
        Operation("same", "given", each="element", type=_DTYPE),
        """
        {tf,tf.dtypes}.{cast,saturate_cast} keras.{ops,backend}.cast keras.ops.saturate_cast numpy.astype
        tf.image.convert_image_dtype
        """,
    ),
    (
        Operation("same", "given", each="element", type=Parameter("", -1, "string")),
        "tf.strings.{lower,upper,strip,regex_replace,as_string} tf.as_string",
    ),
    (Operation("same", "given", each="element", type=Parameter("", -1, "int32")), "tf.strings.length"),
    (
        Operation("same", "given", each="element", type=Parameter("out_type", 1, "float32")),
        "tf.strings.to_number",
    ),
    (
        Operation("same", "given", is_array=True, type=_DTYPE),
        """
        numpy.{array,asarray,asanyarray,ascontiguousarray,asfortranarray,require,asfarray}
        tf.{constant,convert_to_tensor,ragged.constant} keras.ops.{array,convert_to_tensor}
        """,
    ),
    (
        Operation("same", "given", is_array=True, type=Parameter("dtype", 2, "float32")),
        "keras.utils.img_to_array keras.preprocessing.image.img_to_array",
    ),
    (
        Operation("same", "named", is_array=True),
        "numpy.{float16,float32,float64,int8,int16,int32,int64,uint8,uint16,uint32,uint64}",
    ),
    (Operation("same", "same", Parameter("shape", 1)), "tf.ensure_shape"),
    (
        Operation("rows", "given", Parameter("size", 1), each="image", type=Parameter("method", 2, "float32")),
        "tf.image.{resize,resize_images}",  # the nearest pixels keep their type
    ),
    (Operation("rows", "same", Parameter("size", 1), each="image"), "keras.ops.image.resize"),
    (
        Operation("rows", "given", Parameter("target_height", 1), each="image", type=Parameter("method", 3, "float32")),
        "tf.image.resize_with_pad",
    ),
    (Operation("rows", "same", Parameter("target_height", 1), each="image"), "tf.image.resize_with_crop_or_pad"),
    (Operation("rows", each="image"), "tf.image.{grayscale_to_rgb,rgb_to_grayscale,central_crop,rot90}"),
    (Operation("filled", "same", Parameter("size", 1), draws=True), "tf.image.{random_crop,stateless_random_crop}"),
    (Operation("rows", says=Parameter("num_classes", 1)), "keras.utils.to_categorical"),
    (
        Operation("rows", is_array=True),
        "keras.utils.pad_sequences keras.preprocessing.sequence.pad_sequences",
    ),
    (
        Operation("broadcast", "same", each="element", tensors=2, is_at_least=True),
        "{tf,tf.math,numpy,keras.ops,keras.backend}.maximum",
    ),
    (
        Operation("broadcast", "same", each="element", tensors=2),
        """
        {tf,tf.math,numpy,keras.ops}.{add,subtract,multiply,minimum} {tf,tf.math}.pow numpy.{power,fmax,fmin}
        keras.ops.power keras.backend.{minimum,pow} {numpy,keras.ops}.{mod,floor_divide} numpy.remainder
        tf.math.{floordiv,floormod,divide_no_nan,multiply_no_nan,squared_difference}
        """,
    ),
    (
        Operation("broadcast", "float", each="element", tensors=2),
        """
        {tf,tf.math,numpy,keras.ops}.divide {tf,tf.math}.{truediv,atan2} {numpy,keras.ops}.{true_divide,arctan2}
        """,
    ),
    (
        Operation("broadcast", "bool", each="element", tensors=2),
        """
        {tf,tf.math,numpy,keras.ops,keras.backend}.{equal,not_equal,greater,greater_equal,less,less_equal}
        {tf,tf.math,numpy,keras.ops}.{logical_and,logical_or} {tf.math,numpy,keras.ops}.logical_xor
        """,
    ),
    (Operation("chosen", each="element", tensors=3), "{tf,numpy,keras.ops}.where"),
    (Operation("product"), "{tf,tf.linalg,numpy,keras.ops}.matmul {numpy,keras.ops,keras.backend}.dot"),
    (Operation("expanded", "same", _AXIS), "{tf,numpy,keras.ops,keras.backend}.expand_dims"),
    (Operation("squeezed", "same", _AXIS), "{tf,numpy,keras.ops,keras.backend}.squeeze"),
    (Operation("reshaped", "same", Parameter("shape", 1)), "{tf,numpy,keras.backend}.reshape"),
    (Operation("reshaped", "same", Parameter("newshape", 1)), "keras.ops.reshape"),
    (Operation("filled", "same", Parameter("shape", 1)), "{tf,numpy,keras.ops}.broadcast_to"),
    (Operation("joined", "same", Parameter("axis", 1, ...)), "tf.concat"),
    (Operation("joined", "same", _FIRST_AXIS), "numpy.{concatenate,concat}"),
    (Operation("joined", "same", Parameter("axis", 1, -1)), "keras.{ops,backend,layers}.concatenate"),
    (Operation("joined", "same", Parameter("", -1, 0)), "numpy.{vstack,row_stack} keras.ops.vstack"),
    (Operation("joined", "same", Parameter("", -1, 1)), "numpy.{hstack,column_stack} keras.ops.hstack"),
    (Operation("joined", "same", Parameter("", -1, 2)), "numpy.dstack"),
    (Operation("stacked", "same", _FIRST_AXIS), "{tf,tf.ragged,numpy,keras.ops,keras.backend}.stack"),
    (Operation("appended", "same", Parameter("axis", 2)), "numpy.append keras.ops.append"),
    (Operation("repeated", "same", Parameter("axis", 2)), "{tf,numpy,keras.ops}.repeat"),
    (
        Operation("reduced", "sum", _AXIS),
        """
        {tf,tf.math}.reduce_{sum,prod} {numpy,keras.ops,keras.backend}.{sum,prod}
        """,
    ),
    (
        Operation("reduced", "same", _AXIS),
        """
        {tf,tf.math}.reduce_{max,min} {numpy,keras.ops,keras.backend}.{max,min} {numpy,keras.ops}.{amax,amin}
        """,
    ),
    (
        Operation("reduced", "mean", _AXIS),
        """
        {tf,tf.math}.reduce_{mean,logsumexp} tf.math.reduce_{std,variance,euclidean_norm}
        {numpy,keras.ops,keras.backend}.{mean,std,var} {numpy,keras.ops}.{median,average} keras.ops.logsumexp
        """,
    ),
    (
        Operation("reduced", "bool", _AXIS),
        "{tf,tf.math}.reduce_{all,any} {numpy,keras.ops,keras.backend}.{all,any}",
    ),
    (
        Operation("reduced", "given", _AXIS, type=Parameter("output_type", 2, "int64")),
        "{tf,tf.math}.{argmax,argmin}",
    ),
    (Operation("reduced", "given", _AXIS, type=Parameter("", -1, "int64")), "numpy.{argmax,argmin}"),
    (Operation("reduced", says=_AXIS), "{keras.ops,keras.backend}.{argmax,argmin}"),
    (
        Operation("filled", "given", Parameter("shape", 0), type=Parameter("dtype", 1, "float32")),
        "{tf,keras.ops,keras.backend}.{zeros,ones} keras.ops.empty",
    ),
    (
        Operation("filled", "given", Parameter("shape", 0), type=Parameter("dtype", 1, "float64")),
        "numpy.{zeros,ones,empty,ndarray}",
    ),
    (Operation("filled", "given", Parameter("shape", 0), type=Parameter("dtype", 2)), "{numpy,keras.ops}.full"),
    (Operation("filled", "given", says=Parameter("dims", 0)), "tf.fill"),
    (
        Operation("filled", "given", Parameter("shape", 0), draws=True, type=Parameter("dtype", 3, "float32")),
        "{tf.random,keras.random}.{normal,uniform,truncated_normal}",
    ),
    (
        Operation("filled", "given", Parameter("shape", 0), draws=True, type=Parameter("dtype", 3, "int32")),
        "keras.random.randint",
    ),
    (
        Operation("filled", "given", Parameter("size", 2), draws=True, type=Parameter("", -1, "float64")),
        "numpy.random.{normal,uniform,beta,gamma}",
    ),
    (
        Operation("filled", "given", Parameter("size", 2), draws=True, type=Parameter("dtype", 3, "int64")),
        "numpy.random.randint",
    ),
    (
        Operation("filled", "given", Parameter("size", 2), draws=True, type=Parameter("", -1, "int64")),
        "numpy.random.binomial",
    ),
    (
        Operation("filled", "given", Parameter("size", 0), draws=True, type=Parameter("", -1, "float64")),
        "numpy.random.{random,random_sample,standard_normal}",
    ),
    (
        Operation("filled", "given", Parameter("size", 1), draws=True, type=Parameter("", -1, "float64")),
        "numpy.random.exponential",
    ),
    (
        Operation("filled", "given", Parameter("size", 1), draws=True, type=Parameter("", -1, "int64")),
        "numpy.random.poisson",
    ),
    (Operation("filled", says=Parameter("size", 1), draws=True), "numpy.random.choice"),
    (
        Operation("counted", "given", draws=True, type=Parameter("", -1, "float64")),
        "numpy.random.{rand,randn}",
    ),
    (Operation("counted", "given", type=Parameter("dtype", 3)), "{numpy,keras.ops}.arange tf.range"),
    (Operation("counted", "given", type=Parameter("dtype", 3, "float32")), "{tf,keras.ops}.eye"),
    (Operation("counted", "given", type=Parameter("dtype", 3, "float64")), "numpy.eye"),
    (Operation("filled", "given", Parameter("num", 2, 50), type=Parameter("", -1)), "{tf,numpy,keras.ops}.linspace"),
    (Operation("counted", "given", type=Parameter("dtype", 3, "float32")), "tf.linalg.eye"),
    (Operation("drawn", "given", draws=True, type=Parameter("dtype", 3, "float32")), "tf.random.gamma"),
    (Operation("drawn", "given", draws=True, type=Parameter("dtype", 2, "float32")), "tf.random.poisson"),
    (Operation("same", "same"), "{tf,tf.math}.cumsum tf.linalg.{inv,cholesky,band_part} tf.nn.bias_add"),
    (Operation("same", "given", type=Parameter("", -1, "int32")), "tf.argsort"),
    (Operation("second", "same"), "tf.linalg.{solve,cholesky_solve,triangular_solve}"),
    (Operation("gathered", "same", Parameter("", -1, 0)), "tf.nn.embedding_lookup"),
    (Operation("parts", "same", Parameter("axis", 2, 0)), "tf.split {numpy,keras.ops}.split"),
    (Operation("parts", "same", Parameter("axis", 2, 0)), "tf.unstack"),
    (Operation("largest", "same"), "tf.math.top_k tf.nn.top_k"),
    (Operation("transposed", "same", Parameter("perm", 1)), "tf.transpose"),
    (Operation("transposed", "same", Parameter("axes", 1)), "{numpy,keras.ops}.transpose"),
    (Operation("tiled", "same", Parameter("multiples", 1)), "tf.tile"),
    (Operation("tiled", "same", Parameter("reps", 1)), "numpy.tile"),
    (Operation("tiled", "same", Parameter("repeats", 1)), "keras.ops.tile"),
    (Operation("padded", "same", Parameter("paddings", 1)), "tf.pad"),
    (Operation("padded", "same", Parameter("pad_width", 1)), "{numpy,keras.ops}.pad"),
    (Operation("gathered", "same", Parameter("axis", 3, 0)), "tf.gather"),
    (Operation("gathered", "same", Parameter("axis", 2)), "{numpy,keras.ops}.take"),
    (Operation("summed", "same"), "{tf,numpy,keras.ops}.einsum"),
    (Operation("rows", "given", Parameter("depth", 1), type=Parameter("dtype", 5, "float32")), "tf.one_hot"),
    (
        Operation("rows", "given", Parameter("num_classes", 1), type=Parameter("dtype", 3, "float32")),
        "keras.ops.one_hot",
    ),
    (Operation("sliced", "same", Parameter("size", 2)), "tf.slice"),
    (Operation("points", "same"), "tf.gather_nd"),
    (Operation("contracted", "same"), "tf.tensordot"),
    (Operation("masked", "given", type=Parameter("dtype", 2, "bool")), "tf.sequence_mask"),
    (
        Operation("decoded", "given", Parameter("channels", 1), type=Parameter("dtype", 2, "uint8")),
        "{tf.io,tf.image}.{decode_png,decode_image}",
    ),
    (
        Operation("decoded", "given", Parameter("channels", 1), type=Parameter("", -1, "uint8")),
        "{tf.io,tf.image}.{decode_jpeg,decode_bmp}",
    ),
    (Operation("examples"), "tf.io.{parse_example,parse_single_example}"),
    (Operation("scalar", "given", type=Parameter("", -1, "string")), "tf.io.read_file"),
    (Operation("scalar", "given", type=Parameter("", -1, "int32")), "tf.rank"),
    (Operation("scalar", "given", type=Parameter("out_type", 1, "int32")), "tf.size"),
    (Operation("sizes", "given", type=Parameter("out_type", 1, "int32")), "tf.shape"),
    (Operation("same", "same"), "tf.sparse.to_dense"),
    (Operation("reduced", says=_AXIS), "tf.sparse.reduce_{sum,max}"),
    (Operation("product"), "tf.sparse.sparse_dense_matmul"),
)
_NO_ROW = Operation("")
OTHER_WORK = frozenset(
    "numpy.cumsum numpy.diff numpy.argsort numpy.rot90 numpy.fft.fft numpy.fft.rfft tf.one_hot".split()
)
"""What computes with the elements of a tensor besides, of the last axis or of an image."""
_OLD, _OF_NUMPY = "tf.compat.v1.", "tf.experimental.numpy."


ARRANGING = spelled(
    """
    {tf,numpy}.{stop_gradient,identity,convert_to_tensor,constant,array,asarray,reshape,ravel,squeeze,expand_dims}
    {tf,numpy}.{transpose,swapaxes,moveaxis,stack,copy,positive}
    """
)
"""What arranges the elements of a tensor, or hands it on as it is; for an axis more as well."""
WITHOUT_WORK = ARRANGING | spelled(
    """
    {tf,numpy}.{float16,float32,float64,uint8,int32,int64,cast,zeros,ones,full,empty,zeros_like,ones_like,full_like}
    {tf,numpy}.{empty_like,concatenate,logical_and,logical_or,logical_not,any,all}
    """
)
"""What does next to no work besides, for an axis more as well."""


TAKING_INTEGERS = spelled("tf.nn.{relu,relu6}")
"""They leave integers as they are; what else `is_of_floats` of `tf` refuses them."""
RANGE = {"tensor": ("start", "limit", "delta"), "array": ("start", "stop", "step")}
"""The parameters of `tf.range`, and those of `numpy.arange`."""
FILLS = frozenset("zeros ones full fill zeros_like ones_like full_like".split())
"""The last parts of the names of what gives the same number everywhere."""
JOINING_ROWS = frozenset("stack add_n math.add_n matmul linalg.matmul linalg.matvec".split())
"""Functions of `tf` that make each row of those at its place in several tensors."""
ROW_UPDATES = spelled("tf.tensor_scatter_nd_{update,add,sub,max,min}")
"""They copy a tensor and write some of its rows: `(tensor, indices, updates)`."""
PRODUCTS = spelled(
    """
    {tf,tf.linalg,keras.ops}.matmul tf.linalg.matvec {tf,keras.ops}.{einsum,tensordot} {keras.ops,keras.backend}.dot
    keras.ops.{conv,depthwise_conv} keras.backend.{batch_dot,conv1d,conv2d,conv3d} tf.nn.{conv1d,conv2d,conv3d}
    tf.nn.{convolution,depthwise_conv2d,separable_conv2d,conv2d_transpose,conv3d_transpose,conv_transpose}
    """
)
"""What multiplies matrices, or runs a convolution."""
RESIZES = spelled("tf.image.resize{,_with_pad,_with_crop_or_pad}")
FLIPS = spelled("tf.image.{,random_}flip_{left_right,up_down}")


def operation_named(name: str | None) -> Operation:
    """The row of a canonical name, also of `tf.compat.v1` and `tf.experimental.numpy`; one without a shape else."""
    rows = operations()
    if name is None or name in rows:
        return _NO_ROW if name is None else rows[name]
    if name.startswith(_OLD):  # where functions of `tf.math` are some of `tf`, too
        last = name.removeprefix(_OLD)
        return rows.get(f"tf.{last}") or rows.get(f"tf.math.{last}", _NO_ROW)
    return rows.get(f"numpy.{name.removeprefix(_OF_NUMPY)}", _NO_ROW) if name.startswith(_OF_NUMPY) else _NO_ROW


def draw_named(method: str | None) -> Operation:
    """The row of a method of NumPy's generators: `rng.integers`."""
    return operation_named(f"numpy.random.{'randint' if method == 'integers' else method}")


@cache
def spellings_of(operation: str) -> frozenset[str]:
    """What an activation may be called: "softmax", `tf.nn.softmax`."""
    return frozenset([operation, *(name for name in operations() if name.endswith(f".{operation}"))])


@cache
def operations() -> dict[str, Operation]:
    """The rows by their names."""
    return {name: row for row, names in _ROWS for pattern in names.split() for name in names_of(pattern)}
