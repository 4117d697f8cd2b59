"""Writes the rows of tflint_gpu/doctor/compatibility.toml: what each TensorFlow was built for, read in its wheels.

    python tests/benchmarks/compatibility.py [--index URL]

Only the needed members of each wheel are fetched (a few hundred kilobytes of half a gigabyte): its build
information and what its metadata requires. The newest patch release of each minor release is taken, from 2.4 on.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import io
import json
import re
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parents[2] / "tflint_gpu" / "doctor" / "compatibility.toml"
WHEEL = re.compile(r"tensorflow-(2\.(\d+)\.(\d+))-cp(\d)(\d+)-\w+-(manylinux\w*x86_64[\w.]*)\.whl")
OLDEST = 4
FIRST_ROW = '["2.4"]'


class Remote(io.RawIOBase):
    """A file on a server that gives parts of it."""

    def __init__(self, url: str) -> None:
        self.url, self.place = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Where the next read starts."""
        return self.place

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        self.place = (0, self.place, self.size)[whence] + offset
        return self.place

    def readinto(self, buffer: Any) -> int:
        """Fetch what fits."""
        if self.place >= self.size:
            return 0
        last = min(self.place + len(buffer), self.size) - 1
        asked = urllib.request.Request(self.url, headers={"Range": f"bytes={self.place}-{last}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            data = answer.read()
        buffer[: len(data)] = data
        self.place += len(data)
        return len(data)


def main() -> None:
    """Read the newest wheel of each minor release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", default="https://pypi.org/simple")
    page = f"{parser.parse_args().index}/tensorflow/"
    asked = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        listed = json.load(answer)["files"]
    releases: dict[int, dict[int, list[tuple[int, str, str]]]] = {}
    for file in listed:
        if match := WHEEL.fullmatch(file["filename"]):
            python = int(match[5])
            url = urllib.parse.urljoin(page, file["url"])
            patches = releases.setdefault(int(match[2]), {})
            patches.setdefault(int(match[3]), []).append((python, file["filename"], url))
    rows = [_row(minor, patches[max(patches)]) for minor, patches in sorted(releases.items()) if minor >= OLDEST]
    head = OUTPUT.read_text("utf-8").partition(FIRST_ROW)[0]  # what was read elsewhere stays
    OUTPUT.write_text(head + "\n".join(rows), encoding="utf-8")


def _row(minor: int, wheels: list[tuple[int, str, str]]) -> str:
    _, name, url = max(wheels)
    archive = zipfile.ZipFile(io.BufferedReader(Remote(url), 1 << 16))
    members = {
        member.rpartition("/")[2]: member for member in archive.namelist() if member.endswith(".dist-info/METADATA")
    }
    build = next(member for member in archive.namelist() if member.endswith("platform/build_info.py"))
    facts = _facts(archive.read(build).decode())
    metadata = archive.read(members["METADATA"]).decode()
    wants = re.findall(
        r"^Requires-Dist: (nvidia-[\w-]+) ?\(?([^;)]*)\)? ?; ?extra == .and-cuda.", metadata, re.MULTILINE
    )
    keras = re.search(r"^Requires-Dist: keras ?\(?([<>=~][^;)\n]*)", metadata, re.MULTILINE)
    lines = [
        f'["2.{minor}"]',
        f'wheel = "{name}"',
        f'read = "{datetime.date.today()}"',
        f"python = {json.dumps([f'3.{python}' for python in sorted(python for python, _, _ in wheels)])}",
        f'cuda = "{facts["cuda_version"]}"',
        f'cudnn = "{facts["cudnn_version"]}"',
        f"capabilities = {json.dumps(facts['cuda_compute_capabilities'])}",
        f'keras = "{keras[1].strip() if keras else ""}"',
    ]
    lines += [f"wants.{package} = {json.dumps(version.strip())}" for package, version in sorted(wants)]
    print(lines[1])
    return "\n".join(lines) + "\n"


def _facts(text: str) -> dict[str, Any]:
    """What is assigned to `build_info`, a literal or an OrderedDict of one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "build_info":
            value = node.value.args[0] if isinstance(node.value, ast.Call) else node.value
            return dict(ast.literal_eval(value))
    raise ValueError("no build_info")


if __name__ == "__main__":
    main()
