"""What TensorFlow makes of it."""
