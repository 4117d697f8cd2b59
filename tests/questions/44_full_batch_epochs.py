# Asked: why are there long gaps between the steps of training on a GPU? Each epoch is one step of all rows.
# expected: TFG222 | net.fit(
import numpy as np
import tensorflow as tf

kinematics = np.loadtxt("kinematics.txt", dtype="float32")
inputs, cross_sections = kinematics[:, :8], kinematics[:, 8:]
net = tf.keras.Sequential(
    [tf.keras.Input((8,)), tf.keras.layers.Dense(30, activation="tanh"), tf.keras.layers.Dense(1)]
)
net.compile(tf.keras.optimizers.RMSprop(5e-4), loss="mae")
everything = inputs.shape[0]
net.fit(inputs, cross_sections, epochs=20_000, batch_size=everything, verbose=0)
