"""The flake8 plugin: what `tflint-gpu check` finds, reported by flake8.

flake8 finds it by its entry point; nothing has to be configured. `flake8 PATHS` reports the findings
of `tflint-gpu check PATHS` at the same places, each in the file in which it lies, with these differences:

- flake8 chooses the files (`--exclude`, `--filename`); what the settings of tflint_gpu exclude is not reported either.
- `# noqa` is flake8's: it works on the physical line on which a finding starts (and the lines that a
  string or a backslash joins to it), while `check` accepts it on any line of the statement. A comment
  on the finding's own line works for both. Comments for a whole file, `# tflint-gpu: noqa`, work for both.
  Which comments suppress nothing (an opt-in rule) is left to `check`.
- A file that mentions neither TensorFlow nor Keras is not read, so that it costs nothing. `check`
  may find, through another file that imports it, that such a file calls NumPy in a traced function.
- A file that Python cannot parse is flake8's to report (E999). Notebooks are left to `check`.

Settings come from flake8's command line, then flake8's configuration file, then `[tool.tflint-gpu]`.
A code or prefix with a number (`--extend-select=TFG401`) turns on what the settings of tflint_gpu turn off;
an opt-in rule needs its full code, as in `check`.

flake8 imports this module at each start, so its imports are only what flake8 has imported already.
"""

from __future__ import annotations

import ast
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tflint_gpu import __version__
from tflint_gpu.text.bytesearch import mentions_tensorflow

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager  # type: ignore[import-untyped]

    from tflint_gpu.integrations.flake8_run import Flake8Run

_PREFIX = "TFG"


class Plugin:
    """One file, as flake8 hands it to each of its plugins.

    Arguments:
        tree: asked for because flake8 then runs the plugin once for each file, and only on what Python parses.
        filename: as on flake8's command line, or the name given for standard input.
        lines: the decoded text.
    """

    name = "tflint-gpu"
    version = __version__

    # flake8 hands options to the class and makes an instance for each file: there is no other place to keep them.
    options: ClassVar[Namespace] = Namespace()
    current: ClassVar[Flake8Run | None] = None

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._filename = filename
        self._lines = lines

    @classmethod
    def add_options(cls, manager: OptionManager) -> None:
        """Register the options."""
        manager.add_option(
            "--tflint-target-tensorflow",
            metavar="VERSION",
            parse_from_config=True,
            help="The TensorFlow version that the code is for, such as 2.16 (default: the one that the project pins).",
        )
        manager.add_option(
            "--tflint-config",
            metavar="FILE",
            parse_from_config=True,
            normalize_paths=True,
            help="The only tflint-gpu settings file to read, instead of the one nearest to each file.",
        )
        manager.add_option(
            "--tflint-isolated",
            action="store_true",
            default=False,
            parse_from_config=True,
            help="Read no settings file of tflint-gpu.",
        )

    @classmethod
    def parse_options(cls, manager: OptionManager, options: Namespace, arguments: Iterable[str]) -> None:
        """Keep the options for the files to come; end flake8 with a message if one is wrong."""
        cls.options, cls.current = options, None
        if options.tflint_target_tensorflow is None and options.tflint_config is None:
            return  # the settings files are read when the first file needs them
        from tflint_gpu.settings.options import SettingsError

        try:
            cls._run().check_settings()
        except SettingsError as error:
            manager.parser.error(str(error))

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield row, column (from 0) and text of each finding in the file.

        Raises:
            ExecutionError: a settings file is wrong; flake8 prints the reason.
        """
        text = "".join(self._lines)
        if not mentions_tensorflow(text.encode("utf-8", "replace")) or not _may_report(self.options):
            return
        from tflint_gpu.settings.options import SettingsError

        try:
            findings = self._run().findings(self._filename, text)
        except SettingsError as error:
            from flake8.exceptions import ExecutionError  # type: ignore[import-untyped]

            raise ExecutionError(f"tflint-gpu: {error}") from None
        for row, column, message in findings:
            yield row, column - 1, message, type(self)

    @classmethod
    def _run(cls) -> Flake8Run:
        if cls.current is None:
            from tflint_gpu.integrations.flake8_run import Flake8Run

            cls.current = Flake8Run.under(cls.options, _asked_for(cls.options))
        return cls.current


def _chosen(options: Namespace) -> list[str]:
    """The codes and prefixes that flake8's options select by name."""
    return [*(getattr(options, "select", None) or ()), *(getattr(options, "extend_select", None) or ())]


def _may_report(options: Namespace) -> bool:
    """False if flake8's options select other plugins' codes only, as in `--select=E9,F63`."""
    selectors = _chosen(options)
    return not getattr(options, "select", None) or any(
        selector.startswith(_PREFIX) or _PREFIX.startswith(selector) for selector in selectors
    )


def _asked_for(options: Namespace) -> tuple[str, ...]:
    """What is selected more narrowly than all of the plugin."""
    return tuple(selector for selector in _chosen(options) if selector.startswith(_PREFIX) and selector != _PREFIX)
