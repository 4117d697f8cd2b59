"""What an earlier `verify` or `run` measured, and to which findings of today it still belongs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.narrowing.fingerprints import LineOf

_LONGEST = 2000


class MeasurementError(Exception):
    """A file with measurements that cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured, in words, and on what.

    Arguments:
        verdict: of `verify`; empty for a run.
        share: of a run, that it may save at most; None where it was no run.
    """

    text: str
    verdict: str = ""
    share: float | None = None


def key_of(diagnostic: Diagnostic, line_of: LineOf) -> str:
    """A key for a finding and the code that it is about: the function, class or statement of the module around it.

    It does not hold line numbers, so only an edit of that code makes it another one.

    Arguments:
        line_of: the text of a row (from 1) of a file, or of a notebook's cell; None if it cannot be read.
    """
    place = diagnostic.location

    def line(row: int) -> str | None:
        return line_of(diagnostic.filename, row, place.cell) if row >= 1 else None

    first = last = place.row
    while not _starts_statement(line(first)) and line(first - 1) is not None and place.row - first < _LONGEST:
        first -= 1
    while (line(first - 1) or "").startswith("@"):
        first -= 1
    while not _starts_statement(line(last + 1)) and line(last + 1) is not None and last - first < _LONGEST:
        last += 1
    code = "\n".join((line(row) or "").rstrip() for row in range(first, last + 1)).strip()
    within = f"{place.row - first}:{place.column}"
    parts = "\0".join((diagnostic.code, Path(diagnostic.filename).name, within, code))
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _starts_statement(line: str | None) -> bool:
    return bool(line) and line is not None and not line[0].isspace() and line[0] not in ")]}#"


def read_measurements(path: Path) -> dict[str, Measurement]:
    """The measurements in a JSON report of `verify`, by their keys; only those that say something on a prediction.

    Raises:
        MeasurementError: the file cannot be read or is no such report.
    """
    data = _read(path, "verify", "results")
    where = _device(data) or "the CPU"
    measurements: dict[str, Measurement] = {}
    for result in data["results"]:
        measurement = _measurement(result, where)
        if measurement is not None:
            measurements.setdefault(result["key"], measurement)
    return measurements


def read_run(path: Path) -> dict[str, Measurement]:
    """What findings cost in a run, from a JSON report of `run`, by their keys.

    Raises:
        MeasurementError: the file cannot be read or is no such report.
    """
    data = _read(path, "run", "findings")
    where = _device(data) or "the CPU"
    idle = "the GPU did nothing" if _device(data) else "a GPU would have waited"
    measurements: dict[str, Measurement] = {}
    for entry in data["findings"]:
        share = entry.get("share") if isinstance(entry, dict) else None
        if not isinstance(share, int | float) or not isinstance(entry.get("key"), str):
            continue
        place = "here" if entry.get("of") == "its own lines" else f"in {entry.get('of')}"
        whole = data.get("shares_of") or {"what": "run", "seconds": data.get("seconds")}
        text = f"{idle} {place} for {share:.0%} of the {whole['what']} ({whole['seconds'] or 0:.3g} s) on {where}"
        measurements.setdefault(entry["key"], Measurement(f"{text}: a fix saves at most that", share=float(share)))
    return measurements


def _read(path: Path, command: str, entries: str) -> dict[str, Any]:
    """The JSON report of a command, with a list of entries of this name and a device."""
    wanted = f"write one with `{command} --output-format json`"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MeasurementError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise MeasurementError(f"{path}: not JSON ({error}), so not a report of `{command}`; {wanted}") from error
    is_report = isinstance(data, dict) and isinstance(data.get(entries), list) and isinstance(data.get("device"), dict)
    if not is_report or (data.get("kind") == "run") != (command == "run"):
        raise MeasurementError(f"{path}: not a report of `{command}`; {wanted}")
    return dict(data)


def _device(data: dict[str, Any]) -> str:
    """The name of the card; empty for the CPU."""
    return str(data["device"].get("name") or "")


def _measurement(result: Any, where: str) -> Measurement | None:
    """None for what was not run, for variants, and for what is no result; a reference has no verdict."""
    if not isinstance(result, dict) or not isinstance(result.get("key"), str) or result.get("variant"):
        return None
    verdict, measured = result.get("verdict"), result.get("measured")
    if isinstance(reference := result.get("reference"), str):
        verdict, said = "", reference
    elif isinstance(verdict, str) and verdict != "not run":
        said = verdict
    else:
        return None
    ratio = measured.get("ratio") if isinstance(measured, dict) else None
    if result.get("device") == "cpu":  # also in a report of a card: not every program uses it
        where = "the CPU"
    if isinstance(ratio, int | float) and isinstance(measured, dict):
        of = f" {measured['of']}" if isinstance(measured.get("of"), str) else ""
        times = f"{ratio:.3g} times ({measured['low']:.3g} to {measured['high']:.3g}){of}"
        return Measurement(f"{times} on {where}: {said}{_among_others(result.get('joint'))}", verdict)
    return Measurement(f"seen on {where}: {said}", verdict)


def _among_others(joint: Any) -> str:
    """Which part of what several fixes save together is lost without this one; empty where it was not measured."""
    share = joint.get("share") if isinstance(joint, dict) else None
    if not isinstance(share, dict):
        return ""
    bounds = f"{share['low']:.0%} to {share['high']:.0%}"
    part = bounds if share["share"] is None else f"{share['share']:.0%} ({bounds})"
    return f", with the other fixes applied; {part} of what {joint['repairs']} save ({joint['ratio']:.3g} times)"


def with_measurements(
    diagnostics: Sequence[Diagnostic], known: Mapping[str, Measurement], line_of: LineOf
) -> list[Diagnostic]:
    """The diagnostics, each with what was measured of its code as it stands now, after what they have already."""
    result = []
    for diagnostic in diagnostics:
        measurement = known.get(key_of(diagnostic, line_of))
        if measurement is not None:
            diagnostic = replace(
                diagnostic,
                measured="; ".join(filter(None, (diagnostic.measured, measurement.text))),
                verdict=measurement.verdict or diagnostic.verdict,
                share=diagnostic.share if measurement.share is None else measurement.share,
            )
        result.append(diagnostic)
    return result
