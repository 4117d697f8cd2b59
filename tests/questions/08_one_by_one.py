# Asked: why does training on one recording after the other, each of its own length, get slower and fill the memory?
# expected: TFG220 | fit_one(sound[None], text[None])
import numpy as np
import tensorflow as tf

lengths = np.random.randint(200, 6000, size=500)
sounds = [np.random.normal(size=(length, 13)).astype("float32") for length in lengths]
texts = [np.random.randint(0, 5, size=len(sound)) for sound in sounds]

net = tf.keras.Sequential([tf.keras.layers.LSTM(40, return_sequences=True), tf.keras.layers.Dense(5)])
sgd = tf.keras.optimizers.SGD(0.01)
gap = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def fit_one(sound, text):
    with tf.GradientTape() as tape:
        loss = gap(text, net(sound, training=True))
    sgd.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables, strict=True))


for _epoch in range(15):
    for sound, text in zip(sounds, texts, strict=True):
        fit_one(sound[None], text[None])
