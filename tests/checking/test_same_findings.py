"""Protects what is remembered: findings are those of a fresh check of each file, whatever was known before."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.workers import check_files
from tflint_gpu.model.python.project.file_searches import FileSearches
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery

Write = Callable[..., list[Path]]

PROJECT = {
    "pyproject.toml": "",
    "lib/__init__.py": "from lib.steps import step as run_step\n",
    "lib/graphs.py": """
import tensorflow as tf


def compiled(function):
    return tf.function(function)


def make_step(model, optimizer):
    @tf.function
    def step(x, scale):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x)) * scale
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return step
""",
    "lib/nets.py": """
import numpy as np
import tensorflow as tf
from lib import graphs as g

Layer = tf.keras.layers.Layer


class Base(Layer):
    def call(self, x):
        return self.transform(np.sin(x))

    def transform(self, x):
        raise NotImplementedError


class Net(Base):
    def __init__(self, units):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units)

    def transform(self, x):
        print(x)
        return self.dense(x)


@g.compiled
def forward(net, x):
    print("forward")
    return net(x)
""",
    "lib/steps.py": """
import tensorflow as tf


def step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
""",
    "train.py": """
import tensorflow as tf
from lib import run_step
from lib.graphs import make_step
from lib.nets import Net as Network, forward


class Deeper(Network):
    def transform(self, x):
        return self.dense(x.numpy())


model = Deeper(3)
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.range(1000).batch(1).map(lambda x: tf.cast(x, tf.float32))
for epoch in range(3):
    compiled = make_step(model, optimizer)
    for number, x in enumerate(data):
        run_step(model, optimizer, x)
        compiled(x, number)
        forward(model, x)
""",
    "evaluate.py": """
from lib.nets import Net, forward
import tensorflow as tf

net = Net(4)
data = tf.data.Dataset.range(1000).batch(8)
for x in data:
    net(x, training=False)
    net.predict(x)
""",
}
Found = dict[str, list[tuple[object, ...]]]


def found(folder: Path, jobs: int = 1, cached: bool = False) -> Found:
    """What a new process would find, by the file whose check finds it."""
    resolver = SettingsResolver(working_directory=folder)
    engine = Engine(resolver, folder, use_cache=cached)
    results = check_files(engine, Discovery(resolver, folder).find(["."]), jobs)
    assert not [result.errors for result in results if result.errors]
    return {result.file.name: [one.sort_key for one in result.diagnostics] for result in results}


def found_one_by_one(folder: Path) -> Found:
    """The same with a new engine for each file: nothing is known of the others."""
    resolver = SettingsResolver(working_directory=folder)
    files = Discovery(resolver, folder).find(["."])
    results = [result for file in files for result in check_files(Engine(resolver, folder), [file], 1)]
    return {result.file.name: [one.sort_key for one in result.diagnostics] for result in results}


def test_one_process_or_two_cached_or_fresh_with_or_without_what_is_known_of_other_files(
    tmp_path: Path, write_files: Write
) -> None:
    write_files(PROJECT)
    alone = found_one_by_one(tmp_path)
    assert len({key[2] for keys in alone.values() for key in keys}) >= 4, "or there is nothing to compare"
    for jobs in (1, 2):
        assert found(tmp_path, jobs) == alone
    assert found(tmp_path, cached=True) == alone
    assert found(tmp_path, cached=True) == alone, "from the cache"


USES = {
    **PROJECT,
    "lib/helpers.py": """
import tensorflow as tf


def scaled(x):
    print(x)
    return x * 2.0


def doubled(x):
    print(x)
    return x + x


class Scale:
    def call(self, x):
        return scaled(x)

    def __call__(self, x):
        return self.call(x)
""",
    "lib/users.py": """
import tensorflow as tf
from lib import helpers
from lib.helpers import Scale, doubled as twice, scaled

KINDS = {"scaled": scaled, "twice": twice}


@tf.function
def by_name(x):
    return scaled(x)


@tf.function
def by_another_name(x):
    return twice(x)


@tf.function
def by_a_display(x, kind):
    return KINDS[kind](x)


def handed_on(x):
    return tf.map_fn(helpers.doubled, x)


scale = Scale()
traced = tf.function(scale.call)
""",
    "run.py": """
import tensorflow as tf
from lib.users import by_a_display, by_another_name, by_name, handed_on, traced

for x in tf.data.Dataset.range(100).batch(1):
    by_name(x)
    by_another_name(x)
    by_a_display(x, "scaled")
    handed_on(x)
    traced(x)
""",
}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_what_names_leave_out_of_a_search_holds_nothing(
    tmp_path: Path, write_files: Write, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Files whose code does not use a name are not opened for it: findings are those of opening all that mention it."""
    write_files(USES)
    chance = random.Random(seed)
    paths = [tmp_path / name for name in USES if name.endswith(".py")]
    for _ in range(8):
        by_names = found(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(FileSearches, "_uses", FileSearches._has)
            assert found(tmp_path) == by_names
        path = chance.choice(paths)
        path.write_text(edited(path.read_text("utf-8"), chance), "utf-8")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_edited_files_give_the_findings_of_a_fresh_check(tmp_path: Path, write_files: Write, seed: int) -> None:
    """Lines go, come twice, swap and lose their words: what rests on a file falls with it, and nothing else is lost."""
    write_files(PROJECT)
    chance = random.Random(seed)
    found(tmp_path, cached=True)
    paths = [tmp_path / name for name in PROJECT if name.endswith(".py")]
    for _ in range(10):
        path = chance.choice(paths)
        path.write_text(edited(path.read_text("utf-8"), chance), "utf-8")
        assert found(tmp_path, cached=True) == found(tmp_path)
        assert found(tmp_path) == found_one_by_one(tmp_path)
    path.write_text(edited(path.read_text("utf-8"), chance), "utf-8")
    assert found(tmp_path, 2, cached=True) == found(tmp_path, 2) == found(tmp_path)


@pytest.mark.slow
def test_one_engine_sees_each_text_of_a_file_as_a_new_one_would(tmp_path: Path, write_files: Write) -> None:
    """What was found out for one text, of the file's classes and of those of others, does not live on with the next."""
    write_files(PROJECT)
    resolver = SettingsResolver(working_directory=tmp_path)
    engine, chance = Engine(resolver, tmp_path), random.Random(5)
    files = Discovery(resolver, tmp_path).find(["lib/nets.py", "train.py"])
    texts = {file.path: file.path.read_text("utf-8") for file in files}
    for _ in range(20):
        file = chance.choice(files)
        texts[file.path] = edited(texts[file.path], chance)
        given = replace(file, content=texts[file.path].encode())
        fresh = Engine(resolver, tmp_path).check(given)
        assert engine.check(given).diagnostics == fresh.diagnostics
        texts[file.path] = file.path.read_text("utf-8") if chance.randrange(3) == 0 else texts[file.path]


def edited(text: str, chance: random.Random) -> str:
    """A text with one of its lines changed."""
    lines = text.split("\n")
    index = chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[index]
        case 1:
            lines.insert(index, lines[index])
        case 2:
            other = chance.randrange(len(lines))
            lines[index], lines[other] = lines[other], lines[index]
        case _:
            words = lines[index].split(" ")
            words[chance.randrange(len(words))] = chance.choice(["model", "step", "Net", "x", "1"])
            lines[index] = " ".join(words)
    return "\n".join(lines) or "\n"
