"""Names of Keras: methods that run, train or are traced, families of layers, losses."""

from __future__ import annotations

from tflint_gpu.model.library.spellings import spelled

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

CONVOLUTIONS = spelled("{,Separable}{Conv,Convolution}{1,2,3}D")
DEPTHWISE = spelled("Depthwise{Conv,Convolution}{1,2,3}D")
TRANSPOSED = spelled("{Conv,Convolution}{1,2,3}DTranspose")
"""Layers, by the last parts of their names, here and below."""
ACTIVATED = CONVOLUTIONS | TRANSPOSED | {"Dense", "EinsumDense"}
"""Layers that may end with an activation."""
WEIGHTED = (
    ACTIVATED
    | DEPTHWISE
    | spelled(
        """
        LSTM GRU SimpleRNN RNN ConvLSTM{1,2,3}D MultiHeadAttention GroupQueryAttention Embedding
        {Batch,Layer,Group}Normalization
        """
    )
)
"""Layers that have weights."""
HOLDING_VARIABLES = WEIGHTED - {"RNN"} | spelled(
    "PReLU AdditiveAttention Random{Flip,Rotation,Zoom,Translation,Contrast,Crop} LocallyConnected{1,2}D"
)
"""Layers that always have weights, or a state for their random numbers, from their first call on."""
CELLS = {"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}
"""What an `RNN` repeats, and the layers that do the same by themselves."""
WRAPPERS = frozenset("TimeDistributed Bidirectional RNN".split())
"""Layers whose first argument is a layer."""
NOISE = spelled("{Alpha,Gaussian,}Dropout SpatialDropout{1,2,3}D GaussianNoise")
"""Layers that draw in training. With Keras 3 they hold the state of their random numbers as soon as they are made."""
RANDOM_LAYERS = tuple(spelled("keras.layers.{,preprocessing.,experimental.preprocessing.}Random"))
"""How names of layers begin that draw whenever they are not told to do without."""
ACTIVATION_LAYERS = frozenset("ReLU LeakyReLU ELU Softmax".split())
MERGES = frozenset("Add Subtract Multiply Average Maximum Minimum".split())
"""Layers of several tensors that compute each element by itself."""
SHAPE_LAYERS = frozenset("Flatten Reshape Permute RepeatVector".split())
AVERAGING = spelled("{,Global}{AveragePooling,AvgPool}{1,2,3}D")
POOLING = AVERAGING | spelled("{,Global}{MaxPooling,MaxPool}{1,2,3}D")
FRAMING = spelled("{ZeroPadding,Cropping,UpSampling}{1,2,3}D")
"""Layers that add rows and columns of images, or take some."""
BINARY_LOSSES = spelled("{,keras.losses.}binary_crossentropy keras.losses.BinaryCrossentropy")
CATEGORICAL_LOSSES = spelled(
    "{,keras.losses.}{,sparse_}categorical_crossentropy keras.losses.{,Sparse}CategoricalCrossentropy"
)
LABELS_OF_LOSSES = {
    **dict.fromkeys(("categorical_crossentropy", "CategoricalCrossentropy"), "one-hot"),
    **dict.fromkeys(("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"), "sparse"),
    **dict.fromkeys(("binary_crossentropy", "BinaryCrossentropy"), "binary"),
    **dict.fromkeys(spelled("mse mae mean_{squared,absolute}_error Mean{Squared,Absolute}Error"), "numbers"),
}
"""What labels are, by the last part of the loss's name."""

VARIABLE_GENERATORS = spelled(
    "tf.random.Generator.from_{seed,non_deterministic_state,state} keras.random.SeedGenerator"
)
CREATING_METHODS = frozenset(name.rpartition(".")[2] for name in VARIABLE_GENERATORS) - {"SeedGenerator"} | {
    "add_weight",
    "add_variable",
    "variable",
}
"""Methods and functions that create variables and have no capital letter."""
