# Asked: my own loss becomes NaN under mixed precision after some hundred steps, although it is scaled; why?
# expected: TFG607 | tf.math.log(hit
import tensorflow as tf
from tensorflow import keras

keras.mixed_precision.set_global_policy("mixed_float16")

rows = keras.Input((24,))
hidden = keras.layers.Dense(96, activation="relu")(rows)
scores = keras.layers.Dense(7, activation="softmax")(hidden)
grader = keras.Model(rows, scores)
sgd = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.01))
essays = tf.data.Dataset.from_tensor_slices((tf.random.normal((700, 24)), tf.one_hot(tf.range(700) % 7, 7))).batch(70)


def surprise(guesses, grades):
    hit = tf.reduce_sum(guesses * tf.cast(grades, guesses.dtype), axis=-1)
    return -tf.reduce_mean(tf.math.log(hit + 1e-10))


@tf.function
def correct(essay, grades):
    with tf.GradientTape() as tape:
        penalty = surprise(grader(essay, training=True), grades)
        scaled = sgd.scale_loss(penalty)
    weights = grader.trainable_weights
    sgd.apply_gradients(zip(tape.gradient(scaled, weights), weights, strict=True))
    return penalty


for turn in range(9):
    for essay, grades in essays.prefetch(tf.data.AUTOTUNE):
        penalty = correct(essay, grades)
    print(turn, float(penalty))
