"""Prints, as JSON, what NVML tells of the cards, and which of their files cannot be opened.

It runs in this package's own Python, which has nvidia-ml-py.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))  # where this package is, also in a checkout

from tflint_gpu.doctor.environment import DEVICE_FILE
from tflint_gpu.gpu.cards import survey


def main() -> None:
    """Look, and print one line."""
    print(json.dumps({**dataclasses.asdict(survey()), "forbidden": forbidden(Path("/dev"))}))


def forbidden(devices: Path) -> list[str]:
    """The device files whose mode lets this user in, and that cannot be opened all the same: a cgroup forbids it."""
    return [
        f"/dev/{path.name}"
        for path in sorted(devices.glob("nvidia*"))
        if DEVICE_FILE.fullmatch(path.name) and os.access(path, os.R_OK | os.W_OK) and not _opens(path)
    ]


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
