"""Protects the table of settings: all that is made of it says what the tool takes."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from printed import pages

from tflint_gpu.settings import reference
from tflint_gpu.settings.options import Options, parse_options
from tflint_gpu.settings.table import SETTINGS
from tflint_gpu.text.toml import loads

SCHEMA = Path(reference.__file__).with_name("schema.json")
PROJECT = loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def validator() -> Any:
    """Finds what is wrong with a table of settings by the schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft7Validator.check_schema(reference.schema())
    return jsonschema.Draft7Validator(reference.schema())


def test_the_table_has_what_options_have() -> None:
    assert list(SETTINGS) and set(SETTINGS) == {field.name.replace("_", "-") for field in fields(Options)}


@pytest.mark.parametrize("key", SETTINGS)
def test_an_example_and_a_default_are_taken(key: str, validator: Any) -> None:
    setting = SETTINGS[key]
    written = loads(reference.described(key)["example"])
    assert written == {key: setting.example} and setting.example != reference.default_of(key)
    parse_options(written, "here")
    assert not [*validator.iter_errors(written)]
    default = reference.default_of(key)
    assert (default is None) == bool(setting.unset), "a default, or a word on what holds without"
    if default is not None:
        table = loads(f"{key} = {reference.as_toml(default)}")
        parse_options(table, "here")
        assert not [*validator.iter_errors(table)]


def test_the_shipped_schema_is_current() -> None:
    assert SCHEMA.read_text("utf-8") == reference.schema_text(), f"run: tflint-gpu config --schema > {SCHEMA}"
    assert SCHEMA.name in PROJECT["tool"]["setuptools"]["package-data"]["tflint_gpu.settings"]


def test_every_snippet_of_the_documentation_is_valid(validator: Any) -> None:
    snippets = [
        text for page in pages() for text in re.findall(r"^```toml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    ]
    tables = [table for text in snippets if (table := loads(text).get("tool", {}).get("tflint-gpu"))]
    tables += [loads(text) for text in re.findall(r"^```toml\n(.*?)^```$", reference.as_markdown(), re.M | re.S)]
    assert len(tables) > len(SETTINGS)
    assert [[*validator.iter_errors(table.get("tool", {}).get("tflint-gpu", table))] for table in tables] == [[]] * len(
        tables
    )


def test_validate_pyproject_takes_the_schema(tmp_path: Path) -> None:
    """By the program itself, with the function that the package names to it."""
    api = pytest.importorskip("validate_pyproject.api", reason="validate-pyproject is not installed")
    plugins = importlib.import_module("validate_pyproject.plugins")
    errors = importlib.import_module("validate_pyproject.errors")
    [(tool, place)] = PROJECT["project"]["entry-points"]["validate_pyproject.tool_schema"].items()
    module, _, function = place.partition(":")
    plugin = plugins.PluginWrapper(tool, getattr(importlib.import_module(module), function))
    validate = api.Validator(plugins=[plugin])
    validate({"tool": {"tflint-gpu": {"ignore": ["TFG401"], "severity": {"TFG5": "error"}, "jobs": 2}}})
    for wrong in ({"fail-no": "error"}, {"fail-on": "never"}, {"select": ["TFG999"]}):
        with pytest.raises(errors.ValidationError):
            validate({"tool": {"tflint-gpu": wrong}})


def test_a_schema_says_what_the_rules_are() -> None:
    words = reference.schema()["definitions"]["selector"]["anyOf"][0]["enum"]
    assert {"ALL", "TFG", "TFG2", "TFG20", "TFG202", "eager-train-step"} <= {*words}
    assert len(words) == len({*words}) and json.loads(reference.schema_text()) == json.loads(
        json.dumps(reference.schema())
    )
