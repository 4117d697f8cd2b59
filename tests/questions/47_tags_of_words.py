# Asked: my tagger needs half a minute before its first step with Keras 3, and the GPU stays at a few percent after it.
# expected: TFG609 | layers.TimeDistributed(
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

WORDS, TAGS, LENGTH = 12_000, 18, 300


def tagger():
    network = tf.keras.Sequential(name="tagger")
    network.add(tf.keras.Input((LENGTH,)))
    network.add(layers.Embedding(WORDS, 48))
    network.add(layers.Bidirectional(layers.GRU(64, return_sequences=True)))
    last = layers.Dense(TAGS, activation="softmax")
    network.add(layers.TimeDistributed(last, name="tags"))
    return network


network = tagger()
network.compile(tf.keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy")
network.fit(np.load("sentences.npy"), np.load("tags.npy"), batch_size=64, epochs=5)
