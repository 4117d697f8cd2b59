"""TFG223: what callbacks do at every batch, and what they do now and then."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes

HEAD = """
import threading
import numpy as np
from tensorflow import keras
probes = np.load("probes.npy")
"""
HOOK = HEAD + "class Diary(keras.callbacks.Callback):\n    def {}(self, batch, logs=None):\n        {}\n"
FOUND = {
    "a prediction": HOOK.format("on_train_batch_end", "self.seen.append(self.model.predict(probes))"),
    "an evaluation": HOOK.format("on_batch_end", "print(self.model.evaluate(probes, verbose=0))"),
    "a file": HOOK.format("on_train_batch_begin", "self.model.save('now.keras')"),
    "weights": HOOK.format("on_train_batch_end", "self.model.save_weights('now.weights.h5')"),
    "in a method": HOOK.format("on_train_batch_end", "self.draw()")
    + "    def draw(self):\n        show(self.model.predict(probes, verbose=0))\n",
    "by map": HOOK.format("on_train_batch_end", "list(map(self.draw, [batch]))")
    + "    def draw(self, batch):\n        show(self.model.predict(probes, verbose=0))\n",
    "of a model that is known": HEAD
    + "net = keras.models.load_model('net.keras')\n"
    + "class Diary(keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
    + "        print(net.predict(probes))\n",
    "a checkpoint of each batch": HEAD + "keep = keras.callbacks.ModelCheckpoint('now.keras', save_freq=1)\n",
}
SILENT = {
    "after an epoch": HOOK.format("on_epoch_end", "self.model.save('now.keras')"),
    "in a hundredth": HOOK.format(
        "on_train_batch_end", "if batch % 100 == 0:\n            self.model.save('now.keras')"
    ),
    "left before": HOOK.format(
        "on_train_batch_end", "if batch % 100:\n            return\n        self.model.save('now.keras')"
    ),
    "chosen in the method": HOOK.format("on_train_batch_end", "self.draw(batch)")
    + "    def draw(self, batch):\n        if batch % 50 == 0:\n            show(self.model.predict(probes))\n",
    "in a thread": HOOK.format("on_train_batch_end", "threading.Thread(target=self.draw).start()")
    + "    def draw(self):\n        self.model.save('now.keras')\n",
    "a number": HOOK.format("on_train_batch_end", "self.losses.append(logs['loss'])"),
    "no callback": HEAD
    + "class Diary:\n    def on_train_batch_end(self, batch, logs=None):\n        self.model.predict(probes)\n",
    "a batch of validation": HOOK.format("on_test_batch_end", "self.model.predict(probes)"),
    "a checkpoint of each epoch": HEAD + "keep = keras.callbacks.ModelCheckpoint('now.keras', save_freq='epoch')\n",
    "a checkpoint now and then": HEAD + "keep = keras.callbacks.ModelCheckpoint('now.keras', save_freq=5000)\n",
    "another method": HEAD
    + "class Net(keras.Model):\n    def save(self, path):\n        self.kept = path\nnet = Net()\n"
    + "class Diary(keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
    + "        net.save('x')\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_work_at_every_batch_is_found(code: str, tmp_path: Path) -> None:
    assert codes(code, tmp_path).count("TFG223") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_work_now_and_then_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG223" not in codes(code, tmp_path)


def test_keras_calls_the_hook_at_every_batch(tmp_path: Path) -> None:
    """Protects the finding, by Keras itself: a checkpoint with `save_freq=1` saves as often as there are batches."""
    import keras
    import numpy as np

    class Counting(keras.callbacks.ModelCheckpoint):
        saved = 0

        def _save_model(self, *given: object, **named: object) -> None:
            Counting.saved += 1

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    keep = Counting(str(tmp_path / "now.keras"), save_freq=1)
    model.fit(np.ones((48, 3)), np.ones((48, 1)), batch_size=8, epochs=2, verbose=0, callbacks=[keep])
    assert Counting.saved == 12
