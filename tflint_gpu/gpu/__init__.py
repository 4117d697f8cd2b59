"""NVIDIA's cards through NVML: which there are, which one to run on, and what one does while a program runs."""
