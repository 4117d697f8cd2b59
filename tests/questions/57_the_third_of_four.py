# I give my job the third of our four GPUs and name it in the code: why does it train on the CPU?
# expected: TFG501 | with tf.device("/GPU:2"):
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "2"

import numpy as np
import tensorflow as tf


def curves(path):
    table = np.load(path)
    return tf.data.Dataset.from_tensor_slices((table["curve"], table["class"])).shuffle(8192).batch(256).prefetch(2)


def network(classes):
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((512, 1)),
            tf.keras.layers.Conv1D(32, 9, strides=2, activation="relu"),
            tf.keras.layers.Conv1D(64, 9, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(classes, activation="softmax"),
        ]
    )


with tf.device("/GPU:2"):
    net = network(7)
    net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(curves("train.npz"), validation_data=curves("test.npz"), epochs=20)
