"""`tflint_measure`, by which the programs measure: scripts with real TensorFlow, each in a fork of a process that has it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import ForkedPrograms

from tflint_gpu.ratios import round_ratio
from tflint_gpu.verify.execution.worker import Outcome, run_program
from tflint_gpu.verify.slicing.extract import Program, harness_modules
from tflint_gpu.verify.statistics.outcomes import Crash, Run

pytestmark = pytest.mark.slow

Measure = Callable[[str], Any]


@pytest.fixture
def measure(tmp_path: Path, forks: ForkedPrograms) -> Measure:
    """Run a script that has `tflint_measure` and TensorFlow imported."""

    def run(code: str) -> Outcome:
        head = "import tflint_measure\nimport time\nimport numpy as np\nimport tensorflow as tf\n"
        return forks.outcome(Program("program.py", {"program.py": head + code, **harness_modules()}).write(tmp_path))

    return run


CONDITIONS = {"gpus", "ran_on", "memory", "measured", "versions", "settings", "seed"}
COMPARED = {"compared"}


def told(outcome: Outcome) -> dict[str, object]:
    """What a program noted, without what every program tells of the machine."""
    assert outcome.result is not None, outcome.stderr
    assert outcome.result.notes.keys() >= CONDITIONS
    return {name: value for name, value in outcome.result.notes.items() if name not in CONDITIONS | COMPARED}


def test_a_loop_is_timed_and_the_program_ends_there(measure: Measure) -> None:
    outcome = measure(
        "halves = [tf.config.LogicalDeviceConfiguration()] * 2\n"
        "tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0], halves)\n"
        "with tf.device('/CPU:1'):\n    weights = tf.Variable([1.0, 2.0])\n"
        "for x in tflint_measure.steps([1, 2]):\n    time.sleep(0.01)\n"
        "open('after', 'w').close()\nraise AssertionError('the program goes on')\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert len(outcome.steps) >= 10
    assert 0.009 < sorted(outcome.steps)[len(outcome.steps) // 2] < 0.1
    assert outcome.result is not None and outcome.result.notes["ran_on"]["CPU:1"] == 1, (
        "where it is, as TensorFlow says"
    )


def test_what_the_allocator_gave_out_is_told_of_each_card(measure: Measure) -> None:
    """Protects the figures beside NVML's: TensorFlow names a card in one way and wants another one in the question."""
    outcome = measure(
        "listed = tf.config.list_logical_devices\n"
        "tf.config.list_logical_devices = lambda kind=None: listed('CPU' if kind == 'GPU' else kind)\n"
        "for x in tflint_measure.steps([1, 2]):\n    time.sleep(0.01)\n"
    )
    assert outcome.result is not None, outcome.stderr
    assert outcome.result.notes["memory"] == {"/device:CPU:0": {"current": 0, "peak": 0}}


def test_steps_that_trace_a_new_shape_are_not_timed(measure: Measure) -> None:
    """Protects ratios of traced steps over batches of several shapes: tracing costs once, and is told apart."""
    outcome = measure(
        "traced = []\n@tf.function\ndef step(x):\n    traced.append(1)\n    time.sleep(0.3)\n    return x + 1\n"
        "batches = [tf.ones(n) for n in (1, 2, 3, 4, 5, 6, 1)]\n"
        "for x in tflint_measure.steps(batches):\n    step(x)\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert sorted(outcome.steps)[len(outcome.steps) // 2] < 0.3
    assert outcome.result is not None
    assert outcome.result.notes["once"] > 6 * 0.3


SHAPES = {
    "kept batches of four shapes": ("batches = [tf.ones((n, 8)) for n in range(3, 7)]\nreads = False\n", 4),
    "a dataset with a last partial batch": (
        "batches = tf.data.Dataset.from_tensor_slices(tf.ones((27, 8))).batch(4)\nreads = True\n",
        2,
    ),
}


@pytest.mark.parametrize(("batches", "traced"), SHAPES.values(), ids=SHAPES.keys())
def test_a_real_slowdown_is_not_refuted_where_shapes_vary(batches: str, traced: int, measure: Measure) -> None:
    """Protects repaired steps from being charged with their tracing: 27 times as long was refuted as 0.17."""
    code = (  # Python's part of a step takes long whatever else runs, and a traced step leaves it out
        "def step(x):\n    time.sleep(0.05)\n    return tf.tanh(x) + 1.0\nDECORATED"
        f"{batches}for x in tflint_measure.steps(batches, reads=reads):\n    step(x)\n"
    )
    flagged = measure(code.replace("DECORATED", ""))
    repaired = measure(code.replace("DECORATED", "step = tf.function(step)\n"))
    assert (flagged.status, repaired.status) == ("finished", "finished"), repaired.stderr
    ratio = round_ratio(flagged.result.blocks, repaired.result.blocks).logarithm
    assert ratio > math.log(1.5)
    assert repaired.result.notes["once"] > 0.05 * traced, "tracing is told apart"


def test_a_step_is_warm_when_it_is_no_longer_faster(measure: Measure) -> None:
    """Protects against kernels that are chosen, or code that is compiled, in the first dozen steps."""
    outcome = measure(
        "slow = iter([0.1 * 0.8**n for n in range(16)])\nfor x in tflint_measure.steps([1, 2, 3]):\n    time.sleep(next(slow, 0.001))\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert outcome.result.blocks[0] < 0.02 and outcome.result.notes["once"] > 0.3


def test_a_block_is_judged_and_not_a_step(measure: Measure) -> None:
    """Protects costs that not every step has: what each fourth step takes is in every block, and in no median of steps."""
    outcome = measure("for x in tflint_measure.steps(range(4)):\n    time.sleep(0.02 if x == 3 else 0.001)\n")
    assert outcome.status == "finished", outcome.stderr
    assert sorted(outcome.result.blocks)[len(outcome.result.blocks) // 2] > 0.004
    assert sorted(outcome.steps)[len(outcome.steps) // 2] < 0.02


def test_empty_data_is_called_that_and_weights_are_kept_after_three_iterations(measure: Measure) -> None:
    """Protects from an endless loop over nothing, and from a repair that trains something else unseen."""
    outcome = measure(
        "empty = tf.data.Dataset.range(0)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile(loss='mse')\n"
        "attempts = [lambda: list(tflint_measure.steps([])), lambda: list(tflint_measure.steps(empty, reads=True)),\n"
        "            lambda: tflint_measure.consume(empty), lambda: tflint_measure.fit(model.fit)(empty),\n"
        "            lambda: tflint_measure.fit(model.fit)(np.zeros((0, 2)), np.zeros((0, 1)))]\n"
        "for attempt in attempts:\n"
        "    try:\n        attempt()\n"
        "    except tflint_measure.EmptyData as error:\n        print('empty:', error)\n"
        "total, graph = tf.Variable(0.0), tf.Graph()\n"
        "with graph.as_default():\n    of_graph = tf.Variable(7.0, name='kernel')\n"
        "for x in tflint_measure.steps([1]):\n    total.assign_add(1.0)\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert outcome.stdout.count("empty:") == 5
    assert outcome.outputs == [3.0]


def test_times_are_per_sample(measure: Measure) -> None:
    outcome = measure("for x in tflint_measure.steps([1, 2], samples=10):\n    time.sleep(0.02)\n")
    assert 0.0019 < sorted(outcome.steps)[len(outcome.steps) // 2] < 0.02


def test_a_while_loop_over_an_iterator_is_timed(measure: Measure) -> None:
    outcome = measure(
        "it = iter(tflint_measure.endless(tf.data.Dataset.range(3)))\n"
        "while tflint_measure.iterates(samples=1):\n    time.sleep(0.01 + 0 * int(next(it)))\n"
    )
    assert outcome.status == "finished" and len(outcome.steps) >= 10, outcome.stderr


EPISODES = """
for day in {days}:
    past = []
    while tflint_measure.iterates(len(past) < 5, samples=1):
        time.sleep(0.002)
        past.append(day)
        if len(past) == 5:
            past = tuple(past)
            time.sleep(0.05)
    past.count(day)
"""


@pytest.mark.parametrize("days", ["range(12)", "tflint_measure.lasting(range(3))"])
def test_a_while_loop_is_left_and_run_again(days: str, measure: Measure) -> None:
    """Protects episodes: what begins them is not skipped, and what only ends them counts for each of their steps."""
    outcome = measure(EPISODES.format(days=days))
    assert outcome.status == "finished", outcome.stderr
    assert outcome.result is not None and min(outcome.result.blocks) > 0.009, "a fifth of an episode, in each block"


def test_an_empty_loop_is_no_measurement(measure: Measure) -> None:
    outcome = measure("for x in tflint_measure.steps([]):\n    pass\n")
    assert outcome.status == "raised" and "iterates over nothing" in outcome.text


def test_fit_runs_long_enough_whatever_the_program_says(measure: Measure) -> None:
    outcome = measure(
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "x = np.ones((40, 2), 'float32')\n"
        "tflint_measure.fit(model.fit, samples=8)(x, x[:, :1], 8, 1, 1, validation_split=0.2)\n"
    )
    assert outcome.status == "finished" and len(outcome.steps) >= 10, outcome.stderr
    assert "Epoch" not in outcome.stdout
    assert outcome.result is not None
    told = outcome.result.notes
    assert list(told["ran_on"]) == ["CPU:0"] and told["gpus"] == [], "weights tell where the training ran"
    assert {"python", "tensorflow", "keras", "numpy"} <= told["versions"].keys() and told["seed"] == 1
    began, ended = told["measured"]
    assert sum(8 * step for step in outcome.steps) <= ended - began < outcome.seconds


@pytest.mark.parametrize("y", ["y", "Some(y)"], ids=["arrays", "something else"])
def test_fit_of_several_inputs(y: str, measure: Measure) -> None:
    """Protects models of several inputs: inputs and labels keep the same number of rows, whatever they are given as."""
    outcome = measure(
        "class Some(list):\n    pass\n"
        "class Net:\n    def fit(self, x, y, **more):\n"
        "        sizes = {len(part) for part in (*x.values(), y)}\n"
        "        tflint_measure.finish(sizes=sorted(sizes))\n"
        "x, y = {'a': np.ones((8, 2)), 'b': np.ones((8, 1))}, np.ones(8)\n"
        f"tflint_measure.fit(Net().fit)(x, {y}, batch_size=2)\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert outcome.result.notes["sizes"] == ([1024] if y == "y" else [8])


def test_the_consumer_waits_and_the_first_numbers_are_kept(measure: Measure) -> None:
    outcome = measure(
        "tflint_measure.CONSUMER_SECONDS = 0.02\n"
        "tflint_measure.consume(tf.data.Dataset.from_tensor_slices([[1.5, 2.5]]), optimized=False)\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert 0.02 <= sorted(outcome.steps)[len(outcome.steps) // 2] < 0.1
    assert (outcome.outputs, outcome.result.dtype) == ([1.5, 2.5], "float32")


def test_the_devices_of_a_block_are_seen(measure: Measure) -> None:
    outcome = measure(
        "tflint_measure.log_devices()\nwith tflint_measure.placed(tf.device)('/GPU:3'):\n    tf.ones((2, 2)) + 1\n"
    )
    assert outcome.result.notes["asked"] == "/GPU:3"
    assert outcome.result.devices == ("/device:CPU:0",)


@pytest.mark.parametrize("given", ["'/CPU:0'", "device='/CPU:0'"])
def test_the_device_of_a_strategy_is_seen(given: str, measure: Measure) -> None:
    code = f"tflint_measure.log_devices()\ntflint_measure.placed_strategy(tf.distribute.OneDeviceStrategy)({given})\n"
    outcome = measure(code)
    assert outcome.result is not None, outcome.stderr
    assert outcome.result.notes["asked"] == "/CPU:0" and "/device:CPU:0" in outcome.result.devices


def test_a_block_that_goes_on_for_ever_is_left(measure: Measure) -> None:
    """Protects the time of a finding on a device around a whole training: the first operations show where they run."""
    outcome = measure(
        "import tflint_devices\ntflint_devices._MOST_SECONDS = 0.5\ntflint_measure.log_devices()\n"
        "with tflint_measure.placed(tf.device)('/CPU:0'):\n    x = tf.ones(3)\n    while True:\n        x = x + 1\n"
    )
    assert outcome.result is not None, outcome.stderr
    assert outcome.result.devices == ("/device:CPU:0",) and outcome.result.notes["asked"] == "/CPU:0"


def test_loops_on_the_way_are_left_after_some_iterations(measure: Measure) -> None:
    code = "count = 0\nfor turn in tflint_measure.few(range(9)):\n    while tflint_measure.again(True):\n        count += 1\n"
    assert told(measure(f"{code}tflint_measure.finish(count=count)"))["count"] == 100


def test_a_device_that_is_not_there_becomes_the_cpu(measure: Measure) -> None:
    outcome = measure(
        "tflint_measure.finish(a=tflint_measure.available('/gpu:0'), b=tflint_measure.available('CPU:0'))\n"
    )
    assert told(outcome) == {"a": "/CPU:0", "b": "CPU:0"}


WAVE = """
class Wave(tf.keras.layers.Layer):
    @tflint_measure.examine
    def call(self, inputs):
        return np.sin(inputs)

layer = Wave()
"""


@pytest.mark.parametrize(
    ("calls", "raised_in"),
    [
        ("layer(tf.ones((2, 3)))", "tf.function"),
        ("for _ in range(10**9): layer(tf.ones((2, 3)))", "tf.function"),
        ("tf.keras.Model(i := tf.keras.Input((3,)), layer(i))", None),
        ("tf.keras.Sequential([tf.keras.Input((3,)), layer])", "fit"),
        (
            "model = tf.keras.Sequential([tf.keras.Input((3,)), layer])\nmodel.compile('sgd', 'mse')\n"
            "model.fit(np.ones((8, 3)), np.ones((8, 3)), verbose=0)",
            None,
        ),
    ],
    ids=["eager", "eager for long", "functional", "built only", "built and fitted"],
)
def test_a_layer_is_examined_eagerly_and_traced(calls: str, raised_in: str | None, measure: Measure) -> None:
    """Protects what is said of the crash: whether the program itself raised, or what `verify` did with its layer."""
    flagged = measure(WAVE + calls + "\n")
    assert flagged.status == "raised" and flagged.exception.endswith("NotImplementedError"), flagged.stderr
    assert "symbolic tf.Tensor" in Run(crash=Crash("", flagged.text)).fault
    notes = {"eager": "works", "gradient": "None"}
    assert told(flagged) == notes | ({"raised_in": raised_in} if raised_in else {})


def test_a_repaired_layer_computes_the_same(measure: Measure) -> None:
    for calls in ("layer(tf.ones((2, 3)))", "tf.keras.Model(i := tf.keras.Input((3,)), layer(i))"):
        repaired = measure(WAVE.replace("np.sin", "tf.sin") + calls + "\n")
        found = {"eager": "works", "gradient": "there", "traced": "works"}
        assert told(repaired) == found, repaired.stderr
    assert np.asarray(repaired.outputs).shape == (4, 3)


def test_a_function_that_is_called_by_its_parameters_names_is_examined(measure: Measure) -> None:
    """Protects what nothing calls, and is called with stubs by name."""
    by_name = measure("@tflint_measure.examine\ndef wave(x):\n    return np.sin(x)\nwave(x=tf.ones((2, 3)))\n")
    assert (by_name.status, told(by_name).get("raised_in")) == ("raised", "tf.function"), by_name.stderr


def test_an_error_that_the_program_catches_is_the_crash_that_it_is(measure: Measure) -> None:
    """Protects TFG402: set too late, the devices raise, and most programs print that and go on."""
    outcome = measure(
        "tf.constant(1.0)\ntry:\n    tflint_measure.uncaught(tf.config.set_visible_devices)([], 'CPU')\n"
        "    tflint_measure.reached()\nexcept RuntimeError as error:\n    print(error)\n"
    )
    assert outcome.status == "raised" and outcome.exception == "RuntimeError"
    assert "cannot be modified after being initialized" in outcome.text


def test_a_dataset_that_is_thrown_away_is_noticed(measure: Measure) -> None:
    code = "ds = tf.data.Dataset.range(3)\nold = ds\nSTATEMENT\ntflint_measure.unchanged('ds', old, ds, 'batch')\n"
    assert "still the same" in measure(code.replace("STATEMENT", "ds.batch(2)")).result.notes["wrong"]
    assert "wrong" not in measure(code.replace("STATEMENT", "ds = ds.batch(2)")).result.notes


def test_stubs_have_the_shapes_that_were_asked_for(measure: Measure) -> None:
    outcome = measure(
        "x, y = tflint_measure.synthetic(((32, 8), 'float32'), ((32,), 'int64'))\n"
        "(train, labels), _ = tflint_measure.keras_dataset('cifar10')\n"
        "assert len(tflint_measure.keras_dataset('mnist', cut=55_000)[0][0]) == 60_000\n"
        "tflint_measure.finish(shapes=[list(a.shape) for a in (x, y, train, labels)],"
        " types=[str(a.dtype) for a in (x, y, train, labels)])\n"
    )
    assert outcome.result.notes["shapes"] == [[32, 8], [32], [2048, 32, 32, 3], [2048, 1]]
    assert outcome.result.notes["types"] == ["float32", "int64", "uint8", "uint8"]


def test_a_traced_model_takes_the_lists_that_predict_takes(measure: Measure) -> None:
    """Protects programs that give `predict` of Keras 2 a text in a list."""
    outcome = measure(
        "words = tf.keras.layers.TextVectorization(vocabulary=['old', 'house'])\n"
        "model = tf.keras.Sequential([words, tf.keras.layers.Embedding(4, 2)])\n"
        "shapes = [list(tflint_measure.traced(model)(data).shape) for data in (['an old house'], tf.constant(['old']))]\n"
        "tflint_measure.finish(shapes=shapes)\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert outcome.result.notes["shapes"] == [[1, 3, 2], [1, 1, 2]]


def test_numbers_that_are_handed_to_a_traced_function(measure: Measure) -> None:
    """Protects repairs from traces for each number, and from types that eager TensorFlow does not mind."""
    outcome = measure(
        "traces, kept = [], [tf.Variable(1.0)]\n"
        "@tf.function\ndef step(gain, over, action, flags, state, kept):\n"
        "    traces.append((over, type(action)))\n"
        "    return kept[0] * gain * flags + state + tf.one_hot(action, 3) * (1 - over)\n"
        "for k in range(40):\n"
        "    given = k / 40, np.bool_(k % 2), np.int64(k % 3), np.arange(3) < 2, np.ones(3), kept\n"
        "    gain, over, action, flags, state, _ = given\n"
        "    eager = kept[0] * gain * flags + state + tf.one_hot(action, 3) * (1 - int(over))\n"
        "    flags = tflint_measure.number(flags)\n"
        "    np.testing.assert_allclose(eager, step(*tflint_measure.handed(gain, over, action, flags, state, kept)))\n"
        "assert len(traces) == 6, traces\n"
        "rows, pair = tflint_measure.handed([[k] * 20 for k in range(3)], [1, 2])\n"
        "assert rows.shape == (3, 20) and rows.dtype == tf.int32 and pair == [1, 2]\n"
        "few = [type(tflint_measure.handed(k)[0]) is int for k in range(30)]\n"
        "tflint_measure.finish(few=[few[0], few[-1]])\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert outcome.result.notes["few"] == [True, False]


def test_episodes_are_one_loop(measure: Measure) -> None:
    """Protects loops that are left when an episode is over; what is done between two of them counts for no step."""
    outcome = measure(
        "for episode in range(10000):\n"
        "    time.sleep(0.05)\n"
        "    for step in tflint_measure.steps(range(200)):\n"
        "        time.sleep(0.002)\n"
        "        if step == 5:\n            break\n"
    )
    assert outcome.status == "finished", outcome.stderr
    assert 0.0019 < sorted(outcome.steps)[len(outcome.steps) // 2] < 0.02 and max(outcome.result.blocks) < 0.03


def test_slow_steps_are_not_repeated_for_shapes_that_were_seen(measure: Measure) -> None:
    """Protects the budget: eight steps of three seconds before anything is measured, twice, leave none of a minute."""
    outcome = measure(
        "import tflint_clock\ntflint_clock.MOST_SECONDS_OF_WARM_UP = 0.4\ncount = 0\n"
        "for x in tflint_measure.steps([tf.zeros(3)] * 8):\n"
        "    count += 1\n    assert count < 13, 'it waited for all eight'\n    time.sleep(0.15)\n"
    )
    assert outcome.status == "finished", outcome.stderr


def test_a_range_goes_on_to_its_end(measure: Measure) -> None:
    """Protects loops whose condition is on their own number: an agent that learns from the fiftieth episode on."""
    outcome = measure(
        "tflint_measure.expect(0)\nseen = []\n"
        "for episode in tflint_measure.steps(range(100)):\n"
        "    time.sleep(0.002)\n    seen.append(episode)\n"
        "    if episode > 50:\n        tflint_measure.passed(0)\n"
        "    assert seen == [n % 100 for n in range(len(seen))]\n"
    )
    assert outcome.status == "finished", outcome.stderr


@pytest.mark.slow
def test_an_error_ends_a_program_whose_threads_do_not(tmp_path: Path) -> None:
    """Protects the reason and the budget: a pipeline's thread went on after the error, until the time was over."""
    code = (
        "import threading, time\nimport tflint_measure\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
        "raise ValueError('it is broken')\n"
    )
    outcome = run_program(Program("run.py", {"run.py": code, **harness_modules()}).write(tmp_path))
    assert (outcome.status, outcome.exception, outcome.text) == ("raised", "ValueError", "it is broken")


NEVER = """
import tflint_clock
tflint_clock.MOST_SECONDS_OF_SHAPES = 2.0
tflint_measure.expect(0)
for step in tflint_measure.steps(range(4)):
    time.sleep({pause})
    count = globals().get("count", 0) + 1
    if count > {after}:
        tflint_measure.passed(0)
        time.sleep(0.02)
"""


def test_steps_without_the_flagged_code_are_not_measured(measure: Measure) -> None:
    """Protects the truth: an agent that only collects says nothing of how it learns."""
    outcome = measure(NEVER.format(pause=0.001, after=100))
    assert outcome.status == "finished", outcome.stderr
    assert min(outcome.result.blocks) > 0.02
    never = measure(NEVER.format(pause=0.001, after=10**9))
    assert never.status == "raised" and never.exception == "tflint_outcome.NeverRun", never.stderr
    assert re.search(r"the loop's first \d+ iterations do not run the flagged code", never.text)


@pytest.mark.slow
def test_libraries_come_before_files_of_their_names(tmp_path: Path) -> None:
    """Protects TensorFlow from a notebook called `keras.ipynb`, and from a folder that is called so."""
    files = {"notes/keras.py": "import tflint_measure\ntflint_measure.finish()\n", "notes/numpy/__init__.py": "1 / 0"}
    files["notes/run.py"] = (
        "import os, sys\nsys.path.insert(1, os.path.join(os.path.dirname(__file__), '..'))\nimport tflint_measure\n"
        "import tensorflow as tf\ntf.keras.layers.Dense(1)\nimport keras\nkeras.__version__\ntflint_measure.finish()\n"
    )
    outcome = run_program(Program("notes/run.py", {**files, **harness_modules()}).write(tmp_path))
    assert outcome.status == "finished", outcome.stderr


BUILDS_LATER = """
net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
net.build((None, 3))
first, second = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()
scores = []

@tf.function
def step(x, is_second):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x) ** 2)
    slopes = tape.gradient(loss, net.trainable_variables)
    (second if is_second else first).apply_gradients(zip(slopes, net.trainable_variables))
    if is_second:
        score.update_state(tf.ones((4, 2)), tf.ones((4, 2)))

score = tf.keras.metrics.F1Score()
before = float(tf.reduce_sum(net.variables[0]))
for is_second in (False, True, True):
    step(tf.ones((4, 3)), is_second)
tflint_measure.finish(learned=float(tf.reduce_sum(net.variables[0])) - before, score=float(score.result()[0]))
"""


def test_an_optimizer_and_a_metric_of_a_later_call_are_built(measure: Measure) -> None:
    """Protects what is measured of code that is traced as it is: variables are made in the first call only."""
    refused = measure(BUILDS_LATER)
    assert refused.status == "raised" and "created on the first call" in refused.stderr
    built = measure(f"tflint_measure.build_outside()\n{BUILDS_LATER}")
    assert built.status == "finished", built.stderr
    assert told(built)["learned"] != 0.0 and told(built)["score"] == pytest.approx(1.0)
