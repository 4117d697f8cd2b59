"""TFG224: models that loops and requests load again each time, and those that are loaded once or are others."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found

HEAD = """
import functools
import numpy as np
import tensorflow as tf
from flask import Flask, request
from fastapi import APIRouter
from tensorflow.keras.models import load_model
site = Flask(__name__)
router = APIRouter()
FILE = "tides.keras"
"""
FOUND = {
    "in a loop over files": "for name in names:\n    net = load_model('a.keras')\n    print(net.predict(np.load(name)))",
    "in a function that a loop calls": "def level(name):\n    net = tf.keras.models.load_model(FILE)\n"
    "    return net.predict(np.load(name))\nlevels = [level(name) for name in names]",
    "by a helper": "def loaded():\n    return load_model(FILE)\nfor name in names:\n"
    "    print(loaded().predict(np.load(name)))",
    "for each request": "@site.route('/tide', methods=['POST'])\ndef tide():\n    net = load_model(FILE, compile=False)\n"
    "    return str(net.predict(np.array([request.json])))",
    "for posted data": "@router.post('/tide')\nasync def tide(row: dict):\n    return answer(row)\n"
    "def answer(row):\n    net = load_model(FILE)\n    return str(net.predict(np.array([row['x']])))",
    "where an encoder is fitted": "from sklearn.preprocessing import LabelEncoder\ndef level(name):\n"
    "    encoder = LabelEncoder()\n    encoder.fit(kinds)\n    net = load_model(FILE)\n"
    "    return encoder.inverse_transform(net.predict(np.load(name)))\nfor name in names:\n    print(level(name))",
    "in the branch that predicts": "@site.route('/')\ndef tide():\n    if request.method == 'POST':\n"
    "        net = load_model(FILE)\n        return str(net.predict(np.array([request.json])))\n    return 'form'",
}
SILENT = {
    "loaded once": "net = load_model(FILE)\n@site.route('/tide')\ndef tide():\n    return str(net.predict(np.ones((1, 3))))\n"
    "for name in names:\n    net.predict(np.load(name))",
    "another model each time": "for place in places:\n    net = load_model(place)\n    print(net.predict(rows))",
    "the model of the request": "@site.route('/<name>')\ndef tide(name):\n    net = load_model(name)\n"
    "    return str(net.predict(np.ones((1, 3))))",
    "loaded where it is not there yet": "net = None\n@site.route('/tide')\ndef tide():\n    global net\n"
    "    if net is None:\n        net = load_model(FILE)\n    return str(net.predict(np.ones((1, 3))))",
    "a helper that keeps it": "@functools.lru_cache\ndef loaded():\n    return load_model(FILE)\n"
    "@site.route('/tide')\ndef tide():\n    return str(loaded().predict(np.ones((1, 3))))\n"
    "for name in names:\n    loaded().predict(np.load(name))",
    "a helper that looks first": "kept = {}\ndef loaded():\n    if 'net' not in kept:\n"
    "        kept['net'] = load_model(FILE)\n    return kept['net']\n"
    "for name in names:\n    loaded().predict(np.load(name))",
    "what keeps it further out": "def loaded():\n    return load_model(FILE)\n@st.cache_resource\ndef service():\n"
    "    return loaded()\nfor name in names:\n    service().predict(np.load(name))",
    "a model in an object that is made once": "kept = [load_model(FILE)]\nfor name in names:\n"
    "    kept[0].predict(np.load(name))",
    "an answer that is kept": "@site.route('/tide')\n@functools.lru_cache\ndef tide():\n    net = load_model(FILE)\n"
    "    return str(net.predict(np.ones((1, 3))))",
    "the best of each fold": "for rows, labels in folds:\n    net.fit(rows, labels, callbacks=[best])\n"
    "    print(load_model(FILE).predict(rows))",
    "saved by a function that gets it": "def keep(net):\n    net.save(FILE)\nfor name in names:\n"
    "    print(load_model(FILE).predict(np.load(name)))",
    "in a function that is called once": "def main():\n    net = load_model(FILE)\n    print(net.predict(rows))\nmain()",
    "no Keras": "import joblib\n@site.route('/tide')\ndef tide():\n    return str(joblib.load('t.pkl').predict(rows))",
    "a constructor": "class Tides:\n    def __init__(self):\n        self.net = load_model(FILE)\n"
    "    def at(self, name):\n        return self.net.predict(np.load(name))\ntides = Tides()\n"
    "for name in names:\n    tides.at(name)",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND.keys())
def test_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG224") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_is_silent(code: str, tmp_path: Path) -> None:
    assert "TFG224" not in codes(HEAD + code, tmp_path)


def test_the_load_is_named(tmp_path: Path) -> None:
    """Protects the place: the call that loads, with notes on what repeats it and on the `predict`."""
    (finding,) = [f for rule, f in findings(HEAD + FOUND["for each request"], tmp_path) if rule.code == "TFG224"]
    assert [note.message for note in finding.notes] == ["for each request", "its `predict` is here"]


@pytest.mark.slow
def test_a_loaded_model_traces_its_graph_again(tmp_path: Path) -> None:
    """The truth with the installed TensorFlow: each load makes layers that trace, one model traces once."""
    tf = pytest.importorskip("tensorflow")

    @tf.keras.utils.register_keras_serializable("tflint_tfg224")
    class Counted(tf.keras.layers.Layer):  # type: ignore[misc]
        traces = 0

        def call(self, x: object) -> object:
            Counted.traces += 1
            return x

    file = tmp_path / "m.keras"
    tf.keras.Sequential([tf.keras.Input((2,)), Counted()]).save(file)
    row = tf.ones((1, 2))

    def traces_of(predictions: int, net: object = None) -> int:
        before = Counted.traces
        for _ in range(predictions):
            (net or tf.keras.models.load_model(file)).predict(row, verbose=0)  # type: ignore[attr-defined]
        return Counted.traces - before

    kept = tf.keras.models.load_model(file)
    kept.predict(row, verbose=0)
    assert traces_of(3, kept) == 0
    assert traces_of(3) >= 3


def test_in_the_file_of_the_route(tmp_path: Path) -> None:
    """Protects programs whose route calls what another file holds, with the `predict` there."""
    (tmp_path / "answers.py").write_text(
        "import tensorflow as tf\n\n\ndef answer(row):\n    net = tf.keras.models.load_model('t.keras')\n"
        "    return net.predict(row)\n"
    )
    code = "from answers import answer\nfrom flask import Flask\nsite = Flask(__name__)\n@site.route('/')\n"
    assert ("TFG224 answers.py", 5) in found(code + "def tide():\n    return str(answer([[1.0]]))\n", tmp_path)
