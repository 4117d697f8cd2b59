"""Where other programs meet tflint_gpu: one module a program."""
