"""Every setting: its type, its meaning, an example.

Settings files are read by it; options, the reference, `tflint-gpu config` and the JSON schema are made from it.
"""

from __future__ import annotations

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.kinds import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    FACTOR,
    FILE,
    FOLDER,
    FORMAT,
    IGNORES,
    MEMORY,
    PATTERNS,
    PRICE,
    SELECTORS,
    SEVERITIES,
    SEVERITY,
    VERSION,
    Kind,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of a setting; its default is what `Settings` has.

    Arguments:
        meaning: also the help text of the option with its name.
        example: a value as TOML gives it.
        unset: what holds where nobody has set it and there is no value for that.
        more: what the reference says in addition.
    """

    kind: Kind
    meaning: str
    example: object
    unset: str = ""
    more: str = ""


_MOST_SPECIFIC = "The more specific entry wins."
_AS_PATTERN = "A pattern without a slash matches a name in any folder."
_RELATIVE = "A relative path starts at the folder of the settings file."

SETTINGS = {
    "select": Setting(
        SELECTORS,
        "Rules to run: codes, names, prefixes, or ALL.",
        ["TFG1", "eager-train-step"],
        "all rules but the opt-in ones",
        _MOST_SPECIFIC,
    ),
    "ignore": Setting(SELECTORS, "Rules not to run.", ["TFG401"], "", _MOST_SPECIFIC),
    "extend-select": Setting(SELECTORS, "Rules to run in addition to the selected ones.", ["TFG001"]),
    "extend-ignore": Setting(SELECTORS, "Rules not to run, in addition to the ignored ones.", ["TFG7"]),
    "per-file-ignores": Setting(
        IGNORES,
        "Rules not to run in some files.",
        {"tests/*": ["TFG2"]},
        "no file has exceptions",
        f"{_AS_PATTERN} `!` in front of a pattern means all other files.",
    ),
    "extend-per-file-ignores": Setting(
        IGNORES, "Rules not to run in some files, in addition to `per-file-ignores`.", {"notebooks/*": ["TFG1"]}
    ),
    "exclude": Setting(
        PATTERNS, "Files and folders to leave out, in place of the defaults.", ["build", "old/*"], "", _AS_PATTERN
    ),
    "extend-exclude": Setting(
        PATTERNS, "Files and folders to leave out, in addition to `exclude`.", ["third_party"], "", _AS_PATTERN
    ),
    "respect-gitignore": Setting(BOOLEAN, "Leave out files that git ignores.", False),
    "force-exclude": Setting(BOOLEAN, "Leave out excluded files even if they are named as PATHS.", True),
    "target-tensorflow": Setting(
        VERSION,
        "The TensorFlow version that the code is for, such as 2.16.",
        "2.15",
        "the version that the project pins, or else the newest that tflint-gpu knows",
    ),
    "gpu-memory": Setting(
        MEMORY,
        "The memory of the GPU that the code is for, such as 24GiB.",
        "24GiB",
        "rules that need it report nothing",
    ),
    "output-format": Setting(FORMAT, "The format of the report.", "concise"),
    "show-advice": Setting(BOOLEAN, "List advice; by default it is only counted.", True),
    "show-fixes": Setting(BOOLEAN, "List the fixes that were made, by file and rule.", True),
    "progress": Setting(BOOLEAN, "Show a progress bar on a terminal during a long check.", False),
    "fail-on": Setting(
        SEVERITY,
        "Exit with 1 for findings of this severity or a worse one.",
        "error",
        "",
        "Each file is judged by the settings that apply to it.",
    ),
    "fix": Setting(BOOLEAN, "Apply safe fixes, which keep the program's results.", True),
    "unsafe-fixes": Setting(BOOLEAN, "Also apply fixes that may change the program's results.", True),
    "fixable": Setting(
        SELECTORS,
        "Rules whose findings may be fixed: codes, names, prefixes, or ALL.",
        ["TFG3"],
        "all rules that have a fix",
        _MOST_SPECIFIC,
    ),
    "unfixable": Setting(SELECTORS, "Rules whose findings are not fixed.", ["TFG303"], "", _MOST_SPECIFIC),
    "extend-fixable": Setting(
        SELECTORS, "Rules whose findings may be fixed, in addition to the fixable ones.", ["TFG403"]
    ),
    "extend-safe-fixes": Setting(
        SELECTORS, "Rules whose unsafe fixes are treated as safe.", ["TFG202"], "", _MOST_SPECIFIC
    ),
    "extend-unsafe-fixes": Setting(
        SELECTORS, "Rules whose safe fixes are treated as unsafe.", ["TFG302"], "", _MOST_SPECIFIC
    ),
    "cache-dir": Setting(
        FOLDER,
        "The folder of the cache.",
        "~/.cache/tflint-gpu",
        "the folder `.tflint_gpu_cache` of the project",
        f"{_RELATIVE} `~` and environment variables are replaced.",
    ),
    "baseline": Setting(
        FILE,
        "Leave out the findings that this file lists.",
        "tflint-gpu-baseline.json",
        "no finding is left out",
        _RELATIVE,
    ),
    "documentation-url": Setting(
        ADDRESS,
        "The URL of the rules' pages, to which findings link.",
        "https://example.org/rules",
        "",
        "Where it is empty, editors and terminals link to the documentation in the installed package.",
    ),
    "smallest-gain": Setting(
        FACTOR,
        "The smallest speed-up that is worth a change; `verify` stops measuring a fix once it is certain to gain less.",
        1.2,
        "",
        "`verify` reports `no gain worth having` for less. 1 turns this off.",
    ),
    "price-per-hour": Setting(
        PRICE,
        "What an hour of the machine costs, for the report of `run`, such as '2.49 EUR'.",
        "2.49 EUR",
        "`run` reports no costs",
        "`run` uses it to compute the cost of idle time.",
    ),
    "jobs": Setting(COUNT, "The number of processes.", 4, "chosen by the number of files"),
    "severity": Setting(
        SEVERITIES, "The severity of a rule's findings.", {"TFG501": "error"}, "each rule has its own", _MOST_SPECIFIC
    ),
    "extend": Setting(
        FILE,
        "Another settings file, which this one extends.",
        "../pyproject.toml",
        "no other file is read",
    ),
}  # fmt: skip
