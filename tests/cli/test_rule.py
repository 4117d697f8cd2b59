"""Protects the catalogue on the command line: each rule explained, a wrong code answered helpfully."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.doctor.diagnosis import known
from tflint_gpu.rule import entries, load

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
FIRST = next((entry for entry in entries() if entry.code != "TFG000"), None)


@pytest.mark.skipif(FIRST is None, reason="no rules")
def test_one_rule_by_code_and_name(tflint: Any) -> None:
    assert FIRST is not None
    by_code, by_name = tflint("rule", FIRST.code), tflint("rule", FIRST.name)
    assert by_code.returncode == 0
    assert by_code.stdout.startswith(f"{FIRST.code} {FIRST.name}\n")
    assert "Example:" in by_code.stdout
    assert by_name.stdout == by_code.stdout


def test_the_catalogue(tflint: Any) -> None:
    objects = json.loads(tflint("rule", "--all", "--output-format", "json").stdout)
    assert [one["code"] for one in objects if one["theme"] != "machine"] == [entry.code for entry in entries()]
    assert [one["code"] for one in objects if one["theme"] == "machine"] == list(known())
    assert all(one["summary"] and one["explanation"] for one in objects)


def test_tags_and_versions(tflint: Any) -> None:
    """By CHANGELOG.md: the oldest version that lists a code is the one that brought the rule."""
    objects = {entry["code"]: entry for entry in json.loads(tflint("rule", "--all", "--output-format", "json").stdout)}
    sections = re.split(r"^## ", CHANGELOG.read_text("utf-8"), flags=re.MULTILINE)[1:]
    brought: dict[str, str] = {}
    for section in sections:  # the newest first
        for first, last in re.findall(r"\b(TFG\d{3})(?: to (TFG\d{3}))?", section):
            listed = [code for code in objects if first <= code <= (last or first)]
            brought.update(dict.fromkeys(listed, section.split()[0]))
    assert {code: entry["since"] for code, entry in objects.items()} == brought
    assert objects["TFG403"]["tags"] == ["default", "safe fix", "gpu-memory"]
    assert [code for code, entry in objects.items() if "opt-in" in entry["tags"]] == [
        e.code for e in entries() if e.opt_in
    ]
    assert objects["TFG901"]["tags"] == ["doctor"]
    assert tflint("rule", "TFG403").stdout.splitlines()[2] == "error; default; safe fix; gpu-memory; since 0.1.0"


def test_all_rules_are_listed_without_an_argument(tflint: Any) -> None:
    """Protects who asks which rules there are: a line for each says whether it runs by default, and its fix."""
    listed = tflint("rule")
    lines = listed.stdout.splitlines()
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.partition(" ")[0] for line in lines] == [entry.code for entry in entries()] + list(known())
    by_code = {line.partition(" ")[0]: line for line in lines}
    assert by_code["TFG403"].startswith("TFG403 partial-memory-growth (default, safe fix, gpu-memory): Memory growth ")
    assert by_code["TFG405"].startswith("TFG405 tensor-accumulation (opt-in, gpu-memory): ")
    assert by_code["TFG901"].startswith("TFG901 no-driver (doctor): ")
    assert len(json.loads(tflint("rule", "--output-format", "json").stdout)) == len(lines)


def test_only_headings_are_bold_in_the_catalogue(tflint: Any) -> None:
    """Protects the text of a diagnosis, whose sentences may have a colon, from being printed as a heading."""
    found = re.findall(r"^\*\*(.+):\*\*", tflint("rule", "--all", "--output-format", "markdown").stdout, re.MULTILINE)
    expected = {"Opt-in", "Why", "Reported", "Not reported", "Names", "Measured", "Fix", "Example", "Use instead"}
    assert set(found) == expected


def test_the_catalogue_begins_with_a_short_list(tflint: Any) -> None:
    """Protects who scrolls: 3,000 lines of documents say little about which rules there are."""
    lines = tflint("rule", "--all").stdout.split("\n\n")[0].splitlines()
    assert [line.partition(" ")[0] for line in lines] == [entry.code for entry in entries()] + list(known())


@pytest.mark.slow
def test_mistakes(tflint: Any) -> None:
    assert FIRST is not None
    wrong = tflint("rule", FIRST.name + "s")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert f"did you mean `{FIRST.name}`?" in wrong.stderr
    lists = "`tflint-gpu rule` lists them"
    assert tflint("rule", "TFG999").stderr == f"error: unknown rule `TFG999`; {lists}\n", "a number is like no other"
    assert tflint("rule", "nump").stderr == f"error: unknown rule `nump`; {lists}\n"
    assert tflint("rule", "TFG1").stderr == f"error: unknown rule `TFG1`; {lists}\n", "nor a part of one"
    for code, owner in (("E501", "pycodestyle"), ("NPY001", "ruff's rules for NumPy"), ("T201", "flake8-print")):
        assert tflint("rule", code).stderr == f"error: unknown rule `{code}`; it is a code of {owner}\n"
    assert tflint("rule", "TF101").stderr == "error: unknown rule `TF101`; did you mean `TFG101`?\n"
    assert tflint("rule", FIRST.code, "--all").returncode == 2


@pytest.mark.slow
def test_rules_are_found_by_words(tflint: Any) -> None:
    """Protects the way from a word that a user has to the rule that knows it; names before mere mentions."""
    found = tflint("rule", "--search", "prefetch").stdout.splitlines()
    assert [line.partition(" ")[0] for line in found[:2]] == ["TFG301", "TFG302"]
    assert tflint("rule", "--search", "memory Growth first").stdout.count("\n") >= 1
    assert [
        one["code"] for one in json.loads(tflint("rule", "--search", "gradienttape", "--output-format", "json").stdout)
    ]
    nothing = tflint("rule", "--search", "zebra")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "no rule's documentation has `zebra`" in nothing.stderr
    both = tflint("rule", "--search", "prefetch", "--all")
    assert both.returncode == 2
    assert "give only one of: a rule's code, --search, --all" in both.stderr


def test_a_table_of_rules_is_in_the_catalogue() -> None:
    """Protects rules that are made of one table: known without an import, and each loaded by its own code."""
    tabled = [entry for entry in entries() if entry.module.endswith(".renames")]
    assert len(tabled) > 10
    rules = load(entry.code for entry in tabled)
    assert [(rule.code, rule.name) for rule in rules] == [(entry.code, entry.name) for entry in tabled]
    script = "import sys; from tflint_gpu.rule import entries; entries(); print('libcst' in sys.modules, [n for n in sys.modules if 'migration' in n])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False []\n"


def test_prefixes_select_a_table(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\nprint(tf.test.is_gpu_available(), tf.data.experimental.AUTOTUNE)\n"
    )

    def codes(*options: str) -> list[str]:
        done = tflint("check", "--isolated", "--no-cache", "--output-format", "json", *options, "a.py")
        return [one["code"] for one in json.loads(done.stdout)]

    assert codes("--select", "TFG7") == ["TFG701", "TFG707"]
    assert codes("--select", "TFG7", "--ignore", "TFG707") == ["TFG701"]
    assert codes("--ignore", "TFG7") == []
    (tmp_path / "a.py").write_text("import tensorflow as tf\nprint(tf.test.is_gpu_available())  # noqa: TFG701\n")
    assert codes() == []


def test_every_entry_can_be_printed(tflint: Any) -> None:
    """Protects `rule --all`, and what `doctor` finds, which is in the catalogue too."""
    every = tflint("rule", "--all")
    assert (every.returncode, every.stderr) == (0, "")
    assert tflint("rule", "TFG901").stdout.startswith("TFG901 no-driver\n")
