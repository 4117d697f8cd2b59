# Asked: my callback raises the weight of the KL term, it prints the new values, but the latent space does not change.
# expected: TFG210 | self.beta *
import tensorflow as tf
from tensorflow.keras import callbacks, layers


class WarmUp(callbacks.Callback):
    def __init__(self, turns):
        super().__init__()
        self.turns = turns

    def on_epoch_end(self, epoch, logs=None):
        self.model.beta = min(1.0, (epoch + 1) / self.turns)
        print("beta is now", self.model.beta)


class Autoencoder(tf.keras.Model):
    def __init__(self, width):
        super().__init__()
        self.beta = 0.0
        self.inward = layers.Dense(2 * width)
        self.outward = layers.Dense(784, activation="sigmoid")

    def call(self, images):
        mean, spread = tf.split(self.inward(images), 2, axis=-1)
        apart = 0.5 * tf.reduce_mean(tf.exp(spread) + tf.square(mean) - 1.0 - spread)
        self.add_loss(self.beta * apart)
        return self.outward(mean + tf.random.normal(tf.shape(mean)) * tf.exp(0.5 * spread))


(digits, _), _ = tf.keras.datasets.mnist.load_data()
digits = digits.reshape(-1, 784).astype("float32") / 255
coder = Autoencoder(width=8)
coder.compile("adam", "binary_crossentropy")
coder.fit(digits, digits, batch_size=256, epochs=40, callbacks=[WarmUp(20)])
