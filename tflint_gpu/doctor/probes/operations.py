"""Runs small real operations on one GPU, and prints a line of JSON for each as it is done.

    python operations.py "/GPU:0"

Soft placement is off and memory growth on, so that an operation runs on that card or fails.
"""

import contextlib
import json
import os
import sys
from typing import Any, Callable, Iterator  # noqa: UP035


def main() -> None:
    """Try all of them."""
    result = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    device = sys.argv[1]
    import tensorflow as tf

    tf.config.set_soft_device_placement(False)
    for gpu in tf.config.list_physical_devices("GPU"):
        with contextlib.suppress(RuntimeError, ValueError):
            tf.config.experimental.set_memory_growth(gpu, True)
    for name, run in _operations(tf):
        result.write(json.dumps({"device": device, "name": name, "begun": True}) + "\n")
        result.flush()
        try:
            with tf.device(device):
                outcome = run()
            ran_on, message, status = outcome.device, "", "answered"
            outcome.numpy()
        except Exception as error:
            ran_on, message, status = "", f"{type(error).__name__}: {error}"[:2000], "failed"
        answer = {"device": device, "name": name, "status": status, "ran_on": ran_on, "message": message}
        result.write(json.dumps(answer) + "\n")
        result.flush()


def _operations(tf: Any) -> "Iterator[tuple[str, Callable[[], Any]]]":
    def lstm() -> Any:
        return tf.keras.layers.LSTM(32)(tf.random.normal((8, 16, 8)))

    compiled = tf.function(lambda x: tf.reduce_sum(tf.tanh(x) * x), jit_compile=True)
    yield "matmul", lambda: tf.linalg.matmul(tf.random.normal((256, 256)), tf.random.normal((256, 256)))
    yield (
        "convolution",
        lambda: tf.nn.conv2d(tf.random.normal((4, 32, 32, 8)), tf.random.normal((3, 3, 8, 8)), 1, "SAME"),
    )
    yield "LSTM", lstm
    build = tf.sysconfig.get_build_info()
    if build.get("is_cuda_build") or build.get("is_rocm_build"):  # the plugins of other makers have no XLA
        yield "XLA", lambda: compiled(tf.random.normal((256, 256)))


if __name__ == "__main__":
    main()
