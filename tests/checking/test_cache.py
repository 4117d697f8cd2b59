"""Protects against stale results: what is believed must rest on nothing that changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tflint_gpu.checking.cache import Cache, Kept, file_digest
from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, Prediction, Related

FILE = Path("/p/x.py")
PLACE, END = Location(1, 2), Location(1, 5)
DIAGNOSTIC = Diagnostic(
    "TFG101", "n", "m é", "x.py", PLACE, END, 1, "warning",
    Prediction("slowdown", ("gpu", "traced"), 1.5, 2.0, "b"), "h",
    (Related("y.py", PLACE, END, "there"),),
    Fix("f", "unsafe", (Edit(1, 4, PLACE, END, "new\n"),)),
)  # fmt: skip


def digests(*paths: Path) -> dict[Path, bytes | None]:
    found = {path: file_digest(path) for path in paths}
    return {path: None if digest is None else bytes.fromhex(digest) for path, digest in found.items()}


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    plain = Diagnostic("TFG000", "n", "m", "x.py", PLACE, END, 1, "error")
    kept = Kept((DIAGNOSTIC, plain), (("x.py", 7), ("y.py", 9)), is_whole=False)
    cache.store(FILE, "ab12", kept, {})
    assert cache.load(FILE, "ab12") == kept
    assert cache.load(FILE, "ab13") is None
    assert cache.load(Path("/p/y.py"), "ab12") is None
    cache.store(FILE, "ab13", Kept(()), {})
    assert cache.load(FILE, "ab12") is None, "a file has one entry: the directory does not grow with each edit"
    assert (tmp_path / "c" / ".gitignore").read_text().endswith("*\n")
    assert (tmp_path / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert not list((tmp_path / "c").rglob(".new-*")), "temporary files are gone"


def test_other_files_are_verified(tmp_path: Path) -> None:
    there, absent = tmp_path / "there.py", tmp_path / "absent.py"
    there.write_text("a")
    cache = Cache(tmp_path / "c")
    cache.store(FILE, "ab", Kept(()), digests(there, absent))
    assert cache.load(FILE, "ab") == Kept(())
    there.write_text("b")
    assert cache.load(FILE, "ab") is None
    there.write_text("a")
    assert cache.load(FILE, "ab") == Kept(())
    absent.write_text("now it is here")
    assert cache.load(FILE, "ab") is None


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"consulted": 3}', b"\xff", b'{"consulted": {}, "diagnostics": [{}]}']
)
def test_damaged_entries_are_ignored(damage: bytes, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store(FILE, "abcd", Kept((DIAGNOSTIC,)), {})
    [entry] = tmp_path.rglob("*.json")
    assert json.loads(entry.read_bytes().partition(b"\n")[2])
    entry.write_bytes(damage)
    assert cache.load(FILE, "abcd") is None


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "c")
    cache.store(FILE, "ab", Kept((DIAGNOSTIC,)), {})
    assert cache.load(FILE, "ab") is None


def test_the_key_sees_every_circumstance() -> None:
    keys = {Cache.key(b"a", 1), Cache.key(b"b", 1), Cache.key(b"a", 2), Cache.key(b"a", 1, 2), Cache.key(b"a")}
    assert len(keys) == 5
    assert Cache.key(b"a", 1) == Cache.key(b"a", 1)
