# Asked: my detector finds the cars in a film, and the GPU is used at a tenth; how do I get the rest out of it?
# expected: TFG214 | watcher(
import cv2
import tensorflow as tf

watcher = tf.keras.models.load_model("watcher.keras")
film = cv2.VideoCapture("crossing.mp4")
there_is_more, picture = film.read()
while there_is_more:
    scaled = tf.image.resize(picture, (320, 320)) / 255.0
    boxes, scores = watcher(scaled[tf.newaxis])
    if scores.numpy().max() > 0.6:
        print(boxes.numpy()[0])
    there_is_more, picture = film.read()
