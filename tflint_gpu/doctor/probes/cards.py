"""Prints, as JSON, what NVML tells of the cards. It runs in this package's own Python, which has nvidia-ml-py."""

import dataclasses
import json

from tflint_gpu.doctor.cards import survey


def main() -> None:
    """Look, and print one line."""
    print(json.dumps(dataclasses.asdict(survey())))


if __name__ == "__main__":
    main()
