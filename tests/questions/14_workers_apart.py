# Each of my two workers trains by itself and says nothing: why do they not find each other?
# expected: TFG509 | os.environ["TF_CONFIG"] = json.dumps(described(rank))
import argparse
import json
import os

import tensorflow as tf

HOSTS = ["10.0.0.4:4411", "10.0.0.5:4411"]


def described(rank):
    return {"cluster": {"worker": HOSTS}, "task": {"type": "worker", "index": rank}}


def train(rank):
    plan = tf.distribute.MultiWorkerMirroredStrategy()
    os.environ["TF_CONFIG"] = json.dumps(described(rank))
    tables = tf.data.experimental.make_csv_dataset("prices.csv", 128 * len(HOSTS), label_name="price", num_epochs=1)
    with plan.scope():
        inputs = {name: tf.keras.Input((1,), name=name) for name in ("rooms", "area", "year")}
        hidden = tf.keras.layers.Dense(64, activation="relu")(tf.keras.layers.concatenate(list(inputs.values())))
        net = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))
        net.compile("adam", "mse")
    net.fit(tables, epochs=10)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("rank", type=int)
    train(options.parse_args().rank)
