"""Programs of the fuzzer of fixes around one thing each: compiled functions, weights, layers, precision, devices."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from fix_fuzz_choices import Choices, indented

_ROWS = """\
inputs = rng.normal(size=(48, 6)).astype("float32")
targets = inputs[:, :1] * 0.5
"""
_MODEL = """\
model = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
"""


def single(c: Choices) -> dict[str, str]:
    """A program about one of these things."""
    themes: dict[str, Callable[[Choices], str]] = {
        "functions": _functions,
        "numbers": _numbers,
        "eager": _eager,
        "weights": _weights,
        "grown": _grown,
        "layers": _layers,
        "precision": _precision,
        "recurrent": _recurrent,
        "predict": _predict,
        "map_fn": _map_fn,
        "placement": _placement,
        "fit": _fit,
        "synced": _synced,
    }
    return {"train.py": themes[c.one("theme", *themes)](c)}


def _functions(c: Choices) -> str:
    """`tf.function` made in a loop, or in what a loop calls."""
    body = c.one("body", "return model(x)", "return x * scale", 'print("traced")\nreturn x + 1.0', "return tf.reduce_sum(x) + len(seen)",
                 "seen.append(1)\nreturn x", "return model(x) * number", "return x + offset")  # fmt: skip
    made = f"@tf.function\ndef run(x):\n{indented(body)}\n"
    if c.one("made by", "decorator", "call", "lambda") == "lambda":
        made = f"run = tf.function(lambda x: {body.rpartition('return ')[2]})\n"
    if c.one("made by", "decorator", "call", "lambda") == "call":
        made = f"def plain(x):\n{indented(body)}\n\nrun = tf.function(plain)\n"
    use = c.one(
        "use",
        "found.append(run(tf.constant(inputs[:4])))\n",
        "found.append(float(tf.reduce_sum(run(inputs[:4]))))\n",
        "for row in inputs[:3]:\n    found.append(run(row[np.newaxis]))\n",
    )
    change = c.one(
        "change",
        "",
        "",
        "scale *= 0.5\n",
        "seen.append(2)\n",
        "model.layers[0].trainable = not model.layers[0].trainable\n",
        "model.set_weights([w * 0.9 for w in model.get_weights()])\n",
        "offset = tf.constant(float(number))\n",
        "scale = number\n",
    )
    start = "scale, seen, found, offset = 1.0, [], [], tf.constant(1.0)\n"
    count = c.one("count", 12, 2, 6)
    where = c.one("where", "loop", "function", "method", "main")
    head = f"for number in range({count}):\n"
    if where == "loop":
        return f"{_ROWS}{_MODEL}{start}{head}{indented(made + use + change)}"
    if where == "main":
        return f"{_ROWS}{_MODEL}\n\ndef main():\n{indented(start + head + indented(made + use + change) + 'return found, scale')}\n\n\nout = main()\n"
    if where == "function":
        once = f"{made}\n{use}"
        return f"{_ROWS}{_MODEL}{start}\n\ndef once(number):\n{indented(once)}\n\n{head}    once(number)\n{indented(change)}"
    once = f"{made.replace('model', 'self.model')}\n{use}"
    return (
        f"{_ROWS}{_MODEL}{start}\n\nclass Work:\n    def __init__(self, model):\n        self.model = model\n\n    def once(self, number):\n{indented(once, 2)}\n\n"
        f"work = Work(model)\n{head}    work.once(number)\n{indented(change)}"
    )


def _numbers(c: Choices) -> str:
    """A compiled function that gets Python numbers."""
    use = c.one("use", "return x * n", "return x[n]", "return x + tf.cast(n, tf.float32)", "return tf.reduce_sum(x) / (n + 1)", "return x * (1.0 - n / 100)",
                "if n > 3:\n    return x\nreturn x * 2.0", "total = x[0]\nfor k in range(n):\n    total += 1.0\nreturn total", "return tf.pow(x, n)", "return tf.range(n)", "return x[:n]",
                "return tf.reshape(x, [n, -1]) if n else x", "return tf.one_hot(n, 5)", "optimizer.learning_rate.assign(n)\nreturn x", "return x * n * m", "return tf.fill([3], n)",
                "return x * rates[n]")  # fmt: skip
    value = c.one(
        "value",
        "number",
        "number * 0.1",
        "float(number)",
        "number % 3",
        "1.0 / (number + 1)",
        "int(number)",
        "np.float32(number)",
        "rate",
    )
    extra = c.one("extra", "", ", m=number", ", m=2", ", m=1.5")
    parameters = "x, n, m=1"
    form = c.one("form", "function", "method", "keyword")
    call = f"run(vector, {'n=' if form == 'keyword' else ''}{value}{extra})"
    count = c.one("count", 12, 3, 40)
    head = "optimizer = tf.keras.optimizers.SGD(0.1)\nrates = [0.1] * 50\nrate = 1.0\nfound = []\n"
    kind = c.one(
        "vector", 'tf.constant(rng.normal(size=6).astype("float32"))', "tf.constant(rng.normal(size=6))", "tf.range(6)"
    )
    vector = f"vector = {kind}\n"
    loop = f"for number in range({count}):\n    found.append(CALL)\n    rate *= 0.9\n"
    if form == "method":
        return f"{head}{vector}\n\nclass Work:\n    @tf.function\n    def run(self, {parameters}):\n{indented(use, 2)}\n\n\nwork = Work()\n{loop.replace('CALL', 'work.' + call)}"
    return f"{head}{vector}\n\n@tf.function\ndef run({parameters}):\n{indented(use)}\n\n\n{loop.replace('CALL', call)}"


def _eager(c: Choices) -> str:
    """Switches for eager mode, and code that may need it."""
    switch = c.one("switch", "compile", "functions", "data", "old")
    needs = c.one(
        "needs",
        "nothing",
        "numpy",
        "nested",
        "wrapper",
        "print",
        "list",
        "callback",
        "python if",
        "float",
        "string",
        "counter",
        "py_function",
    )
    body = {
        "nothing": "return tf.reduce_mean(tf.square(y - p))",
        "numpy": "return tf.reduce_mean(tf.square(y - p)) * float(1.0 + 0.0 * p.numpy().sum())",
        "nested": "def inner(t):\n    return t.numpy().mean()\n\nreturn tf.reduce_mean(tf.square(y - p)) + 0.0 * inner(p)",
        "wrapper": "return tf.reduce_mean(tf.square(y - p)) + 0.0 * np.mean(np.asarray(p))",
        "print": 'print("loss of", len(y))\nreturn tf.reduce_mean(tf.square(y - p))',
        "list": "values.append(1)\nreturn tf.reduce_mean(tf.square(y - p))",
        "callback": "return tf.reduce_mean(tf.square(y - p))",
        "python if": "if tf.reduce_mean(p) > 0:\n    return tf.reduce_mean(tf.square(y - p))\nreturn tf.reduce_mean(tf.abs(y - p))",
        "float": "return tf.reduce_mean(tf.square(y - p)) * float(tf.size(y)) / 8.0",
        "string": 'return tf.reduce_mean(tf.square(y - p)) * (2.0 if "%s" % y.dtype == "float32" else 1.0)',
        "counter": "values[0:1] = [sum(values[0:1]) + 1]\nreturn tf.reduce_mean(tf.square(y - p))",
        "py_function": "return tf.reduce_mean(tf.square(y - p)) + 0.0 * tf.py_function(lambda t: t.numpy().mean(), [p], tf.float32)",
    }[needs]
    where = c.one("where", "loss", "metric", "train_step", "call", "map")
    loss = f"values = []\n\n\ndef error(y, p):\n{indented(body)}\n\n\n"
    model = _MODEL
    if where == "train_step":
        model = textwrap.dedent("""\
            class Net(tf.keras.Model):
                def __init__(self):
                    super().__init__()
                    self.last = tf.keras.layers.Dense(1)

                def call(self, x):
                    return self.last(x)

                def train_step(self, data):
                    x, y = data
                    with tf.GradientTape() as tape:
                        loss = error(y, self(x, training=True))
                    grads = tape.gradient(loss, self.trainable_variables)
                    self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
                    return {"loss": loss}


            model = Net()
            """)
    if where == "call":
        model = "class Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.last = tf.keras.layers.Dense(1)\n\n    def call(self, x):\n        error(x, x)\n        return self.last(x)\n\n\nmodel = Net()\n"
    eager = ", run_eagerly=True" if switch == "compile" else ""
    head = {
        "functions": "tf.config.run_functions_eagerly(True)\n",
        "data": "tf.data.experimental.enable_debug_mode()\n",
        "old": "tf.config.experimental_run_functions_eagerly(True)\n",
    }.get(switch, "")
    metric = ", metrics=[error]" if where == "metric" else ""
    used = '"mse"' if where in ("metric", "call", "map") else "error"
    data = (
        "dataset = tf.data.Dataset.from_tensor_slices((inputs, targets))"
        + (".map(lambda x, y: (x + 0.0 * error(y, y), y))" if where == "map" else "")
        + ".batch(8)\n"
    )
    return f"{head}{_ROWS}{loss}{model}model.compile(tf.keras.optimizers.SGD(0.01), {used}{metric}{eager})\n{data}model.fit(dataset, epochs={c.one('epochs', 10, 4, 30)}, verbose=0)\n"


def _weights(c: Choices) -> str:
    """Weights that one model takes from another."""
    copy = c.one(
        "copy",
        "target.set_weights(model.get_weights())\n",
        "latest = model.get_weights()\ntarget.set_weights(latest)\n",
        "target.set_weights([0.9 * old + 0.1 * new for old, new in zip(target.get_weights(), model.get_weights())])\n",
        "fast, slow = model.get_weights(), target.get_weights()\nfor k in range(len(fast)):\n    slow[k] = 0.9 * slow[k] + 0.1 * fast[k]\ntarget.set_weights(slow)\n",
        "before = model.get_weights()\nmodel.train_on_batch(x, y)\nmodel.set_weights(before)\n",
        "kept = model.get_weights()\ntarget.set_weights(kept)\nhistory.append(kept[0].copy())\n",
        "for a, b in zip(target.layers, model.layers):\n    a.set_weights(b.get_weights())\n",
    )
    other = c.one(
        "target",
        "tf.keras.models.clone_model(model)",
        "tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])",
    )
    extra = c.one("layer", "", "tf.keras.layers.BatchNormalization(), ")
    model = _MODEL.replace("tf.keras.layers.Dense(1)", f"{extra}tf.keras.layers.Dense(1)")
    order = c.one("order", "after", "before")
    step = "model.train_on_batch(x, y)\n"
    body = step + copy if order == "after" else copy + step
    return f"{_ROWS}{model}target = {other}\nmodel.compile('sgd', 'mse')\nhistory = []\nfor epoch in range({c.one('epochs', 2, 8)}):\n    for start in range(0, 48, 8):\n        x, y = inputs[start : start + 8], targets[start : start + 8]\n{indented(body, 2)}"


def _grown(c: Choices) -> str:
    """A tensor that becomes longer in a loop."""
    start = c.one(
        "start",
        "found = tf.zeros((0, 6))\n",
        "found = tf.constant(inputs[:1])\n",
        "found = None\n",
        "found = tf.zeros([0, 6], tf.float32)\n",
        "found = []\n",
        "found = np.zeros((0, 6), 'float32')\n",
    )
    join = c.one(
        "join",
        "tf.concat([found, part], 0)",
        "tf.concat([part, found], axis=0)",
        "tf.concat((found, part), axis=0)",
        "np.concatenate([found, part])",
        "tf.concat([found, part, part], 0)",
        "tf.concat(values=[found, part], axis=0)",
    )
    grow = f"found = {join}\n"
    if "None" in start:
        grow = f"if found is None:\n    found = part\nelse:\n    found = {join}\n"
    if "[]" in start and "tf.zeros" not in start:
        grow = f"found = part if len(found) == 0 else {join}\n"
    part = c.one(
        "part",
        "part = tf.constant(inputs[number : number + 1]) * 2.0\n",
        "part = tf.random.stateless_normal((2, 6), seed=(number, 1))\n",
        "part = inputs[number : number + 2]\n",
        "part = tf.Variable(inputs[:1])\n",
    )
    more = c.one(
        "more",
        "",
        "",
        "if len(found) > 20:\n    break\n",
        "print(found.shape)\n",
        "found = found[-8:]\n",
        "if number % 3 == 0:\n    continue\n",
        "total += tf.reduce_sum(part)\n",
    )
    after = c.one(
        "after",
        "",
        "size = found.shape[0]\n",
        "found = found.numpy() if hasattr(found, 'numpy') else found\n",
        "found = tf.reshape(found, [-1])\n",
    )
    where = c.one("where", "module", "function")
    body = part + (more + grow if "continue" in more else grow + more)
    loop = f"{start}total = 0.0\nfor number in range({c.one('count', 30, 8, 1)}):\n{indented(body)}{after}"
    if where == "function":
        return f"{_ROWS}\n\ndef collect():\n{indented(loop)}    return found\n\n\nout = collect()\n"
    return _ROWS + loop


def _layers(c: Choices) -> str:
    """A layer of the program with something in `call` that tracing freezes or forbids."""
    line = c.one("line", "x = tf.sin(x)", "x = np.sin(x)", "x = np.sqrt(np.maximum(x, 0.0))", "x = x + np.random.normal()", "x = x + np.random.normal(size=(4,)).astype('float32')", "x = np.mean(x, axis=1, keepdims=True) + x",
                 "x = x * random.uniform(0.5, 1.5)", "x = tf.keras.layers.Dense(4)(x)", "x = tf.keras.layers.Dropout(0.1)(x, training=training)", "x = np.concatenate([x, x], axis=-1)", "x = np.exp(-np.abs(x))",
                 "x = np.clip(x, -1.0, 1.0)", "x = np.dot(x, np.ones((4, 4), 'float32'))", "x = x * np.sqrt(x.shape[-1])", "x = np.where(x > 0, x, 0.1 * x)", "x = tf.keras.layers.LayerNormalization()(x)", "x = np.sum(x * x, -1)[:, None] + x",
                 "if random.random() < 0.5:\n    x = x * 2.0", "x = np.power(x, 2)", "x = np.log1p(np.abs(x))", "x = np.expand_dims(x, -1)[..., 0]", "x = np.transpose(x, (0, 1))", "x = np.tanh(x) * np.float32(2)")  # fmt: skip
    how = c.one("how", "fit", "call", "eager fit", "function", "predict", "model of it")
    head = "import random\n\n\nclass Own(tf.keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n        self.first = tf.keras.layers.Dense(4)\n\n"
    layer = f"{head}    def call(self, x, training=False):\n        x = self.first(x)\n{indented(line, 2)}\n        return x\n\n\n"
    made = "model = tf.keras.Sequential([Own(), tf.keras.layers.Dense(1)])\n"
    use = {
        "fit": "model.compile(tf.keras.optimizers.SGD(0.01), 'mse')\nmodel.fit(inputs, targets, epochs=2, verbose=0)\n",
        "eager fit": "model.compile(tf.keras.optimizers.SGD(0.01), 'mse', run_eagerly=True)\nmodel.fit(inputs, targets, epochs=25, verbose=0)\n",
        "call": "own = Own()\nfound = [own(inputs[:8]) for _ in range(4)]\nmean = float(tf.reduce_mean(found[0]))\n",
        "function": "own = Own()\nrun = tf.function(own)\nfound = [run(tf.constant(inputs[:8])) for _ in range(4)]\n",
        "predict": "found = model.predict(inputs, batch_size=16, verbose=0)\n",
        "model of it": "x = tf.keras.Input((6,))\nmodel = tf.keras.Model(x, tf.keras.layers.Dense(1)(Own()(x)))\nfound = model.predict(inputs, verbose=0)\n",
    }[how]
    return f"{_ROWS}{layer}{made}{use}"


def _precision(c: Choices) -> str:
    """float64, and half precision."""
    set_to = c.one(
        "set",
        "tf.keras.backend.set_floatx('float64')\n",
        "",
        "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n",
        "tf.keras.mixed_precision.set_global_policy('float64')\n",
    )
    last = c.one(
        "last",
        "Dense(1)",
        "Dense(1, activation='sigmoid')",
        "Dense(3, activation='softmax')",
        "Dense(1, dtype='float64')",
        "Activation('sigmoid')",
    )
    dtype = c.one("dtype", "float32", "float64")
    loss = (
        {"D": "'mse'", "A": "'binary_crossentropy'"}[last[0]] if "activation" not in last else "'binary_crossentropy'"
    )
    goal = "inputs[:, :1] * 0.5" if "mse" in loss else "(inputs[:, :1] > 0).astype('float32')"
    if "softmax" in last:
        loss, goal = "'sparse_categorical_crossentropy'", "(inputs[:, 0] > 0).astype('int32')"
    layers = (
        f"tf.keras.layers.Dense(4, activation='tanh'{c.one('layer', '', ', dtype=tf.float64')}), tf.keras.layers.{last}"
    )
    layers = layers.replace("tf.keras.layers.Activation", "tf.keras.layers.Dense(1), tf.keras.layers.Activation")
    use = c.one(
        "use",
        "model.fit(inputs, goals, epochs=2, verbose=0)\n",
        "found = model.predict(inputs, verbose=0)\nprint(found.dtype)\n",
        "found = model(inputs) * tf.constant(0.5, model(inputs).dtype)\n",
        "found = tf.matmul(tf.cast(inputs, tf.float64), tf.ones((6, 2), tf.float64))\n",
        "found = np.asarray(model(inputs)) @ np.ones((1, 2))\n"
        if "3" not in last
        else "found = np.asarray(model(inputs))\n",
        "weights = tf.Variable(np.ones((6, 1)))\nfound = tf.matmul(inputs.astype('float64'), weights)\n",
    )
    return f"{set_to}inputs = rng.normal(size=(48, 6)).astype('{dtype}')\ngoals = {goal}\nmodel = tf.keras.Sequential([tf.keras.Input((6,)), {layers}])\nmodel.compile(tf.keras.optimizers.SGD(0.01), {loss})\n{use}"


def _recurrent(c: Choices) -> str:
    """Recurrent layers with arguments that cuDNN has not."""
    kind = c.one("kind", "LSTM", "GRU")
    extra = c.one(
        "arguments",
        "",
        ", recurrent_dropout=0.2",
        ", unroll=True",
        ", activation='relu'",
        ", recurrent_activation='hard_sigmoid'",
        ", use_bias=False",
        ", activation='tanh'",
    )
    extra += ", reset_after=False" if kind == "GRU" and c.one("reset", "", "no") else ""
    form = c.one("form", "layer", "cell", "bidirectional", "stateful", "stack")
    layer = {
        "layer": f"tf.keras.layers.{kind}(4{extra})",
        "cell": f"tf.keras.layers.RNN(tf.keras.layers.{kind}Cell(4{extra.replace(', unroll=True', '')}))",
        "bidirectional": f"tf.keras.layers.Bidirectional(tf.keras.layers.{kind}(4{extra}))",
        "stateful": f"tf.keras.layers.{kind}(4, return_sequences=True{extra}), tf.keras.layers.GlobalAveragePooling1D()",
        "stack": f"tf.keras.layers.{kind}(4, return_sequences=True{extra}), tf.keras.layers.{kind}(3)",
    }[form]
    use = c.one(
        "use",
        "model.fit(pieces, goals, epochs=2, verbose=0)\n",
        "found = model.predict(pieces, verbose=0)\n",
        "model.save_weights('w.weights.h5')\nmodel.load_weights('w.weights.h5')\nfound = model(pieces)\n",
        "model.set_weights(model.get_weights())\nfound = model(pieces)\n",
    )
    return f"pieces = rng.normal(size=(24, 5, 6)).astype('float32')\ngoals = pieces[:, 0, :1]\nmodel = tf.keras.Sequential([tf.keras.Input((5, 6)), {layer}, tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n{use}"


def _predict(c: Choices) -> str:
    """`predict`, `fit` and `evaluate` on single batches."""
    call = c.one("call", "found.append(model.predict(x, verbose=0))\n", "model.fit(x, y, verbose=0)\n", "found.append(model.evaluate(x, y, verbose=0))\n", "history = model.fit(x, y, verbose=0)\nfound.append(history.history['loss'][0])\n", "found.extend(model.predict(x))\n",
                 "guess = model.predict(x, verbose=0)\nmodel.fit(x, 0.5 * guess + 0.5 * y, verbose=0)\n", "found.append(np.argmax(model.predict(x, verbose=0)[0]))\n", "model.fit(x, y, epochs=1, batch_size=len(x), verbose=0)\n", "found.append(float(model.predict(x, verbose=0)[0, 0]))\n")  # fmt: skip
    source = c.one("source", "for start in range(0, 48, 8):\n    x, y = inputs[start : start + 8], targets[start : start + 8]\n", "for x, y in dataset:\n", "for turn in range(12):\n    chosen = rng.integers(0, 48, 8)\n    x, y = inputs[chosen], targets[chosen]\n",
                   "for turn in range(10):\n    batch = random.sample(memory, 4)\n    x = np.array([row for row, _ in batch])\n    y = np.array([goal for _, goal in batch])\n")  # fmt: skip
    outputs = c.one("outputs", "one", "two")
    model = _MODEL
    if outputs == "two" and ("predict" in call and "fit" not in call):
        model = "entry = tf.keras.Input((6,))\nmodel = tf.keras.Model(entry, [tf.keras.layers.Dense(1)(entry), tf.keras.layers.Dense(2)(entry)])\n"
        call = "found.append(model.predict(x, verbose=0)[0])\n"
    where = c.one("where", "module", "method", "function")
    head = f"import random\n\n{_ROWS}dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(8)\nmemory = list(zip(inputs, targets))\n{model}model.compile('sgd', 'mse')\nfound = []\n"
    loop = source + indented(call)
    if where == "function":
        return f"{head}\n\ndef learn(x, y):\n{indented(call)}\n\n{source}    learn(x, y)\n"
    if where == "method":
        return f"{head}\n\nclass Agent:\n    def __init__(self, model):\n        self.model = model\n\n    def learn(self):\n{indented(loop.replace('model', 'self.model'), 2)}\n\nagent = Agent(model)\nfor episode in range({c.one('episodes', 2, 6)}):\n    agent.learn()\n"
    return head + loop


def _map_fn(c: Choices) -> str:
    """Functions of each row."""
    function = c.one("function", "lambda row: row * 2.0", "lambda row: tf.reduce_sum(row)", "lambda row: tf.where(row > 0, row, 0.1 * row)", "lambda row: tf.cast(row, tf.float64)", "lambda row: row - tf.reduce_mean(row)", "lambda row: tf.tensordot(row, kernel, 1)", "scaled",
                     "lambda row: tf.nn.softmax(row)", "lambda row: row[0]", "lambda row: tf.reverse(row, [0])", "lambda row: tf.reduce_max(row, axis=0, keepdims=True)", "lambda row: row / tf.norm(row)", "lambda row: tf.sort(row)", "lambda row: row + offset[0]",
                     "lambda row: tf.concat([row, row], 0)", "lambda row: tf.stack([row, row])", "lambda row: tf.argmax(row)", "lambda row: tf.cumsum(row)", "lambda row: tf.expand_dims(row, 0)")  # fmt: skip
    kind = c.one("kind", "", ", fn_output_signature=tf.float32", ", dtype=tf.float64")
    if "float64" in function:
        kind = ", fn_output_signature=tf.float64"
    elif "argmax" in function:
        kind = ", fn_output_signature=tf.int64"
    elif "float64" in kind:
        kind = ""
    call = f"tf.map_fn({function}, x{kind})"
    rows = c.one("rows", "inputs", "inputs[:0]", "pieces")
    head = f"{_ROWS}pieces = rng.normal(size=(4, 5, 6)).astype('float32')\nkernel = tf.ones((6, 2))\noffset = tf.constant([1.0])\n\n\ndef scaled(row):\n    row = row * 3.0\n    return row - tf.reduce_max(row)\n\n\n"
    if c.one("where", "function", "eager") == "eager":
        rows = rows.replace("[:0]", "")  # an eager loop over no rows knows nothing of their axes, as the rule says
        return f"{head}x = tf.constant({rows})\nfound = [{call} for _ in range(3)]\n"
    return f"{head}@tf.function\ndef run(x):\n    return {call}\n\n\nfound = [run(tf.constant({rows})) for _ in range(3)]\n"


def _placement(c: Choices) -> str:
    """Devices and strategies."""
    kind = c.one("kind", "device", "strategy", "index", "growth", "late growth", "partial", "device string", "custom")
    fit = "model.fit(inputs, targets, epochs=1, verbose=0)\n"
    compile_ = "model.compile(tf.keras.optimizers.Adam(0.01), 'mse')\n"
    if kind == "device":
        name = c.one("name", "'/GPU:0'", "'gpu:1'", "'/device:GPU:0'")
        body = c.one(
            "body",
            "found = tf.reduce_sum(tf.constant(inputs))\n",
            _MODEL + compile_ + fit,
            "for row in inputs:\n    found = tf.reduce_sum(row)\n",
        )
        return f"{_ROWS}with tf.device({name}):\n{indented(body)}"
    if kind in ("strategy", "custom"):
        setup = "devices = tf.config.list_physical_devices('CPU')\ntf.config.set_logical_device_configuration(devices[0], [tf.config.LogicalDeviceConfiguration()] * 2)\nstrategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])\n"
        loss = "\n\ndef own_loss(y, p):\n    return tf.reduce_mean(tf.square(y - p), axis=-1)\n\n\n"
        used = c.one("loss", "'mse'", "own_loss", "tf.keras.losses.MeanSquaredError()")
        compile_ = f"model.compile({c.one('optimizer', 'OPT', 'optimizer', chr(39) + 'sgd' + chr(39)).replace('OPT', 'tf.keras.optimizers.Adam(0.01)')}, {used})\n"
        optimizer = "optimizer = tf.keras.optimizers.SGD(0.1)\n"
        order = c.one("order", "model out", "all in", "compile out", "optimizer out", "between")
        parts = {
            "model out": f"{loss}{_MODEL}{optimizer}with strategy.scope():\n{indented(compile_)}",
            "all in": f"{loss}with strategy.scope():\n{indented(optimizer + _MODEL + compile_)}",
            "compile out": f"with strategy.scope():\n{indented(optimizer + _MODEL)}{loss}{compile_}",
            "optimizer out": f"{optimizer}{loss}with strategy.scope():\n{indented(_MODEL + compile_)}",
            "between": f"with strategy.scope():\n{indented(_MODEL)}{loss}print('built', model.count_params())\n{optimizer}{compile_}",
        }[order]
        return f"{setup}{_ROWS}{parts}{fit}"
    if kind == "index":
        return "gpus = tf.config.list_physical_devices('GPU')\ntf.config.experimental.set_memory_growth(gpus[0], True)\nprint(len(gpus))\n"
    if kind == "late growth":
        threads = c.one(
            "what",
            "tf.config.threading.set_inter_op_parallelism_threads(2)\n",
            "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)\n",
        )
        return f"{_ROWS}{_MODEL}{threads}{compile_}{fit}"
    if kind == "partial":
        return f"gpus = tf.config.list_physical_devices('GPU')\nif gpus:\n    tf.config.experimental.set_memory_growth(gpus[0], True)\n{_ROWS}{_MODEL}{compile_}{fit}"
    return f"{_ROWS}{_MODEL}{compile_}{fit}"


def _fit(c: Choices) -> str:
    """Arguments of `fit`."""
    size = c.one("batch_size", ", batch_size=1", ", batch_size=8", "", ", batch_size=16")
    more = c.one("validation", "", ", validation_data=(inputs[:20], targets[:20])", ", validation_split=0.25")
    data = c.one("data", "inputs, targets", "dataset", "tf.constant(inputs), tf.constant(targets)", "samples")
    more = "" if "split" in more and "inputs" not in data else more
    layer = c.one("layer", "", "tf.keras.layers.Dropout(0.2), ", "tf.keras.layers.BatchNormalization(), ")
    callback = c.one("callback", "", ", callbacks=[Watch()]")
    watch = "\n\nclass Watch(tf.keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        seen.append(len(self.model.predict(inputs[:3], verbose=0)))\n\n    def on_train_batch_end(self, batch, logs=None):\n        seen.append(batch)\n\n\n"
    model = _MODEL.replace("tf.keras.layers.Dense(1)", f"{layer}tf.keras.layers.Dense(1)")
    use = c.one(
        "use",
        "history = model.fit(DATA, epochs=2, verbose=0).history\n",
        "model.fit(DATA, epochs=1, shuffle=False, verbose=0)\nscore = model.evaluate(DATA, verbose=0)\n",
        "model.fit(DATA, epochs=3, verbose=2)\n",
    )
    use = use.replace("DATA", f"{data}{size}{more}{callback}", 1).replace("DATA", data)
    return f"{_ROWS}seen = []\nsamples = tf.data.Dataset.from_tensor_slices((inputs, targets))\ndataset = samples.batch(8)\n{watch}{model}model.compile('sgd', 'mse')\n{use}"


def _synced(c: Choices) -> str:
    """Loops that read or show a number in every step."""
    show = c.one(
        "show",
        "print(float(loss))\n",
        "print('step', step, 'loss', loss.numpy())\n",
        "bar.append(float(loss))\nprint(step, bar[-1])\n",
        "print(f'{step}: {loss:.2f}')\n",
        "if step % 5 == 0:\n    print(float(loss))\n",
        "print(metric.result().numpy())\n",
        "print(optimizer.iterations.numpy())\n",
        "print('loss: {:.3f}'.format(loss))\n",
    )
    return f"""{_ROWS}{_MODEL}optimizer = tf.keras.optimizers.SGD(0.01)
metric = tf.keras.metrics.Mean()
bar = []
dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(8)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    metric.update_state(loss)
    return loss


for epoch in range({c.one("epochs", 3, 30)}):
    for step, (x, y) in enumerate(dataset):
        loss = train(x, y)
{indented(show, 2)}"""
