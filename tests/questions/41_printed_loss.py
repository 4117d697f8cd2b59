# To watch the loss of each step I print it with tf.print; with a GPU fit raises "No registered 'StringFormat' OpKernel".
# expected: TFG605 | tf.print("distance", distance)
import numpy as np
import tensorflow as tf
from tensorflow import keras


def shown_distance(wanted, given):
    distance = tf.reduce_mean(tf.abs(wanted - given), axis=-1)
    tf.print("distance", distance)
    return distance


net = keras.Sequential([keras.Input((12,)), keras.layers.Dense(24, activation="tanh"), keras.layers.Dense(2)])
net.compile(optimizer=keras.optimizers.Adam(1e-3), loss=shown_distance)
net.fit(np.random.rand(400, 12), np.random.rand(400, 2), batch_size=50, epochs=2)
