# Asked: a loop asks my small network for one number after the other, and the memory of the host only grows; why?
# expected: TFG206 | pricer.predict(
import numpy as np
import tensorflow as tf

offers = np.loadtxt("offers.csv", delimiter=",", dtype="float32")
pricer = tf.keras.models.load_model("pricer.keras")
prices = []
for offer in offers:
    prices.append(float(pricer.predict(offer.reshape(1, -1), verbose=0)[0, 0]))
print(sum(prices))
