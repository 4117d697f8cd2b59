# Asked: the first fold trains well, and the second one stops with "Unknown variable". Do I have to reset the session?
# expected: TFG218 | forecast.compile(
import numpy as np
import tensorflow as tf
from sklearn.model_selection import KFold

loads = np.load("loads.npy").astype("float32")
history, ahead = loads[:, :168], loads[:, 168:]
schedule = tf.keras.optimizers.schedules.CosineDecay(3e-3, 4000)
adam = tf.keras.optimizers.Adam(schedule, clipnorm=1.0)


def recurrent(units):
    series = tf.keras.Input((168, 1))
    hidden = tf.keras.layers.GRU(units)(series)
    return tf.keras.Model(series, tf.keras.layers.Dense(24)(hidden))


errors = []
for seen, kept in KFold(5, shuffle=True).split(history):
    tf.keras.backend.clear_session()
    forecast = recurrent(64)
    forecast.compile(loss="mae", optimizer=adam)
    forecast.fit(history[seen], ahead[seen], epochs=40, batch_size=128)
    errors.append(forecast.evaluate(history[kept], ahead[kept]))
print(np.mean(errors))
