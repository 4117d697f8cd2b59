"""TFG7: each old name is reported where a program for TensorFlow 2 uses it, as the target version has it, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checks import NEWEST, findings, fixed, model_of, notebook

from tflint_gpu.model.tensorflow.runtime.tensorflow_1 import OLD_NAMES
from tflint_gpu.rule import Finding
from tflint_gpu.rules.migration.keras_3 import RULES as KERAS_3_RULES
from tflint_gpu.rules.migration.renames import RULES, Renamed
from tflint_gpu.rules.migration.table import TF_NAME
from tflint_gpu.targets import Target

TF = "import tensorflow as tf\n"
MODEL = TF + "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
EAGER = TF + "with tf.GradientTape() as tape:\n    pass\n"
SESSION = TF + "c = tf.compat.v1.ConfigProto()\nc.gpu_options.allow_growth = True\n"
GROWTH = 'for gpu in tf.config.list_physical_devices("GPU"):\n    tf.config.experimental.set_memory_growth(gpu, True)\n'
OLD_KERAS = Target((2, 15), 2, "settings")

FOUND = {
    "TFG701": {
        "plain": TF + "print(tf.test.is_gpu_available())\n",
        "with arguments": TF + "tf.test.is_gpu_available(cuda_only=True)\n",
        "imported": "from tensorflow.test import is_gpu_available\nis_gpu_available()\n",
        "submodule": "from tensorflow import test\nprint(test.is_gpu_available())\n",
        "compat.v2": "import tensorflow.compat.v2 as tf\nprint(tf.test.is_gpu_available())\n",
        "in a function": TF + "def f():\n    if tf.test.is_gpu_available():\n        return 1\n",
    },
    "TFG702": {
        "beside a tape": TF + "with tf.GradientTape() as t:\n    y = tf.contrib.layers.l2_regularizer(0.1)(x)\n",
        "beside a tf.function": TF + "slim = tf.contrib.slim\n@tf.function\ndef f(x):\n    return x\n",
        "imported": TF + "import tensorflow.contrib.slim as slim\nwith tf.GradientTape() as t:\n    pass\n",
        "from": TF + "from tensorflow.contrib import slim\nwith tf.GradientTape() as t:\n    pass\n",
        "module": "import tensorflow\nfrom tensorflow import contrib\nwith tensorflow.GradientTape() as t:\n    pass\n",
    },
    "TFG703": {
        "plain": MODEL + "model = tf.keras.utils.multi_gpu_model(model, 2)\n",
        "imported": TF + "from tensorflow.keras.utils import multi_gpu_model\n",
        "Keras's own": "from keras.utils import multi_gpu_model\n",
        "its module": "from keras.utils.training_utils import multi_gpu_model\n",
        "alias": "from tensorflow import keras\nutils = keras.utils\nutils.multi_gpu_model(m)\n",
    },
    "TFG704": {
        "plain": MODEL + "model.fit_generator(batches)\n",
        "evaluate": MODEL + "model.evaluate_generator(batches, 3)\n",
        "predict": MODEL + "model.predict_generator(batches)\n",
        "parameter": MODEL + "def train(m):\n    m.fit_generator(batches)\ntrain(model)\n",
        "attribute": TF
        + "class T:\n    def __init__(self):\n        self.m = tf.keras.Sequential()\n"
        + "    def run(self):\n        self.m.fit_generator(batches)\n",
        "own class": TF + "class M(tf.keras.Model):\n    pass\nM().fit_generator(batches)\n",
    },
    "TFG705": {
        "plain": MODEL + "model.fit(x, workers=2)\n",
        "evaluate": MODEL + "model.evaluate(x, use_multiprocessing=True)\n",
        "predict": MODEL + "model.predict(x, max_queue_size=3)\n",
        "parameter": MODEL + "def train(m):\n    m.fit(x, workers=2)\ntrain(model)\n",
        "functional": "import keras\nm = keras.Model(a, b)\nm.fit(x, workers=2)\n",
        "method": TF + "class M(tf.keras.Model):\n    def go(self):\n        self.fit(x, workers=2)\n",
    },
    "TFG706": {
        "plain": TF + "y = tf.keras.layers.CuDNNLSTM(4)(x)\n",
        "imported": "from tensorflow.keras.layers import Dense, CuDNNGRU\nl = CuDNNGRU(4)\n",
        "Keras's own": "from keras.layers import CuDNNLSTM\nl = CuDNNLSTM(4)\n",
        "compat.v1": TF + "l = tf.compat.v1.keras.layers.CuDNNGRU(4)\n",
        "layers": "from tensorflow.keras import layers\nl = layers.CuDNNLSTM(4)\n",
    },
    "TFG707": {
        "plain": TF + "ds = ds.prefetch(tf.data.experimental.AUTOTUNE)\n",
        "constant": TF + "AUTOTUNE = tf.data.experimental.AUTOTUNE\nds = ds.prefetch(AUTOTUNE)\n",
        "imported": "from tensorflow.data.experimental import AUTOTUNE\nds = ds.prefetch(AUTOTUNE)\n",
        "module": "from tensorflow.data import experimental\nds = ds.prefetch(experimental.AUTOTUNE)\n",
        "default": TF + "def f(ds, n=tf.data.experimental.AUTOTUNE):\n    return ds.prefetch(n)\n",
        "under a test of shapes": TF
        + "def f(ds, spec):\n    if ds.element_spec.is_compatible_with(spec):\n"
        + "        ds = ds.prefetch(tf.data.experimental.AUTOTUNE)\n    return ds\n",
    },
    "TFG708": {
        "plain": TF + "ds = ds.apply(tf.data.experimental.map_and_batch(f, 32))\n",
        "imported": "from tensorflow.data.experimental import map_and_batch\nds = ds.apply(map_and_batch(f, 32))\n",
    },
    "TFG709": {
        "plain": TF + "ds = ds.apply(tf.data.experimental.shuffle_and_repeat(100))\n",
        "imported": "from tensorflow.data import experimental as e\nds = ds.apply(e.shuffle_and_repeat(100))\n",
    },
    "TFG710": {
        "plain": TF + "ds = ds.apply(tf.data.experimental.parallel_interleave(f, 4))\n",
        "name": TF + "g = tf.data.experimental.parallel_interleave(f, 4, sloppy=True)\nds = ds.apply(g)\n",
    },
    "TFG711": {
        "plain": TF + "tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\n",
        "policy": TF + "p = tf.keras.mixed_precision.experimental.Policy('mixed_float16', loss_scale=2)\n",
        "imported": "from tensorflow.keras.mixed_precision import experimental as mp\nmp.set_policy('float32')\n",
        "its parts": "from tensorflow.keras.mixed_precision.experimental import set_policy\nset_policy('float32')\n",
        "beside compat.v1": "import tensorflow.compat.v1 as tf\nimport tensorflow.compat.v2 as tf2\n"
        + "x = tf.random_uniform([2])\ntf2.keras.mixed_precision.experimental.set_policy('float32')\n",
        "module": "from tensorflow.keras import mixed_precision\nmixed_precision.experimental.set_policy('float32')\n",
        "after a test for TensorFlow 2": TF
        + "assert tf.version.VERSION.startswith('2.')\ntf.keras.mixed_precision.experimental.set_policy('float32')\n",
    },
    "TFG712": {
        "plain": TF + "tf.config.experimental_run_functions_eagerly(False)\n",
        "question": TF + "print(tf.config.experimental_functions_run_eagerly())\n",
    },
    "TFG713": {
        "physical": TF + "gpus = tf.config.experimental.list_physical_devices('GPU')\n",
        "logical": TF + "gpus = tf.config.experimental.list_logical_devices('GPU')\n",
        "visible": TF + "tf.config.experimental.set_visible_devices([], 'GPU')\n",
        "configuration": TF + "c = tf.config.experimental.VirtualDeviceConfiguration(memory_limit=9)\n",
        "imported": "from tensorflow.config.experimental import list_physical_devices\n",
    },
    "TFG714": {
        "plain": "from keras import backend as K\nn = len(K.tensorflow_backend._get_available_gpus())\n",
        "imported": "from keras.backend.tensorflow_backend import _get_available_gpus\n",
        "module": "import keras.backend.tensorflow_backend as K\nK._get_available_gpus()\n",
        "session": "import keras\nkeras.backend.tensorflow_backend.set_session(s)\n",
    },
    "TFG715": {
        "growth": TF + "c = tf.compat.v1.ConfigProto()\nc.gpu_options.allow_growth = True\n",
        "imported": "from tensorflow.compat.v1 import ConfigProto\nc = ConfigProto()\nc.gpu_options.allow_growth = True\n",
        "fraction": TF + "o = tf.compat.v1.GPUOptions(per_process_gpu_memory_fraction=0.5)\n",
        "in a function": TF + "def f():\n    c = tf.compat.v1.ConfigProto()\n    c.gpu_options.allow_growth = True\n",
    },
}
SILENT = {
    "new names": MODEL
    + "model.fit(x, epochs=2)\ntf.config.list_physical_devices('GPU')\nds.prefetch(tf.data.AUTOTUNE)\n"
    + "tf.keras.mixed_precision.set_global_policy('float32')\ntf.keras.layers.LSTM(3)\n",
    "no other name": TF + "tf.config.experimental.set_memory_growth(gpu, True)\n",
    "sessions": TF
    + "c = tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True)))\n"
    + "ds.prefetch(tf.data.experimental.AUTOTUNE)\n",
    "contrib as it was": TF + "slim = tf.contrib.slim\nfrom tensorflow.contrib import layers\n",
    "only in TensorFlow 1": TF + "x = tf.random_uniform([3])\nds.map(f, tf.data.experimental.AUTOTUNE)\n",
    "graphs by a switch": TF + "tf.compat.v1.disable_eager_execution()\ntf.keras.layers.CuDNNLSTM(3)\n",
    "compat.v1 as tf": "import tensorflow.compat.v1 as tf\ntf.keras.layers.CuDNNLSTM(3)\no = tf.GPUOptions()\n",
    "graph's session": TF
    + "with tf.compat.v1.Session() as s:\n    c = tf.compat.v1.ConfigProto()\n    c.gpu_options.allow_growth = True\n",
    "try": TF + "try:\n    A = tf.data.AUTOTUNE\nexcept AttributeError:\n    A = tf.data.experimental.AUTOTUNE\n",
    "import in try": "try:\n    from tensorflow.keras.layers import CuDNNLSTM\nexcept ImportError:\n    pass\n",
    "version": TF
    + "if tf.__version__ < '2.4':\n    tf.keras.mixed_precision.experimental.set_policy('float32')\n"
    + "else:\n    tf.keras.mixed_precision.set_global_policy('float32')\n",
    "TensorFlow 1": TF
    + "if not tf.__version__.startswith('2'):\n    tf.keras.mixed_precision.experimental.set_policy('float32')\n",
    "another branch than that for TensorFlow 2": TF
    + "if tf.__version__.startswith('2'):\n    pass\nelse:\n    tf.config.experimental_run_functions_eagerly(True)\n",
    "hasattr": TF + "A = tf.data.AUTOTUNE if hasattr(tf.data, 'AUTOTUNE') else tf.data.experimental.AUTOTUNE\n",
    "class under hasattr": TF
    + "with tf.GradientTape():\n    pass\nif hasattr(tf, 'contrib'):\n    class C(tf.contrib.rnn.RNNCell):\n        pass\n",
    "function under a flag": TF
    + "if IS_TF1:\n    def gpu():\n        return tf.test.is_gpu_available()\nelse:\n    gpu = None\n",
    "put in its place": TF + "tf.config.experimental.list_physical_devices = lambda kind: []\n",
    "another tf": "from mine import tf\ntf.test.is_gpu_available()\ntf.data.experimental.AUTOTUNE\n",
    "own function": TF + "def is_gpu_available():\n    return True\nis_gpu_available()\n",
    "own method": TF
    + "class T:\n    def fit_generator(self, b):\n        pass\n    def fit(self, x, workers):\n        pass\n"
    + "t = T()\nt.fit_generator(b)\nt.fit(x, workers=2)\n",
    "a trainer of another library": TF + "def test(make_trainer):\n    trainer = make_trainer()\n"
    "    trainer.fit_generator(generator=rows, nb_epochs=20)\n",
    "own fit of a model": TF
    + "class M(tf.keras.Model):\n    def fit(self, x, workers=1):\n        pass\nM().fit(x, workers=2)\n",
    "unknown model": TF + "def run(m):\n    m.fit(x, workers=2)\n",
    "workers of other libraries": TF + "from sklearn.svm import SVC\nSVC().fit(x, workers=2)\n",
    "text": TF + "print('tf.test.is_gpu_available()')  # tf.contrib\n",
    "shadowed": TF + "def f(tf):\n    return tf.test.is_gpu_available()\n",
    "tf_keras": "import tf_keras as keras\nm = keras.Sequential()\nm.fit(x, workers=2)\n",
    "legacy Keras": "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + MODEL + "model.fit(x, workers=2)\n",
    "internal module": "from tensorflow.python.keras import backend as K\nK._get_available_gpus()\n",
    "other config": TF + "c.gpu_options.allow_growth = True\n",
}
ROWS = "x = tf.ones((4, 1))\n"
PARTS = "def parts():\n    while True:\n        yield tf.ones((4, 1)), tf.ones((4, 1))\n"
FLOW = "flow = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory(folder)\n"
FIXES = {
    "map and batch": (
        TF + "d = d.take(9).apply(\n    tf.data.experimental.map_and_batch(f, 2, drop_remainder=True))\n",
        TF + "d = d.take(9).map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(2, drop_remainder=True)\n",
    ),
    "map and batch with calls of its own": (
        "from tensorflow import data\nd = d.apply(data.experimental.map_and_batch(f, batch_size=2, num_parallel_calls=8))\n",
        "from tensorflow import data\nd = d.map(f, num_parallel_calls=8).batch(2)\n",
    ),
    "map and batch in parallel batches": (
        TF + "d = d.apply(tf.data.experimental.map_and_batch(f, 2, 3))\n",
    ) * 2,
    "map and batch, kept": (TF + "fuse = tf.data.experimental.map_and_batch(f, 2)\nd = d.apply(fuse)\n",) * 2,
    "shuffle and repeat": (
        TF + "d = d.apply(tf.data.experimental.shuffle_and_repeat(100, seed=3))\n",
        TF + "d = d.shuffle(100, seed=3).repeat()\n",
    ),
    "shuffle and repeat some times": (
        TF + "d = d.apply(tf.data.experimental.shuffle_and_repeat(100, 5))\n",
        TF + "d = d.shuffle(100).repeat(5)\n",
    ),
    "shuffle and repeat of what stands in parentheses": (
        TF + "d = (\n    a\n    if b\n    else c\n).apply(tf.data.experimental.shuffle_and_repeat(100, 5))\n",
        TF + "d = (\n    a\n    if b\n    else c\n).shuffle(100).repeat(5)\n",
    ),
    "parallel interleave": (
        TF + "d = d.apply(tf.data.experimental.parallel_interleave(f, cycle_length=4, sloppy=True))\n",
        TF + "d = d.interleave(f, 4, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)\n",
    ),
    "parallel interleave with a buffer": (
        TF + "d = d.apply(tf.data.experimental.parallel_interleave(f, 4, 1, False, 8))\n",
    ) * 2,
    "parallel interleave by a setting": (
        TF + "d = d.apply(tf.data.experimental.parallel_interleave(f, 4, sloppy=fast))\n",
    ) * 2,
    "call": (TF + "a = tf.test.is_gpu_available()\n", TF + "a = bool(tf.config.list_physical_devices(\"GPU\"))\n"),
    "call with arguments": (TF + "a = tf.test.is_gpu_available(True)\n",) * 2,
    "constant": (TF + "A = tf.data.experimental.AUTOTUNE\n", TF + "A = tf.data.AUTOTUNE\n"),
    "imported constant": (
        "from tensorflow.data.experimental import AUTOTUNE\nd = d.prefetch(AUTOTUNE)\n",
        "from tensorflow.data import AUTOTUNE\nd = d.prefetch(AUTOTUNE)\n",
    ),
    "imported with others": ("from tensorflow.data.experimental import AUTOTUNE, cardinality\nprint(AUTOTUNE)\n",) * 2,
    "imported layer": (
        "from tensorflow.keras.layers import CuDNNLSTM, Dense\nl = [CuDNNLSTM(4), Dense(1), CuDNNLSTM(2)]\n",
        "from tensorflow.keras.layers import LSTM, Dense\nl = [LSTM(4), Dense(1), LSTM(2)]\n",
    ),
    "imported layer beside the new one": (
        "from tensorflow.keras.layers import CuDNNLSTM, LSTM\nl = [CuDNNLSTM(4), LSTM(2)]\n",
    ) * 2,
    "layer under another name": (
        "from tensorflow.keras.layers import CuDNNLSTM as Cell\nl = Cell(4)\n",
        "from tensorflow.keras.layers import LSTM as Cell\nl = Cell(4)\n",
    ),
    "layer with positional arguments": (TF + "l = tf.keras.layers.CuDNNLSTM(4, 'zeros')\n",) * 2,
    "module of mixed precision": (
        "from tensorflow.keras.mixed_precision import experimental as mp\nmp.set_policy(mp.Policy('float32'))\n",
        "from tensorflow.keras import mixed_precision as mp\nmp.set_global_policy(mp.Policy('float32'))\n",
    ),
    "module of which another part is used": (
        "from tensorflow.keras.mixed_precision import experimental as mp\nmp.set_policy(mp.other)\n",
    ) * 2,
    "policy with a loss scale": (
        "from tensorflow.keras.mixed_precision import experimental as mp\nmp.Policy('float32', loss_scale=2)\n",
    ) * 2,
    "submodule": (
        "from tensorflow.keras import mixed_precision as mp\nmp.experimental.set_policy('float32')\n",
        "from tensorflow.keras import mixed_precision as mp\nmp.set_global_policy('float32')\n",
    ),
    "method": (
        MODEL + "model.fit_generator(generator=batches,\n                    epochs=2)\n",
        MODEL + "model.fit(x=batches,\n                    epochs=2)\n",
    ),
    "method with positional arguments": (MODEL + "model.fit_generator(batches, 100, 2)\n",) * 2,
    "method with workers, and data that may be a sequence": (MODEL + "model.fit_generator(batches, workers=2)\n",) * 2,
    "workers, and data that may be a sequence": (MODEL + "model.fit(batches, workers=2)\n",) * 2,
    "one worker": (MODEL + "model.fit(batches, workers=1, max_queue_size=2)\n", MODEL + "model.fit(batches)\n"),
    "method with workers that read a generator": (
        MODEL + PARTS + "model.fit_generator(generator=parts(), workers=2, use_multiprocessing=True)\n",
        MODEL + PARTS + "model.fit(x=parts())\n",
    ),
    "workers of arrays and a dataset": (
        MODEL + "from data import x, y\nmodel.fit(x, y, workers=n)\nds = tf.data.Dataset.range(9).batch(3)\n"
        "model.evaluate(ds, workers=n)\n",
        MODEL + "from data import x, y\nmodel.fit(x, y)\nds = tf.data.Dataset.range(9).batch(3)\n"
        "model.evaluate(ds)\n",
    ),
    "workers of folders of images": (
        MODEL + FLOW + "if more:\n    model.fit(flow, workers=8)\n",
        MODEL + FLOW + "if more:\n    flow.workers = 8\n    model.fit(flow)\n",
    ),
    "a lambda": (MODEL + FLOW + "go = lambda: model.fit(flow, workers=8)\n",) * 2,
    "last keyword": (
        MODEL + ROWS + "model.fit(x, epochs=2,  # enough\n          workers=2)\n",
        MODEL + ROWS + "model.fit(x, epochs=2,  # enough\n          )\n",
    ),
    "first and last keyword": (
        MODEL + ROWS + "model.fit(workers=2, x=x, max_queue_size=3)\n",
        MODEL + ROWS + "model.fit(x=x)\n",
    ),
    "middle keywords": (
        MODEL + ROWS + "model.fit(x, workers=2, use_multiprocessing=True, epochs=3)\n",
        MODEL + ROWS + "model.fit(x, epochs=3)\n",
    ),
    "trailing comma": (
        MODEL + ROWS + "model.fit(\n    x,\n    workers=2,\n)\n",
        MODEL + ROWS + "model.fit(\n    x,\n)\n",
    ),
    "a regularizer": (
        EAGER + "r = tf.contrib.layers.l2_regularizer(scale=rate + 0.1)\n",
        EAGER + "r = tf.keras.regularizers.L2((rate + 0.1) / 2)\n",
    ),
    "a regularizer with a scope": (EAGER + "r = tf.contrib.layers.l2_regularizer(0.1, scope='w')\n",) * 2,
    "flattened": (
        EAGER + "y = tf.contrib.layers.flatten(x)\n",
        EAGER + "y = tf.keras.layers.Flatten()(x)\n",
    ),
    "whole batches": (
        EAGER + "d = d.apply(tf.contrib.data.batch_and_drop_remainder(8))\n",
        EAGER + "d = d.batch(8, drop_remainder=True)\n",
    ),
    "map and batch of contrib": (
        EAGER + "d = d.apply(tf.contrib.data.map_and_batch(f, 2))\n",
        EAGER + "d = d.map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(2)\n",
    ),
    "another layer of contrib": (EAGER + "y = tf.contrib.layers.batch_norm(x)\n",) * 2,
    "a function of contrib that is not called": (EAGER + "make = tf.contrib.layers.l2_regularizer\n",) * 2,
    "several GPUs": (
        MODEL + "model = tf.keras.utils.multi_gpu_model(model, gpus=2)\nmodel.compile()\n",
        TF + "with tf.distribute.MirroredStrategy().scope():\n"
        + "    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile()\n",
    ),
    "several GPUs, in a function": (
        TF + "def build(n):\n    net = make(\n        3)\n    return net\n\ndef main(n):\n    net = build(\n        n)\n"
        + "    net = tf.keras.utils.multi_gpu_model(net, n)\n    return net\n",
        TF + "def build(n):\n    net = make(\n        3)\n    return net\n\ndef main(n):\n"
        + "    with tf.distribute.MirroredStrategy().scope():\n        net = build(\n        n)\n    return net\n",
    ),
    "several GPUs, elsewhere": (MODEL + "print(model)\nmodel = tf.keras.utils.multi_gpu_model(model, 2)\n",) * 2,
    "several GPUs, both kept": (MODEL + "both = tf.keras.utils.multi_gpu_model(model, 2)\n",) * 2,
    "several GPUs, with a comment": (MODEL + "model = tf.keras.utils.multi_gpu_model(model, 2)  # why\n",) * 2,
    "several GPUs, of a list": (
        TF + "model = load()[0]\nmodel = tf.keras.utils.multi_gpu_model(model, 2)\n",
    ) * 2,
    "growth for a session": (
        SESSION + "s = tf.compat.v1.Session(config=c)\nx = 1\n",
        TF + GROWTH + "x = 1\n",
    ),
    "growth for an interactive session in a function": (
        "import tensorflow as tf\nfrom tensorflow.compat.v1 import ConfigProto, InteractiveSession\ndef main():\n"
        "  config = ConfigProto()\n  config.gpu_options.allow_growth = True\n"
        "  session = InteractiveSession(config=config)\n  train()\n",
        "import tensorflow as tf\nfrom tensorflow.compat.v1 import ConfigProto, InteractiveSession\ndef main():\n"
        '  for gpu in tf.config.list_physical_devices("GPU"):\n'
        "      tf.config.experimental.set_memory_growth(gpu, True)\n  train()\n",
    ),
    "growth for Keras's session": (
        SESSION + "tf.compat.v1.keras.backend.set_session(tf.compat.v1.Session(config=c))\n",
        TF + GROWTH,
    ),
    "a session that is used": (SESSION + "s = tf.compat.v1.Session(config=c)\nrun(s)\n",) * 2,
    "a session with more options": (
        SESSION + "c.log_device_placement = True\ns = tf.compat.v1.Session(config=c)\n",
    ) * 2,
    "options that are used": (SESSION + "s = tf.compat.v1.Session(config=c)\nprint(c)\n",) * 2,
    "no growth": (SESSION.replace("True", "False") + "s = tf.compat.v1.Session(config=c)\n",) * 2,
    "a session after the first tensor": (
        TF + "x = tf.constant(1)\n" + SESSION.removeprefix(TF) + "s = tf.compat.v1.Session(config=c)\n",
    ) * 2,
    "a session after work of the project's own": (
        TF + "def work():\n    return tf.zeros(3)\nwork()\n" + SESSION.removeprefix(TF) + "s = tf.compat.v1.Session(config=c)\n",
    ) * 2,
    "a list of GPUs": (
        "import tensorflow as tf\nfrom keras import backend as K\nn = len(K.tensorflow_backend._get_available_gpus())\n",
        "import tensorflow as tf\nfrom keras import backend as K\nn = len(tf.config.list_physical_devices(\"GPU\"))\n",
    ),
    "a list of GPUs without TensorFlow": (
        "from keras import backend as K\nn = len(K.tensorflow_backend._get_available_gpus())\n",
    ) * 2,
}  # fmt: skip
STATES = [
    ("TFG701", TF + "tf.test.is_gpu_available()\n", {(1, 15): None, (2, 0): None, (2, 1): "warning", (2, 21): "warning"}),
    ("TFG703", TF + "f = tf.keras.utils.multi_gpu_model\n", {(2, 3): "warning", (2, 4): "error", (2, 21): "error"}),
    ("TFG704", MODEL + "model.fit_generator(b)\n", {(2, 0): None, (2, 1): "warning", (2, 15): "warning", (2, 16): "error"}),
    ("TFG705", MODEL + "model.fit(b, workers=1)\n", {(2, 15): None, (2, 16): "error"}),
    ("TFG706", TF + "tf.keras.layers.CuDNNLSTM(1)\n", {(1, 15): None, (2, 0): "error", (2, 21): "error"}),
    ("TFG706", TF + "tf.compat.v1.keras.layers.CuDNNLSTM(1)\n", {(2, 0): None, (2, 15): None, (2, 16): "error"}),
    ("TFG706", "from keras.layers import CuDNNLSTM\n", {(2, 12): None, (2, 13): "error"}),
    ("TFG707", TF + "tf.data.experimental.AUTOTUNE\n", {(2, 3): None, (2, 4): "advice", (2, 21): "advice"}),
    ("TFG708", TF + "tf.data.experimental.map_and_batch(f, 2)\n", {(1, 15): None, (2, 0): "warning", (2, 21): "warning"}),
    ("TFG711", TF + "tf.keras.mixed_precision.experimental.set_policy('float32')\n",
     {(2, 3): None, (2, 4): "warning", (2, 8): "warning", (2, 9): "error"}),
    ("TFG712", TF + "tf.config.experimental_run_functions_eagerly(True)\n", {(2, 2): None, (2, 3): "warning"}),
    ("TFG713", TF + "tf.config.experimental.list_physical_devices()\n", {(2, 0): None, (2, 1): "advice"}),
    ("TFG714", "import keras\nkeras.backend.tensorflow_backend.set_session(s)\n", {(2, 5): None, (2, 6): "error"}),
    ("TFG715", TF + "tf.compat.v1.GPUOptions()\n", {(1, 15): None, (2, 0): "advice", (2, 21): "advice"}),
]  # fmt: skip


def _found(code: str, folder: Path, target: Target = NEWEST, name: str = "train.py") -> list[tuple[str, Finding]]:
    everything = findings(code, folder, name, target)
    return [(rule.code, finding) for rule, finding in everything if rule.code.startswith("TFG7")]


HANDLED = {
    "RuntimeError": True,
    "(ValueError, RuntimeError) as error": True,
    "(ValueError, AttributeError)": False,
    "Exception": False,
    "": False,
    "errors.Missing": False,
}


@pytest.mark.parametrize(("kind", "is_found"), HANDLED.items(), ids=HANDLED)
def test_a_try_for_other_errors_does_not_ask_for_a_version(kind: str, is_found: bool, tmp_path: Path) -> None:
    """Protects the GPU guide's snippet: it handles that devices are set up too late, not that a name is missing."""
    code = TF + f"try:\n    tf.config.experimental.list_logical_devices('GPU')\nexcept {kind}:\n    pass\n"
    assert ("TFG713" in {rule.code for rule, _ in findings(code, tmp_path)}) is is_found


@pytest.mark.parametrize(
    ("code", "text"),
    [pytest.param(code, text, id=f"{code} {what}") for code, cases in FOUND.items() for what, text in cases.items()],
)
def test_old_names_are_found_once(code: str, text: str, tmp_path: Path) -> None:
    assert [found for found, _ in _found(text, tmp_path)] == [code]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_look_alikes_stay_silent(text: str, tmp_path: Path) -> None:
    assert _found(text, tmp_path) == []


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_fixes(before: str, after: str, tmp_path: Path) -> None:
    ((code, _),) = {code: None for code, _ in _found(before, tmp_path)}.items() or [("", None)]
    assert fixed(before, tmp_path, code) == after


@pytest.mark.parametrize(
    ("code", "text", "target", "severity"),
    [
        pytest.param(code, text, target, severity, id=f"{code} in {target[0]}.{target[1]}")
        for code, text, states in STATES
        for target, severity in states.items()
    ],
)
def test_the_target_decides(
    code: str, text: str, target: tuple[int, int], severity: str | None, tmp_path: Path
) -> None:
    """Protects users of an older TensorFlow from names that it does not have yet, or still has."""
    found = _found(text, tmp_path, Target(target, 3 if target >= (2, 16) else 2, "settings"))
    assert [(one, finding.severity) for one, finding in found] == ([] if severity is None else [(code, severity)])


def test_messages_name_the_version_and_the_exception(tmp_path: Path) -> None:
    def message(text: str, target: Target = NEWEST) -> str:
        ((_, finding),) = _found(text, tmp_path, target)
        return finding.message

    assert message(MODEL + "model.fit(b, workers=1)\n") == (
        "`workers` is not an argument of `fit` in Keras 3, which comes with TensorFlow 2.21: this raises TypeError"
    )
    assert (
        message(MODEL + "model.fit_generator(b)\n", OLD_KERAS) == "`fit_generator` is deprecated since TensorFlow 2.1"
    )
    assert message("from tensorflow.keras.utils import multi_gpu_model\n") == (
        "`tf.keras.utils.multi_gpu_model` was removed in TensorFlow 2.4: with 2.21 this raises ImportError"
    )
    assert message(TF + "A = tf.data.experimental.AUTOTUNE\n") == (
        "`tf.data.experimental.AUTOTUNE` is called `tf.data.AUTOTUNE` since TensorFlow 2.4; the old name still works in 2.21"
    )


def test_the_place_is_the_name_or_the_keyword(tmp_path: Path) -> None:
    def place(text: str) -> str:
        ((_, finding),) = _found(text, tmp_path)
        return finding.file.code(finding.node)

    assert place(MODEL + "model.fit(b, workers=1)\n") == "workers"
    assert place(MODEL + "model.fit_generator(b)\n") == "fit_generator"
    assert place("from tensorflow.keras.layers import Dense, CuDNNGRU\n") == "CuDNNGRU"
    assert place(TF + "c = tf.compat.v1.ConfigProto()\nc.gpu_options.allow_growth = True\n") == "gpu_options"


def test_a_model_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(TF + "def build():\n    return tf.keras.Sequential()\n")
    text = "import tensorflow as tf\nfrom nets import build\nmodel = build()\nmodel.fit_generator(batches)\n"
    assert [code for code, _ in _found(text, tmp_path)] == ["TFG704"]


def test_tensorflow_handed_on_by_a_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "compat.py").write_text(TF)
    text = "import keras\nfrom compat import tf\nprint(tf.test.is_gpu_available())\n"
    assert [code for code, _ in _found(text, tmp_path)] == ["TFG701"]


def test_a_notebook(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "n.ipynb").write_text(notebook(TF, "!nvidia-smi\ntf.test.is_gpu_available()"))
    done = tflint("check", "--isolated", "--no-cache", "--select", "TFG7", "--output-format", "json", "n.ipynb")
    assert [(one["code"], one["cell"]) for one in json.loads(done.stdout)] == [("TFG701", 2)]


_LOOK_UP = """
import importlib, inspect, json, sys
import tensorflow as tf

def is_there(name):
    module, _, rest = name.partition(".")
    value = importlib.import_module(module)
    for part in filter(None, rest.split(".")):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
    return True

asked = json.load(sys.stdin)
methods = {name: hasattr(tf.keras.Model, name) for name in asked["methods"]}
taken = {f"{m} {k}": k in inspect.signature(getattr(tf.keras.Model, m)).parameters for m, k in asked["keywords"]}
config = {name: hasattr(tf.compat.v1.ConfigProto(), name) for name in asked["attributes"]}
json.dump([tf.__version__, {**{n: is_there(n) for n in asked["names"]}, **methods, **taken, **config}], sys.stdout)
"""


def _pythons() -> list[Any]:
    older = os.environ.get("TFLINT_GPU_TF215")
    reason = "TFLINT_GPU_TF215 names no Python that has TensorFlow 2.15"
    return [
        pytest.param(sys.executable, id="installed"),
        pytest.param(older, id="2.15", marks=pytest.mark.skipif(older is None, reason=reason)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("python", _pythons())
def test_the_table_is_true(python: str) -> None:
    """Protects the table from what TensorFlow itself says: what is called gone is gone, the rest is there."""
    renames = [rename for rule in RULES for rename in rule.renames]
    renames += [r for rule in KERAS_3_RULES for r in rule.renames if r.old and not r.when and '"' not in r.new]
    new = {rename: TF_NAME.search(rename.new) for rename in renames}
    new_names = {r: found[0] if found else r.new for r, found in new.items() if r.new}
    asked = {
        "names": [r.old for r in renames if r.old] + [n for r, n in new_names.items() if not r.method],
        "methods": [r.method for r in renames if r.method] + [n for r, n in new_names.items() if r.method],
        "keywords": [(r.method, keyword) for r in renames for keyword in r.keywords],
        "attributes": [r.attribute for r in renames if r.attribute],
    }
    done = subprocess.run(
        [python, "-c", _LOOK_UP],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    text, is_there = json.loads(done.stdout)
    version = tuple(map(int, text.split(".")[:2]))

    def reached(at: str) -> bool:
        return version >= ((2, 16) if at == "Keras 3" else tuple(map(int, at.split("."))))

    for rename in renames:
        is_gone = bool(rename.removed) and reached(rename.removed)
        for name in [rename.old or rename.attribute or rename.method] if not rename.keywords else []:
            assert is_there[name] is not is_gone, name
        for keyword in rename.keywords:
            assert is_there[f"{rename.method} {keyword}"] is not is_gone, keyword
        if rename.new and reached(rename.since):
            assert is_there[new_names[rename]], rename.new


def test_names_that_show_tensorflow_1_are_gone() -> None:
    """Protects programs for TensorFlow 2 from being taken for older ones."""
    import tensorflow as tf

    assert [name for name in OLD_NAMES if hasattr(tf, name)] == []


@pytest.mark.parametrize(
    "rule",
    [rule for rule in (*RULES, *KERAS_3_RULES[:3]) if any(r.removed for r in rule.renames)],
    ids=lambda r: r.code,
)
def test_what_is_gone_can_be_tried(rule: type[Renamed], tmp_path: Path) -> None:
    ((_, finding),) = _found(rule.example("Example"), tmp_path)
    model = model_of(rule.example("Example"), tmp_path)
    (experiment,) = rule().experiments(finding, model)
    assert experiment.workload is not None
    for repaired in (False, True):
        text = experiment.workload.text(repaired=repaired).replace("tflint_measure.reached()", "")
        if repaired:
            exec(compile(text, "trial", "exec"), {})
        else:
            with pytest.raises((AttributeError, ImportError, TypeError, ValueError)):
                exec(compile(text, "trial", "exec"), {})


CHAINS = {
    "TFG708": "tf.data.Dataset.range(10).apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 4))",
    "TFG709": "tf.data.Dataset.range(10).apply(tf.data.experimental.shuffle_and_repeat(10, 2))",
    "TFG710": "tf.data.Dataset.range(10).apply("
    "tf.data.experimental.parallel_interleave(tf.data.Dataset.from_tensors, 2, sloppy=True))",
}


@pytest.mark.parametrize("code", CHAINS)
def test_methods_give_what_the_old_operation_gave(code: str, tmp_path: Path) -> None:
    """With the installed TensorFlow: the same elements, in whatever order."""
    import tensorflow as tf

    before = f"{TF}ds = {CHAINS[code]}\n"
    after = fixed(before, tmp_path, code)
    assert after != before
    results = []
    for text in (before, after):
        names: dict[str, Any] = {"tf": tf}
        exec(text, names)
        results.append(sorted(str(x.numpy()) for x in names["ds"]))
    assert results[0] == results[1]


def test_what_took_the_place_of_contrib_computes_the_same() -> None:
    """With the installed TensorFlow: the formulas of tf.contrib's own source, and their gradients."""
    import tensorflow as tf

    w = tf.Variable(tf.random.stateless_normal((5, 3), seed=(1, 2)))
    pairs = [
        (lambda: 0.3 * tf.nn.l2_loss(w), lambda: tf.keras.regularizers.L2(0.3 / 2)(w)),
        (lambda: 0.3 * tf.reduce_sum(tf.abs(w)), lambda: tf.keras.regularizers.L1(0.3)(w)),
    ]
    for old, new in pairs:
        results = []
        for compute in (old, new):
            with tf.GradientTape() as tape:
                value = compute()
            results.append((value, tape.gradient(value, w)))
        tf.debugging.assert_near(results[0][0], results[1][0])
        tf.debugging.assert_near(results[0][1], results[1][1])
    images = tf.ones((4, 2, 3))
    assert tf.keras.layers.Flatten()(images).shape == tf.reshape(images, (4, -1)).shape


@pytest.mark.slow
def test_a_model_built_in_a_scope_trains_as_before(tmp_path: Path) -> None:
    """With the installed TensorFlow: the mended program gives the losses that the model gives without the old call."""
    import tensorflow as tf

    build = "tf.keras.utils.set_random_seed(3)\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    train = "model.compile('sgd', 'mse')\nloss = model.fit(x, x, verbose=0, shuffle=False).history['loss']\n"
    mended = fixed(f"{TF}{build}model = tf.keras.utils.multi_gpu_model(model, 2)\n{train}", tmp_path, "TFG703")
    assert "MirroredStrategy" in mended
    losses = []
    for text in (TF + build + train, mended):
        names: dict[str, Any] = {"x": tf.ones((32, 1))}
        exec(text, names)
        losses.append(names["loss"])
    assert losses[0] == pytest.approx(losses[1])


SEQUENCE = """\
import numpy as np
import tensorflow as tf

made = []


class Parts(tf.keras.utils.Sequence):
    def __init__(self, count):
        self.count = count
        made.append(self)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return np.ones((4, 3), "float32"), np.ones((4, 1), "float32")


net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
net.compile(loss="mse")
"""
READ_BY_THREADS = {
    "a name": "parts = Parts(4)\nnet.fit(parts, epochs=2, workers=2, max_queue_size=4)\n",
    "a call": "def train(count):\n    net.fit(Parts(count), workers=2)\n\n\ntrain(4)\n",
    "to validate": "parts, checked = Parts(2), Parts(2)\nnet.fit(parts, validation_data=checked, workers=1 + 1)\n",
    "evaluated": "class Holder:\n    def __init__(self):\n        self.parts = Parts(4)\n\n    def look(self):\n"
    "        return net.evaluate(self.parts, workers=2)\n\n\nHolder().look()\n",
    "the old method": "parts = Parts(4)\nnet.fit_generator(generator=parts, workers=2, use_multiprocessing=False)\n",
    "the old method of prediction": "parts = Parts(4)\nnet.predict_generator(parts, workers=2)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("call", READ_BY_THREADS.values(), ids=READ_BY_THREADS)
def test_a_sequence_keeps_its_workers(call: str, tmp_path: Path) -> None:
    """Protects the speed of programs with TFG704 and TFG705: Keras 3 reads with as many threads as Keras 2 did."""
    pytest.importorskip("tensorflow")
    before = SEQUENCE + call
    for code in ("TFG704", "TFG705"):
        after = fixed(before, tmp_path, code)
        if after != before:
            break
    assert "workers = " in after
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(after, "fixed.py", "exec"), scope)
    assert {parts.workers for parts in scope["made"]} == {2}
    assert not any(rule.code in ("TFG704", "TFG705") for rule, _ in findings(after, tmp_path))


REPLACED = (
    'with mock.patch("tensorflow.config.experimental.list_physical_devices"):\n    gpus()\n',
    'mock.patch.object(tf.config.experimental, "list_physical_devices")\n',
    "mock.patch.multiple(tf.config.experimental, list_physical_devices=list)\n",
    'monkeypatch.setattr(tf.config.experimental, "list_physical_devices", list)\n',
    'vars(tf.config.experimental)["list_physical_devices"] = list\n',
    "tf.config.experimental.list_physical_devices = list\n",
)


@pytest.mark.parametrize("replacing", REPLACED)
@pytest.mark.parametrize("is_imported", [False, True])
def test_an_old_name_that_is_replaced_stays(replacing: str, is_imported: bool, tmp_path: Path) -> None:
    """Protects tests that put something in place of an old name: a call by the new name would not get it."""
    code = TF + "def gpus():\n    return tf.config.experimental.list_physical_devices('GPU')\n"
    other = TF + "from unittest import mock\nfrom devices import gpus\n"
    (tmp_path / "test_devices.py").write_text(
        other + (replacing if is_imported else "gpus = tf.list_physical_devices\n")
    )
    told = findings(code + ("" if is_imported else replacing), tmp_path, "devices.py")
    assert told
    assert [finding.fix for _, finding in told] == [None] * len(told)


def test_an_old_name_that_only_has_the_name_of_another_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "test_devices.py").write_text("import devices\nlist_physical_devices = 1\nsetattr(devices, 'a', 2)\n")
    code = TF + "list_physical_devices = tf.config.experimental.list_physical_devices('GPU')\nsetattr(tf, 'a', 1)\n"
    assert [finding.fix is not None for _, finding in findings(code, tmp_path, "devices.py")] == [True]
