# Asked: my own training loop takes four times as long as `fit` with the same network and data; what does `fit` do?
# expected: TFG202 | tf.GradientTape()
import tensorflow as tf

signals, states = tf.random.normal((6000, 50, 3)), tf.random.uniform((6000,), maxval=5, dtype=tf.int32)
rows = tf.data.Dataset.from_tensor_slices((signals, states)).shuffle(6000).batch(40).prefetch(tf.data.AUTOTUNE)
sorter = tf.keras.Sequential()
sorter.add(tf.keras.layers.Conv1D(16, 7, activation="relu", input_shape=(50, 3)))
sorter.add(tf.keras.layers.AveragePooling1D(2))
sorter.add(tf.keras.layers.Flatten())
sorter.add(tf.keras.layers.Dense(5))
adam = tf.keras.optimizers.Adam(2e-3)
wrong = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
seen = tf.keras.metrics.Mean()

for epoch in range(12):
    seen.reset_state()
    for signal, state in rows:
        with tf.GradientTape() as tape:
            error = wrong(state, sorter(signal, training=True))
        slopes = tape.gradient(error, sorter.trainable_weights)
        adam.apply_gradients(zip(slopes, sorter.trainable_weights, strict=True))
        seen.update_state(error)
    print(epoch, float(seen.result()))
