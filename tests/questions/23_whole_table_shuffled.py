# "Filling up shuffle buffer (this may take a while)" in front of each epoch, until the memory is full: what to do?
# expected: TFG320 | letters = letters.shuffle(LINES)
import tensorflow as tf

LINES = 900_000
LENGTH, SIGNS = 120, 256


def spread(line):
    signs = tf.io.decode_raw(line, tf.uint8, fixed_length=LENGTH)
    return tf.one_hot(tf.cast(tf.reshape(signs, [LENGTH]), tf.int32), SIGNS), tf.strings.length(line)


letters = tf.data.TextLineDataset("letters.txt").map(spread, num_parallel_calls=tf.data.AUTOTUNE)
letters = letters.shuffle(LINES)
letters = letters.batch(64).prefetch(tf.data.AUTOTUNE)
net = tf.keras.Sequential([tf.keras.Input((LENGTH, SIGNS)), tf.keras.layers.GRU(48), tf.keras.layers.Dense(1)])
net.compile("adam", "mae")
net.fit(letters, epochs=6)
