"""TensorFlow 1: what works in graphs only there, what TensorFlow 2 has no more, and how programs ask which it is."""

from __future__ import annotations

from tflint_gpu.model.library.spellings import spelled

VERSIONS = spelled("tf.{__version__,VERSION,version.VERSION,compat.v1.VERSION}")
EAGER_QUERIES = spelled("tf.{,compat.v1.,compat.v2.}executing_eagerly")

GRAPH_SCOPES = frozenset("Session InteractiveSession Graph".split())
GRAPH_BUILDERS = frozenset(
    "placeholder sparse_placeholder get_variable variable_scope train.MonitoredTrainingSession".split()
)
"""They raise where code runs eagerly, so what is next to them does not."""
GRAPH_CALLS = spelled(
    """
    global_variables_initializer get_default_graph get_collection add_to_collection import_graph_def
    train.{get_global_step,Saver,AdamOptimizer,MomentumOptimizer,GradientDescentOptimizer,Scaffold}
    losses.{get_total_loss,softmax_cross_entropy}
    """
).union(GRAPH_SCOPES, GRAPH_BUILDERS)
"""What works in graphs only."""
GONE = frozenset("ConfigProto app.run train.get_or_create_global_step enable_eager_execution".split())
"""TensorFlow 2 has them only below tf.compat.v1: a program that calls them as `tf.app.run` is one for TensorFlow 1."""
OLD_NAMES = (GRAPH_SCOPES | GRAPH_BUILDERS) - {"Graph", "train.MonitoredTrainingSession"} | frozenset(
    (
        "random_uniform random_normal truncated_normal parse_single_example parse_example FixedLenFeature "
        "VarLenFeature FixedLenSequenceFeature decode_raw decode_csv read_file to_float to_int32 to_int64 to_double "
        "is_nan is_inf is_finite log log_sigmoid div multinomial set_random_seed gfile flags app logging layers "
        "string_split sparse_tensor_to_dense py_func global_variables trainable_variables "
        "global_variables_initializer assign diag matrix_inverse mod FIFOQueue WholeFileReader TFRecordReader "
        "python_io ceil erf lgamma space_to_depth depth_to_space extract_image_patches check_numerics AUTO_REUSE "
        "GraphKeys enable_eager_execution ConfigProto GPUOptions contrib random_shuffle random_crop "
        "reset_default_graph get_default_graph unsorted_segment_sum invert_permutation matrix_band_part lin_space "
        "sparse_reduce_sum floordiv substr sparse_to_dense mul"
    ).split()
)
"""What is directly below `tensorflow` in TensorFlow 1 and not in TensorFlow 2."""
