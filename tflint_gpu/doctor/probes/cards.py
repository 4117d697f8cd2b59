"""Prints, as JSON, what NVML tells of the cards, and which of their files cannot be opened.

It runs in this package's own Python, which has nvidia-ml-py.
"""

import sys

# Python's own library first: a file on PYTHONPATH may have the name of one of its modules.
_LIBRARY = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "lib-dynload", ".zip")
sys.path.sort(key=lambda entry: not entry.endswith(_LIBRARY))

import dataclasses  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parents[3]))  # where this package is, also in a checkout

from tflint_gpu.doctor.environment import DEVICE_FILE  # noqa: E402
from tflint_gpu.gpu.cards import survey  # noqa: E402


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
