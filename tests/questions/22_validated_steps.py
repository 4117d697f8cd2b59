# Asked: why does `fit` take ten times as long with `validation_data`, although that is an eighth of the data?
# expected: TFG222 | history = regressor.fit(
import tensorflow as tf

wind = tf.random.normal((6000, 9)).numpy()
power = tf.random.normal((6000, 2)).numpy()

regressor = tf.keras.Sequential()
regressor.add(tf.keras.layers.Dense(24, activation="relu"))
regressor.add(tf.keras.layers.Dense(2))
regressor.compile(loss="mse", optimizer="adam")
history = regressor.fit(
    wind[:5000], power[:5000], batch_size=5000, epochs=2000, validation_data=(wind[5000:], power[5000:])
)
