"""What a file declares and uses, read before it is parsed by libcst: imports, names, libraries that it hands on."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from tflint_gpu.lazy_patterns import regex

# A pattern that begins with a newline is searched several times faster than one that begins with `^`.
_IMPORT = regex(
    rb"\n[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;\\]*(?:\\\r?\n[^\n#;\\]*)*)"
    rb"|import[ \t]+([^\n#;\\]+(?:\\\r?\n[^\n#;\\]*)*))"
)
_LOADED = regex(rb"\bimport_module\([ \t]*[\"'](\w[\w.]*)[\"'][ \t]*\)")
# `import_module(f"parts.{name}")`, `import_module("parts." + name)`, `import_module("parts.%s" % name)`.
_LOADED_FROM = regex(
    rb"\bimport_module\(\s*(?:[fF][\"'](\w[\w.]*)\.\{|[\"'](\w[\w.]*)\.(?:[\"']\s*\+|(?:%s|\{\})[\"']))"
)
_AFTER_DOT = regex(rb"\.\s*(\w+)")
# `def f`, `class C`, and at the beginning of a line `f = ...`, `a.f = ...` and `f: T = ...`.
_GIVEN = regex(rb"\n[ \t]*(?:(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|(?:\w+\.)*(\w+)[ \t]*(?::[^=\n]{1,60})?=(?!=))")
KEEPERS = frozenset("Checkpoint CheckpointManager SimpleNamespace Namespace EasyDict".split())
"""The last parts of the names of what keeps its keyword arguments as attributes."""
_MAKERS = [f"{name}(".encode() for name in sorted(KEEPERS)]
_KEPT = regex(rb"\b(?:" + b"|".join(name.encode() for name in sorted(KEEPERS)) + rb")\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_KEYWORD = regex(rb"(\w+)\s*=(?!=)")
_BASES = regex(rb"\bclass[ \t]+\w+[ \t]*(?:\[[^\]]*\])?\((.{0,400}?)\)[ \t]*:", re.DOTALL)
_WORD = regex(rb"\w+")
_RENAMED = regex(rb"\n[ \t]*(\w+)[ \t]*(?::[^=\n]{1,60})?=[ \t]*[\w.]+[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_ALIAS = regex(rb"[ \t]as[ \t]+(\w+)")
# How a file hands a library on under a name: `import tensorflow as tf`, `from tensorflow import keras`, `import keras`,
# `layers = tf.keras.layers`.
_HANDED_ON = regex(
    rb"\n[ \t]*(?:import[ \t]+((?:tensorflow|keras|numpy)[\w.]*)(?:[ \t]+as[ \t]+(\w+))?"
    rb"|from[ \t]+((?:tensorflow|keras)[\w.]*)[ \t]+import[ \t]+([^#\n]*)"
    rb"|(\w+)[ \t]*=[ \t]*(\w+)((?:\.\w+)+)[ \t]*(?:#.*)?\r?$"
    rb"|from[ \t]+([\w.]+)[ \t]+import[ \t]*\*)",
    re.MULTILINE,
)


def imported_names(data: bytes) -> Iterator[str]:
    """Every dotted name that a file's imports may load, read from its bytes alone."""
    if b"import_module(" in data:
        yield from (match[1].decode("ascii", "replace") for match in _LOADED.finditer(data))
        yield from (f"{package}.*" for package in packages_loaded_from(data))
    for match in _IMPORT.finditer(b"\n" + data):
        package, names, plain = match.groups()
        if plain is not None:
            for item in plain.replace(b"\\", b"").split(b","):
                if words := item.split():
                    yield words[0].decode("ascii", "replace")
            continue
        base = package.decode("ascii", "replace")
        separator = "" if base.endswith(".") else "."
        for item in names.strip(b"() \t\r\n").replace(b"\\", b"").split(b","):
            words = item.split()
            if words and words[0] != b"*":
                yield base + separator + words[0].decode("ascii", "replace")
        yield base


def packages_loaded_from(data: bytes) -> Iterator[str]:
    """The packages any of whose modules some code may load: "parts" of `import_module(f"parts.{name}")`."""
    return ((match[1] or match[2]).decode("ascii", "replace") for match in _LOADED_FROM.finditer(data))


def attributes_of(data: bytes, package: str) -> frozenset[str]:
    """What a file reads of a package that it imports as a whole: ".models.resnet" of `pkg.models.resnet(depth=20)`."""
    whole, last = (name.encode("utf-8", "replace") for name in (package, package.rpartition(".")[2]))
    if not last:
        return frozenset()  # `from . import resnet`: the package has no name
    # A pattern that begins with plain letters is searched many times faster than one that first looks at what precedes.
    renames = re.finditer(re.escape(last) + rb"[ \t]+as[ \t]+(\w+)", data)
    alias = next((match[1] for match in renames if not _begins_inside(data, match.start())), None)
    names = {whole, last} if alias is None else {alias}
    return frozenset(
        chain[1].decode("ascii", "replace")
        for name in names
        for chain in re.finditer(re.escape(name) + rb"((?:\.\w+)+)", data)
        if not _begins_inside(data, chain.start(), rb".\"'")
    )


def _begins_inside(data: bytes, start: int, others: bytes = b"") -> bool:
    """Whether what begins somewhere goes on with a word, or follows one of some other characters."""
    before = data[start - 1 : start] if start else b""
    return before.isalnum() or before == b"_" or (before != b"" and before in others)


def names_given(data: bytes) -> frozenset[str]:
    """The names that a file gives to functions, classes, attributes and variables, and its aliases of imports."""
    names = {defined or assigned for defined, assigned in _GIVEN.findall(b"\n" + data)}
    if any(maker in data for maker in _MAKERS):
        names.update(keyword for kept in _KEPT.findall(data) for keyword in _KEYWORD.findall(kept))
    names.update(_ALIAS.findall(data))
    return frozenset(name.decode("utf-8", "replace") for name in names)


def names_used(tree: ast.Module) -> frozenset[str]:
    """The names that code calls, reads or hands on, or imports under another name: not what it only defines."""
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                used.add(node.id)
        elif isinstance(node, ast.Attribute):
            if not isinstance(node.ctx, ast.Store):
                used.add(node.attr)
        elif isinstance(node, ast.alias) and node.asname:
            used.add(node.name.rpartition(".")[2])
    return frozenset(used)


def attributes_read(data: bytes) -> frozenset[str]:
    """The words that follow a dot in a file."""
    return frozenset(sys.intern(name.decode("utf-8", "replace")) for name in set(_AFTER_DOT.findall(data)))


def words_of_bases(data: bytes) -> frozenset[bytes]:
    """The words in the heads of a file's classes, so also the last parts of the names of their bases."""
    return frozenset(word for head in _BASES.findall(data) for word in _WORD.findall(head))


def renamed(data: bytes) -> frozenset[bytes]:
    """The names under which a file has what is called otherwise: `import a as b`, `Model = models.Model`."""
    return frozenset(_ALIAS.findall(data)).union(_RENAMED.findall(b"\n" + data))


STARRED = "*"


def libraries_handed_on(data: bytes) -> dict[str, str]:
    """The names under which a file has a library, or a part of one, that its importers can have from it.

    Under `STARRED` are the modules of which it hands on all names, with blanks between them.
    """
    libraries: dict[str, str] = {}
    for match in _HANDED_ON.finditer(b"\n" + data):
        parts = ((part or b"").decode("ascii", "replace") for part in match.groups())
        whole, alias, package, items, part, library, names, starred = parts
        if starred:
            libraries[STARRED] = f"{libraries.get(STARRED, '')} {starred}"
        elif part and library in libraries:
            libraries.setdefault(part, libraries[library] + names)
        elif whole:
            top = whole.partition(".")[0]
            libraries.setdefault(alias or top, whole if alias else top)
        for item in items.strip("() \t\r\\").split(","):
            words = item.split()
            if words:
                libraries.setdefault(words[-1], f"{package}.{words[0]}")
    return libraries
