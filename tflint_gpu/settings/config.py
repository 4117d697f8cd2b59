"""Settings: where they are written, what they may say, and what applies to a given file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tflint_gpu.settings.patterns import FilePattern, FilePatterns
from tflint_gpu.settings.selection import Layer, PerFileIgnore, Selection, unknown_selector
from tflint_gpu.severity import WORST_FIRST, Severity

_ADDRESS = re.compile(r"((https?://[^\s/?#]|file:///)[^\s?#]*)?")
OWN_FILE = "tflint-gpu.toml"
TABLE = "tflint-gpu"
OUTPUT_FORMATS = (
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "azure", "junit", "rdjson", "pylint",
    "markdown",
)  # fmt: skip
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pytype", ".ruff_cache", ".svn", ".tflint_gpu_cache", ".tox", ".venv", "__pypackages__", "_build",
    "buck-out", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


class SettingsError(Exception):
    """A setting that cannot be obeyed; the message names the file or option, the key, and a way out."""


@dataclass(frozen=True, slots=True)
class Options:
    """What one place (a settings file, or the command line) says; None where it says nothing."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    extend_ignore: tuple[str, ...] | None = None
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] | None = None
    respect_gitignore: bool | None = None
    force_exclude: bool | None = None
    target_tensorflow: str | None = None
    gpu_memory: str | None = None
    output_format: str | None = None
    show_advice: bool | None = None
    show_fixes: bool | None = None
    progress: bool | None = None
    fail_on: Severity | None = None
    fix: bool | None = None
    unsafe_fixes: bool | None = None
    cache_dir: str | None = None
    baseline: str | None = None
    documentation_url: str | None = None
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files of one directory."""

    origin: Path | None
    base: Path
    selection: Selection = field(default_factory=Selection)
    exclude: FilePatterns = field(default_factory=FilePatterns)
    respect_gitignore: bool = True
    force_exclude: bool = False
    target_tensorflow: str | None = None
    gpu_memory: str | None = None
    output_format: str = "full"
    show_advice: bool = False
    show_fixes: bool = False
    progress: bool = True
    fail_on: Severity = "warning"
    fix: bool = False
    unsafe_fixes: bool = False
    cache_dir: Path | None = None
    baseline: Path | None = None
    documentation_url: str = ""
    jobs: int | None = None

    def link(self, code: str) -> str | None:
        """The address of a rule's page, as `rule --all --output-format site` writes it; None if nowhere."""
        return f"{self.documentation_url.rstrip('/')}/{code}.html" if self.documentation_url else None


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return tuple(value)


def _table(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise TypeError("a table of patterns with lists of rule codes")
    return tuple((pattern, _strings(codes)) for pattern, codes in value.items())


def _positive(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError("a number from 1 on")
    return value


def _format(value: object) -> str:
    if value not in OUTPUT_FORMATS:
        raise TypeError("one of " + ", ".join(OUTPUT_FORMATS))
    return str(value)


def _severity(value: object) -> Severity:
    for severity in WORST_FIRST:
        if value == severity:
            return severity
    raise TypeError("one of " + ", ".join(WORST_FIRST))


def _address(value: object) -> str:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise TypeError('an address such as "https://example.org/tflint-gpu", or empty')
    return value


def _version(value: object) -> str:
    parts = value.split(".") if isinstance(value, str) else []
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise TypeError('a TensorFlow version such as "2.16"')
    return ".".join(parts)


def _memory(value: object) -> str:
    from tflint_gpu.targets import memory_size

    if not isinstance(value, str) or memory_size(value) is None:
        raise TypeError('a size such as "24GiB" or "8GB"')
    return value.strip()


_READERS: dict[str, Callable[[object], Any]] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "extend-ignore": _strings,
    "per-file-ignores": _table,
    "exclude": _strings,
    "extend-exclude": _strings,
    "respect-gitignore": _boolean,
    "force-exclude": _boolean,
    "target-tensorflow": _version,
    "gpu-memory": _memory,
    "output-format": _format,
    "show-advice": _boolean,
    "show-fixes": _boolean,
    "progress": _boolean,
    "fail-on": _severity,
    "fix": _boolean,
    "unsafe-fixes": _boolean,
    "cache-dir": _string,
    "baseline": _string,
    "documentation-url": _address,
    "jobs": _positive,
}


def parse_options(table: Mapping[str, object], origin: str) -> Options:
    """Check a table of settings.

    Raises:
        SettingsError: an unknown key, a malformed value or an unknown rule code.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READERS:
            raise SettingsError(f"{origin}: unknown key `{key}`{_nearest(key, _READERS)}")
        try:
            values[key.replace("-", "_")] = _READERS[key](value)
        except TypeError as error:
            raise SettingsError(f"{origin}: `{key}` must be {error}, not {value!r}") from None
    options = Options(**values)
    check_selectors(options, origin)
    return options


def check_selectors(options: Options, origin: str) -> None:
    """Raise SettingsError if a rule code or prefix in the options belongs to no rule."""
    places: list[tuple[str, tuple[str, ...] | None]] = [
        ("select", options.select),
        ("ignore", options.ignore),
        ("extend-select", options.extend_select),
        ("extend-ignore", options.extend_ignore),
        *(("per-file-ignores", codes) for _, codes in options.per_file_ignores or ()),
    ]
    for key, selectors in places:
        for selector in selectors or ():
            known = unknown_selector(selector)
            if known is not None:
                hint = _nearest(selector.upper(), known)
                raise SettingsError(f"{origin}: unknown rule `{selector}` in `{key}`{hint}")


def _nearest(word: str, known: Any) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(known)}"


def read_settings_file(path: Path) -> Options | None:
    """The options of a settings file; None for a pyproject.toml without our table.

    Raises:
        SettingsError: it cannot be read, is not TOML, or says something that it may not.
    """
    from tflint_gpu.text.toml import TOMLDecodeError, loads

    try:
        document = loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    table: object = document
    if path.name == "pyproject.toml":
        tools = document.get("tool")
        table = tools.get(TABLE) if isinstance(tools, dict) else None
        if table is None:
            return None
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: `tool.{TABLE}` must be a table")
    return parse_options(table, str(path))


@dataclass(slots=True)
class SettingsResolver:
    """Finds the settings of each file: the nearest settings file above it, then the command line.

    Arguments:
        overrides: what the command line says; beats every settings file.
        config: the only settings file to be read, if given.
        isolated: read no settings file at all.
        working_directory: what patterns of the command line are relative to.
    """

    overrides: Options = field(default_factory=Options)
    config: Path | None = None
    isolated: bool = False
    working_directory: Path = field(default_factory=Path.cwd)
    _known: dict[Path, Settings] = field(default_factory=dict)
    _combined: dict[Path | None, Settings] = field(default_factory=dict)

    def for_file(self, path: Path) -> Settings:
        """The settings for an absolute path of a file."""
        return self.for_directory(path.parent)

    def for_directory(self, directory: Path) -> Settings:
        """The settings for the files in a directory."""
        if directory not in self._known:
            self._known[directory] = self._find(directory)
        return self._known[directory]

    def _find(self, directory: Path) -> Settings:
        if self.isolated:
            return self._from(None)
        if self.config is not None:
            return self._from(self.config)
        for name in (OWN_FILE, "pyproject.toml"):
            path = directory / name
            if path.is_file() and (name == OWN_FILE or _mentions_table(path)):
                options = read_settings_file(path)
                if options is not None:
                    return self._from(path, options)
        return self._from(None) if directory.parent == directory else self.for_directory(directory.parent)

    def _from(self, origin: Path | None, options: Options | None = None) -> Settings:
        if origin not in self._combined:
            if options is None:
                options = Options() if origin is None else read_settings_file(origin) or Options()
            # Relative to the settings file that was found, but to here for one that was passed:
            # so ruff has it, and so one file can serve many projects.
            found = origin is not None and self.config is None
            base = origin.parent if found and origin is not None else self.working_directory
            self._combined[origin] = combine(options, self.overrides, origin, base, self.working_directory)
        return self._combined[origin]


def _mentions_table(path: Path) -> bool:
    """Spare the TOML parser for a pyproject.toml that has no word of ours, and its errors too."""
    try:
        return TABLE.encode() in path.read_bytes()
    except OSError:
        return False


def combine(options: Options, overrides: Options, origin: Path | None, base: Path, working_directory: Path) -> Settings:
    """Lay the command line over a settings file."""
    layers = [(options, base), (overrides, working_directory)]
    excluded = [FilePattern(text, base) for text in DEFAULT_EXCLUDE]
    for layer, directory in layers:
        if layer.exclude is not None:
            excluded = [FilePattern(text, directory) for text in layer.exclude]
    for layer, directory in layers:
        excluded += [FilePattern(text, directory) for text in layer.extend_exclude or ()]
    settings = Settings(
        origin,
        base,
        Selection(
            tuple(
                Layer(
                    layer.select,
                    layer.ignore or (),
                    layer.extend_select or (),
                    layer.extend_ignore or (),
                )
                for layer, _ in layers
            ),
            _per_file_ignores(layers),
        ),
        FilePatterns(tuple(excluded)),
    )
    simple = ("respect_gitignore", "force_exclude", "target_tensorflow", "gpu_memory", "output_format", "show_advice")
    for layer, directory in layers:
        given = {
            name: getattr(layer, name)
            for name in (
                *simple,
                "show_fixes",
                "progress",
                "fail_on",
                "fix",
                "unsafe_fixes",
                "documentation_url",
                "jobs",
            )
            if getattr(layer, name) is not None
        }
        for name, path in (("cache_dir", layer.cache_dir), ("baseline", layer.baseline)):
            if path is not None:
                given[name] = directory / os.path.expandvars(Path(path).expanduser())
        settings = replace(settings, **given)
    return settings


def _per_file_ignores(layers: list[tuple[Options, Path]]) -> tuple[PerFileIgnore, ...]:
    """The command line's `--per-file-ignores` replaces the file's, as in ruff."""
    chosen: tuple[PerFileIgnore, ...] = ()
    for layer, directory in layers:
        if layer.per_file_ignores is not None:
            chosen = tuple(
                PerFileIgnore(FilePattern(text.removeprefix("!"), directory), text.startswith("!"), codes)
                for text, codes in layer.per_file_ignores
            )
    return chosen
