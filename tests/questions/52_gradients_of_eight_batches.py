# Asked: I add up gradients to get a larger batch than the GPU holds. It runs, but the loss never moves. Why?
# expected: TFG103 | self.batches_seen += 1
import keras
import tensorflow as tf


class Patient(keras.Model):
    """Updates its weights with the gradients of several batches."""

    def __init__(self, body, wait):
        super().__init__()
        self.body, self.wait, self.batches_seen = body, wait, 0
        self.pending = [tf.Variable(tf.zeros(w.shape), trainable=False) for w in body.trainable_weights]

    def call(self, images, training=False):
        return self.body(images, training=training)

    def train_step(self, batch):
        images, labels = batch
        self.batches_seen += 1
        with tf.GradientTape() as tape:
            loss = self.compute_loss(images, labels, self(images, training=True))
        for waiting, slope in zip(self.pending, tape.gradient(loss, self.body.trainable_weights), strict=True):
            waiting.assign_add(slope / self.wait)
        if self.batches_seen % self.wait == 0:
            self.optimizer.apply_gradients(zip(self.pending, self.body.trainable_weights, strict=True))
            for waiting in self.pending:
                waiting.assign(tf.zeros_like(waiting))
        return {"loss": loss}


body = keras.Sequential([keras.layers.Input((64, 64, 3)), keras.layers.Conv2D(32, 5), keras.layers.Flatten()])
body.add(keras.layers.Dense(12))
images = keras.utils.image_dataset_from_directory("shells", image_size=(64, 64), batch_size=16)
patient = Patient(body, wait=8)
patient.compile(keras.optimizers.Adam(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
patient.fit(images, epochs=30)
