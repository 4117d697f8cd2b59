# Asked: the step of a mixed precision guide stops: the optimizer has no `get_scaled_loss`.
# expected: TFG718 | larger = steps.get_scaled_loss(cost)
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
network = tf.keras.Sequential(
    [
        tf.keras.Input((256,)),
        tf.keras.layers.Dense(1024, activation="gelu"),
        tf.keras.layers.Dense(3),
        tf.keras.layers.Activation("linear", dtype="float32"),
    ]
)
steps = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.05))
error = tf.keras.losses.MeanSquaredError()
rows = tf.random.normal((2048, 256))
pairs = tf.data.Dataset.from_tensor_slices((rows, rows[:, :3])).batch(128).prefetch(tf.data.AUTOTUNE)


@tf.function
def fit_batch(given, wanted):
    with tf.GradientTape() as tape:
        cost = error(wanted, network(given, training=True))
        larger = steps.get_scaled_loss(cost)
    scaled = tape.gradient(larger, network.trainable_variables)
    steps.apply_gradients(zip(steps.get_unscaled_gradients(scaled), network.trainable_variables, strict=True))
    return cost


for _ in range(4):
    for given, wanted in pairs:
        fit_batch(given, wanted)
