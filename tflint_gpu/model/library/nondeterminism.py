"""What gives another value each time it is asked: clocks and random generators."""

from __future__ import annotations

from tflint_gpu.model.library.spellings import spelled

TIMERS = spelled("time.{time,perf_counter,monotonic,process_time}{,_ns} timeit.default_timer")
"""Clocks that give a number, with which programs measure how long something takes."""

CLOCKS = TIMERS | spelled("datetime.datetime.{now,utcnow,today} datetime.date.today")
"""Functions that read the time."""

GENERATORS = spelled(
    """
    tf.random.get_global_generator tf.random.Generator
    tf.random.Generator.from_{seed,state,key_counter,non_deterministic_state}
    """
)
"""What gives a `tf.random.Generator`."""
VARIABLE_GENERATORS = GENERATORS - {"tf.random.get_global_generator"} | {"keras.random.SeedGenerator"}
"""What makes a variable for random numbers."""
_OLD_DRAWS = spelled("tf.random_{uniform,normal,crop,shuffle}")
_NO_DRAWS = ("stateless_", "set_", "get_", "create_", "fold_in", "split", "Generator", "experimental", "index_shuffle")
GLOBAL_SEEDS = spelled("tf.random.set_seed {tf,tf.compat.v1,keras.utils}.set_random_seed")
"""Functions that make draws of TensorFlow the same in every run of a program."""

GENERATOR_DRAWS = frozenset("normal uniform uniform_full_int truncated_normal binomial make_seeds".split())
"""Methods of a `tf.random.Generator` that draw, and so advance its state."""

ARRAY_DRAWS = frozenset("permutation permuted shuffle dirichlet multinomial multivariate_normal".split())
"""Draws of a generator that give arrays without a size, too."""
NUMPY_DRAWS = ARRAY_DRAWS.union(
    """
    beta binomial chisquare choice exponential f gamma geometric gumbel hypergeometric laplace logistic
    lognormal logseries negative_binomial noncentral_chisquare noncentral_f normal pareto poisson power rand
    randint randn random random_integers random_sample ranf rayleigh sample standard_cauchy standard_exponential
    standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf integers
    """.split()
)
_OF_NUMBERS = frozenset(
    (
        "betavariate expovariate gammavariate gauss getrandbits lognormvariate normalvariate paretovariate randint "
        "random randrange triangular uniform vonmisesvariate weibullvariate"
    ).split()
)
NUMBER_DRAWS = frozenset(f"random.{name}" for name in _OF_NUMBERS)
"""Draws that give one Python number."""
PYTHON_DRAWS = _OF_NUMBERS | {"choice", "choices", "sample", "shuffle", "randbytes"}
DRAWS = frozenset([*(f"numpy.random.{name}" for name in NUMPY_DRAWS), *(f"random.{name}" for name in PYTHON_DRAWS)])
WHOLE_DRAWS = spelled("random.{randint,randrange} numpy.random.randint")
"""Draws whose numbers lie between whole ones that they get; NumPy's gives an array with a size."""
ROW_DRAWS = spelled("random.{sample,choices} numpy.random.{choice,randint}")
"""Draws that choose some of many rows: `shape_facts.size_of` says how many."""
_NORMAL, _UNIFORM = "tf.random.normal", "tf.random.uniform"
_NORMAL_OF_NUMPY = {"loc": "mean", "scale": "stddev", "size": "shape"}
_UNIFORM_OF_NUMPY = {"low": "minval", "high": "maxval", "size": "shape"}
_NORMAL_OF_PYTHON = {"mu": "mean", "sigma": "stddev"}
GRAPH_DRAWS: dict[str, tuple[str, dict[str, str]]] = {
    "numpy.random.normal": (_NORMAL, _NORMAL_OF_NUMPY),
    "numpy.random.standard_normal": (_NORMAL, {"size": "shape"}),
    "numpy.random.uniform": (_UNIFORM, _UNIFORM_OF_NUMPY),
    **dict.fromkeys(spelled("numpy.random.{random,random_sample,ranf,sample}"), (_UNIFORM, {"size": "shape"})),
    "random.random": (_UNIFORM, {}),
    "random.uniform": (_UNIFORM, {"a": "minval", "b": "maxval"}),
    **dict.fromkeys(spelled("random.{gauss,normalvariate}"), (_NORMAL, _NORMAL_OF_PYTHON)),
}
"""TensorFlow's function for a draw, and the draw's parameters in their order, with TensorFlow's names."""
GRAPH_DRAWS_BY_DIMENSIONS = {"numpy.random.rand": _UNIFORM, "numpy.random.randn": _NORMAL}
"""The same of those that take each dimension by itself."""
_GRAPH_DRAWS = {
    **{name.rpartition(".")[2]: function for name, (function, _) in GRAPH_DRAWS.items()},
    **{name.rpartition(".")[2]: function for name, function in GRAPH_DRAWS_BY_DIMENSIONS.items()},
    **dict.fromkeys(("shuffle", "permutation"), "tf.random.shuffle"),
    "gamma": "tf.random.gamma",
    "poisson": "tf.random.poisson",
    "choice": "tf.random.uniform` with `tf.gather",
    "binomial": "tf.random.stateless_binomial",
}
UNIQUE = frozenset(["uuid.uuid1", "uuid.uuid4"])
NUMPY_GENERATORS = spelled("numpy.random.{default_rng,RandomState,Generator}")
"""What gives a generator that draws arrays."""
PYTHON_GENERATORS = NUMPY_GENERATORS | {"random.Random"}
DRAWING = frozenset(name.rpartition(".")[2] for name in DRAWS | CLOCKS | UNIQUE)
"""The last parts of the names of all draws and clocks, and the methods of generators that draw."""


def draws_in_graph(name: str) -> bool:
    """Whether a function of TensorFlow draws from the random state of its operation."""
    name = name.replace("tf.compat.v1.", "tf.")
    if name in _OLD_DRAWS or name.startswith(("tf.image.random_", "tf.image.sample_distorted_bounding_box")):
        return True
    return name.startswith("tf.random.") and not name.removeprefix("tf.random.").startswith(_NO_DRAWS)


def in_graph(draw: str) -> str:
    """TensorFlow's function for a draw of Python's or NumPy's."""
    return _GRAPH_DRAWS.get(draw.rpartition(".")[2], _UNIFORM)
