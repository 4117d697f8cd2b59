# Why does each epoch begin with a long wait, and why is the validation so good?
# expected: TFG323 | validation = spectra.take(share)
from pathlib import Path

import tensorflow as tf

recordings = sorted(str(path) for path in Path("field").glob("*.wav"))
species = [int(name.rsplit("_", 1)[1][:-4]) for name in recordings]


def heard(name, kind):
    wave, _ = tf.audio.decode_wav(tf.io.read_file(name), desired_channels=1, desired_samples=48000)
    return tf.abs(tf.signal.stft(wave[:, 0], 512, 256))[..., None], kind


spectra = tf.data.Dataset.from_tensor_slices((recordings, species)).map(heard, num_parallel_calls=tf.data.AUTOTUNE)
spectra = spectra.shuffle(len(recordings)).repeat().batch(24).prefetch(tf.data.AUTOTUNE)

share = int(len(recordings) * 0.25)
validation = spectra.take(share)
training = spectra.skip(share)

net = tf.keras.Sequential(
    [
        tf.keras.Input((186, 257, 1)),
        tf.keras.layers.Conv2D(24, 5, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(12),
    ]
)
net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(training, validation_data=validation, epochs=8, steps_per_epoch=len(recordings) // 24)
