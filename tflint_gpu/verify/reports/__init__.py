"""How what `verify` found is shown: one module a format, each with a function `render`."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable

from tflint_gpu.drawing.libraries import require_libraries
from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.verify.execution.host import Host
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.statistics.shares import Share, share_of
from tflint_gpu.verify.statistics.statistics import NO_VERDICTS

FORMATS = ("full", "json", "html", "markdown")


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run of `verify` has to say.

    Arguments:
        results: one for each case of a finding, in the order in which they are to be shown.
        joint: what several repairs bring together, for each loop, pipeline or training that has several.
        gpu: the card that was used; None: the CPU.
        device_note: why the CPU is used where one would expect a card; may be empty.
        tensorflow: its version, empty where it is not known.
        sandbox: what the programs were kept from, as `Sandbox.note` says it.
        synthetic: whether the rules' own workloads ran instead of the user's code.
        interrupted: why the run ended early; empty where it did not.
        seconds: that the run took.
        command: as it was typed.
        date: of the run.
        host: the machine, and how busy it was.
        options: of the command line, those under which a finding is measured again as it was.
    """

    results: tuple[Verification, ...]
    joint: tuple[Verification, ...] = ()
    gpu: Gpu | None = None
    device_note: str = ""
    tensorflow: str = ""
    sandbox: str = ""
    synthetic: bool = False
    interrupted: str = ""
    seconds: float = 0.0
    command: str = ""
    date: str = ""
    host: Host | None = None
    options: tuple[str, ...] = ()

    @property
    def counts(self) -> Counter[str]:
        """How many results have each verdict, how many are references, and how many were not run."""
        return Counter(result.verdict.verdict for result in self.results)

    @property
    def has_measured(self) -> bool:
        """Whether anything of the user's code was run to its end."""
        return any(name not in NO_VERDICTS for name in self.counts)

    @property
    def rows(self) -> tuple[Verification, ...]:
        """All that was measured: the findings, and then what their repairs bring together."""
        return (*self.results, *self.joint)

    def joint_with(self, result: Verification) -> Verification | None:
        """What was measured of all repairs together, where the one of a finding is among them."""
        is_plain = not result.case.variant
        return next((joint for joint in self.joint if is_plain and joint.joins(result.case)), None)

    def share(self, result: Verification) -> Share | None:
        """How much of what all repairs of a loop save together is lost where that of a finding is left out."""
        joint = self.joint_with(result)
        return None if joint is None or result.case.among is None else share_of(result.verdict, joint.verdict)

    @property
    def used_gpu(self) -> Gpu | None:
        """The card, if the programs used it, or none of them got so far as to tell."""
        ran = [result for result in self.rows if result.before]
        return self.gpu if not ran or any(result.device != "cpu" for result in ran) else None

    @property
    def measures_cpu(self) -> bool:
        """Whether some result was to be measured on the CPU, or all would have been."""
        return self.used_gpu is None or any(result.device == "cpu" for result in self.results)


Render = Callable[[Report, View], str]


def renderer(output_format: str) -> Render:
    """The function of a format, which is imported now; its text ends with a newline.

    Arguments:
        output_format: one of `FORMATS`.

    Raises:
        MissingLibrary: the format needs a library that is not installed.
    """
    if output_format == "html":
        require_libraries("matplotlib", "jinja2")
    render: Render = importlib.import_module(f"{__name__}.{output_format}").render
    return render
