"""Programs of the fuzzer of fixes that read data by tf.data."""

from __future__ import annotations

from fix_fuzz_choices import Choices

# An operation on a dataset of pairs of a row and its number; `BATCHED` stands where a function must know.
_OPERATIONS = {
    "batch": ".batch(8)",
    "map": ".map(lambda x, y: (x / 2.0, y))",
    "shuffle": ".shuffle(20, seed=3)",
    "prefetch": ".prefetch(2)",
    "cache": ".cache()",
    "nothing": "",
    "cast": ".map(lambda x, y: (tf.cast(x, tf.float32) * 0.1, y), num_parallel_calls=tf.data.AUTOTUNE)",
    "swap": ".map(lambda x, y: (y, x)).map(lambda y, x: (x, y))",
    "repeat": ".repeat(2)",
    "take": ".take(5)",
    "skip": ".skip(1)",
    "shuffle all": ".shuffle(1000)",
    "shuffle one": ".shuffle(1)",
    "shuffle once": ".shuffle(20, seed=3, reshuffle_each_iteration=False)",
    "filter": ".filter(lambda x, y: tf.reduce_sum(x) > -90.0)",
    "named map": ".map(prepare)",
    "noise": ".map(lambda x, y: (x + tf.random.normal(tf.shape(x)), y))",
    "seeded noise": ".map(lambda x, y: (x + tf.random.stateless_uniform(tf.shape(x), seed=(1, 2)), y))",
    "python noise": ".map(lambda x, y: (x + np.random.normal(), y))",
    "python choice": ".map(lambda x, y: (x + random.random(), y))",
    "print": ".map(shown)",
    "norm": ".map(lambda x, y: (x - tf.reduce_mean(x), y))",
    "argmax": ".map(lambda x, y: (x, tf.reduce_max(x, keepdims=True)))",
    "reshape": ".map(lambda x, y: (tf.reshape(x, [-1, 2, 3]), y)).map(lambda x, y: (tf.reshape(x, [-1, 6]), y))",
    "py_function": ".map(lambda x, y: (tf.numpy_function(np.abs, [x], x.dtype), y))",
    "to device": '.apply(tf.data.experimental.prefetch_to_device("/device:CPU:0"))',
    "copy": '.apply(tf.data.experimental.copy_to_device("/device:CPU:0"))',
    "map and batch": ".apply(tf.data.experimental.map_and_batch(lambda x, y: (x * 2.0, y), batch_size=8))",
    "shuffle and repeat": ".apply(tf.data.experimental.shuffle_and_repeat(20, count=2, seed=4))",
    "cardinality": ".apply(tf.data.experimental.assert_cardinality(24))",
    "ignore errors": ".apply(tf.data.experimental.ignore_errors())",
    "unbatch": ".batch(4).unbatch()",
    "drop": ".batch(8, drop_remainder=True)",
    "large batch": ".batch(BATCH)",
    "prefetch size": ".prefetch(BATCH)",
    "prefetch scaled": ".prefetch(BATCH * 4)",
    "shuffle scaled": ".shuffle(buffer_size=BATCH * 10, seed=9)",
    "interleave": ".interleave(lambda x, y: tf.data.Dataset.from_tensors((x, y)), cycle_length=1)",
    "parallel interleave": ".apply(tf.data.experimental.parallel_interleave(lambda x, y: tf.data.Dataset.from_tensors((x, y)), cycle_length=1))",
    "enumerate": ".enumerate().map(lambda i, pair: pair)",
    "with options": ".with_options(options)",
    "window": ".window(4).flat_map(lambda x, y: tf.data.Dataset.zip((x, y)).batch(4))",
    "experimental autotune": ".map(lambda x, y: (x + 1.0, y), num_parallel_calls=tf.data.experimental.AUTOTUNE)",
    "autotune prefetch": ".prefetch(tf.data.experimental.AUTOTUNE)",
}
# Orders of operations about which some rule has something to say.
_PATTERNS: dict[str, tuple[str, ...]] = {
    "any": (),
    "noise cached": ("noise", "cache", "shuffle all", "batch"),
    "order cached": ("shuffle all", "cache", "batch"),
    "batches mixed": ("batch", "shuffle"),
    "batches cached and mixed": ("batch", "cache", "shuffle"),
    "noise": ("shuffle", "noise", "batch", "prefetch"),
    "samples": ("shuffle",),
    "samples mapped": ("cast", "shuffle all"),
    "scaled": ("batch", "prefetch size"),
    "scaled buffer": ("shuffle scaled", "large batch", "prefetch scaled"),
    "mapped rows": ("named map", "large batch"),
    "mapped": ("cast", "batch", "prefetch"),
    "early": ("prefetch", "named map", "batch"),
    "to device": ("batch", "to device"),
    "to device first": ("to device", "batch"),
    "fused": ("shuffle and repeat", "map and batch"),
    "dropped": ("map", "drop", "shuffle"),
}
_SOURCES = {
    "slices": "tf.data.Dataset.from_tensor_slices((inputs, targets))",
    "generator": "tf.data.Dataset.from_generator(stream, output_signature=(tf.TensorSpec((6,), tf.float32), tf.TensorSpec((1,), tf.float32)))",
    "zip": "tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(inputs), tf.data.Dataset.from_tensor_slices(targets)))",
    "torn": "tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(inputs).shuffle(24), tf.data.Dataset.from_tensor_slices(targets).shuffle(24)))",
    "range": "tf.data.Dataset.range(24).map(lambda n: (tf.fill([6], tf.cast(n, tf.float32)), [tf.cast(n, tf.float32)]))",
    "tensors": "tf.data.Dataset.from_tensors((inputs, targets)).unbatch()",
    "parsed": "tf.data.Dataset.from_tensor_slices(lines).map(lambda line: tf.strings.to_number(tf.strings.split(line, ','))).map(lambda x: (x[:6], x[6:]))",
    "images": "tf.data.Dataset.from_tensor_slices(pictures).map(decoded).map(lambda x: (tf.reshape(tf.cast(x, tf.float32), [-1])[:6], [1.0]))",
}
_SETUP = """\
import random

BATCH = 8
inputs = rng.normal(size=(24, 6)).astype("float32")
targets = inputs[:, :1] * 0.5
lines = [",".join(f"{v:.3f}" for v in (*x, y)) for x, (y,) in zip(inputs, targets)]
options = tf.data.Options()
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
pictures = [tf.io.encode_png(rng.integers(0, 255, (4, 4, 3)).astype("uint8")).numpy() for _ in range(24)]


def stream():
    yield from zip(inputs, targets)


def prepare(x, y):
    x = tf.cast(x, tf.float32)
    return x * 2.0 - 1.0, y


def shown(x, y):
    print("seen")
    return x, y


def decoded(picture):
    return tf.image.decode_png(picture, channels=3)


"""


def pipeline(c: Choices) -> dict[str, str]:
    """A chain of operations on a dataset, in one expression or in statements, and what reads it."""
    pattern = _PATTERNS[c.one("pattern", *["any"] * 4, *_PATTERNS)]
    chain = [_OPERATIONS[c.one(f"operation {place}", "nothing", *_OPERATIONS)] for place in range(1 if pattern else 4)]
    chain = (
        [_OPERATIONS[name] for name in pattern] + chain
        if c.one("added", "last", "first") == "last"
        else chain + [_OPERATIONS[name] for name in pattern]
    )
    ends = c.one(
        *("end", "", ".batch(8)", ".batch(8)", ".batch(8).prefetch(2)", ".batch(5).shuffle(4, seed=2)"),
        *(".prefetch(2).batch(8)", ".batch(8).cache().shuffle(9)"),
    )
    ends = "" if any("batch(" in operation for operation in chain) else ends
    operations = [_SOURCES[c.one("source", "slices", *_SOURCES)], *filter(None, chain), *filter(None, [ends])]
    style = c.one("style", "statements", "expression", "function", "discarded", "lines")
    if style == "expression":
        made = f"dataset = {''.join(operations)}\n"
    elif style == "lines":
        joined = "".join(f"    {line}\n" for line in operations)
        made = f"dataset = (\n{joined})\n"
    else:
        statements = [f"dataset = {operations[0]}", *(f"dataset = dataset{operation}" for operation in operations[1:])]
        if style == "discarded" and len(statements) > 1:
            statements[-2 if len(statements) > 2 else -1] = statements[-2 if len(statements) > 2 else -1].removeprefix(
                "dataset = "
            )
        if style == "function":
            made = (
                "\n\ndef load():\n"
                + "".join(f"    {line}\n" for line in statements)
                + "    return dataset\n\n\ndataset = load()\n"
            )
        else:
            made = "\n".join(statements) + "\n"
    reads = {
        "list": "elements = [[np.asarray(part) for part in element] for element in dataset]\n",
        "epochs": "elements = []\nfor epoch in range(2):\n    for x, y in dataset:\n        elements.append(x.numpy())\n",
        "fit": "model.fit(dataset, epochs=2, verbose=0)\n",
        "fit and list": "model.fit(dataset, epochs=1, verbose=0)\nelements = [np.asarray(x) for x, y in dataset]\n",
        "fit with size": "model.fit(dataset, batch_size=8, epochs=2, verbose=0)\nscore = model.evaluate(dataset, batch_size=4, verbose=0)\n",
        "steps": "model.fit(dataset.repeat(), steps_per_epoch=3, epochs=2, verbose=0)\n",
        "validation": "model.fit(dataset, validation_data=dataset.take(2), epochs=2, verbose=0)\nfound = model.predict(dataset, verbose=0)\n",
        "loop": "for epoch in range(3):\n    for x, y in dataset:\n        model.train_on_batch(x, y)\n",
        "count": "count = sum(1 for _ in dataset)\ntotal = dataset.reduce(0.0, lambda total, pair: total + tf.reduce_sum(pair[0]))\n",
        "one": "first = next(iter(dataset))\nshape = tuple(first[0].shape)\nsize = int(dataset.cardinality())\n",
    }
    return {"train.py": f"{_SETUP}{made}{reads[c.one('read', *reads)]}"}
