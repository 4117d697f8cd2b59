"""`tests/GPU.md`: what gpu_day.py found, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.ratios import paired_ratio

Found = Mapping[str, Any]

_MIB = 1 << 20
_MOST_APART = 0.1  # of what is held, by which the two may differ beside what CUDA holds for itself
HEAD = """# What a GPU showed

Written by `python tests/benchmarks/gpu_day.py` from the results that it kept. Each row comes from one run on this GPU.
"""


def page(known: Sequence[Found], gpu: Gpu, count: int) -> str:
    """The page.

    Arguments:
        known: what is known of each piece.
        gpu: which one.
        count: of all pieces there are.
    """
    dates = sorted({one["date"] for one in known})
    when = f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates)
    memory = "" if gpu.total_memory is None else f", {gpu.total_memory / (1 << 30):.1f} GiB"
    facts = [f"- GPU: {gpu.name}{memory}, driver {gpu.driver}", f"- done: {len(known)} of {count} measurements, {when}"]
    parts = [
        HEAD,
        "\n".join(facts),
        *_memory(known),
        *_doctor(known),
        *_run(known),
        *_tried(known),
        *_judged(known),
        *_verify(known),
        *_evidence(known),
        *_faults(known),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _of(known: Sequence[Found], kind: str) -> list[Found]:
    return [one for one in known if one["kind"] == kind]


def _without_faults(known: Sequence[Found], kind: str) -> list[Found]:
    return [one["found"] for one in _of(known, kind) if not one["found"]["fault"]]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in cells)


def _memory(known: Sequence[Found]) -> Iterator[str]:
    found = _without_faults(known, "memory")
    if not found:
        return
    yield "## NVML's figures beside TensorFlow's own"
    yield "A process holds one tensor with memory growth on. CUDA's own share is what NVML shows beyond TensorFlow's peak."
    rows = []
    for one in found:
        own = None if one["nvml"] is None else one["nvml"] - one["tensorflow"]
        numbers = (one["asked"], one["tensorflow"], one["nvml"], one["growth"], own)
        shown = ["-" if number is None else f"{number / _MIB:,.0f}" for number in numbers]
        source = "the GPU's growth" if one["hidden"] else "the process"
        rows.append([*shown, source, one["sandbox"]])
    head = ["asked, MiB", "TensorFlow's peak", "NVML", "growth of the GPU", "CUDA's share", "NVML counts", "sandbox"]
    yield _table(head, rows)
    yield _agreement(found)


def _agreement(found: Sequence[Found]) -> str:
    """Whether what NVML tells grows with what TensorFlow holds: CUDA's own share does not depend on it."""
    told = [one for one in found if one["nvml"] is not None]
    if len(told) < 2:
        return "NVML showed the memory of the process less than twice, so nothing can be compared."
    shares = [one["nvml"] - one["tensorflow"] for one in told]
    apart = max(shares) - min(shares)
    largest = max(one["tensorflow"] for one in told)
    agrees = apart <= _MOST_APART * largest and min(shares) >= 0
    word = "NVML and TensorFlow agree" if agrees else "**NVML and TensorFlow do not agree**"
    span = f"{len(told)} sizes up to {largest / _MIB:,.0f} MiB"
    return f"{word}: over {span}, CUDA's own share differs by {apart / _MIB:,.0f} MiB."


def _doctor(known: Sequence[Found]) -> Iterator[str]:
    for one in _without_faults(known, "doctor"):
        yield "## What `doctor` says"
        yield f"{one['verdict']} Exit code {one['exit_code']}; next: {one['next_step']}"
        rows = [[each["code"], each["severity"], each["seen"]] for each in one["diagnoses"]]
        if rows:
            yield _table(["diagnosis", "", "seen"], rows)


def _run(known: Sequence[Found]) -> Iterator[str]:
    for one in _without_faults(known, "run"):
        yield "## What `run` says of known waits"
        idle, seconds = one["idle"], one["seconds"]
        yield (
            f"`tests/run/planted.py` waits on purpose and times its waits. It ran for {seconds:.1f} s, and by "
            f"{idle['measured_by']} the GPU was idle for {idle['share']:.0%} of it. In `sync` it waits for the GPU, which computes."
        )
        for energy in one.get("energy", ()):
            idle_part = "" if energy["idle"] is None else f", {energy['idle']:.3g} kWh of it while idle"
            yield f"{energy['gpu']} took {energy['kilowatt_hours']:.3g} kWh{idle_part}."
        rows = []
        for wait, planted in one["waits"].items():
            charged = one["charged"][wait]
            rows.append([wait, f"{planted:.2f}", f"{charged:.2f}", f"{abs(charged - planted) / seconds:.1%}"])
        yield _table(["wait", "timed by the program, s", "attributed to its line, s", "difference, of the run"], rows)


def _tried(known: Sequence[Found]) -> Iterator[str]:
    for found in _without_faults(known, "try"):
        yield "## What settings bring"
        yield "`run --try` on `tests/run/batches.py`, one round: no interval."
        rows = [
            [
                each["setting"],
                f"{1 / each['seconds_of_a_sample']:.4g}" if each.get("seconds_of_a_sample") else each["failure"],
                "" if each["times_as_fast"] is None else f"{each['times_as_fast'][1]:.3g}",
                "" if each["peak_memory"] is None else f"{each['peak_memory'] / (1 << 30):.2f} GiB",
                "" if each["loss"] is None else f"{each['loss']:.4g}",
            ]
            for each in found["settings"]
        ]
        yield _table(["setting", "samples/s", "times as fast", "peak memory", "loss"], rows)
        if found["largest_batch"]:
            fits = ", ".join(f"{size} {'fits' if does else 'does not fit'}" for size, does in found["fits"].items())
            yield f"The largest batch was said to be {found['largest_batch']:,}; tried: {fits}."


def _judged(known: Sequence[Found]) -> Iterator[str]:
    rows = [
        [one["what"], found["verdict"], f"{found['ratio']:.3g} ({found['low']:.3g} to {found['high']:.3g})"]
        for one in _of(known, "known")
        if not (found := one["found"])["fault"]
    ]
    if rows:
        yield "## What `verify` says of programs with a known factor"
        yield _table(["true factor", "verdict on a predicted slowdown", "measured"], rows)


def _verify(known: Sequence[Found]) -> Iterator[str]:
    found = [(one["what"], result) for one in _of(known, "verify") for result in one["found"]["results"]]
    if not found:
        return
    counts = Counter(result["verdict"] or "reference" for _, result in found)
    yield "## What `verify` says of the fixtures"
    yield ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) + "."
    rows = [_verified(what, result) for what, result in found]
    head = ["program", "finding", "verdict", "measured", "GPU use, flagged", "repaired", "computed on", "reason"]
    yield _table(head, rows)


def _verified(what: str, one: Found) -> list[str]:
    measured, use = one["measured"], one["gpu"]
    ratio = "-"
    if measured["ratio"] is not None:
        ratio = f"{measured['ratio']:.3g} ({measured['low']:.3g} to {measured['high']:.3g})"
    busy = ["-" if use[side] is None else f"{use[side]:.0f}%" for side in ("before", "after")]
    used = sorted({name for side in one["ran_on"].values() for name in side})
    place = f"{one['place']['row']}:{one['place']['column']} {one['code']}"
    name = f"{place} ({one['variant']})" if one["variant"] else place
    why = "; ".join([one["reason"], *use["notes"]])
    return [
        what.removeprefix("fixtures/"),
        name,
        one["verdict"] or "reference",
        ratio,
        *busy,
        ", ".join(used) or "-",
        why,
    ]


def _evidence(known: Sequence[Found]) -> Iterator[str]:
    found = [(one["what"], one["found"]) for one in _of(known, "evidence") if not one["found"]["fault"]]
    if not found:
        return
    yield "## The workloads of EVIDENCE.md"
    rows, facts = [], []
    for what, one in found:
        code = what.partition("_")[0].upper()
        versions = f"{one['tensorflow']}, {one['keras']}"
        for name, rounds in one["times"].items():
            interval = paired_ratio([(slow, fast) for slow, fast in rounds])
            slow, fast = (f"{1000 * median(side):.2f}" for side in zip(*rounds, strict=True))
            span = f"{interval.low:.2f} to {interval.high:.2f}"
            machine = one["machine"].removesuffix(", 1 GPUs")
            rows.append([code, name, versions, slow, fast, f"{interval.ratio:.2f}", span, machine])
        facts += [[code, name, str(seen), versions] for name, seen in one["facts"].items()]
    if rows:
        head = ["rule", "what", "TensorFlow, Keras", "flagged, ms", "fixed, ms", "ratio", "interval", "machine"]
        yield _table(head, rows)
    if facts:
        yield _table(["rule", "what was seen", "", "TensorFlow, Keras"], facts)


def _faults(known: Sequence[Found]) -> Iterator[str]:
    rows = [[one["kind"], one["what"], one["found"]["fault"]] for one in known if one["found"]["fault"]]
    if rows:
        yield "## What did not run"
        yield _table(["", "what", "why"], rows)
