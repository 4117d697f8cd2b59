"""`tf.function` and AutoGraph: which code TensorFlow traces, called from where."""
