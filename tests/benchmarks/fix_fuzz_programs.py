"""The grammar of the fuzzer of fixes: programs that train, predict and read data, in the ways that people write them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from fix_fuzz_choices import Choices, indented
from fix_fuzz_fitted import fitted
from fix_fuzz_old_names import old_names
from fix_fuzz_pipelines import pipeline
from fix_fuzz_single import single

_HEAD = """\
import numpy as np
import tensorflow as tf

"""
_SEED = "tf.keras.utils.set_random_seed(7)\n"
_DRAWS = "rng = np.random.default_rng(3)\n"


def generated(choices: Choices) -> dict[str, str]:
    """A program: the texts of its files."""
    families: tuple[Callable[[Choices], dict[str, str]], ...] = (
        _training,
        _training,
        _training,
        _inference,
        _inference,
        pipeline,
        pipeline,
        fitted,
        fitted,
        single,
        single,
        single,
        old_names,
        old_names,
    )
    number = random.Random(f"{choices.seed}-family").randrange(len(families))  # no choice: all labels depend on it
    files = families[number](choices)
    seed = _SEED if choices.one("seeded", True, True, False) else ""  # rules on randomness ask for it
    head = f"{_HEAD}{seed}{_DRAWS}"
    return {name: head + text for name, text in files.items()}


@dataclass(frozen=True)
class Data:
    """Where batches come from.

    Arguments:
        setup: statements before the loop.
        head: the head of the loop over batches.
        take: statements at the start of its body, which make `x` and `y`.
        is_sequence: whether a batch has a length besides.
    """

    setup: str
    head: str
    take: str
    is_sequence: bool


def data_of(c: Choices) -> Data:
    """Batches of rows, or of sequences whose lengths differ."""
    rows, size = c.one("rows", 48, 45, 16, 160), c.one("batch", 8, 16)
    kind = c.one(
        *("data", "dataset", "arrays", "list", "tensors", "random rows", "generator", "from_generator", "shuffled"),
        *("padded", "sequence", "ragged", "lengths", "drop remainder", "zip", "iterator", "graph batches"),
    )
    if kind in ("padded", "ragged", "lengths", "graph batches"):
        return _sequences(c, kind, min(rows, 64), size)
    dtype = c.one("dtype", "float32", "float32", "float64")
    setup = (
        f'inputs = rng.normal(size=({rows}, 6)).astype("{dtype}")\n'
        f'targets = (inputs[:, :1] * 0.5 + 0.1).astype("{dtype}")\n'
    )
    tensors = "tf.data.Dataset.from_tensor_slices((inputs, targets))"
    enumerated = "for x, y in dataset:", "for number, (x, y) in enumerate(dataset):", "for batch in dataset:"
    head = c.one("loop", *enumerated)
    take = "x, y = batch\n" if "batch" in head else ""
    if kind == "dataset":
        return Data(f"{setup}dataset = {tensors}.batch({size})\n", head, take, False)
    if kind == "drop remainder":
        return Data(f"{setup}dataset = {tensors}.batch({size}, drop_remainder=True)\n", head, take, False)
    if kind == "shuffled":
        return Data(f"{setup}dataset = {tensors}.shuffle(50, seed=5).batch({size}).prefetch(1)\n", head, take, False)
    cut = f"inputs[start : start + {size}], targets[start : start + {size}]"
    each = f"for start in range(0, len(inputs), {size})"
    if kind == "arrays":
        return Data(setup, f"{each}:", f"x, y = {cut}\n", False)
    if kind == "list":
        return Data(f"{setup}dataset = [({cut}) {each}]\n", head, take, False)
    if kind == "tensors":
        cut = f"tf.constant(inputs[start : start + {size}]), tf.constant(targets[start : start + {size}])"
        return Data(f"{setup}dataset = [({cut}) {each}]\n", head, take, False)
    if kind == "random rows":
        chosen = f"chosen = rng.integers(0, len(inputs), {size})\nx, y = inputs[chosen], targets[chosen]\n"
        return Data(setup, f"for number in range({c.one('steps', 12, 2, 60)}):", chosen, False)
    generator = f"\n\ndef batches():\n    {each}:\n        yield {cut}\n\n\n"
    if kind == "generator":
        return Data(setup + generator, head.replace("dataset", "batches()"), take, False)
    if kind == "from_generator":
        types = c.one("types", "output_types=(tf.float32, tf.float32)", "output_signature=SPECS")
        spec = f"tf.TensorSpec((None, {{}}), tf.{dtype})"
        types = types.replace("SPECS", f"({spec.format(6)}, {spec.format(1)})")
        made = f"dataset = tf.data.Dataset.from_generator(batches, {types})\n"
        return Data(setup + generator + made, head, take, False)
    if kind == "zip":
        return Data(
            f"{setup}xs = [{cut.split(', ')[0]} {each}]\nys = [{cut.split(', ')[1]} {each}]\n",
            "for x, y in zip(xs, ys):",
            "",
            False,
        )
    if kind == "iterator":
        made = f"stream = iter({tensors}.repeat().batch({size}))\n"
        return Data(setup + made, f"for number in range({c.one('steps', 12, 2, 60)}):", "x, y = next(stream)\n", False)
    rows_of = (
        f"\n\nclass Rows(tf.keras.utils.Sequence):\n    def __len__(self):\n        return len(inputs) // {size}\n\n"
        f"    def __getitem__(self, index):\n        start = index * {size}\n        return {cut}\n\n\nrows = Rows()\n"
    )
    return Data(setup + rows_of, "for number in range(len(rows)):", "x, y = rows[number]\n", False)


def _sequences(c: Choices, kind: str, rows: int, size: int) -> Data:
    spread = c.one("lengths", "rng.integers(2, 40, ROWS)", "rng.integers(2, 5, ROWS)", "[7] * ROWS").replace(
        "ROWS", str(rows)
    )
    setup = (
        f'pieces = [rng.normal(size=(n, 6)).astype("float32") for n in {spread}]\n'
        "goals = [piece[0, :1] * 0.5 for piece in pieces]\n"
    )
    stream = (
        "\n\ndef stream():\n    yield from zip(pieces, goals)\n\n\n"
        "dataset = tf.data.Dataset.from_generator(stream, output_signature=("
        'tf.TensorSpec((None, 6), "float32"), tf.TensorSpec((1,), "float32")))\n'
    )
    if kind == "padded":
        return Data(f"{setup}{stream}dataset = dataset.padded_batch({size})\n", "for x, y in dataset:", "", True)
    if kind == "ragged":
        made = (
            f"dataset = tf.data.Dataset.from_tensor_slices((tf.ragged.stack(pieces), tf.stack(goals))).batch({size})\n"
        )
        return Data(setup + made, "for x, y in dataset:", "x = x.to_tensor()\n", True)
    if kind == "lengths":
        return Data(setup, "for x, y in zip(pieces, goals):", "x, y = x[np.newaxis], y[np.newaxis]\n", True)
    sizes = f"{size}, {size * 2}"
    made = f"dataset = dataset.bucket_by_sequence_length(lambda x, y: tf.shape(x)[0], [10], [{sizes}])\n"
    return Data(setup + stream + made, "for x, y in dataset:", "", True)


@dataclass(frozen=True)
class Net:
    """A model.

    Arguments:
        setup: statements that make `model`, or a class and it.
        second: statements that make `other`, one of the same kind.
        outputs: how many it has; 3 are a dictionary of one and a name.
        kind: the choice.
    """

    setup: str
    second: str
    outputs: int = 1
    kind: str = ""


def net_of(c: Choices, is_sequence: bool) -> Net:
    """A small model for rows of six numbers, or for sequences of them."""
    kind = c.one(
        *("model", "sequential", "functional", "two outputs", "subclass", "module", "dropout", "batch norm", "base"),
        *("scaled", "dictionary", "unbuilt", "named output", "noise"),
    )
    time = "None, " if is_sequence else ""
    layers = ['tf.keras.layers.Dense(8, activation="tanh")']
    if is_sequence:
        layers.append(c.one("over time", "tf.keras.layers.GlobalAveragePooling1D()", "tf.keras.layers.LSTM(5)"))
    extra = {"dropout": "Dropout(0.3)", "batch norm": "BatchNormalization()", "noise": "GaussianNoise(0.1)"}.get(kind)
    layers += [f"tf.keras.layers.{extra}"] if extra else []
    if kind in ("functional", "two outputs", "dictionary"):
        return _functional(kind, layers, time)
    if kind == "module":
        return _module(is_sequence)
    if kind in ("subclass", "scaled", "named output"):
        return _subclass(kind, layers)
    if kind == "base":
        frozen = c.one(
            "frozen", "base.trainable = False\n", "", "for layer in base.layers:\n    layer.trainable = False\n"
        )
        made = f"base = tf.keras.Sequential([tf.keras.Input(({time}6,)), {', '.join(layers)}])\n{frozen}"
        model = "NAME = tf.keras.Sequential([base, tf.keras.layers.Dense(1)])\n"
        return Net(made + model.replace("NAME", "model"), model.replace("NAME", "other"), kind=kind)
    start = "" if kind == "unbuilt" else f"tf.keras.Input(({time}6,)), "
    made = f"NAME = tf.keras.Sequential([{start}{', '.join(layers)}, tf.keras.layers.Dense(1)])\n"
    return Net(made.replace("NAME", "model"), made.replace("NAME", "other"), kind=kind)


def _functional(kind: str, layers: list[str], time: str) -> Net:
    lines = [f"inputs_ = tf.keras.Input(({time}6,))", "hidden = inputs_"]
    lines += [f"hidden = {layer}(hidden)" for layer in layers]
    outputs = {"two outputs": "[first, second]", "dictionary": '{"first": first, "second": second}'}.get(kind, "first")
    lines += ["first = tf.keras.layers.Dense(1)(hidden)", "second = tf.keras.layers.Dense(1)(hidden)"]
    lines += [f"model = tf.keras.Model(inputs_, {outputs})"]
    return Net(
        "\n".join(lines) + "\n", "other = tf.keras.models.clone_model(model)\n", 1 if outputs == "first" else 2, kind
    )


def _module(is_sequence: bool) -> Net:
    reduce = "x = tf.reduce_mean(x, 1)\n        " if is_sequence else ""
    made = f"""

class Linear(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.fill([6, 1], 0.1))
        self.b = tf.Variable([0.0])

    def __call__(self, x, training=False):
        {reduce}return tf.matmul(x, self.w) + self.b


"""
    return Net(made + "model = Linear()\n", "other = Linear()\n", kind="module")


def _subclass(kind: str, layers: list[str]) -> Net:
    scale = ("        self.scale = 1.0\n", " * self.scale") if kind == "scaled" else ("", "")
    result = f"self.last(x){scale[1]}"
    if kind == "named output":
        result = f'{{"out": {result}, "from": self.name}}'
    names = ("first", "second", "third")[: len(layers)]
    made = "".join(f"        self.{name} = {layer}\n" for name, layer in zip(names, layers, strict=True))
    used = "".join(f"        x = self.{name}(x)\n" for name in names)
    text = (
        "\n\nclass Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        f"{made}        self.last = tf.keras.layers.Dense(1)\n{scale[0]}\n"
        f"    def call(self, x, training=False):\n{used}        return {result}\n\n\n"
    )
    return Net(text + "model = Net()\n", "other = Net()\n", 3 if kind == "named output" else 1, kind)


# What stands in a step besides, before and after the tape; the plainest is nothing.
_BEFORE = {
    "nothing": "",
    "cast": "x = tf.cast(x, tf.float32)\ny = tf.cast(y, tf.float32)\n",
    "assert": "assert x.shape[0] > 0\n",
    "print": 'print("step", len(x))\n',
    "numpy random": "x = x + np.random.normal(0.0, 0.1, 6).astype('float32')\n",
    "python random": "import random\n\nif random.random() < 0.5:\n    x = x * 2.0\n",
    "if tensor": "if tf.reduce_mean(x) > 0.0:\n    x = x * 0.5\n",
    "comprehension": "x = tf.stack([row * 2.0 for row in x])\n",
    "unstack": "x = tf.stack([row * 2.0 for row in tf.unstack(x)])\n",
    "zip": "x = tf.stack([row * 0.5 for row, _ in zip(x, y)])\n",
    "enumerate": "total = 0.0\nfor place, row in enumerate(x):\n    total += tf.reduce_sum(row) * place\nx = x + total * 0.001\n",
    "mask": "kept = tf.boolean_mask(x, tf.reduce_sum(tf.reshape(x, [tf.shape(x)[0], -1]), 1) > 0)\nx = x * (1.0 + 0.01 * kept.shape[0])\n",
    "length of mask": "kept = tf.boolean_mask(x, tf.reduce_sum(tf.reshape(x, [tf.shape(x)[0], -1]), 1) > 0)\nif len(kept) > 2:\n    x = x * 0.5\n",
    "product of shape": "x = x * float(np.sqrt(2.0) / np.prod(x.shape))\n",
    "half": "x, y = x[: len(x) // 2 + 1], y[: len(y) // 2 + 1]\n",
    "split": "left, right = tf.split(x, 2, axis=-1)\nx = tf.concat([right, left], -1)\n",
    "sorted": "x = tf.sort(x, -1)\n",
    "max of": "x = x / max(1.0, tf.reduce_max(x))\n",
    "sum of": "x = x + 0.01 * sum(x)\n",
    "numpy mean": "x = x - np.mean(x)\n",
    "while": "k = 0\nwhile tf.reduce_sum(x) > 3.0 and k < 3:\n    x = x * 0.5\n    k += 1\n",
    "conditional": "x = x * 0.5 if len(x) > 4 else x\n",
    "list": "parts = []\nfor part in range(2):\n    parts.append(x * (part + 1.0))\nx = tf.reduce_mean(tf.stack(parts), 0)\n",
    "time": "import time\n\nbegan = time.time()\n",
    "numpy method": "x = x - tf.reduce_mean(x).numpy()\n",
    "tf random": "x = x + tf.random.stateless_normal(tf.shape(x), seed=(1, 2)) * 0.1\n",
    "tf print": 'tf.print("step")\n',
    "try": "try:\n    x = tf.ensure_shape(x, y.shape[:1] + x.shape[1:])\nexcept ValueError:\n    pass\n",
}
_GRADIENTS = {
    "plain": "",
    "clip by norm": "grads, _ = tf.clip_by_global_norm(grads, 1.0)\n",
    "clip each": "grads = [tf.clip_by_value(g, -0.5, 0.5) for g in grads]\n",
    "skip none": "grads = [g if g is not None else tf.zeros_like(w) for g, w in zip(grads, WEIGHTS)]\n",
    "norm": "norm = tf.linalg.global_norm(grads)\nif norm > 5.0:\n    grads = [g * 0.1 for g in grads]\n",
}
_RETURNS = {
    "loss": "loss",
    "nothing": "",
    "number": "float(loss)",
    "numpy": "loss.numpy()",
    "pair": "loss, len(grads)",
    "dictionary": '{"loss": loss, "kind": "first"}',
    "tensors": '{"loss": loss, "norm": tf.linalg.global_norm(grads)}',
    "list": "[loss, tf.reduce_mean(x)]",
    "output": "loss, x.shape[0]",
    "tuple": "(loss,)",
    "size": "loss, int(tf.size(x))",
}
# How a loop uses `VALUE`, the loss.
_USES = {
    "kept": "losses.append(float(VALUE))\n",
    "none": "",
    "printed": 'print("loss %.2f" % VALUE)\n',
    "tensors": "losses.append(VALUE)\n",
    "numpy": "losses.append(VALUE.numpy())\n",
    "stop": "losses.append(float(VALUE))\nif VALUE < 0.02:\n    break\n",
    "sum": "total = total + VALUE\n",
    "best": "if float(VALUE) < best:\n    best = float(VALUE)\n    kept = model.trainable_variables[0].numpy()\n",
    "formatted": "losses.append(f'{VALUE:.2f}')\n",
}


def _training(c: Choices) -> dict[str, str]:
    data = data_of(c)
    net = net_of(c, data.is_sequence)
    form = c.one(
        *(
            "form",
            "function",
            "inline",
            "arguments",
            "method",
            "closure",
            "main",
            "two models",
            "accumulate",
            "private",
        ),
        *("decorated", "in turns", "file", "local"),
    )
    setup = net.setup + _optimizer(c, "optimizer")
    returns = c.one("returns", *_RETURNS) if form not in ("inline", "main") else "loss"
    body = _step(c, net, form)
    value = {
        "pair": "RESULT[0]",
        "dictionary": 'RESULT["loss"]',
        "tensors": 'RESULT["loss"]',
        "list": "RESULT[0]",
        "output": "RESULT[0]",
        "tuple": "RESULT[0]",
        "size": "RESULT[0]",
        "nothing": "",
    }.get(returns, "RESULT")
    more = {
        "pair": "counts.append(RESULT[1])\n",
        "size": "counts.append(RESULT[1] + 1)\n",
        "output": "counts += range(RESULT[1])[:1]\n",
    }
    more["dictionary"] = 'counts.append(RESULT["kind"].upper())\n'
    use = _USES[c.one("use", *_USES)].replace("VALUE", value.replace("RESULT", "result")) if value else ""
    if returns in ("number",):
        use = use.replace(".numpy()", "")
    use += more.get(returns, "").replace("RESULT", "result")
    result = f"return {_RETURNS[returns]}\n" if _RETURNS[returns] and form not in ("inline", "main") else ""
    head, call = _form(c, form, body + result, net)
    run = (f"{call}\nresult = loss\n" if form in ("inline", "main") else f"result = {call}\n") + use
    epochs = c.one("epochs", 8, 3, 2, 30)
    between, state = _between(c, net, form)
    loop = f"for epoch in range({epochs}):\n" + indented(
        f"{data.head}\n{indented(data.take + run)}{_validation(c, data, net)}{between}"
    )
    start = "losses, counts, total, best, kept = [], [], 0.0, 1e9, None\n"
    if form == "file":
        return {
            "train.py": f"from net import metric, model, optimizer, step\n\n{data.setup}{start}{loop}",
            "net.py": f"{setup}{state}{head}",
        }
    if form == "main":
        whole = indented(f"{start}{loop}return losses, counts, total, model\n")
        return {"train.py": f"{data.setup}{setup}{state}\n\ndef main():\n{whole}\n\nout = main()\n"}
    if form == "local":
        whole = indented(
            f"{start}\n{head.strip()}\n\n{loop}return losses, counts, total, net\n".replace("    \n", "\n")
        )
        whole = whole.replace("model", "net")
        return {"train.py": f"{data.setup}{setup}{state}\n\ndef train(net):\n{whole}\n\nout = train(model)\n"}
    return {"train.py": f"{data.setup}{setup}{state}{head}{start}{loop}"}


def _optimizer(c: Choices, name: str) -> str:
    made = c.one(
        "optimizer",
        "tf.keras.optimizers.SGD(0.05)",
        "tf.keras.optimizers.Adam(0.01)",
        "tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.9))",
        "tf.keras.optimizers.Adam()",
        "tf.keras.optimizers.RMSprop(learning_rate=0.005)",
    )
    return f"{name} = {made}\n"


def _step(c: Choices, net: Net, form: str) -> str:
    """The statements of a step for `model`, `optimizer`, `x` and `y`, which make `loss` and `grads`."""
    before = _BEFORE[c.one("inside", *["nothing"] * 20, *_BEFORE)]
    training = c.one("training", ", training=True", "", ", training=False")
    square = c.one("loss", "tf.reduce_mean(tf.square(OUT - y))", "mse(y, OUT)", "tf.keras.losses.MeanSquaredError()(y, OUT)",
                   "tf.reduce_mean(tf.keras.losses.MSE(y, OUT))")  # fmt: skip
    square = square.replace("mse(", "tf.keras.losses.MeanAbsoluteError()(")
    forward = f"out = model(x{training})\n"
    loss = square.replace("OUT", "out")
    if net.outputs == 2:
        which = ('out["first"]', 'out["second"]') if net.kind == "dictionary" else ("out[0]", "out[1]")
        loss = f"{square.replace('OUT', which[0])} + 0.3 * {square.replace('OUT', which[1])}"
    if net.outputs == 3:
        loss = square.replace("OUT", 'out["out"]')
    penalty = c.one("penalty", "", "", " + 0.001 * tf.add_n([tf.nn.l2_loss(w) for w in WEIGHTS])", " * factor")
    weights = c.one("weights", "model.trainable_variables", "model.trainable_weights", "model.variables")
    if weights != "model.trainable_variables" and net.kind == "module":
        weights = "model.trainable_variables"
    if weights == "model.variables" and net.kind in ("batch norm", "dropout", "noise"):
        weights = "model.trainable_variables"
    tape = f"with tf.GradientTape() as tape:\n{indented(forward + f'loss = {loss}{penalty}' + chr(10))}"
    change = _GRADIENTS[c.one("gradients", *["plain"] * 4, *_GRADIENTS)]
    grads = f"grads = tape.gradient(loss, WEIGHTS)\n{change}"
    update = "optimizer.apply_gradients(zip(grads, WEIGHTS))\n"
    if form == "accumulate":
        update = "for place, g in enumerate(grads):\n    kept_grads[place].assign_add(g)\n"
    counted = c.one(
        "counted", "", "", "", "global steps\nsteps += 1\n", "seen.append(float(loss))\n", "metric.update_state(loss)\n"
    )
    if form in ("inline", "main", "local"):
        counted = counted.replace("global steps\n", "").replace("steps += 1\n", "")
    return (before + tape + grads + update + counted).replace("WEIGHTS", weights)


def _form(c: Choices, form: str, body: str, net: Net) -> tuple[str, str]:
    """Definitions before the loop, and the call of a step in it (or its statements)."""
    if form in ("inline", "main"):
        return "", body.rstrip("\n")
    name = c.one("name", "step", "train_step", "update", "train_on")
    if form in ("function", "file", "local"):
        name = "step" if form == "file" else name
        return f"\n\ndef {name}(x, y):\n{indented(body)}\n\n", f"{name}(x, y)"
    if form == "decorated":
        wrapper = (
            "import functools\n\ncalls = [0]\n\n\ndef counting(function):\n    @functools.wraps(function)\n"
            "    def wrapped(*arguments):\n        calls[0] += 1\n        return function(*arguments)\n\n    return wrapped\n"
        )
        return f"{wrapper}\n\n@counting\ndef {name}(x, y):\n{indented(body)}\n\n", f"{name}(x, y)"
    if form == "arguments":
        return f"\n\ndef {name}(model, optimizer, x, y):\n{indented(body)}\n\n", f"{name}(model, optimizer, x, y)"
    if form in ("two models", "in turns"):
        head = (
            f"\n\ndef {name}(model, optimizer, x, y):\n{indented(body)}\n\n{net.second}{_optimizer(c, 'optimizer_2')}"
        )
        both = f"{name}(model, optimizer, x, y)"
        second = f"{name}(other, optimizer_2, x, y)"
        return head, f"{both}\n{second}" if form == "two models" else f"{both} if epoch % 2 == 0 else {second}"
    if form == "closure":
        inner = indented(f"def {name}(x, y):\n{indented(body)}\nreturn {name}\n")
        return f"\n\ndef make_step(model, optimizer):\n{inner}\n\nrun = make_step(model, optimizer)\n", "run(x, y)"
    if form == "accumulate":
        kept = "kept_grads = [tf.Variable(tf.zeros_like(w)) for w in model.trainable_variables]\n"
        apply = (
            "\n\ndef apply():\n    optimizer.apply_gradients(zip(kept_grads, model.trainable_variables))\n"
            "    for g in kept_grads:\n        g.assign(tf.zeros_like(g))\n\n\n"
        )
        build = (
            "model(tf.zeros((2, 3, 6)))\n"
            if "GlobalAv" in net.setup or "LSTM" in net.setup
            else "model(tf.zeros((2, 6)))\n"
        )
        return (
            f"{build}{kept}{apply}def {name}(x, y):\n{indented(body)}\n\n",
            f"{name}(x, y)\nif epoch % 2:\n    apply()",
        )
    prefix = "__" if form == "private" else ""
    method = (
        body.replace("model", "self.model")
        .replace("optimizer", "self.optimizer")
        .replace("tf.keras.self.optimizer", "tf.keras.optimizer")
    )
    wrapper = f"\n    def run(self, x, y):\n        return self.{prefix}{name}(x, y)\n" if prefix else ""
    text = (
        "\n\nclass Trainer:\n    def __init__(self, model, optimizer):\n        self.model, self.optimizer = model, optimizer\n\n"
        f"    def {prefix}{name}(self, x, y):\n{indented(method, 2)}{wrapper}\n\ntrainer = Trainer(model, optimizer)\n"
    )
    return text, "trainer.run(x, y)" if prefix else f"trainer.{name}(x, y)"


def _between(c: Choices, net: Net, form: str) -> tuple[str, str]:
    """What happens after each epoch, and the state before the loop that it changes."""
    kind = c.one(
        *("between", "nothing", "nothing", "nothing", "thaw", "thaw in function", "rate", "factor", "scale", "setattr"),
        *("restore", "log", "freeze", "rate number", "reset metric"),
    )
    state = "steps, seen, factor = 0, [], 1.0\nmetric = tf.keras.metrics.Mean()\n"
    first = "base" if net.setup.startswith("base") else "model"
    thaw = f"for layer in {first}.layers:\n    layer.trainable = True\n{first}.trainable = True\n"
    if net.kind == "module" or form == "file":
        return "", state
    if kind == "thaw":
        return f"if epoch == 1:\n{indented(thaw)}", state
    if kind == "freeze":
        return "if epoch == 1:\n    model.layers[0].trainable = False\n", state
    if kind == "thaw in function":
        return "if epoch == 0:\n    unfreeze()\n", f"{state}\n\ndef unfreeze():\n{indented(thaw)}\n\n"
    if kind == "rate" and "ExponentialDecay" not in c.special().get("optimizer", ""):
        return "optimizer.learning_rate.assign(0.01 / (epoch + 1))\n", state
    if kind == "factor" and form not in ("main", "local"):
        return "factor *= 0.5\n", state
    if kind == "scale" and "self.scale" in net.setup:
        return "model.scale = 1.0 / (epoch + 2)\n", state
    if kind == "setattr" and "self.scale" in net.setup:
        return 'setattr(model, "scale", 0.5)\n', state
    if kind == "restore":
        return (
            "if epoch == 0:\n    best_weights = model.get_weights()\nelse:\n    model.set_weights(best_weights)\n",
            state,
        )
    if kind == "log":
        return 'print("epoch", epoch)\n', state
    if kind == "reset metric":
        return 'print("mean %.2f" % metric.result())\nmetric.reset_state()\n', state
    return "", state


def _validation(c: Choices, data: Data, net: Net) -> str:
    kind = c.one("validation", "none", "none", "none", "metric", "list", "accuracy")
    if kind == "none" or net.outputs != 1:
        return ""
    run = {
        "metric": "metric.update_state(tf.square(model(x, training=False) - y))\n",
        "list": "counts.append(float(tf.reduce_mean(model(x, training=False))))\n",
        "accuracy": "out = model(x, training=False)\ntotal += float(tf.reduce_sum(tf.cast(tf.abs(out - y) < 0.1, tf.float32)))\n",
    }[kind]
    return f"{data.head}\n{indented(data.take + run)}"


_RESULTS = {
    "list": ("found = []", "found.append(OUT)"),
    "arrays": ("found = []", "found.append(np.asarray(OUT))"),
    "numbers": ("found = []", "found.append(float(OUT[0][0]))"),
    "rows": ("found = []", "found.append(OUT[0])"),
    "extended": ("found = []", "found.extend(OUT)"),
    "dictionary": ("found = {}", "found[len(found)] = OUT"),
    "printed": ("found = 0", 'print("%.2f" % OUT[0][0])'),
    "sum": ("found = 0.0", "found = found + tf.reduce_sum(OUT)"),
    "numpy": ("found = []", "found.append(OUT.numpy())"),
    "arguments": ("found = []", "found.append(int(tf.argmax(OUT[0])))"),
    "stop": ("found = []", "found.append(OUT)\nif OUT[0][0] > 1.5:\n    break"),
    "joined": ("found = np.zeros((0, 1), 'float32')", "found = np.concatenate([found, OUT])"),
    "grown": ("found = tf.zeros((0, 1))", "found = tf.concat([found, OUT], 0)"),
}


def _inference(c: Choices) -> dict[str, str]:
    how = c.one(
        "how",
        "call",
        "predict",
        "call rows",
        "predict rows",
        "comprehension",
        "loop-carried",
        "method",
        "two models",
        "predict steps",
        "given",
    )
    data = data_of(c)
    net = net_of(c, data.is_sequence)
    start, use = _RESULTS[c.one("results", *_RESULTS)]
    training = c.one("training", ", training=False", "", ", training=True")
    call = f"model(x{training})"
    if how.startswith("predict"):
        call = c.one(
            "predict",
            "model.predict(x, verbose=0)",
            "model.predict(x)",
            "model.predict(x, batch_size=8, verbose=0)",
            "model.predict_on_batch(x)",
        )
        use = use.replace("OUT.numpy()", "OUT")
    if net.kind == "module":
        call = f"model(x{training})"
    if net.outputs == 2:
        use = use.replace(
            "OUT", "OUT['second']" if net.kind == "dictionary" else "OUT[c]".replace("c", c.one("which", "0", "1"))
        )
    if net.outputs == 3:
        use = use.replace("OUT", 'OUT["out"]')
    count = c.one("count", 20, 2, 8, 90)
    if how == "loop-carried":
        body = (
            "x = tf.concat([x, tf.repeat(tf.reshape(OUT, [1, 1, 1]), 6, -1)], 1)\n"
            if data.is_sequence
            else "x = tf.concat([x[:, 1:], OUT], 1)\n"
        )
        shape = "(1, 3, 6)" if data.is_sequence else "(1, 6)"
        out = {
            1: "model(x)",
            2: "model(x)['first']" if net.kind == "dictionary" else "model(x)[0]",
            3: "model(x)['out']",
        }[net.outputs]
        loop = f"x = tf.ones({shape})\nfor number in range({count}):\n{indented(body.replace('OUT', out))}found = x\n"
        return {"train.py": f"{net.setup}{loop}"}
    if how in ("call rows", "predict rows", "comprehension"):
        rows = c.one(
            "row",
            "row[np.newaxis]",
            "np.expand_dims(row, 0)",
            "row.reshape(1, 6)",
            "np.array([row])",
            "tf.expand_dims(row, 0)",
            "row[None, :]",
        )
        source = c.one(
            "of",
            "pool",
            "[r for r in pool]",
            "list(pool)",
            "stream()",
            "pool[: len(pool) // 2]",
            "tf.data.Dataset.from_tensor_slices(pool)",
            "tuple(pool)",
            "reversed(pool)",
        )
        made = f'pool = rng.normal(size=({count}, 6)).astype("float32")\n'
        made += "\n\ndef stream():\n    for row in pool:\n        yield row\n\n\n" if "stream" in source else ""
        rows = "tf.expand_dims(row, 0)" if "Dataset" in source else rows
        if how == "comprehension":
            one = c.one("each", "[0]", "", "[0][0]", "[0].tolist()", ".sum()")
            after = c.one(
                "then",
                "",
                "found.append(None)\n",
                "found = np.array(found)\n",
                "print(len(found), type(found).__name__)\n",
                "found = found + [1]\n",
                "first = found[0]\n",
            )
            call = c.one("predict", "model.predict(ROW, verbose=0)", "model.predict(ROW)", "model(ROW)").replace(
                "ROW", rows
            )
            net = net_of(Choices(c.seed, c.version, frozenset({"data"})), False)
            if net.kind == "module":
                call = f"model({rows})"
            one = "[0]" if "predict" not in call and one in ("[0].tolist()", ".sum()") else one
            return {"train.py": f"{made}{net.setup}found = [{call}{one} for row in {source}]\n{after}"}
        net = net_of(Choices(c.seed, c.version, frozenset({"data"})), False)
        loop = f"{start}\nfor row in {source}:\n    x = {rows}\n{indented(use.replace('OUT', call))}\n"
        return {"train.py": f"{made}{net.setup}{loop}"}
    if how == "predict steps":
        call = call.replace("model.predict(x", "model.predict(x, steps=1") if "predict(" in call else call
    body = data.take + use.replace("OUT", call) + "\n"
    if how == "two models":
        body += f"extra.append(float(tf.reduce_sum(other(x{training})))) if 'dict' not in type(other(x)).__name__ and not isinstance(other(x), (list, tuple)) else None\n"
        return {"train.py": f"{data.setup}{net.setup}{net.second}extra = []\n{start}\n{data.head}\n{indented(body)}"}
    if how == "method":
        inside = indented(f"{start}\n{data.head}\n{indented(body)}return found\n".replace("model", "self.model"), 2)
        return {
            "train.py": f"{data.setup}{net.setup}\n\nclass Judge:\n    def __init__(self, model):\n        self.model = model\n\n    def run(self):\n{inside}\n\nfound = [Judge(model).run(), Judge(model).run()]\n"
        }
    if how == "given":
        inside = indented(f"{start}\n{data.head}\n{indented(body)}return found\n".replace("model", "net"))
        return {
            "train.py": f"{data.setup}{net.setup}\n\ndef scores(net):\n{inside}\n\nfound = scores(model)\nmore = scores(model)\n"
        }
    repeat = c.one("epochs", 6, 1, 20)
    whole = f"{data.head}\n{indented(body)}"
    whole = f"for epoch in range({repeat}):\n{indented(whole)}" if repeat > 1 else whole
    return {"train.py": f"{data.setup}{net.setup}{start}\n{whole}"}
