"""Protects against stale results: what is believed must rest on nothing that changed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from tflint_gpu.checking.cache import Cache, Kept
from tflint_gpu.dependencies import Dependencies, state_of
from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, OnCpu, Prediction, Related

PLACE, END = Location(1, 2), Location(1, 5)
DIAGNOSTIC = Diagnostic(
    "TFG101", "n", "m é", "x.py", PLACE, END, 1, "warning",
    Prediction("slowdown", ("gpu", "traced"), 1.5, 2.0, "b", OnCpu(1.0, 1.5, 2, "c")), "h",
    (Related("y.py", PLACE, END, "there"),),
    Fix("f", "unsafe", (Edit(1, 4, PLACE, END, "new\n"),)),
)  # fmt: skip
KEPT = Kept((DIAGNOSTIC,))


class Folder:
    """Files of which some ask for others, and a cache of what came of them."""

    def __init__(self, folder: Path, **asked: str) -> None:
        self.folder, self.asked = folder, {name: names.split() for name, names in asked.items()}
        for name in asked:
            (folder / name).write_text(name)
        self.directory = folder / ".cache"

    def at(self, name: str) -> str:
        return str(self.folder / name)

    def opened(self) -> Cache:
        """The cache as a new run finds it."""
        return Cache.below(self.directory, self.folder)

    def keep(self, *names: str, key: str = "k", kept: Kept = KEPT) -> None:
        """What a run does that has checked some of the files."""
        cache = self.opened()
        reached = list(names)
        for name in reached:
            reached += [one for one in self.asked.get(name, ()) if one not in reached]
        paths = {self.at(name): [self.at(other) for other in self.asked.get(name, ())] for name in reached}
        cache.learn(Dependencies(paths, {path: state_of(path) for path in paths}))
        for name in names:
            cache.store(self.at(name), key, kept)
        cache.write()

    def known(self, key: str = "k") -> set[str]:
        """The files of which the result is believed by a new run."""
        cache = self.opened()
        return {name for name in self.asked if cache.load(self.at(name), key) is not None}


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    folder = Folder(tmp_path, x="")
    plain = Diagnostic("TFG000", "n", "m", "x.py", PLACE, END, 1, "error")
    kept = Kept((DIAGNOSTIC, plain), (("x.py", 7), ("y.py", 9)), is_whole=False, bounds=("50 steps",))
    folder.keep("x", kept=kept)
    cache = folder.opened()
    assert cache.load(folder.at("x"), "k") == kept
    assert cache.load(folder.at("x"), "other rules") is None
    assert cache.load(folder.at("y"), "k") is None
    assert (tmp_path / ".cache" / ".gitignore").read_text().endswith("*\n")
    assert (tmp_path / ".cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_result_falls_with_whatever_it_rests_on_directly_or_through_others(tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="b", b="c", c="b absent", d="", e="d")
    names = ("a", "b", "c", "d", "e")
    folder.keep(*names)
    assert folder.known() == {*names}
    for changed, left in (("c", {"d", "e"}), ("a", {"b", "c", "d", "e"}), ("d", {"a", "b", "c"})):
        (tmp_path / changed).write_text("else")
        assert folder.known() == left
        (tmp_path / changed).write_text(changed)
        assert folder.known() == {*names}, "the same bytes at another time"
    (tmp_path / "absent").write_text("here now")
    assert folder.known() == {"d", "e"}
    (tmp_path / "absent").unlink()
    (tmp_path / "absent").mkdir()
    assert folder.known() == {"d", "e"}, "a folder can hold modules"


def test_a_run_on_some_files_keeps_what_is_known_of_the_others_and_nothing_that_fell(tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="c", b="c", c="", d="")
    folder.keep("a", "b", "c", "d")
    (tmp_path / "c").write_text("else")
    folder.keep("a")
    assert folder.known() == {"a", "d"}


def test_an_import_that_is_gone_counts_no_more(tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="b", b="")
    folder.keep("a", "b")
    (tmp_path / "a").write_text("without the import")
    assert folder.known() == {"b"}
    folder.asked["a"] = []
    cache = folder.opened()
    assert cache.load(folder.at("a"), "k") is None
    cache.learn(Dependencies({}, {folder.at("a"): state_of(folder.at("a"))}))
    cache.store(folder.at("a"), "k", KEPT)
    cache.write()
    (tmp_path / "b").write_text("else")
    assert folder.known() == {"a"}


def test_a_file_that_changes_during_the_run_takes_down_what_was_stored_before(tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="b", b="")
    cache = folder.opened()
    a, b = folder.at("a"), folder.at("b")
    cache.learn(Dependencies({a: [b]}, {a: state_of(a), b: state_of(b)}))
    cache.store(a, "k", KEPT)
    (tmp_path / "b").write_text("another process found this")
    cache.learn(Dependencies({}, {b: state_of(b)}))
    cache.store(b, "k", KEPT)
    cache.write()
    assert folder.known() == {"b"}


def test_files_long_unchanged_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path, a="b absent", b="")
    folder.keep("a", "b")
    [index] = (tmp_path / ".cache").rglob("*.json")
    later = index.stat().st_mtime_ns + 10**10
    os.utime(index, ns=(later, later))
    read: list[str] = []
    monkeypatch.setattr("tflint_gpu.checking.cache.state_of", lambda path: read.append(path) or state_of(path))
    assert folder.known() == {"a", "b"}
    assert read == []
    (tmp_path / "b").write_text("B")  # as long as before
    assert folder.known() == set()
    assert read == [folder.at("b")]


def test_that_there_is_nothing_in_a_file_is_known_until_it_changes(tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="")
    cache = folder.opened()
    cache.learn(Dependencies({}, {folder.at("a"): state_of(folder.at("a"))}))
    cache.store_nothing(folder.at("a"))
    cache.write()
    assert folder.opened().has_nothing(folder.at("a"))
    assert folder.opened().load(folder.at("a"), "k") is None
    (tmp_path / "a").write_text("import tensorflow")
    assert not folder.opened().has_nothing(folder.at("a"))


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"made_by": 3}', b"\xff", "results", "files", "asked", b"[" * 100_000]
)
def test_damaged_caches_are_ignored(damage: bytes | str, tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="b", b="")
    folder.keep("a", "b")
    [index] = (tmp_path / ".cache").rglob("*.json")
    if isinstance(damage, str):
        content = json.loads(index.read_bytes().partition(b"\n")[2])
        content[damage] = [[77, 77, 77]]
        written = json.dumps(content).encode()
        damage = hashlib.blake2b(written, digest_size=16).hexdigest().encode() + b"\n" + written
    index.write_bytes(damage)
    assert folder.known() == set()
    folder.keep("a", "b")
    assert folder.known() == {"a", "b"}


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    folder = Folder(tmp_path, a="")
    folder.directory.write_text("a file")
    folder.keep("a")
    assert folder.known() == set()
