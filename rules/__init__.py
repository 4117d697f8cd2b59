"""The rules of tflint_gpu: one file a rule, in a folder a theme."""
