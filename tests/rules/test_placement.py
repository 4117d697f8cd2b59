"""TFG501, TFG502, TFG506: device strings without a question, without a meaning, and indexes into an empty list."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, fixed

from tflint_gpu.model.library.devices import parse_device

HEAD = "import os\nimport tensorflow as tf\nfrom tensorflow import keras\n"
WITH = "with tf.device({}):\n    y = tf.square(2.0)\n"
GPUS = HEAD + "gpus = tf.config.list_physical_devices('GPU')\n"

UNGUARDED = {
    "what is left without a TPU and with one GPU or none": "import tensorflow as tf\nKEPT_STRATEGY = None\ndef pick(use_tpu):\n"
    "    if KEPT_STRATEGY is not None:\n        return KEPT_STRATEGY\n    gpus = tf.config.list_physical_devices('GPU')\n"
    "    if use_tpu:\n        return tf.distribute.TPUStrategy(connect())\n    elif len(gpus) > 1:\n"
    "        return tf.distribute.MirroredStrategy()\n    return tf.distribute.OneDeviceStrategy('/gpu:0')\n",
    "literal": HEAD + WITH.format("'/GPU:0'"),
    "short": HEAD + WITH.format("'gpu:1'"),
    "long": HEAD + WITH.format("'/device:GPU:0'"),
    "constant": HEAD + "DEVICE = '/GPU:0'\n" + WITH.format("DEVICE"),
    "f-string": HEAD + "INDEX = 1\n" + WITH.format("f'/GPU:{INDEX}'"),
    "concatenation": HEAD + WITH.format("'/GPU:' + str(0)"),
    "format": HEAD + WITH.format("'/GPU:{}'.format(0)"),
    "strategy": HEAD + "s = tf.distribute.OneDeviceStrategy('/gpu:0')\n",
    "keras.device": "import keras\nwith keras.device('gpu:0'):\n    pass\n",
    "inside a function": HEAD + "def run(x):\n    with tf.device('/GPU:0'):\n        return x\n",
    "unrelated condition": HEAD + "if verbose:\n    with tf.device('/GPU:0'):\n        pass\n",
    "else of several": GPUS
    + "if len(gpus) > 1:\n    s = tf.distribute.MirroredStrategy()\nelse:\n    s = tf.distribute.OneDeviceStrategy('/gpu:0')\n",
    "else of at least two": GPUS
    + "if len(gpus) >= 2:\n    s = tf.distribute.MirroredStrategy()\nelse:\n    s = tf.distribute.OneDeviceStrategy('/gpu:0')\n",
    "computed index": HEAD + "rank = int(os.environ['RANK'])\n" + WITH.format("f'/GPU:{rank}'"),
    "parameter as index": HEAD + "def run(rank):\n    with tf.device(f'/device:GPU:{rank}'):\n        pass\n",
    "computed index by format": HEAD + "rank = int(os.environ['RANK'])\n" + WITH.format("'/GPU:{}'.format(rank)"),
    "computed index by percent": HEAD + "rank = int(os.environ['RANK'])\n" + WITH.format("'/gpu:%d' % rank"),
    "computed index by addition": HEAD + "rank = int(os.environ['RANK'])\n" + WITH.format("'/GPU:' + str(rank)"),
    "strategy with a computed index": HEAD
    + "def make(rank):\n    return tf.distribute.OneDeviceStrategy(f'/gpu:{rank}')\n",
}
GUARDED = {
    "if": GPUS + "if gpus:\n    with tf.device('/GPU:0'):\n        pass\n",
    "query in the test": HEAD + "if tf.test.is_gpu_available():\n    with tf.device('/GPU:0'):\n        pass\n",
    "ternary": GPUS + WITH.format("'/GPU:0' if gpus else '/CPU:0'"),
    "ternary through a name": GPUS + "d = '/GPU:0' if gpus else '/CPU:0'\n" + WITH.format("d"),
    "flag": HEAD
    + "has = len(tf.config.list_physical_devices('GPU')) > 0\nif has:\n    with tf.device('/GPU:0'):\n        pass\n",
    "user's flag": HEAD + "def run(use_gpu):\n    if use_gpu:\n        with tf.device('/GPU:0'):\n            pass\n",
    "assert": GPUS + "assert gpus\n" + WITH.format("'/GPU:0'"),
    "early return": HEAD
    + "def run():\n    if not tf.config.list_physical_devices('GPU'):\n        return\n    with tf.device('/GPU:0'):\n        pass\n",
    "exit": HEAD
    + "import sys\nif not tf.config.list_physical_devices('GPU'):\n    sys.exit(1)\n"
    + WITH.format("'/GPU:0'"),
    "try": HEAD + "try:\n    with tf.device('/GPU:0'):\n        pass\nexcept RuntimeError:\n    pass\n",
    "loop over devices": HEAD
    + "for g in tf.config.list_logical_devices('GPU'):\n    with tf.device('/GPU:0'):\n        pass\n",
    "exit before the function": GPUS
    + "if not gpus:\n    raise SystemExit\ndef run():\n    with tf.device('/GPU:0'):\n        pass\n",
    "guarded caller": GPUS + "def run():\n    with tf.device('/GPU:0'):\n        pass\nif gpus:\n    run()\n",
    "function that asks": HEAD
    + "def has_gpu():\n    return bool(tf.config.list_physical_devices('GPU'))\n"
    + "if has_gpu():\n    with tf.device('/GPU:0'):\n        pass\n",
    "unknown string": HEAD + "def run(device):\n    with tf.device(device):\n        pass\n",
    "CPU": HEAD + WITH.format("'/CPU:0'"),
    "graphs of TensorFlow 1": HEAD + "x = tf.compat.v1.placeholder(tf.float32)\n" + WITH.format("'/GPU:0'"),
    "cluster": HEAD + WITH.format("'/job:worker/task:0/device:GPU:0'"),
    "one of several cases": GPUS
    + "if len(gpus) > 1:\n    s = tf.distribute.MirroredStrategy()\nelif gpus:\n"
    + "    s = tf.distribute.OneDeviceStrategy('/gpu:0')\nelse:\n    s = tf.distribute.get_strategy()\n",
    "exactly one": GPUS + "if len(gpus) == 1:\n    s = tf.distribute.OneDeviceStrategy('/gpu:0')\n",
    "several": GPUS + "if len(gpus) > 1:\n    with tf.device('/GPU:1'):\n        pass\n",
    "else of none": GPUS
    + "if len(gpus) == 0:\n    s = None\nelse:\n    s = tf.distribute.OneDeviceStrategy('/gpu:0')\n",
    "index below the count": GPUS
    + "rank = int(os.environ['RANK'])\nif rank < len(gpus):\n    with tf.device(f'/GPU:{rank}'):\n        pass\n",
    "device by the count": GPUS
    + "def run(rank):\n    d = f'/GPU:{rank}' if rank < len(gpus) else '/CPU:0'\n    with tf.device(d):\n        pass\n",
    "loop over the indexes": GPUS + "for i in range(len(gpus)):\n    with tf.device(f'/GPU:{i}'):\n        pass\n",
    "the user's device type": HEAD + "def run(kind, rank):\n    with tf.device(f'/{kind}:{rank}'):\n        pass\n",
    "lower case CPU": HEAD + WITH.format("'/cpu:0'"),
    "logical devices": HEAD
    + "if tf.config.list_logical_devices('GPU'):\n    with tf.device('/GPU:0'):\n        pass\n",
    "name of the device": HEAD + "if tf.test.gpu_device_name():\n    with tf.device('/GPU:0'):\n        pass\n",
    "flag of a class": HEAD
    + "class T:\n    def __init__(self):\n        self.on_gpu = bool(tf.config.list_physical_devices('GPU'))\n"
    "    def run(self):\n        if self.on_gpu:\n            with tf.device('/GPU:0'):\n"
    "                pass\n",
    "assert in the caller": GPUS
    + "def run():\n    with tf.device('/GPU:0'):\n        pass\ndef main():\n    assert gpus\n    run()\n"
    "main()\n",
    "loop over names": HEAD
    + "for name in [g.name for g in tf.config.list_logical_devices('GPU')]:\n    with tf.device(name):\n"
    "        pass\n",
    "while there are GPUs": GPUS + "while gpus:\n    with tf.device('/GPU:0'):\n        gpus.pop()\n",
}
INVALID = ["/GUP:0", "gpu0", "cuda:0", "/cuda:0", "GPU0", "/gpu:0a", "/job:w/tsk:1"]
VALID = [
    "/GPU:0",
    "gpu:1",
    "/device:GPU:0",
    "/gpu",
    "/GPU:*",
    "/job:worker/replica:0/task:1/device:GPU:0",
    "",
    "/CPU:0",
]
OF_PYTORCH = {
    "device": "torch.zeros(3, device=torch.device('cuda:0')).to('cuda:0')",
    "constant": "DEVICE = 'cuda:0'\nnet = torch.nn.Linear(2, 1).to(DEVICE)",
    "block": "with torch.device('cuda:0'):\n    x = torch.zeros(3)",
    "default": "torch.set_default_device('cuda:0')",
    "parameter": "def run(device):\n    return torch.zeros(3, device=device)\nrun('cuda:0')",
    "backend of Keras": "os.environ['KERAS_BACKEND'] = 'torch'\nimport keras\nwith keras.device('cuda:0'):\n    pass",
}
INDEXED = {
    "inline": HEAD + "d = tf.config.list_physical_devices('GPU')[0]\n",
    "name": GPUS + "d = gpus[0]\n",
    "experimental": HEAD + "g = tf.config.experimental.list_physical_devices('GPU')\nd = g[-1]\n",
    "keyword": HEAD + "g = tf.config.list_physical_devices(device_type='GPU')\nd = g[1]\n",
    "in a function": HEAD + "def f():\n    g = tf.config.list_logical_devices('GPU')\n    return g[0].name\n",
}
CHECKED = {
    "if": GPUS + "if gpus:\n    d = gpus[0]\n",
    "len": GPUS + "if len(gpus) > 0:\n    d = gpus[0]\n",
    "ternary": GPUS + "d = gpus[0] if gpus else None\n",
    "and": GPUS + "d = gpus and gpus[0]\n",
    "try": GPUS + "try:\n    d = gpus[0]\nexcept IndexError:\n    d = None\n",
    "assert": GPUS + "assert len(gpus) > 0, 'no GPU'\nd = gpus[0]\n",
    "early exit": GPUS + "if not gpus:\n    raise SystemExit('no GPU')\nd = gpus[0]\n",
    "exit before the function": GPUS + "if not gpus:\n    raise SystemExit\ndef f():\n    return gpus[0]\n",
    "guarded caller": GPUS + "def f():\n    return gpus[0]\nif gpus:\n    f()\n",
    "loop": GPUS + "for i in range(len(gpus)):\n    d = gpus[0]\n",
    "slice": GPUS + "d = gpus[:1]\n",
    "CPU": HEAD + "d = tf.config.list_physical_devices('CPU')[0]\n",
    "all devices": HEAD + "d = tf.config.list_physical_devices()[0]\n",
    "another list": HEAD + "gpus = ['a']\nd = gpus[0]\n",
    "unknown index": GPUS + "def f(i):\n    return gpus[i]\n",
    "index below the count": GPUS + "if len(gpus) > 1:\n    d = gpus[1]\n",
    "count in a name": GPUS + "n = len(gpus)\nif n >= 2:\n    d = gpus[1]\n",
    "count before": GPUS + "INDEX = 2\nif INDEX < len(gpus):\n    d = gpus[INDEX]\n",
    "too few": GPUS + "if len(gpus) < 2:\n    raise SystemExit('two GPUs')\nd = gpus[1]\n",
    "too few with an index": GPUS + "INDEX = 1\nif INDEX >= len(gpus):\n    raise SystemExit\nd = gpus[INDEX]\n",
    "assert of the index": GPUS + "INDEX = 1\nassert INDEX < len(gpus)\nd = gpus[INDEX]\n",
    "parameter compared": GPUS + "def f(i=0):\n    if i >= len(gpus):\n        return None\n    return gpus[i]\nf()\n",
    "ternary of the count": GPUS + "d = gpus[1] if len(gpus) > 1 else None\n",
    "count asked for": HEAD + "n = len(tf.config.list_physical_devices('GPU'))\nif n > 0:\n"
    "    d = tf.config.list_physical_devices('GPU')[0]\n",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(UNGUARDED)
def test_unguarded_device_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG501: every form of a known GPU string."""
    assert codes(code, tmp_path) == ["TFG501"]


@_table(GUARDED)
def test_guarded_device_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG501: every form of a question about GPUs, older names among them."""
    assert codes(code, tmp_path, ignore=("TFG401", "TFG701")) == []


def test_a_device_beside_code_for_tensorflow_1_is_not_found(tmp_path: Path) -> None:
    """Protects modules without an old name of their own that only programs for TensorFlow 1 use."""
    code = HEAD + "import images\n" + WITH.format("'/GPU:0'")
    for called, expected in (("tf.read_file", []), ("tf.io.read_file", ["TFG501"])):
        (tmp_path / "images.py").write_text(f"import tensorflow as tf\ndef read(name):\n    return {called}(name)\n")
        assert codes(code, tmp_path) == expected


@pytest.mark.parametrize("device", INVALID)
def test_invalid_device_is_found(device: str, tmp_path: Path) -> None:
    """Protects recall of TFG502."""
    assert codes(HEAD + WITH.format(repr(device)), tmp_path) == ["TFG502"]


@pytest.mark.parametrize("device", [*VALID, "/XPU:0", "/NPU:0", "/device:XPU:0"])
def test_valid_or_pluggable_device_is_not_invalid(device: str, tmp_path: Path) -> None:
    """Protects device plug-ins and every legal form."""
    assert "TFG502" not in codes(HEAD + WITH.format(repr(device)), tmp_path)


@_table(OF_PYTORCH)
def test_device_of_pytorch_is_not_invalid(code: str, tmp_path: Path) -> None:
    """Protects programs that use both libraries: PyTorch knows `cuda:0`."""
    assert codes(HEAD + "import torch\n" + code + "\n", tmp_path) == []


def test_invalid_device_in_one_branch(tmp_path: Path) -> None:
    """Protects both sides of a ternary."""
    assert codes(GPUS + WITH.format("'cuda:0' if gpus else '/CPU:0'"), tmp_path) == ["TFG502"]


@pytest.mark.parametrize("device", [*INVALID, *VALID])
def test_parser_agrees_with_tensorflow(device: str) -> None:
    """The truth of TFG502: our reading of a device string is TensorFlow's."""
    tf = pytest.importorskip("tensorflow")
    spec = parse_device(device)
    if spec.unknown is not None or spec.bad_number is not None:
        with pytest.raises(ValueError), tf.device(device):
            tf.constant(1)
    else:
        assert tf.DeviceSpec.from_string(device).device_type == spec.kind


def test_missing_gpu_is_silently_the_cpu() -> None:
    """The truth of TFG501: with soft placement a block for a missing GPU runs on the CPU."""
    tf = pytest.importorskip("tensorflow")
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("needs a machine without a GPU")
    with tf.device("/GPU:1"):
        product = tf.square(2.0)
    assert product.device.endswith("CPU:0")


LEFT = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '{}'\nimport tensorflow as tf\n".format
NEVER_THERE = {
    "one": (LEFT("2") + WITH.format("'/GPU:2'"), "'/GPU:0' if tf.config.list_logical_devices(\"GPU\") else"),
    "two": (LEFT("3,5") + WITH.format("'gpu:5'"), "'gpu:1' if len(tf.config.list_logical_devices(\"GPU\")) > 1 else"),
    "another one": (LEFT("0") + WITH.format("'/device:GPU:1'"), ""),
    "where there is some GPU": (
        LEFT("3")
        + "if tf.config.list_physical_devices('GPU'):\n    with tf.device('/GPU:3'):\n        tf.square(2.0)\n",
        "'/GPU:0' if",
    ),
    "a strategy": (LEFT("4") + "plan = tf.distribute.OneDeviceStrategy('/gpu:4')\n", "'/gpu:0' if"),
    "in functions": (
        "import os\nimport tensorflow as tf\ndef main():\n    os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
        "    with tf.device('/GPU:1'):\n        return tf.square(2.0)\nif __name__ == '__main__':\n    main()\n",
        "'/GPU:0' if",
    ),
}
MAY_BE_THERE = {
    "the number it has": LEFT("2") + WITH.format("'/GPU:0'"),
    "the second of two": LEFT("2,3") + WITH.format("'/GPU:1'"),
    "another value": LEFT("2") + "os.environ['CUDA_VISIBLE_DEVICES'] = '0,1,2'\n" + WITH.format("'/GPU:2'"),
    "if asked for": "import os, sys\nimport tensorflow as tf\nif sys.argv[1:]:\n"
    "    os.environ['CUDA_VISIBLE_DEVICES'] = '2'\n" + WITH.format("'/GPU:2'"),
    "what the user says": "import os, sys\nos.environ['CUDA_VISIBLE_DEVICES'] = sys.argv[1]\nimport tensorflow as tf\n"
    + WITH.format("'/GPU:2'"),
    "too late": HEAD + "bias = tf.zeros(3)\nos.environ['CUDA_VISIBLE_DEVICES'] = '2'\n" + WITH.format("'/GPU:2'"),
    "afterwards": HEAD + WITH.format("'/GPU:2'") + "os.environ['CUDA_VISIBLE_DEVICES'] = '2'\n",
    "for other processes": LEFT("2").replace("import os", "import os, subprocess") + WITH.format("'/GPU:2'"),
    "parts of a GPU": LEFT("2")
    + "gpu = tf.config.list_physical_devices('GPU')[-1:]\nfor one in gpu:\n"
    + "    tf.config.set_logical_device_configuration(one, [tf.config.LogicalDeviceConfiguration(512)] * 3)\n"
    + WITH.format("'/GPU:2'"),
    "named otherwise": LEFT("GPU-8932f937,2") + WITH.format("'/GPU:2'"),
    "none": LEFT("-1") + WITH.format("'/GPU:2'"),
}


@pytest.mark.parametrize(("code", "named"), NEVER_THERE.values(), ids=NEVER_THERE)
def test_a_number_that_no_visible_gpu_has(code: str, named: str, tmp_path: Path) -> None:
    """Protects the numbers: TensorFlow counts the GPUs from 0 that the variable leaves."""
    ((_, finding),) = findings(code, tmp_path)
    assert "never exists" in finding.message
    assert (finding.fix is not None) == bool(named)
    if named:
        assert named in fixed(code, tmp_path, "TFG501")


@pytest.mark.parametrize(
    ("after", "is_fixed"),
    [
        ("scaled(tf.ones(3))", True),
        ("tf.saved_model.save(tf.Module(), 'net')", False),
        ("graph = tf.function(scaled).get_concrete_function(tf.ones(3)).graph.as_graph_def()", False),
    ],
)
@pytest.mark.parametrize("is_imported", [False, True])
def test_a_graph_that_is_written_keeps_its_devices(
    after: str, is_fixed: bool, is_imported: bool, tmp_path: Path
) -> None:
    """Protects models that are saved on a machine without a GPU for one with a GPU: the graph names the device."""
    code = HEAD + "def scaled(x):\n    with tf.device('/GPU:0'):\n        return x * 2\n"
    if is_imported:
        (tmp_path / "main.py").write_text(f"import tensorflow as tf\nfrom net import scaled\n{after}\n")
    else:
        code += f"{after}\n"
    ((_, finding),) = findings(code, tmp_path, "net.py")
    assert (finding.fix is not None) is is_fixed


@_table(MAY_BE_THERE)
def test_a_number_that_a_visible_gpu_may_have(code: str, tmp_path: Path) -> None:
    (message,) = [found.message for _, found in findings(code, tmp_path) if "is not guarded" in found.message]
    assert "where this GPU does not exist" in message


def test_the_numbers_may_be_chosen_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "gpus.py").write_text("import os\ndef use(which):\n    os.environ['CUDA_VISIBLE_DEVICES'] = which\n")
    code = LEFT("2") + "import gpus\ngpus.use('0,1,2')\n" + WITH.format("'/GPU:2'")
    ((_, finding),) = findings(code, tmp_path)
    assert "is not guarded" in finding.message


COUNTED = {
    "enough": "if len(tf.config.list_logical_devices('GPU')) > 3:\n",
    "the last one": "gpus = tf.config.list_physical_devices('GPU')\nif gpus[3:]:\n",
    "some, and a flag": "import sys\nif tf.config.list_physical_devices('GPU') and sys.argv[1:]:\n",
}


@_table(COUNTED)
def test_a_number_that_is_asked_for_is_guarded(code: str, tmp_path: Path) -> None:
    program = LEFT("3") + code + "    with tf.device('/GPU:3'):\n        tf.square(2.0)\n"
    assert not findings(program, tmp_path)


STRICT, SOFT = (f"tf.config.set_soft_device_placement({is_on})\n" for is_on in (False, True))
BLOCK = "with tf.device('/GPU:0'):\n    product = tf.square(2.0)\n"
IN_FUNCTION = "def squared():\n    with tf.device('/GPU:0'):\n        return tf.square(2.0)\n"
PLACED = {
    "off": (STRICT + BLOCK, "crash"),
    "off afterwards": (BLOCK + STRICT, "wrong-device"),
    "off, and on again": (STRICT + SOFT + BLOCK, "wrong-device"),
    "on afterwards": (STRICT + BLOCK + SOFT, "crash"),
    "off where it is called": (IN_FUNCTION + STRICT + "squared()\n", "crash"),
    "off after it is called": (IN_FUNCTION + "squared()\n" + STRICT, "wrong-device"),
    "off for another caller only": (IN_FUNCTION + "squared()\n" + STRICT + "squared()\n", "wrong-device"),
    "off in the function": (
        IN_FUNCTION.replace(":\n    with", f":\n    {STRICT}    with") + SOFT + "squared()\n",
        "crash",
    ),
    "off if asked for": (f"if careful:\n    {STRICT}{BLOCK}", "wrong-device"),
}

UNSURE = [PLACED["off for another caller only"], PLACED["off if asked for"]]


@pytest.mark.parametrize("case", PLACED.values(), ids=PLACED)
def test_strict_placement_changes_the_message(case: tuple[str, str], tmp_path: Path) -> None:
    """Protects truth: the string is an error where soft placement is off by then, not before nor after."""
    code, kind = case
    ((_, finding),) = findings(HEAD + code, tmp_path)
    assert finding.prediction.kind == kind
    assert ("if soft placement is off" in finding.message) == (case in UNSURE)


@_table(INDEXED)
def test_unguarded_index_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG506."""
    assert codes(code, tmp_path, ignore=("TFG401", "TFG713")) == ["TFG506"]


@_table(CHECKED)
def test_checked_index_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG506."""
    assert "TFG506" not in codes(code, tmp_path)


def test_recursive_function_with_an_index(tmp_path: Path) -> None:
    """Protects the search for guarded callers from functions that call themselves."""
    assert codes(GPUS + "def f():\n    f()\n    return gpus[0]\n", tmp_path) == ["TFG506"]


def test_index_is_guarded_by_the_fix(tmp_path: Path) -> None:
    """Protects the form of TFG506's fix, inside a function too."""
    code = GPUS + "def f():\n    tf.config.set_visible_devices(gpus[0], 'GPU')  # one\n"
    result = fixed(code, tmp_path, "TFG506")
    assert result == GPUS + ("def f():\n    if gpus:\n        tf.config.set_visible_devices(gpus[0], 'GPU')  # one\n")
    assert codes(result, tmp_path) == []


def test_neighbours_get_one_guard(tmp_path: Path) -> None:
    """Protects the code from one `if gpus:` after the other; what stands between two statements parts them."""
    code = GPUS + "show(gpus[0])\n# and\nuse(gpus[0])\nother()\nuse(gpus[0])\n"
    guarded = "if gpus:\n    show(gpus[0])\n# and\n    use(gpus[0])\nother()\nif gpus:\n    use(gpus[0])\n"
    assert fixed(code, tmp_path, "TFG506") == GPUS + guarded


def test_index_fails_without_a_gpu() -> None:
    """The truth of TFG506 with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        pytest.skip("needs a machine without a GPU")
    with pytest.raises(IndexError):
        gpus[0]
