"""What Python draws: random numbers, the time, unique names."""

from __future__ import annotations

from tflint_gpu.model.tensorflow.api.nondeterminism import CLOCKS

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
PYTHON_GENERATORS = frozenset(
    ["numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random"]
)
GENERATOR_WORDS = frozenset(name.rpartition(".")[2] for name in PYTHON_GENERATORS)
"""The last parts of the names of what makes random generators."""
DRAWING = frozenset(name.rpartition(".")[2] for name in DRAWS | CLOCKS | UNIQUE)
"""The last parts of the names of all draws and clocks, and the methods of generators that draw."""
