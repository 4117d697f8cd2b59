"""Findings of a program, planned for verify and run, as the command does it."""

from __future__ import annotations

from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.settings.config import Options, SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.verify.verification import Case, Setup, Verification, plan, verify

_MEMORY = "4GiB"  # the card of those who ask in `fixtures/`


def cases_of(path: Path, *, synthetic: bool = False) -> list[Case]:
    """All experiments on the findings in a file or folder."""
    here = path if path.is_dir() else path.parent
    resolver = SettingsResolver(Options(gpu_memory=_MEMORY), None, True, here)
    engine = Engine(resolver, here)
    found, models = {}, []
    for file in Discovery(resolver, here).find([str(path)]):
        for rule, finding, diagnostic, model in engine.findings(file):
            found.setdefault(diagnostic.sort_key, (rule, finding, diagnostic, model))
        program = engine.model_of(file)
        if program is not None:
            models.append(program)
    return list(plan([found[key] for key in sorted(found)], models, synthetic=synthetic))


def verified(case: Case, *, runs: int | None = None, seconds: float = 300.0) -> Verification:
    """What comes of a case on the CPU."""
    return list(verify(case, Setup(runs=runs), seconds))[-1]
