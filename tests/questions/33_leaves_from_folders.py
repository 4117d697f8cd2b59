# The GPU is used at 8 % while it learns leaves from folders, and one core at 100 %: what holds it up?
# expected: TFG329 | history = net.fit(leaves, epochs=25)
from tensorflow import keras

bent = keras.preprocessing.image.ImageDataGenerator(shear_range=0.2, vertical_flip=True, rescale=1 / 127.5)
leaves = bent.flow_from_directory("leaves/train", target_size=(192, 192), batch_size=64, class_mode="sparse")
base = keras.applications.EfficientNetB0(weights=None, include_top=False, input_shape=(192, 192, 3), pooling="avg")
net = keras.Sequential([base, keras.layers.Dense(leaves.num_classes, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = net.fit(leaves, epochs=25)
