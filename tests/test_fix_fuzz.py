"""The fuzzer of fixes finds fixes that are wrong, makes their programs small, and is silent about right ones."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCHMARKS = Path(__file__).parent / "benchmarks"

# TensorFlow must not have computed in a process that the fuzzer forks, as other tests do in theirs.
_ANSWERS = '''
import json, sys
from collections import Counter
sys.path.insert(0, sys.argv[1])
import fix_fuzz
from fix_fuzz import Campaign, Fixed, fixed_programs
from fix_fuzz_choices import Choices
from fix_fuzz_programs import generated
from fix_fuzz_runs import Forks, Run, differences, looks_slower, slower

TEXT = """
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
kernel = tf.Variable([[0.5], [1.5]])
shown = []
unused = [1, 2, 3]


def advance(rows, rate):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(tf.matmul(rows, kernel)))
    kernel.assign_sub(0.1 * tape.gradient(error, kernel))
    return error * rate


for turn in range(80):
    shown.append(float(advance(tf.ones((3, 2)), 1.0)))
print("the end")
"""
fix_fuzz.generated = lambda choices: {"train.py": TEXT + "unused.append(4)" * (choices.one("more", "", "yes") == "yes")}


def campaign(*pairs, code="TFG202", shrinking=0.0):
    """What is told of a fix that puts some texts in others' places."""
    def fixing(program, version, rules):
        text = program["train.py"]
        if all(old in text for old, _ in pairs):
            for old, new in pairs:
                text = text.replace(old, new)
            yield Fixed({"train.py": text}, (code,))

    told = []
    one = Campaign("2.21", tell=told.append, fixing=fixing, shrinking=shrinking, timed=False)
    one.one(Choices("seed-0"))
    one.forks.close()
    return {"told": told, "kinds": [[*kind, count] for kind, count in one.tally.differences.items()], "fixes": one.tally.fixes}


def real():
    """What the rules' own fix does, and whether it was made."""
    told = []
    one = Campaign("2.21", ("TFG202",), told.append, timed=False)
    one.one(Choices("seed-0"))
    one.forks.close()
    return {"told": told, "fixes": one.tally.fixes}


def interrupted():
    """How many programs a campaign counts that ends before its time."""
    one = Campaign("2.21", fixing=lambda *_: [], timed=False)
    tried = one.one

    def until_third(choices):
        if choices.seed.endswith("-3"):
            raise KeyboardInterrupt
        tried(choices)

    one.one = until_third
    return one.run(60, "seed").programs


TRACED = ("def advance(rows, rate)", "@tf.function\\ndef advance(rows, rate)")


class Scripted:
    """Runs that take what a list says."""
    def __init__(self, *times):
        self.times = list(times)

    def run(self, program):
        seconds, processor = self.times.pop(0)
        return Run(seconds=seconds, processor=processor)


def kinds(before, after, *allowed):
    return [one.what for one in differences(before, after, frozenset(allowed))]


forks = Forks(limit=20.0)
answers = {
    "lost update": campaign(("kernel.assign_sub(0.1 * tape", "(0.1 * tape")),
    "name": campaign(("return error * rate", "return errors * rate"), shrinking=1e6),
    "right": campaign(("tf.square(", "tf.math.square(")),
    "real": real(),
    "traces": campaign(TRACED)["kinds"],
    "retraced": campaign(TRACED, ("tf.ones((3,", "tf.ones((3 + turn,"))["kinds"],
    "promised": campaign(("0.1 * tape", "0.2 * tape"), code="TFG601")["kinds"],
    "one fork": [
        forks.run({"train.py": f"value = {number}\\nimport tensorflow as tf\\nkept = 'other' in globals()\\nother = tf.constant([1.0, {number}])"}).left["kept"]
        for number in range(2)
    ],
    "hangs": Forks(limit=5.0).run({"train.py": "while True:\\n    pass"}).raised[:12],
    "dies": forks.run({"train.py": "import os\\nos._exit(3)"}).raised,
    "files": forks.run({"train.py": "from part import number", "part.py": "number = 8"}).left,
    "files again": forks.run({"train.py": "from part import number", "part.py": "number = 9"}).left,
    "printed": kinds(Run(printed="loss 1.00001"), Run(printed="loss 1.00002")) + kinds(Run(printed="a 1"), Run(printed="b 1")) + kinds(Run(printed="a 1"), Run(printed="")) + kinds(Run(printed="1"), Run(), "printed"),
    "raises": kinds(Run(raised="ValueError: x"), Run()) + kinds(Run(raised="ValueError: x"), Run(), "raised") + kinds(Run(), Run(raised="ValueError: x"), "raised"),
    "another exception": kinds(Run(raised="TypeError: x"), Run(raised="NameError: y"), "raised") + kinds(Run(raised="TypeError: x"), Run(raised="TypeError: x"), "raised") + kinds(Run(raised="ImportError: x"), Run(raised="AttributeError: y"), "raised") + kinds(Run(raised="TypeError: x"), Run(raised="ValueError: y")),
    "interrupted": interrupted(),
    "values": kinds(Run(left={"a": [1.0, 2.0], "b": {"c": "x"}}), Run(left={"a": [1.0, 3.0], "b": {"c": "y"}})),
    "shapes": kinds(Run(left={"a": [1.0, 2.0]}), Run(left={"a": [1.0, 2.0, 3.0]}), "numbers") + kinds(Run(left={"a": 1.0}), Run(left={"a": 2.0}), "numbers"),
    "slow": [looks_slower(Run(seconds=1, processor=1), Run(seconds=clock, processor=work)) for clock, work in ((1.5, 1.5), (1.5, 1.0), (1.05, 1.05), (1.0, 1.5))],
    "calls": forks.run({"train.py": "import tensorflow as tf\\none = tf.function(lambda x: x)\\nfor _ in range(7):\\n    one(tf.ones(3))"}).calls.total(),
    "slow below": [looks_slower(Run(seconds=1, processor=1, calls=Counter(old=5)), Run(seconds=2, processor=2, calls=Counter(old=5, new=n))) for n in (12, 90)],
    "slow trainings": [looks_slower(Run(seconds=1, processor=1, calls=Counter(fitted=n)), Run(seconds=2, processor=2, calls=Counter(fitted=n, read=2 * n))) for n in (6, 12, 24)]
    + [looks_slower(Run(seconds=1, processor=1, calls=Counter(fitted=n)), Run(seconds=2, processor=2, calls=Counter(fitted=n))) for n in (6, 23, 24)],
    "measured": [
        slower(Scripted(*times), {"train.py": ""}, {"train.py": ""}, 2) > 1.1
        for times in (
            [(1, 1), (2, 2), (1, 1)] * 2,
            [(1, 1), (2, 2), (1, 1), (2, 2), (1, 1), (2, 2)],  # the shortest of two is as short
            [(1, 1), (1.3, 1.3), (1.4, 1.4)] * 2,  # as the program itself differs
            [(1, 1), (1.3, 1.3), (1.1, 1.4)] * 2,  # by the processor's time
            [(1, 1), (1.5, 1.5), (1.1, 1.1)] * 2,
        )
    ],
}
forks.close()
fix_fuzz.generated = generated
answers["compiles"] = [bool(compile(text, name, "exec")) for number in range(100) for name, text in generated(Choices(f"a-{number}")).items()]
choices = Choices("b-4")
program = generated(choices)
answers["plainer"] = [generated(choices.plain(label)) != program for label in choices.special()]
answers["same again"] = generated(Choices("b-4")) == program
print("ANSWERS", json.dumps(answers))
'''


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the fuzzer says of some programs and fixes, in a process of its own."""
    pytest.importorskip("tensorflow")
    script = tmp_path_factory.mktemp("fix_fuzz") / "answers.py"
    script.write_text(_ANSWERS, "utf-8")
    done = subprocess.run(
        [sys.executable, script, BENCHMARKS], capture_output=True, text=True, timeout=900, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert lines, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(lines[0].removeprefix("ANSWERS "))
    return found


def test_a_lost_update_is_found(answers: dict[str, Any]) -> None:
    """Protects weights: a fix that no longer trains is told for each program."""
    assert ["TFG202", "kernel", 1] in answers["lost update"]["kinds"]
    assert answers["lost update"]["fixes"] == {"TFG202": 1}


def test_what_differs_is_made_small(answers: dict[str, Any]) -> None:
    """Protects readers of reports: neither choices nor statements that do not matter are left, and it is still a program."""
    told = answers["name"]["told"][0]
    assert "raises NameError instead of nothing" in told
    before = [line[1:] for line in told.splitlines() if line[:1] in " -" and not line.startswith("---")]
    assert "unused" not in told and "the end" not in told
    assert ast.parse("\n".join(before))


def test_right_fixes_are_not_told(answers: dict[str, Any]) -> None:
    """Protects the rules: what computes the same is no difference, nor is what a rule promises to change."""
    assert answers["right"]["told"] == []
    assert answers["real"] == {"told": [], "fixes": {"TFG202": 1}}
    assert answers["promised"] == []


def test_traces_are_counted(answers: dict[str, Any]) -> None:
    """Protects from a trace in each call."""
    assert ["TFG202", "traces", 1] in answers["retraced"]
    assert not any(kind == "traces" for _, kind, _ in answers["traces"])


def test_programs_do_not_see_each_other(answers: dict[str, Any]) -> None:
    """Protects runs in one fork: names and modules of one program are not there in the next."""
    assert answers["one fork"] == [False, False]
    assert (answers["files"], answers["files again"]) == ({"number": 8}, {"number": 9})


def test_programs_that_do_not_end_well_are_told(answers: dict[str, Any]) -> None:
    """Protects the campaign from programs that hang or end the process."""
    assert answers["hangs"] == "TimeoutError"
    assert answers["dies"].startswith("SystemError")


def test_an_interrupted_campaign_tells_what_it_did(answers: dict[str, Any]) -> None:
    """Protects the table of a campaign that is stopped."""
    assert answers["interrupted"] == 2


def test_kinds_of_differences(answers: dict[str, Any]) -> None:
    """Protects the comparison: digits may differ a little, and a rule may change what it says, only that."""
    assert answers["printed"] == ["printed text", "printed text"]
    assert answers["raises"] == ["raises nothing instead of ValueError", "raises ValueError instead of nothing"]
    assert answers["another exception"] == ["raises NameError instead of TypeError"]
    assert sorted(answers["values"]) == ["a[]", "b.c"]
    assert answers["shapes"] == ["a"]


def test_time_is_judged_by_clock_and_processor(answers: dict[str, Any]) -> None:
    """Protects from a busy machine: both must say that a program became slower, by more than it differs from itself."""
    assert answers["slow"] == [True, False, False, False]
    assert answers["measured"] == [True, False, False, False, True]


def test_a_trace_is_slower_only_where_rules_say_that_it_pays(answers: dict[str, Any]) -> None:
    """Protects the campaign from programs that run a step a few times, of which the rules promise nothing."""
    assert answers["calls"] == 7
    assert answers["slow below"] == [False, True]
    assert answers["slow trainings"] == [False, True, True, False, False, True]


def test_the_grammar(answers: dict[str, Any]) -> None:
    """Protects the campaign: programs are Python, the same for a seed, and a plainer choice is another program."""
    assert all(answers["compiles"])
    assert answers["same again"] and sum(answers["plainer"]) > len(answers["plainer"]) / 2
