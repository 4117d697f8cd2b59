# Validation takes four times as long as training on as many pictures; the GPU idles at its beginning. Why?
# expected: TFG332 | held_out = scans.skip(
import tensorflow as tf

FILES = tf.io.gfile.glob("scans/*.jpg")


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(picture, (224, 224)) / 255.0, tf.strings.regex_full_match(path, ".*ill.*")


scans = tf.data.Dataset.from_tensor_slices(FILES).map(load, num_parallel_calls=tf.data.AUTOTUNE)
count = int(0.8 * len(FILES))
learnt = scans.take(count).shuffle(500).batch(32).prefetch(2)
held_out = scans.skip(count).batch(32).prefetch(2)

net = tf.keras.Sequential(
    [tf.keras.Input((224, 224, 3)), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)]
)
net.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
net.fit(learnt, validation_data=held_out, epochs=20)
