"""`python -m tflint_gpu`."""

from tflint_gpu.cli import main

if __name__ == "__main__":
    main()
