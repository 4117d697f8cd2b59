"""An actor and a critic that learn from the same transitions, a step of Python each."""

import tensorflow as tf

states = tf.random.normal((2048, 16))
data = tf.data.Dataset.from_tensor_slices((states, tf.reduce_sum(states, 1, keepdims=True))).batch(32)
mean_squared_error = tf.keras.losses.MeanSquaredError()
actor_optimizer, critic_optimizer = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()


def train_actor(states, critic):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(actor(states, training=True)))
    gradients = tape.gradient(loss, actor.trainable_variables)
    actor_optimizer.apply_gradients(zip(gradients, actor.trainable_variables))


actor = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(4)])
critic = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])

for _ in range(5):
    for states, returns in data:
        train_actor(states, critic)
        with tf.GradientTape() as tape:
            loss = mean_squared_error(returns, critic(actor(states), training=True))
        gradients = tape.gradient(loss, critic.trainable_variables)
        critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
