"""What `verify --diff` and `verify --fix` do after measuring: show the confirmed repairs as patches, and apply them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from tflint_gpu.cli.commands import coloured_patch, is_coloured
from tflint_gpu.reports.display import printable, printable_lines, styled

if TYPE_CHECKING:
    from tflint_gpu.checking.engine import Engine
    from tflint_gpu.settings.files import FileToCheck
    from tflint_gpu.verify.repairs.patches import Patch
    from tflint_gpu.verify.reports import Report


def show_repairs(
    report: Report, files: Sequence[FileToCheck], make_engine: Callable[[], Engine], *, apply: bool
) -> bool:
    """Print a patch and a commit message for each file with repairs that were confirmed, and write it if asked to.

    Arguments:
        files: that may be changed.
        make_engine: makes an engine that knows nothing of the files yet.

    Returns:
        Whether all files that were to be written were.
    """
    from tflint_gpu.verify.repairs.patches import NotApplicable, Patches
    from tflint_gpu.verify.repairs.repairs import Repair, Withheld, repairs
    from tflint_gpu.verify.reports import figures

    patches = Patches({file.path: file for file in files}, make_engine)
    count = 0
    withheld: list[Withheld] = []
    for repair in repairs(report.results):
        try:
            if isinstance(repair, Repair):
                patches.add(repair)
                count += 1
            else:
                withheld.append(repair)
        except NotApplicable as error:
            withheld.append(Withheld(repair.verification, str(error)))
    made = list(patches.by_file())
    for number, patch in enumerate(made, start=1):
        _show(patch, number, len(made), report)
    for reason in withheld:
        click.echo(printable(f"Not offered for {figures.finding(reason.verification)}: {reason.reason}."))
    if not made:
        click.echo("No fix is offered: no confirmed fix can be written into these files.")
        return True
    if not apply:
        click.echo(f"{_fixes(count)} can be applied with --fix.")
        return True
    names, failures = patches.apply()
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    if names:
        click.echo(printable(f"Applied to {', '.join(names)}."))
    return not failures


def _fixes(count: int) -> str:
    return f"{count} {'fix' if count == 1 else 'fixes'}"


def _show(patch: Patch, number: int, total: int, report: Report) -> None:
    from tflint_gpu.verify.reports import commits

    colour = is_coloured()
    title = f"Patch {number} of {total}: {patch.name}, {_fixes(len(patch.repairs))}"
    click.echo(styled(printable(title), "bold", colour) + "\n")
    for line in commits.message(patch, report).splitlines():
        click.echo(f"    {printable(line)}".rstrip())
    click.echo()
    click.echo(coloured_patch(printable_lines(patch.difference.rstrip("\n")), colour) + "\n")
