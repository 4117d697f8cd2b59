# Asked: I unfreeze the encoder halfway, and the loss goes on as if nothing had happened. Do I need another optimizer?
# expected: TFG217 | encoder.trainable = True
import tensorflow as tf

encoder = tf.keras.applications.EfficientNetB0(include_top=False, pooling="max", input_shape=(96, 96, 3))
encoder.trainable = False
head = tf.keras.Sequential([encoder, tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(7, activation="softmax")])
leaves = tf.keras.utils.image_dataset_from_directory("leaves", image_size=(96, 96), batch_size=64).prefetch(2)

head.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
head.fit(leaves, epochs=6)

encoder.trainable = True
print(len(head.trainable_weights))
head.optimizer.learning_rate = 1e-5
head.fit(leaves, epochs=20)
