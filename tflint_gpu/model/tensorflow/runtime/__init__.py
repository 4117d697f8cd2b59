"""Devices, the runtime's initialisation, and programs in TensorFlow 1's graph mode."""
