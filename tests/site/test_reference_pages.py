"""Protects the references: every option of every command and every setting is on the site, as it is today."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import click
import pytest

from tflint_gpu.cli import _commands
from tflint_gpu.settings.reference import described
from tflint_gpu.settings.table import SETTINGS

ROOT = click.Context(_commands, info_name="tflint-gpu")
COMMANDS = {name: command for name in _commands.list_commands(ROOT) if (command := _commands.get_command(ROOT, name))}


def section(page: Path, level: int, anchor: str) -> str:
    """The HTML of a page below a heading and up to the next one of its level."""
    text = page.read_text("utf-8").partition("<article")[2].partition("</article>")[0]
    return re.split(rf"<h{level}\b", text.partition(f'<h{level} id="{anchor}">')[2])[0]


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def rows(html: str) -> dict[str, list[str]]:
    """The cells of all tables, by those of the first column."""
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr>.*?</tr>", html, re.DOTALL)]
    return {words(first): [words(cell) for cell in rest] for first, *rest in filter(None, cells)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_on_the_page_of_options(name: str, site: Path) -> None:
    """With what it takes, its default, and its help."""
    table = rows(section(site / "options.html", 2, name))
    context = click.Context(COMMANDS[name], info_name=name, parent=ROOT, **COMMANDS[name].context_settings)
    options = [option for option in COMMANDS[name].get_params(context) if isinstance(option, click.Option)]
    assert len(table) == len(options) > 1
    for option in options:
        assert option.help, f"{option.opts} has no help"
        value, default, meaning = table[", ".join([*option.opts, *option.secondary_opts])]
        if isinstance(option.type, click.Choice):
            assert value == ", ".join(option.type.choices)
        else:
            assert (value != "") == (not option.is_flag) and option.metavar in (None, value), option.opts
        assert meaning == " ".join(option.help.replace("`", "").split())
        if option.opts[-1] in ("--budget", "--report-every", "--rounds"):
            assert default == str(option.default)
        if name == "check" and option.opts[-1].removeprefix("--") in SETTINGS:
            assert default == f"setting {option.opts[-1].removeprefix('--')}"


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_has_an_anchor_and_says_all(key: str, site: Path) -> None:
    text = words(section(site / "settings.html", 3, key))
    entry = described(key)
    assert " ".join(entry["meaning"].replace("`", "").split()) in text
    assert f"Type: {entry['type']}" in text and f"[tool.tflint-gpu] {entry['example']}" in text
    assert "Default: " in text and (entry["unset"].replace("`", "") in text)


def test_an_option_that_is_missing_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "options.html").write_text(
        '<article><h2 id="check">check</h2><p>--fix</p><h2 id="rule">rule</h2></article>'
    )
    with pytest.raises((AssertionError, ValueError)):
        test_every_option_is_on_the_page_of_options("check", tmp_path)
