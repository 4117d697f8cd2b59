"""Learns a curve. On two GPUs this program stops at its first operation; on one GPU it leaves the GPU idle."""

import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.experimental.set_memory_growth(gpus[0], True)

x = tf.random.uniform((8192, 1), -3, 3)
data = tf.data.Dataset.from_tensor_slices((x, x * tf.sin(3 * x))).shuffle(8192).batch(64)

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="tanh"), tf.keras.layers.Dense(1)])
mean_squared_error = tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.Adam()

for epoch in range(5):
    for inputs, targets in data:
        with tf.GradientTape() as tape:
            loss = mean_squared_error(targets, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print(f"epoch {epoch}: loss {float(loss):.3f}")
