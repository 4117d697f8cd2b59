"""Learns a curve. On a GPU this program fails; without its first mistake it leaves the GPU idle."""

import tensorflow as tf

x = tf.random.uniform((8192, 1), -3, 3)
data = tf.data.Dataset.from_tensor_slices((x, x * tf.sin(3 * x))).shuffle(8192).batch(64)

for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)

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
