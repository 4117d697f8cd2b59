"""`tflint-gpu rule`: a rule's documentation, or the whole catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

from tflint_gpu.cli.commands import GroupedCommand, format_option, is_coloured, tell
from tflint_gpu.doctor.diagnosis import Diagnosis, known
from tflint_gpu.plugins import WrongPlugin, wrong_names
from tflint_gpu.reports.display import SEVERITY_STYLES, styled
from tflint_gpu.reports.documentation import HEADING, as_markdown
from tflint_gpu.rule import FIRST_VERSION, RuleEntry, entries, load
from tflint_gpu.settings.options import SettingsError, hint_for_rule


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="Explain all rules.")
@click.option("--search", metavar="WORDS", help="List the rules whose documentation contains all of these words.")
@format_option("text", "json", "markdown")
def command(code: str | None, every: bool, search: str | None, output_format: str) -> int:
    """Explain the rule CODE (a code or a name), or list all rules.

    --all explains all rules, and --search finds rules by words.
    """
    if [code is not None, every, search is not None].count(True) > 1:
        raise click.UsageError("give only one of: a rule's code, --search, --all")
    chosen = _catalogue() if code is None else (_find(code),)
    objects = _objects(chosen) if code is None else [_as_object(chosen[0])]
    if search is not None:
        objects = _with_words(objects, search.lower().split())
        if not objects:
            raise SettingsError(f"no rule's documentation has `{search}`; `tflint-gpu rule` lists all rules")
    if output_format == "json":
        click.echo(json.dumps(objects if code is None else objects[0], indent=2))
    elif output_format == "markdown":
        click.echo(_as_catalogue(objects), nl=False)
    else:
        if code is None:
            click.echo("\n".join(_as_line(rule) for rule in objects))
        if code is not None or every:
            click.echo(("\n" if every else "") + "\n\n".join(_as_text(rule) for rule in objects))
    return 0


def _objects(chosen: Iterable[RuleEntry | Diagnosis]) -> list[dict[str, Any]]:
    """The rules, but for those of others that cannot be imported, which are warned of."""
    objects = []
    for wrong in wrong_names():
        tell(f"warning: the package {wrong.package} failed: {wrong.mistake}")
    for entry in chosen:
        try:
            objects.append(_as_object(entry))
        except WrongPlugin as error:
            tell(f"warning: {error}")
    return objects


def _with_words(objects: list[dict[str, Any]], words: list[str]) -> list[dict[str, Any]]:
    """The rules that have all words; those that have one in the name or the first line come first."""

    def is_found(word: str, entry: dict[str, Any], *keys: str) -> bool:
        return any(word in str(entry[key]).lower() for key in keys)

    matches = [o for o in objects if all(is_found(w, o, "code", "name", "theme", "explanation") for w in words)]
    return sorted(matches, key=lambda rule: not any(is_found(word, rule, "code", "name", "summary") for word in words))


def _catalogue() -> tuple[RuleEntry | Diagnosis, ...]:
    """All rules, and what `doctor` finds on a machine."""
    return *entries(), *(Diagnosis(code, "") for code in known())


def _find(word: str) -> RuleEntry | Diagnosis:
    names = {name: entry for entry in _catalogue() for name in (entry.code, entry.name)}
    rule = names.get(word.upper()) or names.get(word.lower())
    if rule is None:
        raise SettingsError(f"unknown rule `{word}`{hint_for_rule(word, names)}")
    return rule


def _as_object(entry: RuleEntry | Diagnosis) -> dict[str, Any]:
    if isinstance(entry, Diagnosis):
        return {
            "code": entry.code,
            "name": entry.name,
            "theme": "machine",
            "summary": entry.means.partition(". ")[0].rstrip(".") + ".",
            "severity": entry.severity,
            "fixable": None,
            "fix": "none: `doctor` finds this on a machine, not in code.",
            "opt_in": False,
            "needs_gpu_memory": False,
            "tags": ["doctor"],
            "since": FIRST_VERSION,
            "explanation": f"{entry.means}\n\n{entry.remedy}\n\nFound by `tflint-gpu doctor`, not in code.",
        }
    rule = load([entry.code])[0]
    return {
        "code": rule.code,
        "name": rule.name,
        "theme": entry.theme,
        "summary": rule.summary(),
        "severity": rule.severity,
        "fixable": rule.fixable,
        "fix": rule.fix_note(),
        "opt_in": rule.opt_in,
        "needs_gpu_memory": rule.needs_gpu_memory,
        "tags": [*rule.tags(), entry.theme.replace("_", "-")],
        "since": rule.version(),
        "explanation": rule.documentation(),
    }


def _as_line(entry: dict[str, Any]) -> str:
    head = styled(f"{entry['code']} {entry['name']}", SEVERITY_STYLES.get(entry["severity"], "cyan"), is_coloured())
    return f"{head} ({', '.join(entry['tags'])}): {entry['summary']}"


def _as_text(entry: dict[str, Any]) -> str:
    title = f"{entry['code']} {entry['name']}"
    traits = [entry["severity"], *entry["tags"]]
    if entry["since"]:
        traits.append(f"since {entry['since']}")
    shown = styled(title, "bold", is_coloured())
    explanation = HEADING.sub(lambda lead: styled(lead[0], "bold", is_coloured()), entry["explanation"])
    return f"{shown}\n{'=' * len(title)}\n{'; '.join(traits)}\n\n{explanation}"


def _as_catalogue(objects: list[dict[str, Any]]) -> str:
    """The Markdown page of the catalogue: a table, then a section a rule."""
    lines = [
        "# The rules",
        "",
        "Generated by `tflint-gpu rule --all --output-format markdown` from the rules' docstrings.",
        "",
        "| code | name | what it reports | severity | fix |",
        "|---|---|---|---|---|",
    ]
    for rule in objects:
        anchor = f"{rule['code']}-{rule['name']}".lower()
        lines.append(
            f"| [{rule['code']}](#{anchor}) | {rule['name']} | {rule['summary']} "
            f"| {rule['severity']}{', opt-in' if rule['opt_in'] else ''} | {rule['fixable'] or rule['fix']} |"
        )
    for rule in objects:
        lines += ["", f"## {rule['code']} {rule['name']}", "", as_markdown(rule["explanation"])]
    return "\n".join(lines) + "\n"
