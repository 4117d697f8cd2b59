"""Settings: where they are written, and what applies to a given file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.options import TABLE, Options, read_settings_chain, read_settings_file
from tflint_gpu.settings.patterns import FilePattern, FilePatterns
from tflint_gpu.settings.selection import Layer, PerFileIgnore, Selection, most_specific
from tflint_gpu.severity import Severity

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Applicability, Fix
    from tflint_gpu.price import Price

OWN_FILE = "tflint-gpu.toml"
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pytype", ".ruff_cache", ".svn", ".tflint_gpu_cache", ".tox", ".venv", "__pypackages__", "_build",
    "buck-out", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files of one directory.

    Arguments:
        fixable: whether the rules that a selector means are fixed.
        applicability: of the fixes of the rules that a selector means, where it is not their own.
        target_folder: where the settings file is that has `target_tensorflow`; None where the command line has it.
    """

    origin: Path | None
    base: Path
    selection: Selection = field(default_factory=Selection)
    exclude: FilePatterns = field(default_factory=FilePatterns)
    respect_gitignore: bool = True
    force_exclude: bool = False
    target_tensorflow: str | None = None
    target_folder: Path | None = None
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
    smallest_gain: float = 1.1
    price_per_hour: str | None = None
    jobs: int | None = None
    severity: tuple[tuple[str, Severity], ...] = ()
    fixable: tuple[tuple[str, bool], ...] = ()
    applicability: tuple[tuple[str, Applicability], ...] = ()

    def severity_of(self, code: str) -> Severity | None:
        """The severity that the settings give a rule; None where they leave it its own."""
        return most_specific(self.severity, code)

    def fix_of(self, code: str, fix: Fix | None) -> Fix | None:
        """A rule's fix as the settings want it: without it, or with another applicability."""
        if fix is None or most_specific(self.fixable, code) is False:
            return None
        applicability = most_specific(self.applicability, code)
        return fix if applicability is None else replace(fix, applicability=applicability)

    @property
    def price(self) -> Price | None:
        """What an hour costs; None where they do not say it."""
        from tflint_gpu.price import Price

        return None if self.price_per_hour is None else Price.read(self.price_per_hour)

    def link(self, code: str) -> str | None:
        """The address of a rule's page, as the documentation site has it; None if nowhere."""
        return f"{self.documentation_url.rstrip('/')}/{code}.html" if self.documentation_url else None


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
            may_have_settings = path.is_file() and (name == OWN_FILE or _mentions_table(path))
            if may_have_settings and read_settings_file(path) is not None:
                return self._from(path)
        return self._from(None) if directory.parent == directory else self.for_directory(directory.parent)

    def _from(self, origin: Path | None) -> Settings:
        if origin not in self._combined:
            # Relative to the settings file that was found, but to here for one that was passed:
            # so ruff has it, and so one file can serve many projects.
            is_given = origin is not None and self.config is None
            base = origin.parent if is_given and origin is not None else self.working_directory
            chain = () if origin is None else read_settings_chain(origin, base)
            layers = [(written.options, written.base) for written in chain]
            layers.append((self.overrides, self.working_directory))
            settings = combine(layers, origin, base)
            if self.config is not None or self.overrides.target_tensorflow is not None:
                settings = replace(settings, target_folder=None)
            self._combined[origin] = settings
        return self._combined[origin]


def _mentions_table(path: Path) -> bool:
    """Spare the TOML parser for a pyproject.toml that has no word of ours, and its errors too."""
    try:
        return TABLE.encode() in path.read_bytes()
    except OSError:
        return False


def combine(layers: Sequence[tuple[Options, Path]], origin: Path | None, base: Path) -> Settings:
    """Lay options over others, the weakest first, each with what its paths are relative to."""
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
                "smallest_gain",
                "price_per_hour",
                "jobs",
            )
            if getattr(layer, name) is not None
        }
        for name, path in (("cache_dir", layer.cache_dir), ("baseline", layer.baseline)):
            if path is not None:
                given[name] = directory / os.path.expandvars(Path(path).expanduser())
        if layer.target_tensorflow is not None:
            given["target_folder"] = directory
        if layer.severity is not None:
            given["severity"] = (*settings.severity, *layer.severity)
        given.update(_fixes(settings, layer))
        settings = replace(settings, **given)
    return settings


def _fixes(settings: Settings, layer: Options) -> dict[str, Any]:
    """What a layer says of fixes, over those below; its `fixable` begins the choice again, as in ruff."""
    fixable = settings.fixable
    if layer.fixable is not None:
        fixable = (("ALL", False), *((selector, True) for selector in layer.fixable))
    fixable += tuple((selector, True) for selector in layer.extend_fixable or ())
    fixable += tuple((selector, False) for selector in layer.unfixable or ())
    safe: tuple[tuple[str, Applicability], ...] = tuple((code, "safe") for code in layer.extend_safe_fixes or ())
    unsafe: tuple[tuple[str, Applicability], ...] = tuple((code, "unsafe") for code in layer.extend_unsafe_fixes or ())
    return {"fixable": fixable, "applicability": (*settings.applicability, *safe, *unsafe)}


def _per_file_ignores(layers: Sequence[tuple[Options, Path]]) -> tuple[PerFileIgnore, ...]:
    """The command line's `--per-file-ignores` replaces the file's, as in ruff; `--extend-per-file-ignores` adds."""
    chosen: tuple[PerFileIgnore, ...] = ()
    for layer, directory in layers:
        if layer.per_file_ignores is not None:
            chosen = _ignores(layer.per_file_ignores, directory)
        chosen += _ignores(layer.extend_per_file_ignores or (), directory)
    return chosen


def _ignores(pairs: Iterable[tuple[str, tuple[str, ...]]], directory: Path) -> tuple[PerFileIgnore, ...]:
    return tuple(
        PerFileIgnore(FilePattern(text.removeprefix("!"), directory), text.startswith("!"), codes)
        for text, codes in pairs
    )
