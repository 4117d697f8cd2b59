"""Which of TensorFlow's and Keras's functions return tensors. Names are canonical (`names.canonical`)."""

from __future__ import annotations

from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.keras_methods import ASSIGNMENTS
from tflint_gpu.model.library.operations import operations
from tflint_gpu.model.library.spellings import spelled

_FOLDERS = tuple(
    (
        "tf.math. tf.nn. tf.linalg. tf.image. tf.signal. tf.strings. tf.random. tf.bitwise. tf.audio. tf.raw_ops. "
        "keras.ops. keras.backend. keras.activations. keras.losses. keras.random."
    ).split()
)
_NESTED = frozenset(["clip_by_global_norm", "map_fn", "vectorized_map", "scan", "foldl", "foldr", "while_loop"])
"""They give several tensors, of which a part may be a container, too."""
_WITHOUT_ROWS = _NESTED - {"while_loop"} | frozenset(
    (
        "add_n argsort batch_to_space bitcast boolean_mask complex cumsum dynamic_partition dynamic_stitch "
        "edit_distance eig eigvals einsum extract_volume_patches gather gather_nd histogram_fixed_width identity_n "
        "meshgrid norm pad rank realdiv reverse_sequence scatter_nd searchsorted sequence_mask shape shape_n size "
        "slice space_to_batch split strided_slice tensor_scatter_nd_add tensor_scatter_nd_update tensordot tile "
        "timestamp transpose truncatediv truncatemod unique unravel_index unstack"
    ).split()
)
"""Functions right in `tf` that return tensors and have no row in `operations`."""
_NOT_TENSORS = spelled(
    """
    keras.backend.{int_shape,ndim,floatx,epsilon,backend,image_data_format,is_keras_tensor,is_sparse,dtype,eval}
    keras.backend.{learning_phase,learning_phase_scope,get_value,batch_get_value,set_value,batch_set_value}
    keras.backend.{count_params,clear_session,function,get_session,get_uid,name_scope,placeholder,variable,is_tensor}
    keras.backend.{result_type,standardize_dtype,is_float_dtype,is_variable}
    keras.ops.{shape,ndim,size,dtype,is_tensor,convert_to_numpy,result_type,map,scan,cond}
    tf.random.{set_seed,get_global_generator,set_global_generator} tf.nn.RNNCellDeviceWrapper
    keras.{activations,losses}.{get,serialize,deserialize}
    """
)
_HOST_PARTS = (
    *PYTHON_FUNCTIONS,
    *"tf.summary. tf.io.gfile. tf.train. tf.saved_model. tf.data. tf.config. tf.profiler. tf.random.set_seed".split(),
    *"tf.compat.v1. tf.Variable tf.distribute. keras.preprocessing. keras.utils. keras.backend.get_value".split(),
    *"keras.backend.set_value keras.callbacks.".split(),
)
"""Parts of TensorFlow that read Python values, files or settings when they are called."""
ASIDE = ("tf.summary.", "tf.print", "tf.stop_gradient", "tf.debugging.")
"""Functions through which no gradient goes on."""
RAGGED = ("tf.ragged.", "tf.RaggedTensor", "tf.strings.split", "tf.strings.unicode_", "tf.sparse.", "tf.SparseTensor")
"""How names of functions begin that give ragged or sparse tensors."""
_CONTAINERS = frozenset(
    (
        "split unstack meshgrid identity_n dynamic_partition shape_n unique unique_with_counts linalg.normalize "
        "nn.moments linalg.qr linalg.svd linalg.slogdet math.top_k nn.top_k "
        "nn.weighted_moments nn.sufficient_statistics"
    ).split()
)
# Of a tensor, these are known while tracing, or are no tensors.
STATIC_ATTRIBUTES = frozenset(
    (
        "shape dtype name ndim rank device graph op get_shape set_shape numpy as_list is_fully_defined "
        "_keras_shape _keras_mask _shape keys itemsize consumers value_index"
    ).split()
)
# Methods of the containers that Keras hands to `call` (lists, tuples and dictionaries of tensors).
CONTAINER_METHODS = frozenset(["get", "pop", "values", "items", "copy"])
ARRAY_METHODS = frozenset("astype reshape copy transpose flatten ravel squeeze clip round".split())
"""Methods by which an array of NumPy gives another one."""
REDUCING_METHODS = frozenset("mean sum max min std var".split())
HOST_READS = frozenset(["numpy", "item", "tolist"])
"""Methods that bring values to the host."""
ARRAY_CHANGES = ("fill", "itemset", "partition", "put", "resize")
"""Methods that change an array in place, besides those of containers."""
OUT_METHODS = ARRAY_METHODS.union(REDUCING_METHODS, "cumsum cumprod take random standard_normal".split())
"""Methods of arrays and generators of NumPy that write into an array which they get behind another argument."""
CHANGING_FUNCTIONS = spelled(
    "numpy.{copyto,put,place,putmask,fill_diagonal} bisect.{insort,insort_left,insort_right} "
    "heapq.{heappush,heappop,heapify,heapreplace,heappushpop} operator.{setitem,delitem,iadd,isub,imul,iconcat}"
)
"""Functions that change a container or an array that they get first."""
SHARING_METHODS = frozenset("reshape ravel transpose view squeeze swapaxes diagonal values keys items".split())
"""Methods of arrays and dictionaries whose results show later changes of these."""
SHARING_FUNCTIONS = spelled(
    "types.MappingProxyType collections.ChainMap numpy.{split,array_split,vsplit,hsplit,dsplit,atleast_1d,atleast_2d} "
    "numpy.{asarray,frombuffer,reshape,ravel,transpose,squeeze,nditer,broadcast_to,flip,diagonal} "
    "numpy.lib.stride_tricks.as_strided"
)
"""Functions whose results show later changes of what they get."""
ASKING_VALUES = spelled("tf.{constant,get_static_value,make_tensor_proto,TensorShape}")
"""Functions that need the value of what they are given, which a tensor of a graph does not have."""
EAGER_QUERIES = frozenset(["tf.get_static_value"])
"""Functions that give another answer of a tensor that has a value."""
# Methods of ragged and sparse tensors that give a dense tensor, and attributes that are one; `values` may be ragged, of
# which Python's functions raise in a graph as they do of dense ones.
DENSE_METHODS = frozenset("to_tensor row_lengths row_starts row_limits value_rowids bounding_shape nrows".split())
DENSE_ATTRIBUTES = frozenset("flat_values values row_splits indices dense_shape".split())
VARIABLE_METHODS = ASSIGNMENTS | {"read_value", "value"}
"""Methods of a variable that give it, or its value."""


# What Python's own functions do with tensors in a traced function, the same in TensorFlow 2.15 and 2.21. AutoGraph
# converts `if`, `while`, `for`, `and`, `or` and `not` over tensors, and calls of `len`, `range`, `float` and `int`;
# what it leaves to Python iterates over a symbolic tensor, or asks it for a bool, and raises.
COMPARING = frozenset("all any max min sorted".split())
"""They ask for a bool of what they are given, or of its elements; `sum` and `reversed` of a list of tensors do not."""
ITERATING = COMPARING | frozenset("dict enumerate filter frozenset iter list map reversed set sum tuple zip".split())
"""They iterate over what they are given: of one tensor they raise, or give a tensor where the program has a list."""
HOLDING_BUILTINS = ITERATING | {"next", "memoryview", "type"}
"""Their results show, or are, what they are given."""
NAMED_SECOND = frozenset(
    (
        "abs acos acosh add_n angle asin asinh atan atanh ceil conj cos cosh digamma elu erf erfc exp expm1 floor "
        "identity imag is_finite is_inf is_nan l2_loss lgamma log log1p log_sigmoid logical_not negative rank real "
        "reciprocal relu relu6 rint round rsqrt selu sigmoid sign sin sinh softplus softsign sqrt square "
        "stop_gradient tan tanh zero_fraction"
    ).split()
)
"""Of `tf`, `tf.math` and `tf.nn`: the second argument is a name, at which only a graph looks."""
DYNAMIC = spelled(
    """
    tf.{boolean_mask,unique,unique_with_counts,dynamic_partition,image.non_max_suppression}
    tf.sets.{difference,intersection,union}
    """
)
"""Functions that give as many rows as the values say: while they are traced, the first dimension is None."""
OF_VALUES = DYNAMIC | spelled(
    """
    tf.ragged.boolean_mask tf.strings.{split,unicode_split,bytes_split,unicode_decode}
    numpy.{unique,nonzero,flatnonzero,argwhere,extract,compress,trim_zeros,setdiff1d,intersect1d,union1d}
    """
)
"""What gives as many elements as the values of its arguments decide; `where` with one argument does, too."""
LENGTHS = spelled("{tf,numpy,keras.ops}.{shape,size}")
"""What gives lengths of its argument."""
SHAPE_QUERIES = LENGTHS | spelled("tf.{rank,shape_n} {numpy,keras.ops}.ndim")
SIZES = frozenset(name for name in SHAPE_QUERIES if name.startswith("numpy."))
"""Those that give numbers of Python's, of a tensor, too."""
OF_SHAPE = SHAPE_QUERIES - SIZES | spelled("{tf,keras.ops}.{zeros_like,ones_like}")
"""What depends on nothing of a tensor but its shape."""
KIND_QUERIES = frozenset(
    (
        "isinstance is_tensor executing_eagerly executing_eagerly_outside_functions inside_function hasattr "
        "type is_symbolic_tensor is_keras_tensor is_tf_type"
    ).split()
)
"""The last parts of the names of what tells tensors from values, or traced code from other."""
TENSOR_QUERIES = spelled("{tf,keras.ops,keras.backend}.is_tensor")


def returns_tensor(name: str | None) -> bool:
    """Whether the function of this canonical name returns a tensor, or tensors in a container."""
    if name is None:
        return False
    if name.startswith("tf.compat.v1."):
        name = "tf." + name[len("tf.compat.v1.") :]
    if name in _NOT_TENSORS:
        return False
    if name.startswith("tf.") and (name.startswith("tf.sparse.") or "." not in name[3:]):
        return name in operations() or name[3:] in _WITHOUT_ROWS
    last = name.rpartition(".")[2]
    return name.startswith(_FOLDERS) and not last[:1].isupper()


def returns_several(name: str | None) -> bool:
    """Whether the function of this canonical name returns several tensors in a container, or may."""
    return returns_list(name) or _short(name) in _NESTED


def returns_list(name: str | None) -> bool:
    """Whether the function of this canonical name returns several tensors, none of them in a further container."""
    return _short(name) in _CONTAINERS


def _short(name: str | None) -> str:
    return (name or "").removeprefix("tf.compat.v1.").removeprefix("tf.")


def names_second(name: str) -> bool:
    """Whether the second argument of a function is a name: of `tf.sqrt(x, name)`."""
    folder, _, last = name.rpartition(".")
    return folder in ("tf", "tf.math", "tf.nn") and last in NAMED_SECOND


def has_dynamic_shape(name: str, arguments: int) -> bool:
    """Whether the shape of what a function gives depends on values; `tf.where` with three arguments chooses only."""
    name = f"tf.{_short(name)}"
    return name in DYNAMIC or (name == "tf.where" and arguments == 1)


def is_of_host(name: str) -> bool:
    """Whether a function of a library is no operation; `tf.compat.v1.reduce_mean` is one, as without its prefix."""
    return name.startswith(_HOST_PARTS) and not (name.startswith("tf.compat.v1.") and returns_tensor(name))
