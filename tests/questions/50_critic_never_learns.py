# Asked: after the upgrade to Keras 3 the critic's loss stays where it was from the first step on. What is wrong?
# expected: TFG217 | self.critic.trainable = False
import numpy as np
from tensorflow.keras import Model, layers, optimizers


class WavePainter:
    size = 48

    def __init__(self):
        self.painter = self.make_painter()
        self.critic = self.make_critic()
        self.critic.compile(optimizer=optimizers.Adam(1e-4), loss="binary_crossentropy", metrics=["accuracy"])
        seed = layers.Input((16,))
        self.critic.trainable = False
        self.chain = Model(seed, self.critic(self.painter(seed)))
        self.chain.compile(optimizer=optimizers.Adam(1e-4), loss="binary_crossentropy")

    def make_painter(self):
        seed = layers.Input((16,))
        hidden = layers.Dense(64, activation="relu")(seed)
        return Model(seed, layers.Dense(self.size)(hidden))

    def make_critic(self):
        wave = layers.Input((self.size,))
        hidden = layers.Dense(64, activation="relu")(wave)
        return Model(wave, layers.Dense(1, activation="sigmoid")(hidden))

    def learn(self, waves, rounds):
        for number in range(rounds):
            true = waves[np.random.randint(0, len(waves), 64)]
            false = self.painter(np.random.normal(size=(64, 16)), training=False)
            on_true = self.critic.train_on_batch(true, np.ones((64, 1)))
            on_false = self.critic.train_on_batch(false, np.zeros((64, 1)))
            fooled = self.chain.train_on_batch(np.random.normal(size=(64, 16)), np.ones((64, 1)))
            print(number, on_true, on_false, fooled)


if __name__ == "__main__":
    phases = np.random.uniform(0, 6, size=(4096, 1))
    WavePainter().learn(np.sin(np.linspace(0, 12, 48) + phases), rounds=2000)
