"""What values are in TensorFlow's terms, and under which conditions code runs."""
