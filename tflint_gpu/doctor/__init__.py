"""Why TensorFlow does not use the GPU: what the machine and the installation say."""
