"""Protects settings: the nearest file holds, the command line beats it, and a mistake is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.rule import entries
from tflint_gpu.settings import reference
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.options import Options, SettingsError, parse_options
from tflint_gpu.text.toml import loads

Write = Callable[..., list[Path]]
CODE = entries()[0].code
UNKNOWN_TO_THE_SCHEMA = {
    "select = [",  # no TOML
    'ignore = ["E501"]', 'select = ["TGF101"]', 'select = ["numpy-in-cal"]', 'per-file-ignores = {"a" = ["TGF1"]}',
    'extend = "absent.toml"', 'extend = "tflint-gpu.toml"', 'target-tensorflow = "9.9"', "smallest-gain = inf",
    'price-per-hour = "EUR"', "price-per-hour = inf", 'gpu-memory = "0GB"',
}  # fmt: skip
"""What only the tool knows: other packages' codes, other files, the newest TensorFlow, what is 0 or infinite."""


def test_the_nearest_file_holds_for_each_directory(tmp_path: Path, write_files: Write) -> None:
    write_files(
        {
            "pyproject.toml": '[tool.tflint-gpu]\ntarget-tensorflow = "2.10"\njobs = 3\n',
            "a/pyproject.toml": "[tool.other]\nx = 1\n",
            "b/pyproject.toml": '[tool.tflint-gpu]\ntarget-tensorflow = "2.11"\n',
            "b/tflint-gpu.toml": 'target-tensorflow = "2.12"\n',
        }
    )
    resolver = SettingsResolver(working_directory=tmp_path)
    targets = {name: resolver.for_directory(tmp_path / name).target_tensorflow for name in ("", "a", "a/in", "b")}
    assert targets == {"": "2.10", "a": "2.10", "a/in": "2.10", "b": "2.12"}
    assert resolver.for_directory(tmp_path / "b").jobs is None, "settings are not inherited from above"
    isolated = SettingsResolver(isolated=True, working_directory=tmp_path)
    assert isolated.for_directory(tmp_path).target_tensorflow is None
    one = SettingsResolver(config=tmp_path / "b/tflint-gpu.toml", working_directory=tmp_path)
    assert one.for_directory(tmp_path).target_tensorflow == "2.12"


def test_the_command_line_wins(tmp_path: Path, write_files: Write) -> None:
    write_files({"tflint-gpu.toml": 'output-format = "json"\nexclude = ["x"]\nextend-exclude = ["y"]\n'})
    overrides = Options(output_format="concise", extend_exclude=("z",))
    settings = SettingsResolver(overrides, working_directory=tmp_path).for_directory(tmp_path)
    assert settings.output_format == "concise"
    assert [pattern.text for pattern in settings.exclude.patterns] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('selct = ["TFG101"]', ["selct", "`select`"]),
        (f'select = ["{CODE}9"]', [f"{CODE}9", "`select`", "did you mean"]),
        ('ignore = ["tfg101"]', ["did you mean `TFG101`?"]),
        ('ignore = ["E501"]', ["E501", "`ignore`", "it is a code of pycodestyle"]),
        ('select = ["TGF101"]', ["did you mean `TFG101`?"]),
        ('select = ["numpy-in-cal"]', ["did you mean `numpy-in-call`?"]),
        ('severity = {"TFG999" = "error"}', ["TFG999", "`severity`"]),
        ('severity = {"TFG101" = "loud"}', ["`severity` must be one of error, warning, advice for `TFG101`"]),
        ('select = ["TFG999"]', ["unknown rule `TFG999` in `select`; `tflint-gpu rule` lists them"]),
        ('extend = "absent.toml"', ["`extend` names", "absent.toml", "is not a file"]),
        ('extend = "tflint-gpu.toml"', ["`extend` leads back to"]),
        ('target-tensorflow = "9.9"', ["`target-tensorflow` must be a TensorFlow version from 1.0 to"]),
        ('per-file-ignores = {"a" = ["TGF1"]}', ["TGF1", "per-file-ignores"]),
        ('select = "TFG101"', ["`select` must be a list of strings"]),
        ("fix = 1", ["`fix` must be true or false"]),
        ("jobs = 0", ["`jobs`"]),
        ("jobs = true", ["`jobs`"]),
        ('output-format = "xml"', ["`output-format` must be one of full"]),
        ('fail-on = "never"', ["`fail-on` must be one of error, warning, advice, not 'never'"]),
        ('fail-on = ["error"]', ["`fail-on` must be one of error, warning, advice"]),
        ('fail-no = "error"', ["fail-no", "did you mean `fail-on`?"]),
        ('show-advice = "yes"', ["`show-advice` must be true or false"]),
        ('documentation-url = "example.org"', ["`documentation-url` must be an address such as "]),
        ('documentation-url = "https://"', ["`documentation-url`"]),
        ('documentation-url = "javascript:alert(1)"', ["`documentation-url`"]),
        ("documentation-url = 1", ["`documentation-url`"]),
        ("smallest-gain = 0.9", ["`smallest-gain` must be a factor of at least 1, such as 1.1"]),
        ('smallest-gain = "1.1"', ["`smallest-gain` must be a factor of at least 1"]),
        ("smallest-gain = inf", ["`smallest-gain`"]),
        ('target-tensorflow = "two"', ["target-tensorflow"]),
        ("target-tensorflow = 2.1", ["target-tensorflow"]),
        ("price-per-hour = 0", ['`price-per-hour` must be a price such as 2.49 or "2.49 EUR", not 0']),
        ("price-per-hour = true", ["`price-per-hour` must be a price"]),
        ('price-per-hour = "EUR"', ["`price-per-hour` must be a price"]),
        ("price-per-hour = inf", ["`price-per-hour` must be a price"]),
        ("gpu-memory = 24", ['`gpu-memory` must be a size such as "24GiB" or "8GB", not 24']),
        ('gpu-memory = "24"', ["`gpu-memory` must be a size such as"]),
        ('gpu-memory = "24 gigabytes"', ["`gpu-memory` must be a size such as"]),
        ('gpu-memory = "0GB"', ["`gpu-memory` must be a size such as"]),
        ("select = [", ["TOML"]),
    ],
)
def test_mistakes_are_named_with_file_and_key(text: str, parts: list[str], tmp_path: Path, tflint) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "tflint-gpu.toml").write_text(text)
    (tmp_path / "a.py").write_text("import os\n")
    done = tflint("check")
    assert (done.returncode, done.stdout) == (2, "")
    for part in ["tflint-gpu.toml", *parts]:
        assert part in done.stderr
    assert "Traceback" not in done.stderr
    if text not in UNKNOWN_TO_THE_SCHEMA:
        schema = pytest.importorskip("jsonschema", reason="jsonschema is not installed").Draft7Validator(
            reference.schema()
        )
        assert [*schema.iter_errors(loads(text))], text


def test_fail_on_comes_from_the_nearest_file_and_the_command_line_wins(tmp_path: Path, write_files: Write) -> None:
    """Protects the strictness of each folder: a file that says nothing has the default, not what stands above."""
    write_files(
        {"tflint-gpu.toml": 'fail-on = "advice"\n', "a/tflint-gpu.toml": 'fail-on = "error"\n', "b/tflint-gpu.toml": ""}
    )
    resolver = SettingsResolver(working_directory=tmp_path)
    levels = {name: resolver.for_directory(tmp_path / name).fail_on for name in ("", "in", "a", "b")}
    assert levels == {"": "advice", "in": "advice", "a": "error", "b": "warning"}
    strict = SettingsResolver(Options(fail_on="advice"), working_directory=tmp_path)
    assert strict.for_directory(tmp_path / "a").fail_on == "advice"


def test_our_table_must_be_a_table(tmp_path: Path, write_files: Write) -> None:
    write_files({"pyproject.toml": "[tool]\ntflint-gpu = 3\n"})
    with pytest.raises(SettingsError, match="must be a table"):
        SettingsResolver(working_directory=tmp_path).for_directory(tmp_path)


def test_someone_elses_broken_pyproject_is_not_our_business(tmp_path: Path, write_files: Write) -> None:
    write_files({"pyproject.toml": "[tool.other\n"})
    assert SettingsResolver(working_directory=tmp_path).for_directory(tmp_path).origin is None


def test_all_keys_are_understood() -> None:
    table: dict[str, object] = {
        "select": [CODE], "ignore": [], "extend-select": ["TFG"], "extend-ignore": ["ALL"],
        "per-file-ignores": {"!a/*": [CODE]}, "exclude": [], "extend-exclude": [], "respect-gitignore": False,
        "force-exclude": True, "target-tensorflow": "2.9.1", "gpu-memory": "8GB", "output-format": "github", "fix": True,
        "show-advice": True, "fail-on": "advice", "unsafe-fixes": True, "cache-dir": "x", "jobs": 2,
        "price-per-hour": 2.49, "fixable": ["ALL"], "unfixable": [CODE], "extend-fixable": ["TFG1"],
        "extend-safe-fixes": [CODE], "extend-unsafe-fixes": ["TFG3"], "extend-per-file-ignores": {"b/*": [CODE]},
    }  # fmt: skip
    options = parse_options(table, "here")
    assert all(getattr(options, key.replace("-", "_")) is not None for key in table)


def test_the_links_of_rules() -> None:
    """Protects links: none until a team says where its pages are, and one form for all programs that show them."""

    def link(address: str) -> str | None:
        resolver = SettingsResolver(parse_options({"documentation-url": address}, "test"), isolated=True)
        return resolver.for_directory(Path("/")).link("TFG101")

    assert SettingsResolver(isolated=True).for_directory(Path("/")).link("TFG101") is None
    assert link("") is None
    assert link("https://example.org/rules/") == "https://example.org/rules/TFG101.html"
    assert link("http://localhost:8000") == "http://localhost:8000/TFG101.html"
    assert link("file:///srv/rules") == "file:///srv/rules/TFG101.html"


def test_a_rule_may_be_called_by_its_name() -> None:
    """Protects who reads names in reports: they are selectors wherever codes are."""
    options = parse_options(
        {
            "select": ["numpy-in-call"], "ignore": ["eager-train-step", "TFG3"],
            "per-file-ignores": {"a.py": ["unreadable-file"]}, "severity": {"numpy-in-call": "error"},
        },
        "here",
    )  # fmt: skip
    assert (options.select, options.ignore) == (("TFG101",), ("TFG202", "TFG3"))
    assert options.per_file_ignores == (("a.py", ("TFG000",)),)
    assert options.severity == (("TFG101", "error"),)


def test_a_file_may_extend_another(tmp_path: Path, write_files: Write) -> None:
    """Protects monorepos: a package keeps what its root selects, and changes what it names."""
    write_files(
        {
            "pyproject.toml": '[tool.tflint-gpu]\nselect = ["TFG1"]\njobs = 3\nexclude = ["old"]\n'
            '[tool.tflint-gpu.severity]\nTFG1 = "error"\nTFG101 = "advice"\n',
            "a/tflint-gpu.toml": 'extend = "../pyproject.toml"\nextend-select = ["TFG202"]\njobs = 2\n',
            "a/b/tflint-gpu.toml": 'extend = "../tflint-gpu.toml"\nseverity = {TFG1 = "warning"}\n',
        }
    )
    resolver = SettingsResolver(working_directory=tmp_path)
    settings = resolver.for_directory(tmp_path / "a/b")
    assert settings.jobs == 2
    codes = settings.selection.codes_for(tmp_path / "a/b/x.py", ["TFG101", "TFG202", "TFG203"]).codes
    assert codes == {"TFG000", "TFG101", "TFG202"}
    assert settings.exclude.match(str(tmp_path / "old")) and not settings.exclude.match(str(tmp_path / "a/b/older"))
    severities = [settings.severity_of(code) for code in ("TFG101", "TFG102", "TFG202")]
    assert severities == ["advice", "warning", None], "the more specific selector wins, then the nearer file"


def test_what_is_shown_of_a_file_that_extends_another_is_what_holds(
    write_files: Write, tflint: Callable[..., Any]
) -> None:
    """Protects who asks `--show-settings` why a rule runs: tables and lists of both files, unless `select` begins again."""
    write_files(
        {
            "tflint-gpu.toml": 'ignore = ["TFG401"]\n[severity]\nTFG1 = "error"\nTFG101 = "advice"\n',
            "a/tflint-gpu.toml": 'extend = "../tflint-gpu.toml"\nignore = ["TFG402"]\nseverity = {TFG101 = "warning"}\n',
            "a/x.py": "",
        }
    )
    lines = tflint("check", "--show-settings", "a/x.py").stdout.splitlines()
    shown = {line.partition(" = ")[0]: line.partition(" = ")[2].partition("  # ")[0] for line in lines}
    assert shown["ignore"] == '["TFG401", "TFG402"]'
    assert shown["severity"] == '{ "TFG1" = "error", "TFG101" = "warning" }'
    again = tflint("check", "--show-settings", "--select", "TFG4", "a/x.py").stdout
    assert 'select = ["TFG4"]' in again and "# ignore is not set" in again


def test_a_package_of_a_monorepo_extends_its_root_and_keeps_its_own_pin(
    tmp_path: Path, write_files: Write, tflint: Callable[..., Any]
) -> None:
    """Protects by the command: one run from the root checks each package by what the root selects, and by its own pin."""
    old = "import tensorflow as tf\nprint(tf.test.is_gpu_available())\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n"
    write_files(
        {
            "pyproject.toml": '[tool.tflint-gpu]\nselect = ["TFG5"]\ntarget-tensorflow = "2.10"\n',
            "packages/a/tflint-gpu.toml": 'extend = "../../pyproject.toml"\nextend-select = ["TFG701"]\n',
            "packages/a/requirements.txt": "tensorflow==2.15.0\n",
            "packages/a/model.py": old,
            "packages/b/tflint-gpu.toml": "",
            "packages/b/model.py": old,
            "model.py": old,
        }
    )
    done = tflint("check", "--output-format", "json", ".")
    codes: dict[str, list[str]] = {}
    for finding in json.loads(done.stdout):
        codes.setdefault(Path(finding["filename"]).relative_to(tmp_path).parent.name, []).append(finding["code"])
    assert codes == {"": ["TFG502"], "a": ["TFG701", "TFG502"], "b": ["TFG701", "TFG502"]}
    shown = {place: tflint("check", "--show-settings", f"{place}/model.py").stdout for place in (".", "packages/a")}
    assert "# checked as code for TensorFlow 2.10 " in shown["."]
    assert "# checked as code for TensorFlow 2.15 " in shown["packages/a"]
    assert "2.12" in tflint("check", "--show-settings", "--target-tensorflow", "2.12", "packages/a/model.py").stdout
