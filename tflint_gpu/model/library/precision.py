"""What chooses the dtypes of Keras's layers: floatx and the policies of mixed precision, in all their spellings."""

from __future__ import annotations

from tflint_gpu.model.library.spellings import spelled

DOUBLES = spelled("{tf,tf.dtypes}.{float64,double} numpy.float64")
"""Names of the dtype float64."""

DOUBLE_SPELLINGS = frozenset(["float64", "double"])
"""The same as a string."""

FLOATX_SETTERS = spelled("keras.{backend,config}.set_floatx")
"""Functions that set the dtype which layers have by default."""

POLICY_SETTERS = spelled(
    "keras.mixed_precision.{set_global_policy,set_dtype_policy,experimental.set_policy} keras.config.set_dtype_policy"
)
"""Functions that set the policy which layers have by default."""

POLICIES = spelled("keras.mixed_precision.{,experimental.}Policy keras.{,mixed_precision.,dtype_policies.}DTypePolicy")
"""Classes of policies."""

COMPUTED_UNDER = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"} | {
    dtype: dtype for dtype in ("float16", "bfloat16", "float32", "float64")
}
"""In what layers compute, by the name of their policy."""

WITHOUT_POLICY = frozenset(
    "StringLookup IntegerLookup TextVectorization Hashing Discretization CategoryEncoding Lambda".split()
)
"""Layers whose results are not in that dtype by themselves."""

BYTES = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
}
"""Of a number of each dtype."""
FLOAT_OF_BYTES = {1: "float16", 2: "float32", 4: "float64", 8: "float64"}
"""Of integers of so many bytes the type that holds them with NumPy's floats."""
DTYPE_NAMES = {
    **{"bool_": "bool", "boolean": "bool", "str": "string", "object": "string", "half": "float16", "single": "float32"},
    **{"double": "float64", "int_": "int64", "uint": "uint64", "float_": "float64", "longlong": "int64"},
    **{"u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "i1": "int8", "i2": "int16", "i4": "int32"},
    **{"i8": "int64", "f2": "float16", "f4": "float32", "f8": "float64"},
}
"""Other names of dtypes, and those by which NumPy knows Python's."""
FLOATS = DOUBLE_SPELLINGS | {"float16", "float32", "bfloat16", "half"}

DTYPE_POSITIONS = {"tf.constant": 1, "tf.convert_to_tensor": 1, "tf.Variable": 6}
"""Where they take the dtype of numbers."""

CASTS = spelled("{tf,tf.dtypes,keras.ops,keras.backend}.cast tf.saturate_cast tf.compat.v1.to_double")
"""Functions that give a tensor another type."""

ALMOST_ZERO = 2.0**-25
"""The largest number that is 0 in float16: half of its smallest positive one."""

SINGULAR_AT_ZERO = spelled(
    "tf.{,math.}log {keras.ops,keras.backend}.{log,sqrt} tf.{,math.}sqrt {tf.math,keras.ops}.{rsqrt,reciprocal}"
)
"""Functions that are infinite at 0, or whose slope is."""
