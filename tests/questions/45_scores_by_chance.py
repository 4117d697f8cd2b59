# Asked: `evaluate` says 97%, and the confusion matrix of the same pictures looks as if my model guessed; why?
# expected: TFG331 | confusion_matrix(
import numpy as np
from sklearn.metrics import confusion_matrix
from tensorflow import keras

birds = keras.utils.image_dataset_from_directory("birds/held_back", image_size=(160, 160), batch_size=48)
spotter = keras.models.load_model("spotter.keras")
print(spotter.evaluate(birds))

species = []
for _, names in birds:
    species.extend(names.numpy())
believed = spotter.predict(birds)
print(confusion_matrix(species, np.argmax(believed, axis=-1)))
