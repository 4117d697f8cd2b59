# Asked: memory of the host grows with each step since I put my step under `tf.function`; what keeps it?
# expected: TFG204 | blur(photo, pulse(shown))
import math

import tensorflow as tf
from tensorflow import keras

sharpener = keras.models.load_model("sharpener.keras")
rmsprop = keras.optimizers.RMSprop(3e-4)
photos = keras.utils.image_dataset_from_directory("photos", labels=None, image_size=(96, 96), batch_size=24)


def pulse(shown, period=700, most=0.4):
    return most * abs(math.sin(math.pi * shown / period))


class Trainer:
    def blurring(self):
        @tf.function
        def blur(photo, strength):
            noisy = photo + strength * tf.random.normal(tf.shape(photo))
            with tf.GradientTape() as tape:
                error = tf.reduce_mean((sharpener(noisy, training=True) - photo) ** 2)
            weights = sharpener.trainable_weights
            rmsprop.apply_gradients(zip(tape.gradient(error, weights), weights, strict=True))
            return error

        return blur


blur = Trainer().blurring()
shown = 0
for evening in range(40):
    for photo in photos.prefetch(tf.data.AUTOTUNE):
        error = blur(photo, pulse(shown))
        shown += 1
    print(evening, float(error))
