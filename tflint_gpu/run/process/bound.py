"""As a script, `python bound.py PARENT COMMAND...` becomes the command, which ends when its parent does.

Linux kills it then (prctl(2), PR_SET_PDEATHSIG): also where the parent was killed and could do nothing more. That lasts
over `exec`. Systems without it run the command as it is.

Arguments:
    PARENT: the process whose end is meant; one that has ended before ends the command, too.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1  # of the kernel's include/uapi/linux/prctl.h


def main() -> None:
    """Bind this process to its parent and become the command."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent):
            os.kill(os.getpid(), signal.SIGKILL)
    for name in ("SIGPIPE", "SIGXFZ", "SIGXFSZ"):  # Python ignores them, and what is ignored stays so over `exec`
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"error: {command[0]}: cannot be run: {error.strerror}")


if __name__ == "__main__":
    main()
