"""A static analyzer for TensorFlow and Keras code that says only what a measurement backs."""

__version__ = "0.1.0"
