"""Names of Keras: methods that run, train or are traced, and layers that have weights."""

from __future__ import annotations

FORWARD_METHODS = frozenset(["evaluate", "predict", "test_on_batch", "predict_on_batch"])
"""Methods that run a model without training it."""

RUNNING_METHODS = FORWARD_METHODS | {"fit", "train_on_batch"}
"""Methods that run a model, of all versions of Keras."""

TRAINING_WORDS = RUNNING_METHODS | {"apply_gradients", "minimize", "GradientTape"}
"""The last parts of the names of what trains or predicts."""

LABELLED_METHODS = frozenset(["fit", "evaluate", "train_on_batch", "test_on_batch"])
"""Methods that run a model on inputs with labels: they compute its loss and its metrics."""

FITTING_METHODS = ("fit", "train_on_batch", "fit_generator")
"""Methods that train a model; the last one is not in Keras 3."""

BATCH_SIZE_POSITIONS = {"fit": 2, "evaluate": 2, "predict": 1}
"""Where these methods take the size of their batches, from 0, as no keyword argument."""

OVERRIDDEN_METHODS = frozenset("call train_step test_step predict_step compute_loss update_state".split())
"""Methods that a program's own models, layers, metrics and losses define, and that Keras traces."""

WEIGHTED = frozenset(
    (
        "Dense EinsumDense Conv1D Conv2D Conv3D Convolution1D Convolution2D Convolution3D Conv1DTranspose "
        "Conv2DTranspose Conv3DTranspose DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D LSTM GRU "
        "SimpleRNN RNN ConvLSTM1D ConvLSTM2D ConvLSTM3D MultiHeadAttention GroupQueryAttention Embedding "
        "BatchNormalization LayerNormalization GroupNormalization"
    ).split()
)
"""The last parts of the names of layers that have weights."""

VARIABLE_GENERATORS = frozenset(
    (
        "tf.random.Generator.from_seed tf.random.Generator.from_non_deterministic_state "
        "tf.random.Generator.from_state keras.random.SeedGenerator"
    ).split()
)
CREATING_METHODS = frozenset(name.rpartition(".")[2] for name in VARIABLE_GENERATORS) - {"SeedGenerator"} | {
    "add_weight",
    "add_variable",
    "variable",
}
"""Methods and functions that create variables and have no capital letter."""
