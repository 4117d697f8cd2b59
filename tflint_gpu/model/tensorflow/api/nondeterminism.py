"""What gives another value each time it is asked: clocks and random generators."""

from __future__ import annotations

TIMERS = frozenset(
    (
        "time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic time.monotonic_ns "
        "time.process_time time.process_time_ns timeit.default_timer"
    ).split()
)
"""Clocks that give a number, with which programs measure how long something takes."""

CLOCKS = TIMERS | frozenset(
    "datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today".split()
)
"""Functions that read the time."""

GENERATORS = frozenset(
    (
        "tf.random.Generator tf.random.Generator.from_seed tf.random.Generator.from_state "
        "tf.random.Generator.from_key_counter tf.random.Generator.from_non_deterministic_state "
        "tf.random.get_global_generator"
    ).split()
)
"""What gives a `tf.random.Generator`."""

GENERATOR_DRAWS = frozenset("normal uniform uniform_full_int truncated_normal binomial make_seeds".split())
"""Methods of a `tf.random.Generator` that draw, and so advance its state."""
