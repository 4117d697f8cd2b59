"""What was measured for the rules' figures: `rules/evidence.json`, which `tests/benchmarks/evidence.py` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

PLACEHOLDER = "{evidence}"
"""The placeholder in a rule's documentation for the sentence about what was measured."""
_FACTORS = "the time of the flagged code divided by the time of the fixed code (95% interval). "


def measured(code: str) -> str:
    """A sentence on what was measured for a rule: versions, machine, ratios with their 95% intervals, and the command.

    Says so where nothing was measured yet.
    """
    results = recorded(code)
    command = f"`python tests/benchmarks/evidence.py {code}`"
    if not results:
        return f"not yet; {command} does it."
    without = [result for result in results if result["machine"].endswith("no GPU")]
    with_card = [result for result in results if result not in without]
    parts = [_FACTORS if any(result["figures"] for result in results) else "", *_sentences(without)]
    if with_card:
        parts += ["With a GPU: " if without else "", *_sentences(with_card)]
    return "".join(parts) + f"Repeat with {command}."


def _sentences(results: list[dict[str, Any]]) -> Iterator[str]:
    """What results of one kind of machine say, the newest first."""
    if not results:
        return
    newest = results[0]
    versions = " and ".join(sorted({result["tensorflow"] for result in results}, key=_numbers, reverse=True))
    yield f"TensorFlow {versions}, {newest['machine']}, {newest['date']}. "
    for what in dict.fromkeys(figure["what"] for result in results for figure in result["figures"]):
        yield f"{_sentence(what)}: {' and '.join(_ratios(results, what))}. "
    for what in dict.fromkeys(what for result in results for what in result["facts"]):
        seen = [(result["facts"][what], _minor(result)) for result in results if what in result["facts"]]
        is_same = len({fact for fact, _ in seen}) == 1
        facts = seen[0][0] if is_same else " and ".join(f"{fact} with {version}" for fact, version in seen)
        yield f"{_sentence(what)}: {facts}. "


def _sentence(what: str) -> str:
    return what[:1].upper() + what[1:]


def recorded(code: str) -> list[dict[str, Any]]:
    """What was measured for a rule, by version of TensorFlow, without and with a GPU; the newest first."""
    return _recorded().get(code, [])


def _ratios(results: list[dict[str, Any]], what: str) -> list[str]:
    ratios = []
    for result in results:
        for figure in result["figures"]:
            if figure["what"] == what:
                ratios.append(
                    f"{figure['ratio']:.3g} times ({figure['low']:.3g} to {figure['high']:.3g}) with {_minor(result)}"
                )
    return ratios


def _minor(result: dict[str, Any]) -> str:
    """The version of TensorFlow without its last number."""
    return str(result["tensorflow"].rpartition(".")[0])


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


@cache
def _recorded() -> dict[str, list[dict[str, Any]]]:
    from importlib import resources  # takes milliseconds, and only documentation asks

    text = resources.files("tflint_gpu.rules").joinpath("evidence.json").read_text("utf-8")
    results: dict[str, list[dict[str, Any]]] = json.loads(text)
    return results
