"""Names and tables of TensorFlow's public API."""
