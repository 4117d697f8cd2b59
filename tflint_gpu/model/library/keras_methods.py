"""Names of Keras: methods that run, train or are traced, families of layers, losses."""

from __future__ import annotations

from typing import Literal

from tflint_gpu.model.library.classes import KerasKind
from tflint_gpu.model.library.spellings import spelled

BATCH_METHODS = {"predict": "predict_on_batch", "evaluate": "test_on_batch", "fit": "train_on_batch"}
"""Methods that run a model on batches, and those that do so on one."""
RUNNING_METHODS = frozenset([*BATCH_METHODS, *BATCH_METHODS.values()])
"""Methods that run a model, of all versions of Keras."""
FITTING_METHODS = ("fit", "train_on_batch", "fit_generator")
"""Methods that train a model; the last one is not in Keras 3."""
FORWARD_METHODS = RUNNING_METHODS.difference(FITTING_METHODS)
"""Methods that run a model without training it."""
CONSUMING_METHODS: dict[str, Literal["train", "validate", "predict"]] = {
    "fit": "train",
    "evaluate": "validate",
    "predict": "predict",
    "fit_generator": "train",
}
"""Methods that take a whole dataset, and what for."""
MODEL_PARTS = frozenset(FITTING_METHODS).union(
    "compile predict predict_on_batch evaluate summary trainable_variables trainable_weights".split(),
    ("get_weights", "set_weights"),
)
"""What shows a model where nothing else is known of a value."""
NEW_STEPS = frozenset(["compile", "make_train_function"])
"""Methods after which Keras traces the training step of a model again."""
UPDATING_METHODS = frozenset(["apply_gradients", "apply", "minimize"])
"""Methods of optimizers that change the weights."""
TRAINING_METHODS = UPDATING_METHODS | {"train_on_batch"}
ASSIGNMENTS = frozenset(["assign", "assign_add", "assign_sub"])
UPDATES = TRAINING_METHODS | ASSIGNMENTS
"""Methods that change weights, or other variables."""
SETTERS = spelled("keras.{backend,config}.{set_epsilon,set_floatx,set_image_data_format}")
"""Functions that set what Keras's layers, losses and functions read while they are traced."""
GRADIENT_METHODS = frozenset(["gradient", "jacobian", "batch_jacobian"])
"""Methods of a tape that take gradients from it."""
WEIGHT_ATTRIBUTES = frozenset("trainable_variables trainable_weights variables weights".split())
"""Attributes of a model or a layer that hold all its weights, or those that are trained."""
TRAINED_ATTRIBUTES = frozenset(["trainable_variables", "trainable_weights"])
"""Those that hold the weights that are trained."""
LOADING_FUNCTIONS = frozenset(["load_model", "load"])
RESTORING_METHODS = LOADING_FUNCTIONS | frozenset(
    "load_weights restore restore_or_initialize from_pretrained from_preset set_weights".split()
)
"""What gives a model the weights of another one, or of a file."""
LABELLED_METHODS = RUNNING_METHODS - {"predict", "predict_on_batch"}
"""Methods that run a model on inputs with labels: they compute its loss and its metrics."""
BATCH_SIZE_POSITIONS = {"fit": 2, "evaluate": 2, "predict": 1}
"""Where these methods take the size of their batches, from 0, as no keyword argument."""
TRACED_METHODS: dict[KerasKind, dict[str, tuple[str, ...]]] = {
    "layer": {"call": ("*first",)},
    "model": {
        **dict.fromkeys(("call", "train_step", "test_step", "predict_step"), ("*first",)),
        "compute_loss": ("x", "y", "y_pred"),
    },
    "metric": {"update_state": ("y_true", "y_pred")},
    "loss": {"call": ("*first", "*second")},
}
"""The methods that Keras traces, with the parameters that always hold tensors (or containers of them)."""

_IN_MODELS, _IN_TRAINING = ("`fit`", "`predict`", "the functional API"), ("`fit`", "`evaluate`")
OCCASIONS: dict[str, tuple[str, ...]] = {
    "call": _IN_MODELS,
    "train_step": ("`fit`",),
    "test_step": ("`evaluate`",),
    "predict_step": ("`predict`",),
    **dict.fromkeys(("compute_loss", "update_state"), _IN_TRAINING),
}
"""When Keras traces them."""
TRAINING_HOOKS = frozenset(["train_step", "test_step", "compute_loss"])
"""Those that a model's `fit` calls."""
BATCH_HOOKS = frozenset(["on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"])
"""Methods of callbacks that `fit` runs at each batch."""
REPEATED_HOOKS = BATCH_HOOKS | {"on_epoch_begin", "on_epoch_end"}
"""Those that it runs again and again."""
OWN_TRAINING = ("compile", "fit", "train_step", "train_on_batch", "make_train_function")
"""Methods by which a class of models trains in a custom way."""
COMPUTING_METHODS = (
    GRADIENT_METHODS
    | ASSIGNMENTS
    | frozenset(
        (
            "watch stop_recording reset apply_gradients minimize update_state result get_scaled_loss "
            "get_unscaled_gradients scale_loss items keys values get_shape as_list set_shape "
            "log_prob entropy mean"
        ).split()
    )
)
"""Methods of tapes, optimizers, metrics, variables, tensors and Python's own containers that only compute."""
OVERRIDDEN_METHODS = frozenset(method for methods in TRACED_METHODS.values() for method in methods)
"""Methods that a program's own models, layers, metrics and losses define, and that Keras traces."""
ADDING_WEIGHTS = ("add_weight", "add_variable")
"""Methods of layers that make a weight."""
GONE_ARGUMENTS = {
    "keras.optimizers.*": frozenset(["lr", "decay"]),
    "keras.layers.*": frozenset(["batch_input_shape", "init", "border_mode", "subsample", "output_dim"]),
    "keras.callbacks.*": frozenset(["epsilon", "period"]),
}
"""Keras 3 raises for each of them, and for the next three. From its own source: `Argument(s) not recognized`,
`Unrecognized keyword arguments`, `unexpected keyword argument`, or the name is not there."""
GONE_METHODS = ("fit_generator", "evaluate_generator", "predict_generator", "add_variable")
WORKER_ARGUMENTS = ("workers", "use_multiprocessing", "max_queue_size")
GONE_METHOD_ARGUMENTS = {
    "fit": frozenset([*WORKER_ARGUMENTS, "nb_epoch"]),
    "compile": frozenset(["sample_weight_mode", "experimental_run_tf_function", "experimental_steps_per_execution"]),
    "get_initial_state": frozenset(["dtype", "inputs"]),
    "add_weight": frozenset(["partitioner", "use_resource"]),
}
GONE_NAMES = spelled(
    """
    keras.preprocessing.{image.ImageDataGenerator,text.*,sequence.TimeseriesGenerator}
    keras.utils.{np_utils.*,multi_gpu_model,get_custom_objects}
    keras.layers.{experimental,convolutional,core,merge,normalization,recurrent}.* keras.layers.CuDNN{LSTM,GRU}
    keras.{engine,experimental,mixed_precision.experimental,wrappers}.*
    keras.backend.{int_shape,get_session,set_session,function,learning_phase,set_learning_phase}
    tensorflow_addons.* tensorflow_probability.layers.*
    """
)
OF_ONE_BATCH = frozenset("x y batch_size epochs verbose shuffle sample_weight".split())
"""Arguments of a `fit` of one batch that `train_on_batch` takes, too, or that say nothing then."""
CONVOLUTIONS = spelled("{,Separable}{Conv,Convolution}{1,2,3}D")
DEPTHWISE = spelled("Depthwise{Conv,Convolution}{1,2,3}D")
TRANSPOSED = spelled("{Conv,Convolution}{1,2,3}DTranspose")
"""Layers, by the last parts of their names, here and below."""
ACTIVATED = CONVOLUTIONS | TRANSPOSED | {"Dense", "EinsumDense"}
"""Layers that may end with an activation."""
DRAWN = spelled("LSTM GRU SimpleRNN ConvLSTM{1,2,3}D MultiHeadAttention GroupQueryAttention Embedding").union(
    ACTIVATED, DEPTHWISE
)
"""Layers whose first weights are drawn, unless an initializer says otherwise."""
WEIGHTED = DRAWN | spelled("RNN {Batch,Layer,Group}Normalization")
"""Layers that have weights."""
HOLDING_VARIABLES = WEIGHTED - {"RNN"} | spelled(
    "PReLU AdditiveAttention Random{Flip,Rotation,Zoom,Translation,Contrast,Crop} LocallyConnected{1,2}D"
)
"""Layers that always have weights, or a state for their random numbers, from their first call on."""
CELLS = {"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}
"""What an `RNN` repeats, and the layers that do the same by themselves."""
WRAPPERS = frozenset("TimeDistributed Bidirectional RNN".split())
"""Layers whose first argument is a layer."""
OF_LAST_AXIS = frozenset(["keras.layers.Dense"])
"""Layers that do the same along the last axis, whatever axes are before it."""
LOOKUP_LAYERS = frozenset(["keras.layers.Embedding"])
"""Layers that give a row of their weights for each index, whatever the shape of the indices."""
NOISE = spelled("{Alpha,Gaussian,}Dropout SpatialDropout{1,2,3}D GaussianNoise")
"""Layers that draw in training. With Keras 3 they hold the state of their random numbers as soon as they are made."""
LAYER_FOLDERS = tuple(spelled("keras.layers.{,experimental.,experimental.preprocessing.}"))
RANDOM_LAYERS = tuple(spelled("keras.layers.{,preprocessing.,experimental.preprocessing.}Random"))
"""How names of layers begin that draw whenever they are not told to do without."""
ACTIVATION_LAYERS = frozenset("ReLU LeakyReLU ELU Softmax".split())
ELEMENTWISE_LAYERS = ACTIVATION_LAYERS | {"Activation", "ThresholdedReLU", "Identity", "Rescaling"}
"""Layers without weights that compute each element by itself; a softmax with its neighbours."""
NORMALIZING = frozenset(["BatchNormalization", "LayerNormalization"])
PADDERS = spelled("keras.{utils,preprocessing.sequence}.pad_sequences")
MASKING = frozenset(["Embedding", "Masking"])
PASSING_MASKS = frozenset(
    "UnitNormalization ActivityRegularization Activation Dense Identity TimeDistributed LSTM GRU Bidirectional "
    "PReLU".split()
).union(ACTIVATION_LAYERS - {"Softmax"}, NOISE, NORMALIZING)
"""Layers that hand on the mask of their input."""
MERGES = frozenset("Add Subtract Multiply Average Maximum Minimum".split())
"""Layers of several tensors that compute each element by itself."""
SHAPE_LAYERS = frozenset("Flatten Reshape Permute RepeatVector".split())
KEEPING_INTEGERS = SHAPE_LAYERS | {"Concatenate", "Identity", "InputLayer"}
"""Layers that cast no integers to floats."""
AVERAGING = spelled("{,Global}{AveragePooling,AvgPool}{1,2,3}D")
POOLING = AVERAGING | spelled("{,Global}{MaxPooling,MaxPool}{1,2,3}D")
FRAMING = spelled("{ZeroPadding,Cropping,UpSampling}{1,2,3}D")
"""Layers that add rows and columns of images, or take some."""
SAME_SHAPE = spelled(
    """
    ActivityRegularization UnitNormalization Solarization AutoContrast
    Random{Flip,Rotation,Translation,Zoom,Contrast,Brightness,Hue,Saturation,Sharpness,Grayscale,Erasing,Shear}
    Random{Perspective,ColorJitter,GaussianBlur,Posterization,Invert} Equalization
    """
).union(ELEMENTWISE_LAYERS, NOISE)
"""Layers without weights whose output has the shape of their input."""
LIGHT = frozenset(["PReLU", "Concatenate", "Embedding"]).union(
    NORMALIZING, ELEMENTWISE_LAYERS, NOISE, MERGES, SHAPE_LAYERS, POOLING, FRAMING
)
"""Layers of a few operations whatever their input is: no loops over steps, as recurrent layers have."""
SHARING = frozenset("Flatten Reshape Identity reshape expand_dims squeeze identity".split())
"""Layers and operations whose output is the memory of what they get."""
WITHOUT_VALUES = frozenset(
    "Add add add_n Subtract subtract Average Concatenate concat concatenate Rescaling Masking Minus "
    "ActivityRegularization reduce_mean reduce_sum mean sum cast getitem dropout".split()
).union(SHAPE_LAYERS, SHARING, FRAMING, AVERAGING, NOISE)
"""Those whose gradient needs neither their input nor their output, but at most its shape or a mask."""
OF_OUTPUT = frozenset("relu elu selu tanh sigmoid softmax leaky_relu relu6".split())
"""Activations whose gradient is computed of what they give, so that what they get need not stay."""
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
