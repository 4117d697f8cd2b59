"""`python -m tflint_gpu`."""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        # Python puts the working directory first. The files there are to be checked and not to be imported: a module
        # `random` of the user would replace Python's.
        sys.path.append(sys.path.pop(0))
    from tflint_gpu.cli import main

    main()
