"""Programs of the fuzzer of fixes whose data `fit` reads: pictures, rows, pairs of datasets, arrays with validation."""

from __future__ import annotations

from fix_fuzz_choices import Choices, indented

_PICTURES = """\
SIDE = %d
pictures = rng.integers(0, 255, (12, 10, 10, 3)).astype("uint8")
labels = rng.normal(size=(12, 1)).astype("float32")
names = [f"picture{number:02}.png" for number in range(12)]
for name, picture in zip(names, pictures):
    tf.io.write_file(name, tf.io.encode_png(picture))
turned = tf.keras.layers.RandomFlip()
drawing = tf.random.Generator.from_seed(1)


def load(name):
    picture = tf.io.decode_png(tf.io.read_file(name), channels=3)
    return tf.image.resize(picture, (SIDE, SIDE))


def labelled(name, label):
    return load(name), label


def marked(picture):
    return picture, tf.reduce_mean(picture, (0, 1))[:1] / 255.0


def scaled(picture, label):
    return tf.image.resize(picture, (SIDE, SIDE)) / 255.0, label


def augment(picture, label):
    picture = tf.image.random_flip_left_right(picture)
    return tf.image.random_brightness(picture, 0.1), label


"""
_OF_PICTURES = """\
model = tf.keras.Sequential([tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(1e-6), "mse")
"""
_OF_ROWS = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
"""


def fitted(c: Choices) -> dict[str, str]:
    """A program about what `fit` is given."""
    kinds = {"pictures": _pictures, "rows": _rows, "pairs": _pairs, "arrays": _arrays}
    return {"train.py": kinds[c.one("data", *kinds)](c)}


_OPTIONS = """\
options = tf.data.Options()
options.experimental_optimization.apply_default_optimizations = False
"""


def _made(c: Choices, operations: list[str]) -> str:
    """A dataset made of these operations, in one of the ways to write that."""
    style = c.one("style", "statements", "expression", "function", "method", "argument", "lines")
    if style in ("expression", "lines"):
        joined = "".join(f"    {line}\n" for line in operations)
        return f"dataset = {''.join(operations)}\n" if style == "expression" else f"dataset = (\n{joined})\n"
    lines = [f"dataset = {operations[0]}", *(f"dataset = dataset{operation}" for operation in operations[1:])]
    if style == "statements":
        return "\n".join(lines) + "\n"
    if style == "argument":
        later = "\n".join([*lines[1:], "return dataset"])
        return f"\n\ndef prepared(dataset):\n{indented(later)}\n\n\ndataset = prepared({operations[0]})\n"
    text = "\n".join([*lines, "return dataset"])
    if style == "function":
        return f"\n\ndef read():\n{indented(text)}\n\n\ndataset = read()\n"
    return f"\n\nclass Data:\n    def read(self):\n{indented(text, 2)}\n\n\ndataset = Data().read()\n"


_READS = {
    "fit": "model.fit(dataset, epochs=3, verbose=0)\n",
    "once": "model.fit(dataset, verbose=0)\n",
    "named": "EPOCHS = 2\nhistory = model.fit(dataset, epochs=EPOCHS, verbose=0)\n",
    "repeated": "model.fit(dataset.repeat(), steps_per_epoch=2, epochs=2, verbose=0)\n",
    "validated": "model.fit(dataset, validation_data=dataset, epochs=2, verbose=0)\n",
    "evaluated": "model.fit(dataset, epochs=2, verbose=0)\nscore = model.evaluate(dataset, verbose=0)\n",
    "also read": "model.fit(dataset, epochs=2, verbose=0)\ncount = sum(1 for _ in dataset)\n",
    "batches": "for epoch in range(2):\n    for x, y in dataset:\n        model.train_on_batch(x, y)\n",
    "function": "\n\ndef train(data):\n    model.fit(data, epochs=2, verbose=0)\n\n\ntrain(dataset)\n",
}


def _pictures(c: Choices) -> str:
    """Pictures from files or arrays, changed at random, cached, shuffled."""
    source = c.one(
        "source",
        ["tf.data.Dataset.from_tensor_slices((names, labels))", ".map(labelled)"],
        ["tf.data.Dataset.list_files('*.png', shuffle=False)", ".map(load)", ".map(marked)"],
        ["tf.data.Dataset.list_files('*.png')", ".map(lambda name: marked(load(name)))"],
        ["tf.data.Dataset.from_tensor_slices((pictures, labels))", ".map(scaled)"],
        ["tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(names).map(load), tf.data.Dataset.from_tensor_slices(labels)))"],
    )  # fmt: skip
    drawn = c.one(
        "drawn",
        "",
        ".map(augment)",
        ".map(lambda x, y: (x + tf.random.normal([], stddev=9.0), y))",
        ".map(lambda x, y: (turned(x, training=True), y))",
        ".map(lambda x, y: (x * drawing.uniform([]), y))",
        ".map(lambda x, y: (tf.image.stateless_random_flip_left_right(x, (1, 2)), y))",
        ".map(lambda x, y: (tf.image.random_flip_up_down(x, seed=4), y))",
        ".map(lambda x, y: (tf.numpy_function(np.flipud, [x], tf.float32), y))",
    )
    if "numpy_function" in drawn:
        drawn += ".map(lambda x, y: (tf.ensure_shape(x, (SIDE, SIDE, 3)), y))"
    mixed = c.one("mixed", ".shuffle(2000)", ".shuffle(buffer_size=1000)", ".shuffle(8, seed=2)", "")
    orders = {
        "usual": ["drawn", "mixed", "batch", "prefetch"],
        "cached last": ["drawn", "mixed", "cache", "batch"],
        "cached first": ["cache", "drawn", "mixed", "batch", "prefetch"],
        "cached batches": ["mixed", "batch", "cache", "prefetch"],
        "drawn last": ["mixed", "batch", "drawn", "prefetch"],
        "mixed between": ["mixed", "drawn", "cache", "batch"],
        "batch cached and mixed": ["drawn", "batch", "cache", "mixed"],
    }
    order = orders[c.one("order", *orders)]
    named = {"drawn": drawn, "mixed": mixed, "cache": ".cache()", "batch": ".batch(4)", "prefetch": ".prefetch(2)"}
    operations = [*source, *filter(None, (named[name] for name in order))]
    operations += c.one("options", [], [], [], [".with_options(options)"])
    side = 8 if "drawn last" in c.special().values() else c.one("side", 8, 600)
    return f"{_PICTURES % side}{_OPTIONS}{_OF_PICTURES}{_made(c, operations)}{_READS[c.one('read', *_READS)]}"


def _rows(c: Choices) -> str:
    """Rows of tables that the program knows, in batches or not."""
    size = c.one("rows", 48, 40, 7)
    arrays = (
        f"inputs = np.random.rand({size}, 6).astype('float32')\ntargets = np.random.rand({size}, 1).astype('float32')\n"
    )
    source = c.one(
        "source",
        ["tf.data.Dataset.from_tensor_slices((inputs, targets))"],
        ["tf.data.Dataset.from_tensor_slices((inputs, targets))", ".map(lambda x, y: (tf.cast(x, tf.float32) * 2.0, y))"],
        ["tf.data.Dataset.from_tensor_slices((tf.constant(inputs), targets * 0.5))"],
        ["tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(inputs), tf.data.Dataset.from_tensor_slices(targets)))"],
        ["tf.data.Dataset.from_tensor_slices(({'a': inputs[:30]}, targets[:30]))", ".map(lambda x, y: (x['a'], y))"],
    )  # fmt: skip
    more = [
        c.one(f"operation {place}", "", ".shuffle(20)", ".repeat(2)", ".cache()", ".prefetch(2)", ".take(20)", ".shuffle(1000, seed=3)",
              ".filter(lambda x, y: tf.reduce_sum(x) > 1.0)", ".map(lambda x, y: (x + tf.random.uniform([6]), y))", ".batch(8)")
        for place in range(3)
    ]  # fmt: skip
    return f"{arrays}{_OF_ROWS}{_made(c, [*source, *filter(None, more)])}{_READS[c.one('read', *_READS)]}"


def _pairs(c: Choices) -> str:
    """Inputs and targets in separate datasets, each shuffled in some way, and joined."""
    first = c.one("first", ".shuffle(24)", ".shuffle(1000)", ".shuffle(24, seed=5)", "", ".shuffle(24, reshuffle_each_iteration=False)",
                  ".map(lambda x: x * 2.0).shuffle(24)", ".shuffle(24).map(lambda x: x + 1.0)")  # fmt: skip
    second = c.one("second", ".shuffle(24)", "", ".shuffle(1000)", ".shuffle(24, seed=5)", ".shuffle(4)",
                   ".shuffle(24).prefetch(1)", ".cache().shuffle(24)")  # fmt: skip
    arrays = "inputs = rng.normal(size=(24, 6)).astype('float32')\ntargets = inputs[:, :1] * 0.5\n"
    made = f"xs = tf.data.Dataset.from_tensor_slices(inputs){first}\nys = tf.data.Dataset.from_tensor_slices(targets){second}\n"
    if c.one("branches", "no", "no", "yes") == "yes":
        made = (
            f"both = tf.data.Dataset.from_tensor_slices((inputs, targets)){first.replace('lambda x: x * 2.0', 'lambda x, y: (x, y)').replace('lambda x: x + 1.0', 'lambda x, y: (x, y)')}\n"
            "xs, ys = both.map(lambda x, y: x), both.map(lambda x, y: y)\n"
        )
    joined = c.one("joined", "tf.data.Dataset.zip((xs, ys))", "tf.data.Dataset.zip(xs, ys)")
    ends = c.one("end", [".batch(8)"], [".batch(8)", ".prefetch(2)"], [".cache()", ".batch(8)"], [".shuffle(24)", ".batch(8)"], [".repeat(2)", ".batch(5)"])  # fmt: skip
    return f"{arrays}{_OF_ROWS}{made}{_made(c, [joined, *ends])}{_READS[c.one('read', *_READS)]}"


def _arrays(c: Choices) -> str:
    """Arrays for training and for validation."""
    size = c.one("size", "batch_size=8", "16", "batch_size=SIZE", "batch_size=32", "**settings")
    held = c.one("held", "(held_x, held_y)", "[held_x, held_y]", "held", "(held_x, held_y, weights)", "(held_x[:7], held_y[:7])",
                 "(tf.constant(held_x), tf.constant(held_y))")  # fmt: skip
    extra = c.one("extra", "", ", validation_freq=2", ", shuffle=False", ", callbacks=[tf.keras.callbacks.EarlyStopping(patience=1)]",
                  ", callbacks=[Watch()]", ", class_weight=None", ", validation_steps=None")  # fmt: skip
    layer = c.one(
        "layer", "", "tf.keras.layers.BatchNormalization(), ", "tf.keras.layers.Dropout(0.3), ", "tf.keras.layers.GaussianNoise(0.1), "
    )  # fmt: skip
    metrics = c.one("metrics", "", ", metrics=['mae']", ", metrics=[tf.keras.metrics.RootMeanSquaredError()]")
    call = f"model.fit(x, y, {size}, epochs=2, verbose=VERBOSE, validation_data={held}{extra})\n"
    if size == "**settings":
        call = f"model.fit(x, y, validation_data={held}, epochs=2, verbose=VERBOSE{extra}, **settings)\n"
    call = call.replace("VERBOSE", c.one("verbose", "0", "2"))
    read = c.one(
        "read", f"history = {call}best = min(history.history['val_loss'])\n", call, f"for turn in range(2):\n    {call}"
    )
    where = c.one("where", "module", "function", "method")
    if where == "function":
        read = f"\n\ndef train(x, y):\n{indented(read)}\n\ntrain(x, y)\n"
    if where == "method":
        method = indented(read.replace("model.fit", "self.model.fit"), 2)
        read = f"\n\nclass Trainer:\n    def __init__(self, model):\n        self.model = model\n\n    def run(self):\n{method}\n\nTrainer(model).run()\n"
    return f"""\
x = rng.normal(size=(48, 6)).astype("float32")
y = x[:, :1] * 0.5
held_x, held_y = x[20:] * 0.9, y[20:] * 0.9
weights, held, SIZE, settings, seen = np.ones(28), (held_x, held_y), 8, {{"batch_size": 16}}, []


class Watch(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        seen.append(sorted(logs))


model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), {layer}tf.keras.layers.Dense(1)])
model.compile("sgd", "mse"{metrics})
{read}"""
