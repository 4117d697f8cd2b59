"""What TensorFlow's, Keras's and NumPy's functions do, as data: names, and facts about them that all analyses share."""
