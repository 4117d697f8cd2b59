"""TFG401, TFG402, TFG403: memory growth missing, too late, or on one GPU of several."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from checks import codes, findings, fixed, found, notebook

HEAD = "import tensorflow as tf\n"
GPUS = HEAD + 'gpus = tf.config.list_physical_devices("GPU")\n'
GROW = "tf.config.experimental.set_memory_growth"
THREADS = "tf.config.threading.set_intra_op_parallelism_threads"
TRAIN = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile(loss='mse')\n"

PROGRAMS = {
    "a limit that is commented out": HEAD
    + "import os  # set_memory_growth, maybe\n# os.environ['CUDA_VISIBLE_DEVICES'] = '0'\n"
    + TRAIN
    + "model.fit(x)\n",
    "a helper that sets something else": HEAD + "import kit\nkit.set_seed(1)\n" + TRAIN + "model.fit(x)\n",
    "module level": HEAD + TRAIN + "model.fit(x, y)\n",
    "main guard": HEAD
    + "def main():\n    "
    + TRAIN.replace("\n", "\n    ")
    + "model.fit(x)\nif __name__ == '__main__':\n    main()\n",
    "prediction": HEAD + "model = tf.keras.models.load_model('m')\nmodel.predict(x)\n",
    "on the CPU and on GPUs": HEAD
    + "with tf.device('/CPU:0'):\n    model = tf.keras.models.load_model('m')\n    for i in range(n):\n"
    + "        with tf.device(f'/GPU:{i}'):\n            h = tf.ones(3) + i\n    model.predict(x)\n",
    "app.run": HEAD
    + "from absl import app\ndef main(argv):\n    model = tf.keras.Sequential()\n    model.fit(x)\napp.run(main)\n",
    "method": HEAD
    + "class T:\n    def __init__(self):\n        self.m = tf.keras.Sequential()\n    def run(self):\n        self.m.fit(1)\nT().run()\n",
}
SILENT = {
    "a helper from elsewhere": HEAD + "import kit\nkit.limit_gpu(2048)\n" + TRAIN + "model.fit(x)\n",
    "a helper from elsewhere, by name": HEAD + "from kit import setup_gpus\nsetup_gpus()\n" + TRAIN + "model.fit(x)\n",
    "growth": HEAD
    + "for g in tf.config.list_physical_devices('GPU'):\n    "
    + GROW
    + "(g, True)\n"
    + TRAIN
    + "model.fit(x)\n",
    "environment": HEAD + "import os\nos.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'\n" + TRAIN + "model.fit(x)\n",
    "hidden GPUs": HEAD + "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + TRAIN + "model.fit(x)\n",
    "limit": GPUS + "tf.config.set_logical_device_configuration(gpus[0], [c])\n" + TRAIN + "model.fit(x)\n",
    "library": HEAD + "def train(model, x):\n    model.compile(loss='mse', optimizer='sgd')\n    model.fit(x)\n",
    "Keras alone": "import keras\nmodel = keras.Sequential()\nmodel.fit(x)\n",
    "TPU": HEAD + "r = tf.distribute.cluster_resolver.TPUClusterResolver()\n" + TRAIN + "model.fit(x)\n",
    "no training": HEAD + TRAIN + "model.summary()\n",
    "TensorFlow in prose only": 'import keras\n"""\nimport tensorflow as tf\n"""\nmodel = keras.Sequential()\nmodel.fit(x)\n',
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + HEAD + TRAIN + "model.fit(x)\n",
    "on the CPU": HEAD
    + "with tf.device('/CPU:0'):\n    model = tf.keras.models.load_model('m')\n    model.predict(x)\n",
    "another library's fit": HEAD + "from sklearn.svm import SVC\nSVC().fit(x, y)\n",
    "allow_growth": "import tensorflow.compat.v1 as tf1\n"
    + HEAD
    + "config = tf1.ConfigProto()\nconfig.gpu_options.allow_growth = True\n"
    "session = tf1.Session(config=config)\n" + TRAIN + "model.fit(x)\n",
    "allow_growth, short": HEAD
    + "c = tf.compat.v1.ConfigProto(gpu_options=tf.compat.v1.GPUOptions(allow_growth=True))\n"
    "tf.compat.v1.InteractiveSession(config=c)\n" + TRAIN + "model.fit(x)\n",
    "memory fraction": HEAD + "o = tf.compat.v1.GPUOptions(per_process_gpu_memory_fraction=0.3)\n"
    "tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(gpu_options=o))\n" + TRAIN + "model.fit(x)\n",
    "environment by setdefault": HEAD
    + "import os\nos.environ.setdefault('TF_FORCE_GPU_ALLOW_GROWTH', 'true')\n"
    + TRAIN
    + "model.fit(x)\n",
    "environment by update": HEAD
    + "import os\nos.environ.update(TF_FORCE_GPU_ALLOW_GROWTH='true')\n"
    + TRAIN
    + "model.fit(x)\n",
    "environment's own switch": HEAD
    + "import os\nif os.environ.get('GROW'):\n    for g in tf.config.list_physical_devices('GPU'):\n        "
    + GROW
    + "(g, True)\n"
    + TRAIN
    + "model.fit(x)\n",
    "option of the command line": HEAD
    + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--growth', action='store_true')\n"
    "if p.parse_args().growth:\n    for g in tf.config.list_physical_devices('GPU'):\n        "
    + GROW
    + "(g, True)\n"
    + TRAIN
    + "model.fit(x)\n",
    "virtual device": GPUS
    + "tf.config.experimental.set_virtual_device_configuration(gpus[0], [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)])\n"
    + TRAIN
    + "model.fit(x)\n",
    "no visible GPU": HEAD + "tf.config.set_visible_devices([], 'GPU')\n" + TRAIN + "model.fit(x)\n",
    "empty CUDA_VISIBLE_DEVICES": HEAD
    + "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n"
    + TRAIN
    + "model.fit(x)\n",
}
OWN_MODEL = "def net(n):\n    i = tf.keras.Input((n,))\n    return tf.keras.Model(i, tf.keras.layers.Dense(1)(i))\n"
MAIN = HEAD + "import numpy as np\n" + OWN_MODEL + "if __name__ == '__main__':\n    model = net(3)\n"
SELF_TESTS = {
    "predicts a picture": MAIN + "    print(model.predict(np.expand_dims(read('cat.png'), 0)))\n",
    "predicts made-up numbers": MAIN + "    for n in range(3):\n        model.predict(np.random.rand(4, 3))\n",
    "trains on made-up numbers": MAIN
    + "    model.compile(loss='mse')\n    x = tf.random.normal((4, 3))\n    model.fit(x, np.zeros((4, 1)), epochs=2)\n",
    "a model class": HEAD
    + "class Net(tf.keras.Model):\n    def call(self, x):\n        return x\n"
    + "if __name__ == '__main__':\n    Net().predict(load())\n",
}
BUILDS = HEAD + (
    "def show(features, kind=None):\n    net = Decoder()\n    print(net.predict(features).shape)\n"
    "    if kind == 'h5':\n        print(tf.keras.models.load_model('net.h5').predict(features))\n    return net\n"
    "class Decoder(tf.keras.Model):\n    def call(self, x):\n        return x[0]\n"
    "if __name__ == '__main__':\n    features = [tf.random.uniform((1, 8, 8, 3)), tf.zeros((1, 4, 4, 3))]\n    show(features, 'h5')\n"
)
SELF_TESTS |= {
    "predicts in a function": BUILDS,
    "predicts again and again in a function, made-up lists": BUILDS.replace(
        "    show(", "    for n in range(9):\n        show("
    ),
}
MAIN_PROGRAMS = {
    "predicts in a function, with trained weights": BUILDS.replace(
        "Decoder()\n", "Decoder()\n    net.load_weights('w')\n"
    ),
    "predicts in a function that a loop runs": BUILDS.replace(
        "    show(features", "    for path in paths:\n        show(read(path)"
    ),
    "trains on data": MAIN + "    model.compile(loss='mse')\n    model.fit(*load())\n",
    "predicts with trained weights": MAIN + "    model.load_weights('w.h5')\n    model.predict(read('cat.png'))\n",
    "predicts many pictures": MAIN + "    for path in paths:\n        model.predict(read(path))\n",
    "predicts with a stored model": HEAD
    + "if __name__ == '__main__':\n    tf.keras.models.load_model('m').predict(read('cat.png'))\n",
}
LATE = {
    "constant": HEAD
    + "c = tf.constant(1)\nfor g in tf.config.list_physical_devices('GPU'):\n    "
    + GROW
    + "(g, True)\n",
    "visible devices": GPUS + "v = tf.Variable(1.0)\ntf.config.set_visible_devices([], 'GPU')\n",
    "logical devices": GPUS + "tf.config.list_logical_devices('GPU')\nif gpus:\n    " + GROW + "(gpus[0], True)\n",
    "model with an Input": GPUS
    + "m = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])\nfor g in gpus:\n    "
    + GROW
    + "(g, True)\n",
    "optimizer": GPUS + "o = tf.keras.optimizers.Adam()\nfor g in gpus:\n    " + GROW + "(g, True)\n",
    "strategy": GPUS + "s = tf.distribute.MirroredStrategy()\nfor g in gpus:\n    " + GROW + "(g, True)\n",
    "dataset": GPUS + "d = tf.data.Dataset.range(3)\nfor g in gpus:\n    " + GROW + "(g, True)\n",
    "function of the project": GPUS
    + "def build():\n    return tf.Variable(1.0)\nbuild()\nfor g in gpus:\n    "
    + GROW
    + "(g, True)\n",
    "in a try": GPUS
    + "c = tf.constant(1)\ntry:\n    for g in gpus:\n        "
    + GROW
    + "(g, True)\nexcept RuntimeError as e:\n    print(e)\n",
    "threads of an operation": HEAD + f"c = tf.constant(1)\n{THREADS}(4)\n",
    "threads between operations": HEAD
    + f"d = tf.data.Dataset.range(3)\n{THREADS.replace('intra', 'inter')}(num_threads=4)\n",
    "both policies, growth second": GPUS
    + "if gpus:\n    tf.config.set_logical_device_configuration(gpus[0], [c])\n    "
    + GROW
    + "(gpus[0], True)\n",
}
IN_ONE_LOOP = "for g in {gpus}:\n    {grow}(g, True)\n    {then}\n"
LISTED = "print(len(tf.config.list_logical_devices('GPU')))"
LATE |= {
    "in the loop's first iteration": GPUS + IN_ONE_LOOP.format(gpus="gpus", grow=GROW, then=LISTED),
    "in the first iteration of a loop that counts": GPUS
    + IN_ONE_LOOP.format(gpus="gpus", grow=GROW, then=LISTED).replace("for g in gpus", "for n, g in enumerate(gpus)"),
    "by a function in the first iteration": HEAD
    + f"def told():\n    {LISTED}\n"
    + IN_ONE_LOOP.format(gpus="tf.config.list_physical_devices('GPU')", grow=GROW, then="told()"),
}
IN_TIME = {
    "in a loop over one": GPUS + IN_ONE_LOOP.format(gpus="gpus[:1]", grow=GROW, then=LISTED),
    "in a loop that ends at once": GPUS + IN_ONE_LOOP.format(gpus="gpus", grow=GROW, then=LISTED + "\n    break"),
    "in the last iteration": GPUS
    + IN_ONE_LOOP.format(gpus="gpus", grow=GROW, then="if g is gpus[-1]:\n        " + LISTED),
    "behind the loop": GPUS + IN_ONE_LOOP.format(gpus="gpus", grow=GROW, then="pass") + LISTED + "\n",
    "iterated over in a branch": HEAD + f"if asked:\n    for row in tf.range(3):\n        print(row)\n{THREADS}(4)\n",
    "threads": HEAD + f"{THREADS}(4)\nc = tf.constant(1)\n",
    "threads again": HEAD + f"{THREADS}(4)\nc = tf.constant(1)\n{THREADS}(4)\n",
    "settings that a started runtime takes": HEAD
    + "c = tf.constant(1)\ntf.config.set_soft_device_placement(False)\ntf.config.optimizer.set_jit(True)\n"
    + "tf.config.optimizer.set_experimental_options({'remapping': False})\n"
    + "tf.config.experimental.set_device_policy('warn')\ntf.config.experimental.set_synchronous_execution(False)\n",
    "first": HEAD + "for g in tf.config.list_physical_devices('GPU'):\n    " + GROW + "(g, True)\nc = tf.constant(1)\n",
    "what does not initialise": GPUS
    + "tf.random.set_seed(1)\ni = tf.keras.Input((2,))\nd = tf.keras.layers.Dense(1)\n"
    + "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n@tf.function\ndef f(x):\n    return tf.square(x)\n"
    + "for g in gpus:\n    "
    + GROW
    + "(g, True)\n",
    "other branch": GPUS
    + "if cpu_only:\n    c = tf.constant(1)\nelse:\n    for g in gpus:\n        "
    + GROW
    + "(g, True)\n",
    "maybe": GPUS + "if flag:\n    c = tf.constant(1)\nfor g in gpus:\n    " + GROW + "(g, True)\n",
    "inside a function": GPUS + "def f():\n    return tf.constant(1)\nfor g in gpus:\n    " + GROW + "(g, True)\n",
    "another function": HEAD
    + "def a():\n    return tf.constant(1)\ndef b():\n    for g in tf.config.list_physical_devices('GPU'):\n        "
    + GROW
    + "(g, True)\n",
    "hidden before anything": HEAD + "tf.config.set_visible_devices([], 'GPU')\nc = tf.constant(1)\n",
    "hidden after imports of the project": HEAD
    + "import numpy as np\nx = np.ones(3)\ntf.config.set_visible_devices([], device_type='GPU')\n"
    "model = tf.keras.Sequential([tf.keras.Input((2,))])\n",
}
PARTIAL = {
    "first GPU": GPUS + "if gpus:\n    " + GROW + "(gpus[0], True)\n",
    "through a name": GPUS + "if gpus:\n    gpu = gpus[0]\n    " + GROW + "(gpu, True)\n",
    "keywords": GPUS + "if gpus:\n    " + GROW + "(device=gpus[0], enable=True)\n",
}
WHOLE = {
    "loop": GPUS + "for gpu in gpus:\n    " + GROW + "(gpu, True)\n",
    "one visible": GPUS
    + "if gpus:\n    tf.config.set_visible_devices(gpus[0], 'GPU')\n    "
    + GROW
    + "(gpus[0], True)\n",
    "environment": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n"
    + GPUS
    + "if gpus:\n    "
    + GROW
    + "(gpus[0], True)\n",
    "exactly one": GPUS + "if len(gpus) == 1:\n    " + GROW + "(gpus[0], True)\n",
    "two of two": GPUS + "if gpus:\n    " + GROW + "(gpus[0], True)\n    " + GROW + "(gpus[1], True)\n",
    "index loop": GPUS + "for i in range(len(gpus)):\n    " + GROW + "(gpus[i], True)\n",
    "unknown index": GPUS + "def setup(i):\n    if gpus:\n        " + GROW + "(gpus[i], True)\n",
    "switched off": GPUS + "if gpus:\n    " + GROW + "(gpus[0], False)\n",
    "environment by setdefault": "import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '0')\n"
    + GPUS
    + "if gpus:\n    "
    + GROW
    + "(gpus[0], True)\n",
    "environment after the import": "import os\n"
    + HEAD
    + "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\ngpus = tf.config.list_physical_devices('GPU')\nif gpus:\n    "
    + GROW
    + "(gpus[0], True)\n",
    "comprehension over all": GPUS + "[" + GROW + "(g, True) for g in gpus]\n",
    "enumerate": GPUS + "for i, _ in enumerate(gpus):\n    " + GROW + "(gpus[i], True)\n",
    "one visible by a slice": GPUS
    + "if gpus:\n    tf.config.experimental.set_visible_devices(gpus[:1], 'GPU')\n    "
    + GROW
    + "(gpus[0], True)\n",
    "list of visible devices": GPUS + "tf.config.set_visible_devices([gpus[0]], 'GPU')\n" + GROW + "(gpus[0], True)\n",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(PROGRAMS)
def test_program_without_growth_is_found_once(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG401: every way in which a file is a program that trains."""
    assert [c for c in codes(code, tmp_path, ignore=()) if c == "TFG401"] == ["TFG401"]


@_table(SILENT)
def test_set_up_programs_and_libraries_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG401."""
    assert "TFG401" not in codes(code, tmp_path, ignore=())


@_table(SELF_TESTS)
def test_a_module_that_tries_itself_out_is_no_program(code: str, tmp_path: Path) -> None:
    """Protects architectures that others import: their main block shows that they compute something."""
    assert "TFG401" not in codes(code, tmp_path, ignore=())


@_table(MAIN_PROGRAMS)
def test_a_main_block_that_works_is_a_program(code: str, tmp_path: Path) -> None:
    assert codes(code, tmp_path, ignore=("TFG603", "TFG206", "TFG224", "TFG719")) == ["TFG401"]


def test_growth_is_set_by_the_program_and_not_for_who_imports_it(tmp_path: Path) -> None:
    """Protects who imports a function of a program: there it would be too late, and raise."""
    code = MAIN_PROGRAMS["trains on data"]
    loop = '    for gpu in tf.config.list_physical_devices("GPU"):\n        ' + GROW + "(gpu, True)\n"
    assert fixed(code, tmp_path, "TFG401") == code.replace("'__main__':\n", "'__main__':\n" + loop)
    early = code.replace("def net", "SCALE = tf.constant(2.0)\ndef net")
    result = fixed(early, tmp_path, "TFG401")
    assert result.index("list_physical_devices") < result.index("SCALE")
    assert codes(result, tmp_path, ignore=("TFG603",)) == []


def test_setup_in_another_file_counts(tmp_path: Path) -> None:
    """Protects programs that call `setup_gpus()` of their own utils, also through a package."""
    (tmp_path / "utils.py").write_text(f"import tensorflow as tf\ndef setup_gpus():\n    {GROW}\n")
    code = HEAD + "from utils import setup_gpus\nsetup_gpus()\n" + TRAIN + "model.fit(x)\n"
    assert "TFG401" not in codes(code, tmp_path, ignore=())


def test_setup_in_a_package_counts(tmp_path: Path) -> None:
    """Protects programs whose setting runs when a package is imported, or is offered by their own configuration."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .runtime import device\n")
    (tmp_path / "pkg" / "runtime.py").write_text(HEAD + "tf.config.set_visible_devices([], 'GPU')\ndevice = 1\n")
    (tmp_path / "config.py").write_text(
        f"{HEAD}class Config:\n    growth = True\n    def apply(self):\n"
        f"        for g in tf.config.list_physical_devices('GPU'):\n            {GROW}(g, self.growth)\n"
    )
    for setup in ("import pkg\n", "from pkg import device\n", "from config import Config\nConfig().apply()\n"):
        assert "TFG401" not in codes(HEAD + setup + TRAIN + "model.fit(x)\n", tmp_path, ignore=())


def test_notebooks_for_tensorflow_1_are_not_found(tmp_path: Path) -> None:
    text = notebook("%tensorflow_version 1.x\n" + HEAD + TRAIN + "model.fit(x)\n")
    assert not found(text, tmp_path, name="old.ipynb")
    assert found(text.replace("%tensorflow_version 1.x", "%tensorflow_version 2.x"), tmp_path, name="new.ipynb")


def test_growth_is_inserted_after_the_imports(tmp_path: Path) -> None:
    """Protects the place and the form of TFG401's fix, and that it silences the finding."""
    code = '"""Doc."""\nimport os\n\nimport tensorflow as tf  # the library\n\nX = 1\n' + TRAIN + "model.fit(x)\n"
    result = fixed(code, tmp_path, "TFG401")
    assert result.startswith(
        '"""Doc."""\nimport os\n\nimport tensorflow as tf  # the library\n\n'
        'for gpu in tf.config.list_physical_devices("GPU"):\n'
        "    tf.config.experimental.set_memory_growth(gpu, True)\n\nX = 1\n"
    )
    ast.parse(result)
    assert codes(result, tmp_path, ignore=("TFG603",)) == []


@pytest.mark.parametrize(
    "setting",
    [
        "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'",
        "os.environ.setdefault('KERAS_BACKEND', 'tensorflow')",
        "import sys\nsys.path.append('..')",
    ],
)
def test_growth_is_inserted_after_the_import_of_tensorflow(setting: str, tmp_path: Path) -> None:
    """Protects programs that set up the process between their imports: the name `tf` must be there."""
    code = f"import os\n{setting}\nimport tensorflow as tf\nimport glob\n\n" + TRAIN + "model.fit(x)\n"
    result = fixed(code, tmp_path, "TFG401")
    assert result.startswith(f"import os\n{setting}\nimport tensorflow as tf\nimport glob\n\nfor gpu in tf.config")


@pytest.mark.parametrize("between", ["print('start')", "if True:\n    pass", "x = load()"])
def test_growth_is_not_inserted_before_the_import_of_tensorflow(between: str, tmp_path: Path) -> None:
    code = f"import os\n{between}\nimport tensorflow as tf\n\n" + TRAIN + "model.fit(x)\n"
    assert fixed(code, tmp_path, "TFG401") == code


@_table(LATE)
def test_late_configuration_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG402: everything that was measured to initialise the runtime."""
    assert "TFG402" in codes(code, tmp_path)


@_table(IN_TIME)
def test_configuration_in_time_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG402: what does not initialise, or may not have run."""
    assert codes(code, tmp_path) == []


def test_the_second_iteration_comes_too_late(tmp_path: Path) -> None:
    """Protects truth: on a machine with one GPU the loop raises nothing; and no fix moves what stays in the loop."""
    code = LATE["in the loop's first iteration"]
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG402"]
    assert "in the first iteration" in finding.message and "with two or more GPUs" in finding.message
    assert fixed(code, tmp_path, "TFG402") == code
    first = LATE["constant"].replace("c = tf.constant(1)\n", "").replace(":\n    ", ":\n    c = tf.constant(1)\n    ")
    assert "TFG402" in codes(first, tmp_path) and fixed(first, tmp_path, "TFG402") == first


def test_both_policies_growth_first_is_told_as_ignored(tmp_path: Path) -> None:
    """Protects truth: growth set first raises nothing, it is ignored."""
    code = GPUS + f"if gpus:\n    {GROW}(gpus[0], True)\n    tf.config.set_logical_device_configuration(gpus[0], [c])\n"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG402"]
    assert finding.prediction.kind == "no-effect"


ON_ALL = {
    "growth in a loop": (f"for g in gpus:\n    {GROW}(g, True)\n", True),
    "growth in a comprehension": (f"[{GROW}(g, True) for g in gpus]\n", True),
    "growth in a loop over another list of them": (
        f"for g in tf.config.list_physical_devices('GPU'):\n    {GROW}(g, True)\n",
        True,
    ),
    "growth in a loop that counts": (f"for n, g in enumerate(gpus):\n    {GROW}(g, True)\n", True),
    "growth in a loop that counts other things": (
        f"for g, n in zip(made(), range(len(gpus))):\n    {GROW}(g, True)\n",
        False,
    ),
    "growth in a loop over CPUs": (f"for g in tf.config.list_physical_devices('CPU'):\n    {GROW}(g, True)\n", False),
    "growth under a question for them": (f"if gpus:\n    for g in gpus:\n        {GROW}(g, True)\n", True),
    "growth where there are none": (f"if gpus:\n    pass\nelse:\n    for g in gpus:\n        {GROW}(g, True)\n", False),
    "growth under a test": (f"if grow:\n    for g in gpus:\n        {GROW}(g, True)\n", False),
}


@pytest.mark.parametrize(("code", "is_found"), ON_ALL.values(), ids=ON_ALL.keys())
def test_growth_on_all_and_a_configuration_of_one(code: str, is_found: bool, tmp_path: Path) -> None:
    """Protects TFG402: growth set on every GPU first is ignored, and raises after the configuration of one."""
    limit = "tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(512)])\n"
    for before, after, kind in ((code, limit, "no-effect"), (limit, code, "crash")):
        told = [f.prediction.kind for rule, f in findings(GPUS + before + after, tmp_path) if rule.code == "TFG402"]
        assert told == ([kind] if is_found else [])


@_table(PARTIAL)
def test_growth_on_one_gpu_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG403."""
    assert codes(code, tmp_path) == ["TFG403"]


@_table(WHOLE)
def test_growth_on_all_or_the_only_visible_gpu_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG403."""
    assert "TFG403" not in codes(code, tmp_path)


def test_library_is_judged_by_its_programs(tmp_path: Path) -> None:
    """Protects a library whose every program makes one GPU visible; found in it for a program that does not."""
    library = f"{HEAD}def setup():\n    gpus = tf.config.list_physical_devices('GPU')\n    if gpus:\n"
    library += f"        {GROW}(gpus[0], True)\n"
    assert found(library, tmp_path, name="lib.py") == set()
    program = "{}import tensorflow as tf\nfrom lib import setup\nsetup()\n"
    assert found(program.format("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n"), tmp_path) == set()
    assert found(program.format(""), tmp_path) == {("TFG403 lib.py", 5)}


def test_unguarded_growth_on_the_first_gpu_is_two_mistakes(tmp_path: Path) -> None:
    """Protects both findings: the index fails without a GPU, the growth with two."""
    code = HEAD + f"gpus = tf.config.list_physical_devices('GPU')\n{GROW}(gpus[0], True)\n"
    assert found(code, tmp_path) == {("TFG403", 3), ("TFG506", 3)}


def test_initialisers_raise_as_the_rule_says() -> None:
    """The truth of TFG402 with the installed TensorFlow: after an operation, devices cannot be changed."""
    tf = pytest.importorskip("tensorflow")
    tf.constant(1)
    with pytest.raises(RuntimeError, match="Virtual devices cannot be modified after being initialized"):
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
        )
    for kind in ("intra", "inter"):
        with pytest.raises(RuntimeError, match=f"{kind.capitalize()} op parallelism cannot be modified after init"):
            getattr(tf.config.threading, f"set_{kind}_op_parallelism_threads")(3)


def test_a_started_runtime_takes_the_other_settings() -> None:
    """The truth of what TFG402 leaves out, with the installed TensorFlow: they raise nothing, and count."""
    tf = pytest.importorskip("tensorflow")
    tf.constant(1)
    before = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(not before)
    assert tf.config.get_soft_device_placement() is not before
    tf.config.set_soft_device_placement(before)
    tf.config.optimizer.set_experimental_options({"remapping": False})
    assert tf.config.optimizer.get_experimental_options()["remapping"] is False
    tf.config.optimizer.set_experimental_options({"remapping": True})


ELSEWHERE = (
    "import tensorflow as tf\ndef setup():\n    for gpu in tf.config.list_physical_devices('GPU'):\n"
    f"        {GROW}(gpu, True)\n"
)
CALLED = {
    "after a strategy": ("strategy = tf.distribute.MirroredStrategy()\nsetup()\n", True),
    "after a strategy, in a function": ("def main():\n    c = tf.constant(1)\n    setup()\nmain()\n", True),
    "through another function": ("def start():\n    setup()\nc = tf.constant(1)\nstart()\n", True),
    "first": ("setup()\nstrategy = tf.distribute.MirroredStrategy()\n", False),
    "first, and again": ("setup()\nc = tf.constant(1)\nsetup()\n", False),
    "perhaps after": ("if many:\n    strategy = tf.distribute.MirroredStrategy()\nsetup()\n", False),
    "not at all": ("strategy = tf.distribute.MirroredStrategy()\n", False),
}


@pytest.mark.parametrize(("text", "is_found"), CALLED.values(), ids=CALLED)
def test_a_set_up_of_another_file_that_comes_too_late(text: str, is_found: bool, tmp_path: Path) -> None:
    """Protects programs whose set-up is a module of its own: what comes before it is in the file that calls it."""
    (tmp_path / "rt.py").write_text(ELSEWHERE)
    code = "import tensorflow as tf\nfrom rt import setup\n" + text
    assert (("TFG402 rt.py", 4) in found(code, tmp_path)) is is_found
    assert "TFG402" not in {rule for rule, _ in found(ELSEWHERE, tmp_path, name="rt.py")}


IMPORTED = {
    "a tensor": ("import tensorflow as tf\nSIZE = tf.constant([416, 416])\n", True),
    "a default of a parameter": ("import tensorflow as tf\ndef f(x, size=tf.constant([4])):\n    return x\n", True),
    "in a function": ("import tensorflow as tf\ndef f():\n    return tf.constant(1)\n", False),
    "under a test": ("import tensorflow as tf\nif __name__ == '__main__':\n    x = tf.constant(1)\n", False),
    "in a lambda": ("import tensorflow as tf\nf = lambda: tf.constant(1)\n", False),
    "TensorFlow 1": ("import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\nx = tf.constant(1)\n", False),
}


@pytest.mark.parametrize(("text", "is_found"), IMPORTED.values(), ids=IMPORTED)
def test_what_a_module_does_while_it_is_imported_counts(text: str, is_found: bool, tmp_path: Path) -> None:
    """Protects TFG402's recall: growth in `main` comes after all that the imports at the top have run."""
    (tmp_path / "core.py").write_text(text)
    code = (
        "import tensorflow as tf\nimport core\n"
        "def main():\n    for gpu in tf.config.list_physical_devices('GPU'):\n"
        "        tf.config.experimental.set_memory_growth(gpu, True)\nmain()\n"
    )
    assert (("TFG402", 5) in found(code, tmp_path)) is is_found
    later = code.replace("import core\n", "") + "import core\n"
    assert "TFG402" not in {rule for rule, _ in found(later, tmp_path)}


def test_a_helper_for_tpus_or_gpus_is_no_program_for_tpus(tmp_path: Path) -> None:
    """Protects what is imported for either: only a helper that knows no GPUs says that a program is for TPUs."""
    tpus = "import tensorflow as tf\ndef pick(name):\n    if name:\n        return tf.distribute.TPUStrategy(name)\n"
    program = "from devices import pick\n" + HEAD + "strategy = pick('')\n" + TRAIN + "model.fit(x)\n"
    (tmp_path / "devices.py").write_text(tpus)
    assert codes(program, tmp_path, ignore=("TFG603",)) == []
    (tmp_path / "devices.py").write_text(tpus + "    return tf.distribute.MirroredStrategy()\n")
    assert codes(program, tmp_path, ignore=("TFG603",)) == ["TFG401"]


@pytest.mark.parametrize(
    ("handled", "applicability"),
    [("RuntimeError", "safe"), ("IndexError", "unsafe"), ("(RuntimeError, IndexError)", "unsafe"), ("", "unsafe")],
)
def test_a_loop_does_not_raise_what_a_program_handles(handled: str, applicability: str, tmp_path: Path) -> None:
    """Protects `except IndexError: print("no GPU")`: a loop over no GPU raises nothing (TFG403)."""
    code = (
        "import tensorflow as tf\n\nfound_gpus = tf.config.list_physical_devices('GPU')\ntry:\n"
        "    tf.config.experimental.set_memory_growth(found_gpus[0], True)\n"
        f"except {handled}:\n    print('none')\nprint(tf.ones(3))\n"
    )
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG403"]
    assert finding.fix is not None
    assert finding.fix.applicability == applicability


@pytest.mark.parametrize("is_direct", [True, False])
def test_growth_is_not_set_below_an_import_that_initialises_the_gpus(is_direct: bool, tmp_path: Path) -> None:
    """Protects programs whose modules compute while they are imported: growth that is set later raises (TFG401)."""
    made = "import tensorflow as tf\n\nROWS = tf.ones((8, 2))\n"
    (tmp_path / "rows.py").write_text(made if is_direct else "from helpers import ROWS\n")
    (tmp_path / "helpers.py").write_text(made)
    train = "net = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nnet.compile('sgd', 'mse')\nnet.fit(ROWS, ROWS)\n"
    for first, has_fix in (
        ("from rows import ROWS\nimport tensorflow as tf", False),
        ("import tensorflow as tf", True),
    ):
        ((_, finding),) = [p for p in findings(f"{first}\n{train}", tmp_path) if p[0].code == "TFG401"]
        assert (finding.fix is not None) is has_fix


@pytest.mark.parametrize("handled", ["IndexError", "(OSError, LookupError)", "ValueError"])
@pytest.mark.parametrize("is_elsewhere", [True, False])
def test_callers_may_handle_an_empty_list(handled: str, is_elsewhere: bool, tmp_path: Path) -> None:
    """Protects `except IndexError: place = "CPU"` around a function, in its file or another one (TFG403, TFG506)."""
    grown = (
        "import tensorflow as tf\n\n\ndef grow():\n    found_gpus = tf.config.list_physical_devices('GPU')\n"
        "    tf.config.experimental.set_memory_growth(found_gpus[0], True)\n"
    )
    calling = f"try:\n    grow()\n    place = 'GPU'\nexcept {handled}:\n    place = 'CPU'\n"
    (tmp_path / "main.py").write_text(f"from grown import grow\n\n{calling}" if is_elsewhere else "")
    found = findings(grown if is_elsewhere else f"{grown}\n\n{calling}", tmp_path, "grown.py")
    fixes = {rule.code: finding.fix for rule, finding in found if rule.code in ("TFG403", "TFG506")}
    expected = "safe" if handled == "ValueError" else "unsafe"
    assert {fix.applicability for fix in fixes.values() if fix is not None} == {expected}, fixes


def test_growth_is_not_set_behind_code_on_the_line_of_an_import(tmp_path: Path) -> None:
    """Protects programs of one line: what stands behind the import may have initialised the GPUs (TFG401)."""
    train = "net = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nnet.compile('sgd', 'mse')\nnet.fit(rows, rows)\n"
    for first, has_fix in (
        ("import os; import tensorflow as tf", True),
        ("import tensorflow as tf; tf.ones(2)", False),
    ):
        ((_, finding),) = [p for p in findings(f"{first}\n{train}", tmp_path) if p[0].code == "TFG401"]
        assert (finding.fix is not None) is has_fix
