# Asked: why does it take so much longer to read a table from TFRecord files than from CSV? Each row is parsed by itself.
# expected: TFG330 | tf.io.parse_single_example(
import tensorflow as tf

SENSORS = [f"sensor_{number:03}" for number in range(240)]


def fields():
    found = {sensor: tf.io.FixedLenFeature([], tf.float32, default_value=0.0) for sensor in SENSORS}
    found["broken"] = tf.io.FixedLenFeature([], tf.int64)
    return found


def readings(serialized):
    read = tf.io.parse_single_example(serialized, features=fields())
    broken = tf.cast(read.pop("broken"), tf.float32)
    values = tf.stack([read[sensor] for sensor in SENSORS], axis=-1)
    return values / 1000.0, broken


def batches(pattern, size=128):
    files = tf.data.Dataset.list_files(pattern)
    rows = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE)
    rows = rows.map(readings, num_parallel_calls=tf.data.AUTOTUNE).shuffle(20_000)
    return rows.batch(size).prefetch(tf.data.AUTOTUNE)


net = tf.keras.Sequential([tf.keras.Input((240,)), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)])
net.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
net.fit(batches("readings/*.tfrecord"), epochs=20)
