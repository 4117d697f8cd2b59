# Asked: with mixed precision my classifier is no faster, and it stops learning the rare classes; what is wrong?
# expected: TFG604 | activation="softmax"
import tensorflow as tf
from tensorflow.keras import layers, mixed_precision

mixed_precision.set_global_policy("mixed_float16")
glyphs, kinds = tf.random.normal((5000, 20, 20, 1)), tf.random.uniform((5000,), maxval=36, dtype=tf.int32)
drawn = tf.keras.Input((20, 20, 1))
hidden = layers.Flatten()(layers.Conv2D(12, 5, activation="relu")(drawn))
reader = tf.keras.Model(drawn, layers.Dense(36, activation="softmax")(hidden))
reader.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop")
reader.fit(glyphs, kinds, batch_size=250, epochs=8)
