"""Findings of a program, planned for verify and run, as the command does it; and programs that take no TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.diagnostics import Diagnostic, Location, Prediction
from tflint_gpu.rule.experiment import Experiment
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.planning import plan
from tflint_gpu.verify.experiments.verification import Case, Setup, Verification
from tflint_gpu.verify.slicing.extract import Pair, Program

MODEL_AND_DATA = """import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensors((tf.ones((16, 4)), tf.ones((16, 1)))).repeat(50)
"""
EAGER_STEP = """
for epoch in range(3):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""

SLOWDOWN = Prediction("slowdown", low=1.5, high=36.0)


def program(*, step: float = 0.01, line: str = "", **result: object) -> Program:
    """Write a result with five steps; with a card, after a while in which that can be looked at."""
    document = json.dumps({"steps": [step] * 5, "outputs": None, "dtype": None, "devices": [], "notes": {}, **result})
    wait = "time.sleep(0.3 * (os.environ['CUDA_VISIBLE_DEVICES'] != '-1'))"
    code = (
        f"import json, os, sys, time\n{line}\n{wait}\nopen(os.environ['TFLINT_GPU_RESULT'], 'w').write({document!r})\n"
    )
    return Program("p.py", {"p.py": code})


def case(before: Program, after: Program, prediction: Prediction = SLOWDOWN, **fields: object) -> Case:
    place = Location(1, 1)
    diagnostic = Diagnostic("TFG202", "eager-train-step", "", "train.py", place, place, 1, "warning", prediction)
    experiment = Experiment(None, None, **fields)  # type: ignore[arg-type]
    return Case(diagnostic, prediction, experiment, pair=Pair(before, after))


_MEMORY = "4GiB"  # the card of those who ask in `fixtures/`


def cases_of(path: Path, *, synthetic: bool = False) -> list[Case]:
    """All experiments on the findings in a file or folder."""
    here = path if path.is_dir() else path.parent
    resolver = SettingsResolver(Options(gpu_memory=_MEMORY), None, True, here)
    engine = Engine(resolver, here)
    found, models = {}, []
    for file in Discovery(resolver, here).find([str(path)]):
        for rule, finding, diagnostic, model in engine.findings(file):
            found.setdefault(diagnostic.sort_key, (rule, finding, diagnostic, model))
        program = engine.model_of(file)
        if program is not None:
            models.append(program)
    return list(plan([found[key] for key in sorted(found)], models, synthetic=synthetic))


def verified(case: Case, *, runs: int | None = None, seconds: float = 300.0) -> Verification:
    """What comes of a case on the CPU."""
    return list(verify(case, Setup(runs=runs), seconds))[-1]
