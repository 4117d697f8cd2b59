# Asked: the data is cached, but the second epoch is as slow as the first. What does "did not fully read" mean?
# expected: TFG306 | rows.cache(
import tensorflow as tf


def spectrogram(path):
    wave, _ = tf.audio.decode_wav(tf.io.read_file(path), desired_channels=1, desired_samples=16_000)
    return tf.abs(tf.signal.stft(wave[:, 0], 256, 128)), tf.strings.regex_full_match(path, ".*/bird/.*")


def evening_recordings():
    rows = tf.data.Dataset.list_files("evenings/*/*.wav", shuffle=False)
    rows = rows.map(spectrogram, num_parallel_calls=tf.data.AUTOTUNE)
    rows = rows.cache()
    rows = rows.take(2_000)
    return rows.shuffle(500).batch(50).prefetch(tf.data.AUTOTUNE)


listener = tf.keras.Sequential(
    [
        tf.keras.Input((124, 129)),
        tf.keras.layers.Conv1D(32, 5, activation="relu"),
        tf.keras.layers.GlobalMaxPooling1D(),
        tf.keras.layers.Dense(1),
    ]
)
listener.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
listener.fit(evening_recordings(), epochs=25)
