# My tf.function collects one number for each row in a list, and stacking the list raises InaccessibleTensorError.
# expected: TFG107 | largest.append(peak)
import numpy as np
import tensorflow as tf


@tf.function
def peaks(signals, windows):
    largest = []
    for signal in signals:
        peak = tf.reduce_max(signal * windows[0])
        largest.append(peak)
    return tf.concat([tf.stack(largest), tf.zeros((1,))], axis=0)


recorded = tf.convert_to_tensor(np.random.rand(7, 50), tf.float32)
print(peaks(recorded, tf.signal.hann_window(50)[None]))
