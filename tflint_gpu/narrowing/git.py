"""Git as a program: how it is called, and what its answers say."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.settings.options import SettingsError

_HUNK = regex(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = regex(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
# What users may have configured, but what is parsed here must not depend on.
_PLAIN = ("-c", "core.quotePath=true", "--literal-pathspecs", "--no-optional-locks")


class GitError(SettingsError):
    """What changed cannot be known; the message says why, and a way out."""


def run(
    directory: Path, *arguments: str, environment: Mapping[str, str] | None = None, may_fail: bool = False
) -> bytes:
    """What a git command prints.

    Raises:
        GitError: it is not installed, or fails.
    """
    command = ["git", *_PLAIN, *arguments]
    try:
        done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    except FileNotFoundError:
        raise GitError("--diff-base needs git, which is not installed or not on PATH") from None
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from None
    if done.returncode == 0:
        return done.stdout
    if may_fail:
        return b""
    reason = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
    raise GitError(f"--diff-base: {directory}: git {arguments[0]}: {reason.removeprefix('fatal: ')}")


def resolve(directory: Path, revision: str) -> str:
    """The hash of the commit that a revision names; with three dots after it, of where HEAD departed from it.

    Raises:
        GitError: there is no such commit.
    """
    name = revision.removesuffix("...")
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    commit = run(directory, *asked, may_fail=True).decode().strip()
    if not commit:
        raise GitError(
            f"unknown revision {revision!r} in {directory}: name a commit, branch or tag that `git log` knows"
        )
    if name != revision:
        commit = run(directory, "merge-base", commit, "HEAD", may_fail=True).decode().partition("\n")[0]
        if not commit:
            raise GitError(
                f"{revision!r}: HEAD and {name!r} have no commit in common; if the clone is shallow, fetch more"
            )
    return commit


def former_names(listed: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each changed file's name with the one it had before, from `--name-status -z`."""
    fields = iter(listed.split(b"\0")[:-1])
    for status in fields:
        old = next(fields)
        yield next(fields) if status[:1] in (b"R", b"C") else old, old


def parse_patch(patch: bytes) -> Iterator[tuple[bytes, list[tuple[int, int]]]]:
    """Each file's name in a patch without context, with the first line and the number of lines of its hunks."""
    name: bytes | None = None
    hunks: list[tuple[int, int]] = []
    lines = iter(patch.split(b"\n"))
    for line in lines:
        if line.startswith(b"+++ "):
            if name is not None:
                yield name, hunks
            name, hunks = _unquoted(line[4:]).removeprefix(b"b/"), []
        elif match := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in (match[1], match[3]))
            hunks.append((int(match[2]), new))
            # The lines themselves are passed over: they can look like anything.
            remaining = old + new
            while remaining:
                remaining -= not next(lines, b"").startswith(b"\\")  # "\ No newline at end of file"
    if name is not None:
        yield name, hunks


def _unquoted(name: bytes) -> bytes:
    """A file's name as git writes it in a patch: in quotes like a C string, or with a tab after it."""
    if not name.startswith(b'"'):
        return name.removesuffix(b"\t")

    def character(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(character, name[1 : name.rindex(b'"')])
