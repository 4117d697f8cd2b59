# My GAN stops in its second step: "tf.function only supports singleton tf.Variables created on the first call". Why?
# expected: TFG219 | update(judge, judge_optimizer
import numpy as np
import tensorflow as tf

painter = tf.keras.Sequential([tf.keras.Input((32,)), tf.keras.layers.Dense(64)])
judge = tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dense(1)])
painter_optimizer = tf.keras.optimizers.Adam(1e-4)
judge_optimizer = tf.keras.optimizers.Adam(4e-4)


@tf.function
def update(net, optimizer, rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(rows) - targets))
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
    return loss


noise = np.random.rand(64, 32).astype("float32")
pictures = np.random.rand(64, 64).astype("float32")
for _ in range(1000):
    update(painter, painter_optimizer, noise, pictures)
    update(judge, judge_optimizer, pictures, np.ones((64, 1), "float32"))
