"""ACM101 noop-take."""

from collections.abc import Iterator

from tflint_gpu.model import Consumers, Model
from tflint_gpu.rule import Finding, Prediction, Rule


class NoopTake(Rule):
    """`take(-1)` takes every element, so it has no effect.

    Why: a count of -1 means all elements, so the call does nothing.

    Reported:
    - a `take` of a dataset whose count is certainly -1

    Not reported:
    - counts that the code does not show

    Measured: with TensorFlow 2.21, the elements are the same with and without the call.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(9).take(-1)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset.batch(3))

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(9)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset.batch(3))
    """

    code = "ACM101"
    name = "noop-take"
    required_substrings = ((b".take(",),)

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the takes of everything."""
        for item in model.once(Consumers).consumptions:
            for operation in item.chain.operations:
                if operation.name == "take" and operation.argument(0, "count") == -1:
                    yield Finding(
                        operation.file,
                        operation.place,
                        "`take(-1)` does nothing",
                        Prediction("no-effect", basis="the elements are the same, measured"),
                        help="leave it out",
                    )
