"""What `check` finds in the files that ran, and which datasets their lines may have waited for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.charges import Doing, Spent
from tflint_gpu.run.datasets import Dataset, NameOf, datasets
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.source import SourceFile


@dataclass(frozen=True, slots=True)
class Inspection:
    """The findings by place, each once, and the datasets."""

    diagnostics: tuple[Diagnostic, ...] = ()
    datasets: tuple[Dataset, ...] = ()


def path_of(source: SourceFile, offset: int) -> str:
    """The name of a file on stacks."""
    return str(source.path)


def inspect(engine: Engine, files: Iterable[FileToCheck], name_of: NameOf = path_of) -> Inspection:
    """Check files, which may be gone or broken by now, and read their datasets."""
    return with_large_stack(lambda: _inspect(engine, list(files), name_of))


def _inspect(engine: Engine, files: list[FileToCheck], name_of: NameOf) -> Inspection:
    results = [engine.check(file) for file in files]
    for error in {error.rule: error for result in results for error in result.errors}.values():
        print(f"warning: {error.rule} failed on {error.filename}", file=sys.stderr)
    diagnostics = {diagnostic.sort_key: diagnostic for result in results for diagnostic in result.diagnostics}
    read = [dataset for file in files for dataset in _datasets(engine, file, name_of)]
    return Inspection(tuple(diagnostics[key] for key in sorted(diagnostics)), tuple(dict.fromkeys(read)))


def _datasets(engine: Engine, file: FileToCheck, name_of: NameOf) -> list[Dataset]:
    try:
        model = engine.model_of(file)
        return [] if model is None else datasets(model, name_of)
    except Exception as error:  # the hours of the run are worth more than these names
        print(f"warning: the datasets of {file.name} are not known: {type(error).__name__}: {error}", file=sys.stderr)
        return []


def checkable(entries: Mapping[Doing, Spent]) -> list[str]:
    """The files whose lines ran, that are still there, and that a check can read."""
    paths = [Path(name) for name in sorted({place.file for doing in entries for place in doing.stack})]
    return [str(path) for path in paths if path.suffix in (".py", ".pyw") and path.is_file()]
