"""Programs of the fuzzer of fixes around names that are gone, or going."""

from __future__ import annotations

from collections.abc import Callable

from fix_fuzz_choices import Choices, indented

_ROWS = """\
inputs = rng.normal(size=(48, 6)).astype("float32")
targets = inputs[:, :1] * 0.5
"""
_MODEL = """\
model = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
"""
_READERS = """\


class Rows(tf.keras.utils.Sequence):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return inputs[index * 8 : index * 8 + 8], targets[index * 8 : index * 8 + 8]


class Wider(tf.keras.utils.Sequence):
    def __init__(self, data, size=8, **options):
        super().__init__(**options)
        self.data, self.size = data, size

    def __len__(self):
        return len(self.data) // self.size

    def __getitem__(self, index):
        rows = self.data[index * self.size : (index + 1) * self.size]
        return rows, rows[:, :1]


def stream():
    while True:
        for start in range(0, 48, 8):
            yield inputs[start : start + 8], targets[start : start + 8]


def shown(*values):
    print(len(values), "values")


rows, wider = Rows(), Wider(inputs)
"""


def old_names(c: Choices) -> dict[str, str]:
    """A program with a name that is gone, or going, or with a few of its kind."""
    kinds: dict[str, Callable[[Choices], str]] = {
        "generators": _generators,
        "workers": _workers,
        "datasets": _datasets,
        "devices": _devices,
        "precision": _precision,
        "sessions": _sessions,
        "several GPUs": _several_gpus,
        "a list of GPUs": _list_of_gpus,
        "layers": _layers,
        "switches": _switches,
    }
    return {"train.py": kinds[c.one("names", *kinds)](c)}


def _spelled(c: Choices, label: str, module: str, name: str) -> tuple[str, str]:
    """An import, which may be empty, and a name of a module of TensorFlow, in one of the ways to write it."""
    short = module.replace("tensorflow", "tf", 1)
    parent, _, last = module.rpartition(".")
    return c.one(
        label,
        ("", f"{short}.{name}"),
        (f"from {parent} import {last}\n", f"{last}.{name}"),
        (f"from {parent} import {last} as old\n", f"old.{name}"),
        (f"from {module} import {name}\n", name),
        (f"import {module} as old\n", f"old.{name}"),
        (f"from {module} import {name} as renamed\n", "renamed"),
        (f"old = {short}\n", f"old.{name}"),
        (f"{parent.rpartition('.')[2]} = {parent.replace('tensorflow', 'tf', 1)}\n", f"{parent.rpartition('.')[2]}.{last}.{name}"),
    )  # fmt: skip


def _placed(c: Choices, text: str) -> str:
    """Statements in a module, in a function, in a branch or under a `try`; the last one gives no value."""
    where = c.one("where", "module", "module", "function", "branch", "try", "main", "method")
    if where == "function":
        return f"\n\ndef start():\n{indented(text)}\n\nstart()\n"
    if where == "method":
        return f"\n\nclass Setup:\n    def start(self):\n{indented(text, 2)}\n\nSetup().start()\n"
    if where == "branch":
        return f"if len(rng.normal(size=3)) == 3:\n{indented(text)}else:\n    print('no')\n"
    if where == "try":
        return f"try:\n{indented(text)}except RuntimeError as error:\n    print(error)\n"
    if where == "main":
        return f'\n\ndef main():\n{indented(text)}\n\nif __name__ == "__main__":\n    main()\n'
    return text


def _around_models(c: Choices, text: str, compiled: str = "model.compile('sgd', 'mse')\n") -> str:
    return f"{_ROWS}{_READERS}{_MODEL}{compiled}{_placed(c, text)}"


def _generators(c: Choices) -> str:
    """`fit_generator` and its like, with their arguments."""
    data = c.one("data", "rows", "wider", "stream()", "Wider(inputs, 6)", "generator=rows", "generator=stream()")
    endless = "stream" in data
    steps = ", steps_per_epoch=3" if endless else c.one("steps", "", "", ", steps_per_epoch=4", ", 4")
    if data.startswith("generator"):
        steps = steps.replace(", 4", ", steps_per_epoch=4")
    more = c.one("more", "", ", workers=2", ", max_queue_size=4", ", use_multiprocessing=False", ", workers=1, use_multiprocessing=False",
                 ", validation_data=wider", ", validation_data=stream(), validation_steps=2", ", shuffle=False",
                 ", callbacks=[tf.keras.callbacks.LambdaCallback(on_epoch_end=shown)]", ", class_weight=None", ", initial_epoch=1")  # fmt: skip
    verbose = c.one("verbose", ", verbose=0", ", verbose=2")
    method = c.one("method", "fit", "evaluate", "predict", "fit and evaluate")
    fit = f"history = model.fit_generator({data}{steps}, epochs=2{verbose}{more})\nlosses = history.history['loss']\nprint(len(losses))\n"
    some = ", steps=3" if endless else c.one("of evaluate", "", "", ", steps=4")
    options = more if "worker" in more or "queue" in more or "multi" in more else ""
    evaluate = f"score = model.evaluate_generator({data}{some}{options})\nprint('%.3f' % score)\n"
    predict = f"found = model.predict_generator({data}{some}{verbose.replace('2', '0')}{options})\nprint(found.shape)\n"
    return _around_models(
        c, {"fit": fit, "evaluate": evaluate, "predict": predict, "fit and evaluate": fit + evaluate}[method]
    )


def _workers(c: Choices) -> str:
    """Arguments for the reading of a `Sequence`, which Keras 3 takes elsewhere."""
    data = c.one(
        "data", "rows", "wider", "inputs, targets", "stream()", "Wider(inputs, 6)", "dataset", "Rows()", "made"
    )
    if "lambda" in data:
        data = "rows"
    endless = ", steps_per_epoch=3" if "stream" in data else ""
    options = c.one("options", "workers=2", "workers=1, use_multiprocessing=False", "max_queue_size=4", "workers=2, max_queue_size=20", "use_multiprocessing=False", "workers=count")  # fmt: skip
    call = c.one(
        "call",
        f"model.fit({data}, epochs=2, {options}, verbose=0{endless})\n",
        f"history = model.fit({data}{endless}, {options}, verbose=0).history\nprint(sorted(history))\n",
        f"score = model.evaluate({data}{endless.replace('_per_epoch', '')}, verbose=0, {options})\n",
        f"found = model.predict({data.replace(', targets', '')}{endless.replace('_per_epoch', '')}, {options}, verbose=0)\n",
        f"for turn in range(3):\n    model.fit({data}, {options}, verbose=0{endless})\n",
        f"model.fit({data}, {options}, verbose=0{endless})\nscore = model.evaluate(rows, {options}, verbose=0)\n",
    )
    head = "count = 2\ndataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(8)\nmade = [Rows(), Wider(inputs)][1]\n"
    return _around_models(c, call, f"model.compile('sgd', 'mse')\n{head}")


def _datasets(c: Choices) -> str:
    """Old functions of tf.data."""
    mapping = c.one("function", "lambda n: n + 1", "shifted", "tf.abs", "lambda n, k=2: n * k")
    old = c.one(
        "old",
        (f"map_and_batch({mapping}, 4)", "apply"),
        (f"map_and_batch({mapping}, batch_size=5, drop_remainder=True)", "apply"),
        (f"map_and_batch(map_func={mapping}, batch_size=5, num_parallel_calls=2)", "apply"),
        (f"map_and_batch({mapping}, 4, 2)", "apply"),
        ("shuffle_and_repeat(5, 2, seed=1)", "apply"),
        ("shuffle_and_repeat(buffer_size=5, count=1, seed=3)", "apply"),
        ("shuffle_and_repeat(5, None, 1)", "apply"),
        ("parallel_interleave(several, cycle_length=2)", "apply"),
        ("parallel_interleave(several, 2, 1, sloppy=False)", "apply"),
        ("parallel_interleave(several, cycle_length=1, block_length=2)", "apply"),
        ("parallel_interleave(lambda n: tf.data.Dataset.range(n + 1), 3, sloppy=True)", "apply"),
        ("AUTOTUNE", "value"),
        ("AUTOTUNE", "prefetch"),
    )
    imports, name = _spelled(c, "spelling", "tensorflow.data.experimental", old[0].partition("(")[0])
    call = name + old[0][len(old[0].partition("(")[0]) :]
    use = {
        "apply": f".apply({call})",
        "value": f".map({mapping}, num_parallel_calls={call})",
        "prefetch": f".prefetch({call})",
    }[old[1]]
    before = c.one("before", "", ".repeat(2)", ".filter(lambda n: n > 2)", ".batch(3).unbatch()")
    after = c.one("after", ".take(9)", ".take(9).prefetch(1)", ".take(7).cache()")
    made = c.one("made", f"dataset = tf.data.Dataset.range(12){before}{use}{after}\n",
                 f"dataset = tf.data.Dataset.range(12){before}\ndataset = dataset{use}\ndataset = dataset{after}\n",
                 f"dataset = (\n    tf.data.Dataset.range(12){before}\n    {use}  # as before\n    {after}\n)\n")  # fmt: skip
    read = "found = sorted(np.asarray(element).tolist() for element in dataset)\nprint(found)\n"
    if "shuffle" in old[0] or "sloppy=True" in old[0]:
        read = "count = sum(np.asarray(element).size for element in dataset)\nprint(count)\n"
    functions = (
        "\n\ndef shifted(n):\n    return n - 1\n\n\ndef several(n):\n    return tf.data.Dataset.range(n % 3 + 1)\n\n\n"
    )
    return f"{imports}{functions}{_placed(c, made + read)}"


def _devices(c: Choices) -> str:
    """Functions on devices that left `tf.config.experimental`."""
    imports, name = _spelled(c, "spelling", "tensorflow.config.experimental", "list_physical_devices")
    of = name.removesuffix("list_physical_devices")
    if not name.endswith("list_physical_devices") or of == "":
        of = "tf.config.experimental."
    use = c.one(
        "use",
        f"gpus = {name}('GPU')\nprint(len(gpus))\n",
        f"cpus = {name}(device_type='CPU')\n{of}set_visible_devices(cpus[0], 'CPU')\nprint({of}get_visible_devices('CPU')[0].name)\n",
        f"cpus = {name}('CPU')\n{of}set_virtual_device_configuration(cpus[0], [{of}VirtualDeviceConfiguration()] * 2)\nprint(len({of}list_logical_devices('CPU')))\n",
        f"for gpu in {name}('GPU'):\n    {of}set_memory_growth(gpu, True)\n",
        f"if {name}('GPU'):\n    print('GPU')\nelse:\n    print('CPU', len({of}list_logical_devices()))\n",
        f"print({of}get_virtual_device_configuration({name}('CPU')[0]))\n",
        f"gpus = {name}('GPU')\nif gpus:\n    {of}set_visible_devices(gpus[0], 'GPU')\n    {of}set_memory_growth(gpus[0], True)\n",
        f"cpus = {name}('CPU')\n{of}set_virtual_device_configuration(cpus[0], [{of}VirtualDeviceConfiguration(memory_limit=None)])\nprint(tf.config.list_logical_devices()[0].name)\n",
    )
    after = c.one("after", "", f"{_ROWS}found = tf.reduce_sum(inputs)\n")
    return f"{imports}{_placed(c, use)}{after}"


def _precision(c: Choices) -> str:
    """Mixed precision where it was experimental."""
    module = "tensorflow.keras.mixed_precision.experimental"
    imports, name = _spelled(c, "spelling", module, "set_policy")
    more, policy = ("", name.replace("set_policy", "Policy"))
    if "." not in name:
        more, policy = f"from {module} import Policy\n", "Policy"
    kind = c.one("policy", "'float32'", "'mixed_bfloat16'", "'mixed_float16'", "'float64'")
    use = c.one(
        "use",
        f"{name}({kind})\n",
        f"policy = {policy}({kind})\n{name}(policy)\nprint(policy.name)\n",
        f"policy = {policy}({kind}, loss_scale=None)\n{name}(policy)\n",
        f"{name}(policy={kind})\n",
        f"{name}({policy}(name={kind}))\nprint(tf.keras.mixed_precision.global_policy().compute_dtype)\n",
    )
    optimizer = c.one(
        "optimizer",
        "tf.keras.optimizers.SGD(0.01)",
        f"{module.replace('tensorflow', 'tf', 1)}.LossScaleOptimizer(tf.keras.optimizers.SGD(0.01), 'dynamic')",
        f"{module.replace('tensorflow', 'tf', 1)}.LossScaleOptimizer(tf.keras.optimizers.SGD(0.01))",
    )
    fit = f"{_ROWS}{_MODEL}model.compile({optimizer}, 'mse')\nmodel.fit(inputs, targets, epochs=1, verbose=0)\n"
    return f"{imports}{more if 'olicy(' in use else ''}{_placed(c, use)}{fit}"


def _sessions(c: Choices) -> str:
    """GPU memory as sessions of TensorFlow 1 had it."""
    config = c.one("config", "config", "options", "session_config")
    plain = f"{config} = tf.compat.v1.ConfigProto()\n"
    made = c.one("made", plain, plain, plain, f"{config} = tf.compat.v1.ConfigProto(log_device_placement=False)\n",
                 f"gpu_options = tf.compat.v1.GPUOptions(allow_growth=True)\n{config} = tf.compat.v1.ConfigProto(gpu_options=gpu_options)\n")  # fmt: skip
    plain = f"{config}.gpu_options.allow_growth = True\n"
    setting = c.one("setting", plain, plain, plain, f"{config}.gpu_options.per_process_gpu_memory_fraction = 0.5\n",
                    f"{plain}{config}.allow_soft_placement = True\n", f"{config}.gpu_options.allow_growth = not False\n")  # fmt: skip
    session = c.one("session", f"session = tf.compat.v1.Session(config={config})\n", f"session = tf.compat.v1.InteractiveSession(config={config})\n",
                    f"tf.compat.v1.keras.backend.set_session(tf.compat.v1.Session(config={config}))\n", f"tf.compat.v1.InteractiveSession(config={config})\n",
                    f"session = tf.compat.v1.Session(config={config})\ntf.compat.v1.keras.backend.set_session(session)\n")  # fmt: skip
    before = c.one("before", "", "", "", f"{_ROWS}started = tf.reduce_sum(inputs)\n", "print(len(tf.config.list_physical_devices('GPU')))\n", "gpu = 'the first'\n")  # fmt: skip
    after = c.one("after", "print(tf.executing_eagerly())\n", f"{_ROWS}{_MODEL}model.compile('sgd', 'mse')\nmodel.fit(inputs, targets, verbose=0)\n",
                  f"{_ROWS}found = tf.matmul(inputs, tf.ones((6, 2)))\nprint(found.shape)\n")  # fmt: skip
    return f"{before}{_placed(c, made + setting + session)}{after}"


def _several_gpus(c: Choices) -> str:
    """`multi_gpu_model`."""
    imports, name = _spelled(c, "spelling", "tensorflow.keras.utils", "multi_gpu_model")
    build = c.one("build", "tf.keras.Sequential([tf.keras.layers.Dense(1)])", "build()", "tf.keras.Model(entry, tf.keras.layers.Dense(1)(entry))",
                  "tf.keras.Sequential([\n    tf.keras.Input((6,)),\n    tf.keras.layers.Dense(1),\n])")  # fmt: skip
    result = c.one("result", "model", "model", "parallel")
    gpus = c.one("gpus", "gpus=2", "2", "gpus=count", "gpus=[0, 1]")
    between = c.one("between", "", "", "print('built')\n", "# for several\n")
    head = f"{imports}{_ROWS}count = 2\nentry = tf.keras.Input((6,))\n\n\ndef build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n\n\n"
    optimizer = c.one("optimizer", "'sgd'", "optimizer", "tf.keras.optimizers.Adam(0.01)")
    first = "optimizer = tf.keras.optimizers.SGD(0.05)\n" if optimizer == "optimizer" else ""
    text = f"{first}model = {build}\n{between}{result} = {name}(model, {gpus})\n{result}.compile({optimizer}, 'mse')\n{result}.fit(inputs, targets, epochs=2, verbose=0)\nprint({result}.count_params())\n"
    return head + _placed(c, text)


def _list_of_gpus(c: Choices) -> str:
    """The list of GPUs of an old Keras, and TensorFlow's old question."""
    what = c.one(
        "what",
        ("from keras import backend as K\n", "K.tensorflow_backend._get_available_gpus()"),
        ("import keras\n", "keras.backend.tensorflow_backend._get_available_gpus()"),
        ("from keras.backend.tensorflow_backend import _get_available_gpus\n", "_get_available_gpus()"),
        ("import keras.backend.tensorflow_backend as old\n", "old._get_available_gpus()"),
        ("from keras.backend import tensorflow_backend as old\n", "old._get_available_gpus()"),
        ("", "tf.test.is_gpu_available()"),
        ("", "tf.test.is_gpu_available(cuda_only=True)"),
        ("from tensorflow.test import is_gpu_available\n", "is_gpu_available()"),
        ("from tensorflow import test\n", "test.is_gpu_available()"),
    )
    is_list = "gpus()" in what[1]
    use = c.one("use", f"found = {what[1]}\nprint(bool(found))\n", f"print('GPU' if {what[1]} else 'CPU')\n", f"if not {what[1]}:\n    print('none')\n",
                f"count = len({what[1]})\n" if is_list else f"count = int({what[1]})\n", f"device = '/GPU:0' if {what[1]} else '/CPU:0'\nwith tf.device(device):\n    found = tf.ones(3)\n",
                f"assert {what[1]} in (True, False, [])\n", f"print({what[1]} == False)\n", f"for gpu in {what[1]}:\n    print(gpu.lower())\n" if is_list else f"print({what[1]} is False)\n")  # fmt: skip
    return f"{what[0]}{_placed(c, use)}"


def _layers(c: Choices) -> str:
    """Layers and parts that went elsewhere."""
    call = c.one(
        "call",
        ("tensorflow.compat.v1.keras.layers", "CuDNNLSTM", "(4)(tf.ones((2, 3, 4)))"),
        ("tensorflow.compat.v1.keras.layers", "CuDNNGRU", "(4, return_sequences=True)(tf.ones((2, 3, 4)))"),
        ("tensorflow.keras.layers", "CuDNNLSTM", "(units=3)(tf.ones((2, 3, 4)))"),
        ("tensorflow.keras.layers", "CuDNNGRU", "(3, return_state=True)(tf.ones((2, 3, 4)))"),
        ("tensorflow.contrib.layers", "l2_regularizer", "(0.01)(tf.ones((2, 2)))"),
        ("tensorflow.contrib.layers", "l2_regularizer", "(scale=0.1)(tf.ones((2, 2)))"),
        ("tensorflow.contrib.layers", "l1_regularizer", "(0.01)(tf.ones((2, 2)))"),
        ("tensorflow.contrib.layers", "xavier_initializer", "()((2, 3))"),
        ("tensorflow.contrib.layers", "xavier_initializer", "(uniform=False)((2, 3))"),
        ("tensorflow.contrib.layers", "flatten", "(tf.ones((2, 3, 4)))"),
    )
    imports, name = _spelled(c, "spelling", call[0], call[1])
    use = f"found = {name}{call[2]}\n"
    if "contrib" in call[0]:  # a tape shows that it is no program for TensorFlow 1
        use = f"with tf.GradientTape() as tape:\n    {use}"
    return f"{imports}{_placed(c, f'{use}print(np.shape(found))' + chr(10))}"


def _switches(c: Choices) -> str:
    """`experimental_run_functions_eagerly`."""
    imports, name = _spelled(c, "spelling", "tensorflow.config", "experimental_run_functions_eagerly")
    asked = name.replace("experimental_run_functions_eagerly", "experimental_functions_run_eagerly")
    asked = "tf.config.experimental_functions_run_eagerly" if asked == name or "." not in asked else asked
    value = c.one("value", "False", "True", "run_eagerly=False", "bool(0)")
    use = f"{name}({value})\n" + ("" if "True" in value else f"print({asked}())\n")  # TFG205 switches it off
    return f"{imports}{_placed(c, use)}calls = []\n\n\n@tf.function\ndef run(x):\n    calls.append(1)\n    return x * 2.0\n\n\nfound = [run(tf.ones(3)) for _ in range(4)]\n"
