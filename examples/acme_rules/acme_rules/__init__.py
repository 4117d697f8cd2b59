"""Rules of ACME for tflint_gpu."""
