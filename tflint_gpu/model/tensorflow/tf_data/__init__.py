"""tf.data input pipelines."""
