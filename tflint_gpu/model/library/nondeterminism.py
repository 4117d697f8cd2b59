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

NUMPY_DRAWS = """
    beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic
    lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal
    pareto permutation poisson power rand randint randn random random_integers random_sample ranf rayleigh sample
    shuffle standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises
    wald weibull zipf integers permuted
"""
PYTHON_DRAWS = """
    betavariate choice choices expovariate gammavariate gauss getrandbits lognormvariate normalvariate paretovariate
    randbytes randint random randrange sample shuffle triangular uniform vonmisesvariate weibullvariate
"""
DRAWS = frozenset(
    [*(f"numpy.random.{name}" for name in NUMPY_DRAWS.split()), *(f"random.{name}" for name in PYTHON_DRAWS.split())]
)
UNIQUE = frozenset(["uuid.uuid1", "uuid.uuid4"])
NUMPY_GENERATORS = frozenset(["numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"])
"""What gives a generator that draws arrays."""
PYTHON_GENERATORS = NUMPY_GENERATORS | {"random.Random"}
GENERATOR_WORDS = frozenset(name.rpartition(".")[2] for name in PYTHON_GENERATORS)
"""The last parts of the names of what makes random generators."""
DRAWING = frozenset(name.rpartition(".")[2] for name in DRAWS | CLOCKS | UNIQUE)
"""The last parts of the names of all draws and clocks, and the methods of generators that draw."""
