# Asked: training ends with "Invalid filepath extension for saving", and hours of it are lost.
# expected: TFG719 | lowest = tf.keras.callbacks.ModelCheckpoint("lowest/weights.ckpt", save_weights_only=True)
import tensorflow as tf

rows = tf.random.normal((4000, 40))
network = tf.keras.Sequential([tf.keras.Input((40,)), tf.keras.layers.Dense(300, "relu"), tf.keras.layers.Dense(2)])
network.compile("adam", "mse")
lowest = tf.keras.callbacks.ModelCheckpoint("lowest/weights.ckpt", save_weights_only=True)
network.fit(rows, rows[:, :2], batch_size=200, epochs=40, callbacks=[lowest])
network.save("network/final")
