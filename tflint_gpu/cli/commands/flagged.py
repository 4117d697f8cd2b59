"""What `verify` starts from: the findings with their syntax nodes, and the files that may run them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tflint_gpu.cli.commands import tell

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Finding, Rule
    from tflint_gpu.settings.config import SettingsResolver
    from tflint_gpu.settings.files import FileToCheck

Found: TypeAlias = "tuple[Rule, Finding, Diagnostic, Model]"


def findings(
    resolver: SettingsResolver, files: Sequence[FileToCheck], here: Path, paths: Sequence[str]
) -> tuple[list[Found], list[Model]]:
    """The findings, each once, and the files that may be the programs which run them.

    Arguments:
        paths: that were named: files of their projects that import them count, too.
    """
    from tflint_gpu.checking.engine import Engine
    from tflint_gpu.checking.importers import importing
    from tflint_gpu.text.source import UnreadableSource

    engine = Engine(resolver, here, keeps_files=True)
    by_place: dict[tuple[Any, ...], Found] = {}
    models: dict[Path, Model] = {}
    named = {file.name for file in files}
    for file in (*files, *importing(engine, files, paths)):
        try:
            for rule, finding, diagnostic, model in engine.findings(file):
                if file.name not in named and diagnostic.filename not in named:
                    continue
                by_place.setdefault(diagnostic.sort_key, (rule, finding, diagnostic, model))
            program = engine.model_of(file)
        except (UnreadableSource, OSError, RecursionError) as error:
            where = f":{error.location}" if isinstance(error, UnreadableSource) else ""
            tell(f"warning: {file.name}{where} is skipped: {error or 'it is nested too deeply'}")
            continue
        if program is not None:
            models[file.path] = program
            for refusal in program.source.refusals:
                tell(f"warning: {file.name}:{refusal.location} is skipped: {refusal.message}")
    return [by_place[key] for key in sorted(by_place)], list(models.values())
