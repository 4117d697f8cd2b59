"""TFG502 invalid-device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Guards, Runtime, device_problem
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class InvalidDevice(Rule):
    """TensorFlow cannot parse a device string.

    Why: TensorFlow reads `/job:NAME/replica:N/task:N/device:TYPE:N` with parts left out, or short forms such as
    `/GPU:0` and `gpu:1`. Anything else raises when the block is entered: `gpu0` lacks the colon, `/GUP:0` is a typing
    mistake, `cuda:0` is PyTorch's spelling.

    Reported:
    - a device string that TensorFlow cannot parse

    Not reported:
    - types that a device plug-in may register

    Measured: `ValueError: Unknown attribute 'GUP' is encountered while parsing the device spec: '/GUP:0'.`
    with TensorFlow 2.21 and 2.15; a test repeats it with the installed TensorFlow.

    Fix: none, because it is not known which device the string should name.

    Example:
        import tensorflow as tf

        with tf.device("cuda:0"):
            total = tf.reduce_sum(values)

    Use instead:
        import tensorflow as tf

        with tf.device("/CPU:0"):
            total = tf.reduce_sum(values)
    """

    code = "TFG502"
    name = "invalid-device"
    severity = "error"
    required_substrings = ((b".device(", b" device(", b"OneDeviceStrategy("),)

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the device strings that do not parse."""
        names = ("tf.device", "tf.compat.v1.device", "keras.device", "tf.distribute.OneDeviceStrategy")
        for call, device in model.once(Runtime).device_strings(*names):
            texts = [text for text in model.constants.possible(model.file, device) if isinstance(text, str)]
            problem = next(filter(None, map(device_problem, texts)), None)
            if problem is None or model.once(Guards).in_try(model.file, call):
                continue
            text, reason = problem
            yield Finding(
                model.file,
                device,
                f"TensorFlow cannot parse the device `{text}`: {reason}; it raises ValueError",
                Prediction("crash", (), basis="`DeviceSpec.from_string`, measured with TensorFlow 2.15 and 2.21"),
                help='write "/GPU:0" or "/CPU:0"',
                subject=text,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The device string alone: whether it parses depends on nothing else."""
        text = finding.subject_as(str)
        yield Experiment(
            model.file,
            finding.node,
            exceptions=("ValueError",),
            workload=Workload(
                before=f"""
                    import tensorflow as tf

                    with tf.device({text!r}):
                        tf.ones(())
                    tflint_measure.reached()
                """,
                changes=((repr(text), "'/GPU:0'"),),
            ),
            only_workload=True,
        )
