"""A fix that needs an import adds it, once, where the file's imports stand; and none where that would not be right."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from checks import findings, fixed, notebook

from tflint_gpu.checking.engine.placement import placed

LAYER = "\n\nclass Wave({base}):\n    def call(self, inputs):\n        return np.sin(inputs) + np.cos(inputs)\n"
IMPORTS = {
    "from tensorflow import keras": ("keras.layers.Layer", "import tensorflow as tf\n", "tf", False),
    "from tensorflow.keras.layers import Layer": ("Layer", "import tensorflow as tf\n", "tf", True),
    "from keras.layers import Layer": ("Layer", "from keras import ops\n", "ops", True),
    "from keras import layers": ("layers.Layer", "from keras import ops\n", "ops", True),
    "import keras": ("keras.layers.Layer", "", "keras.ops", False),
    "import tensorflow as tf": ("tf.keras.layers.Layer", "", "tf", False),
    "import tensorflow": ("tensorflow.keras.layers.Layer", "", "tensorflow", False),
}


@pytest.mark.parametrize("statement", IMPORTS)
def test_counterpart_of_numpy(statement: str, tmp_path: Path) -> None:
    """Protects layers in files that import parts of Keras or TensorFlow only."""
    base, _, name, adds = IMPORTS[statement]
    head = f'"""Layers."""\nimport numpy as np\n{statement}\nimport os\n'
    code = head + LAYER.format(base=base)
    after = fixed(code, tmp_path, "TFG101")
    ast.parse(after)
    if statement == "from tensorflow import keras":
        name = "keras.ops"
    added = IMPORTS[statement][1] if adds else ""
    expected = code.replace("np.sin", f"{name}.sin").replace("np.cos", f"{name}.cos")
    assert after == expected.replace(head, head + (added or ""))


@pytest.mark.parametrize("taken", ["tf = ops = None", "def f(tf, ops):\n    return tf", "for tf, ops in ():\n    pass"])
def test_a_name_that_is_taken_is_left_alone(taken: str, tmp_path: Path) -> None:
    code = "import numpy as np\nfrom tensorflow.keras.layers import Layer\n" + taken + LAYER.format(base="Layer")
    assert fixed(code, tmp_path, "TFG101") == code


def test_parallel_map(tmp_path: Path) -> None:
    code = (
        "from tensorflow.data import Dataset\nfrom tensorflow import image, keras\n\n"
        "rows = Dataset.from_tensor_slices(images).map(lambda x: image.random_flip_left_right(x)).batch(32)\n"
        "keras.Sequential().fit(rows)\n"
    )
    after = fixed(code, tmp_path, "TFG303")
    assert after == code.replace("keras\n\n", "keras\nimport tensorflow as tf\n\n").replace(
        "right(x))", "right(x), num_parallel_calls=tf.data.AUTOTUNE)"
    )


def test_memory_growth(tmp_path: Path) -> None:
    code = (
        "from tensorflow.keras import Sequential\nfrom tensorflow.keras.layers import Dense\n\n"
        "model = Sequential([Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
    )
    after = fixed(code, tmp_path, "TFG401")
    assert after.startswith(
        "from tensorflow.keras import Sequential\nfrom tensorflow.keras.layers import Dense\nimport tensorflow as tf\n\n"
        'for gpu in tf.config.list_physical_devices("GPU"):\n'
    )
    ast.parse(after)


def test_tensor_for_a_number(tmp_path: Path) -> None:
    code = (
        "from tensorflow import function, reduce_mean\n\n\n@function\ndef step(x, i):\n    return reduce_mean(x) * (i / 9)\n\n\n"
        "for i in range(100):\n    step(x, i)\n"
    )
    after = fixed(code, tmp_path, "TFG204")
    assert after == code.replace("\n\n\n@", "\nimport tensorflow as tf\n\n\n@").replace(
        "x, i)\n\n", "x, i)\n\n"
    ).replace("    step(x, i)", "    step(x, tf.constant(i, tf.float32))")


def test_import_in_another_cell(tmp_path: Path) -> None:
    """Protects notebooks: an edit of two cells is no fix."""
    cells = ("import numpy as np\nfrom keras import layers", LAYER.format(base="layers.Layer"))
    (finding, *_) = [f for rule, f in findings(notebook(*cells), tmp_path, name="a.ipynb") if rule.code == "TFG101"]
    assert finding.fix is not None
    assert placed(finding.fix, finding.file) is None
