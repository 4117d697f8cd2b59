"""Side effects and dependence on the host while TensorFlow traces."""
