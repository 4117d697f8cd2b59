"""TFG719: a path that Keras 3 refuses is told where it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes

HEAD = "import os\nimport tensorflow as tf\nnet = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1)])\n"
FOUND = {
    "a folder": "net.save('kept/2')\n",
    "a constant": "PLACE = 'kept'\nnet.save(PLACE)\n",
    "a joined path": "root = os.getcwd()\nnet.save(os.path.join(root, 'net'))\n",
    "a text with a number": "net.save(f'kept/{3 + len(net.layers)}_last')\n",
    "weights": "net.save_weights('net.h5')\n",
    "a checkpoint": "tf.keras.callbacks.ModelCheckpoint('best.hdf5', monitor='loss')\n",
    "weights in each epoch": "tf.keras.callbacks.ModelCheckpoint(filepath='w/{epoch:02d}.ckpt', save_weights_only=True)\n",
    "a function": "tf.keras.models.save_model(net, 'kept')\n",
    "a path that exists": "place = 'kept'\nif not os.path.exists(place):\n    net.save(place)\n",
    "a folder that is loaded": "tf.keras.models.load_model('kept/2')\n",
}
SILENT = {
    "a file": "net.save('net.keras')\nnet.save('net.h5')\nnet.save_weights('net.weights.h5')\n",
    "checkpoints": "tf.keras.callbacks.ModelCheckpoint('{epoch}.keras')\ntf.keras.callbacks.ModelCheckpoint('a.h5')\n",
    "an ending that may be there": "def keep(name):\n    net.save(name)\n    net.save(f'kept/{name}')\n    net.save_weights(f'{name}.h5')\n",
    "another save": "import matplotlib.pyplot as plt\nplt.figure().save('kept')\n",
    "an export": "net.export('kept')\ntf.saved_model.save(net, 'kept')\n",
    "a class that saves itself": "class Net(tf.keras.Model):\n    def save(self, place):\n        pass\n\n\nNet().save('kept')\n",
    "a path that is asked": (
        "for place in ['kept.weights.json']:\n    if place.endswith('.json'):\n        pass\n"
        "    else:\n        net.save_weights(place)\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_found_and_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the installed TensorFlow: what is found raises ValueError."""
    assert "TFG719" in codes(HEAD + text, tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"must end in|extension|not supported"):
        exec(compile(HEAD + text, "program.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_look_alikes_stay_silent(text: str, tmp_path: Path) -> None:
    assert "TFG719" not in codes(HEAD + text, tmp_path)
