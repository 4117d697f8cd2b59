# Asked: Keras says that `on_train_batch_end` is slow compared to the batch update; what is meant?
# expected: TFG223 | self.model.evaluate(
import numpy as np
import tensorflow as tf


class Course(tf.keras.callbacks.Callback):
    def __init__(self, rows, answers):
        super().__init__()
        self.held = (rows, answers)
        self.values = []

    def on_train_batch_end(self, batch, logs=None):
        self.values.append(self.model.evaluate(*self.held, verbose=0))
        self.model.save("course.keras")


rows, answers = np.load("rows.npy"), np.load("answers.npy")
net = tf.keras.models.load_model("start.keras")
net.compile("adam", "mae")
net.fit(rows, answers, epochs=12, callbacks=[Course(rows[:300], answers[:300])])
