import tensorflow as tf

LENGTH = 512
HANN = tf.signal.hann_window(LENGTH)


def network(kinds):
    waves = tf.keras.Input((LENGTH,))
    hidden = tf.keras.layers.Dense(128, activation="relu")(waves)
    return tf.keras.Model(waves, tf.keras.layers.Dense(kinds)(hidden))
