# Asked: after some hundred steps the GPU has no memory left, though each batch is as large as the one before; why?
# expected: TFG202 | tf.GradientTape()
import tensorflow as tf


class Translator:
    def __init__(self, network):
        self.network = network
        self.optimizer = tf.keras.optimizers.Adam(5e-5)

    def improve(self, words, wanted):
        with tf.GradientTape() as tape:
            said = self.network([words, wanted[:, :-1]], training=True)
            entropy = tf.keras.losses.sparse_categorical_crossentropy(wanted[:, 1:], said, from_logits=True)
            loss = tf.reduce_mean(entropy)
        weights = self.network.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    def train(self, pairs, rounds):
        for _ in range(rounds):
            for words, wanted in pairs:
                loss = self.improve(words, wanted)
            print(float(loss))


texts = tf.data.Dataset.load("texts").padded_batch(24, ([60], [60])).prefetch(tf.data.AUTOTUNE)
Translator(tf.keras.models.load_model("translator.keras")).train(texts, 40)
