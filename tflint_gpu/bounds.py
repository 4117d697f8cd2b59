"""How far the analysis looks: each bound once, with what it bounds and why it is there.

What lies beyond a bound is not known, and rules say nothing of what they do not know. `Inference.meet` remembers each
bound that cut something off, and `check --verbose` tells it. `docs/bounds.md` lists all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """A number of things that the analysis looks at; more are not followed.

    Arguments:
        what: the things, in words that follow the number.
        reason: what was seen or measured, or what would grow without it.
    """

    limit: int
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.limit:,} {self.what}"


Meet: TypeAlias = Callable[[Bound], None]
"""Tells that a bound was met."""

# Names and definitions.

REACHING_BINDINGS = Bound(
    64,
    "assignments of one name that may hold at one place",
    "Generated code has hundreds of branches, and each place would ask each of them for the way to it: of more "
    "all assignments count.",
)
REEXPORTS = Bound(
    6,
    "files through which an imported name is handed on",
    "Each step reads and parses another file, and imports may go round in a circle.",
)
ALIASES = Bound(
    4,
    "names that stand for one class",
    "`A = B` and `B = A` in two files that import each other would be without end.",
)
LINEAGE = Bound(
    20,
    "classes above one",
    "Each base is a search in another file; a lineage is asked for at each use of `self`.",
)
SUBCLASSES = Bound(
    32,
    "classes below one",
    "Each class of the files that are seen is compared with its whole lineage; of a library's base class there are "
    "hundreds.",
)
OVERRIDES = Bound(
    6,
    "methods of subclasses in the place of one, or what they set an attribute to",
    "Of a class that many others fill in, what all of them may do says nothing of one.",
)
CONSTRUCTORS = Bound(
    32,
    "constructors that call the next one above",
    "Each step looks through the methods of a lineage again.",
)

# Values.

VALUE_STEPS = Bound(
    40,
    "steps from a value to its origin",
    "More than any real program was seen to need; each step stands on Python's stack on top of the one before.",
)
ORIGINS = Bound(
    24,
    "origins of one expression",
    "Origins multiply with those of each part of an expression; what has more is met mostly in TensorFlow's own files. "
    "A model is what the first ones are.",
)
CONTEXT_CALLS = Bound(
    8,
    "calls inside each other for which arguments are told apart",
    "Each further level multiplies the contexts in which a function is looked at; deeper, what all calls pass counts.",
)
MADE_WITHIN = Bound(
    3,
    "objects whose methods make each other for which arguments are told apart",
    "Of a generator that iterates over what another object of its class made, each further level multiplies them.",
)
CALL_SITES = Bound(
    100,
    "call sites of one function that pass a value",
    "What all sites pass is joined, and each is followed to its origins; with more sites the parameter is open.",
)
HANDED_ON = Bound(
    4,
    "times that a function is handed on before it is called",
    "Each step leads to all uses of another name: a parameter, an attribute, what `functools.partial` gave.",
)
OUTSIDE_FUNCTIONS = Bound(
    200,
    "functions of other files that running a file calls",
    "A program that calls a framework would have all of it looked through for loops.",
)
CONTAINER_ITEMS = Bound(
    200,
    "items of one list, tuple or dictionary that are followed",
    "Tables of thousands of entries are written into programs, and any item of them may be asked for.",
)

# Constants.

CONSTANT_STEPS = Bound(
    5_000,
    "steps to a constant",
    "`n = n * 2 + n` a hundred times in a row doubles the steps with each line: it took 88 s in a fuzzed program.",
)
CONSTANT_DEPTH = Bound(
    200,
    "steps to a constant inside each other",
    "Each step takes some of Python's stack, which a sum of hundreds of operands would use up.",
)
CONSTANT_TEXT = Bound(
    10_000,
    "characters of a text that is computed with a number",
    '`"x" * 10**9` would be made in memory.',
)
CONSTANT_SEQUENCE = Bound(
    100,
    "elements of a list or tuple that is a constant",
    "Each element is computed and compared, though rules ask for shapes, sizes and short lists.",
)
CONSTANT_ENTRIES = Bound(
    200,
    "entries of a dictionary that is a constant",
    "Settings have fewer; the dictionary is computed again for each key that is asked of it.",
)

# What code runs.

REGION_FUNCTIONS = Bound(
    400,
    "functions that one loop or function runs",
    "More are a framework's own, which calls everything.",
)
WALK_CALLS = Bound(
    8,
    "calls inside each other that a loop or program runs",
    "Steps of training six calls deep were seen in applications.",
)
PROGRAM_CALLS = Bound(
    4_000,
    "calls of a program whose models are followed from their compilation to their training",
    "Each call of a function is followed by itself, so that functions which call each other multiply them.",
)
CALLERS = Bound(8, "calls from some code outwards", "As many as inwards, so that both give one answer.")
TRACED_ARGUMENT_SITES = Bound(
    20,
    "call sites of a function that could be under `tf.function`",
    "The arguments of all sites are looked at, and a repair must be right for each of them.",
)

# Conditions, and what comes before a place.

DEVICE_STEPS = Bound(
    5,
    "assignments from a test to the question for GPUs",
    "Each name leads to all its assignments, and names may stand for each other in a circle.",
)
VERSION_NAMES = Bound(4, "names between a test and TensorFlow's version", "Names may stand for each other in a circle.")
INITIALISER_CALLS = Bound(
    3,
    "calls inside each other that initialise the GPUs",
    "All calls before a place are asked, each with all that it calls.",
)

# Models and tracing.

MODEL_PARTS = Bound(
    4,
    "models inside each other whose layers are looked at",
    "A model may be added to itself, or be called in the function that makes it.",
)
LISTED_FUNCTIONS = Bound(
    3,
    "lists inside each other that hold losses and metrics",
    "Keras takes lists in dictionaries; a list may hold itself.",
)
TRACED_CALLS = Bound(
    6,
    "calls inside each other in code that TensorFlow traces",
    "Each function that is reached is looked at by all rules for traced code.",
)
TENSOR_CALLS = Bound(
    6,
    "calls inside each other that hand a tensor on while TensorFlow traces",
    "A function is looked at once for each set of parameters that may hold tensors.",
)
WEIGHT_LAYERS = Bound(
    4,
    "layers inside each other that may create weights",
    "Wrappers and models of models nest, and layers make each other.",
)
EFFECT_FUNCTIONS = Bound(
    60,
    "functions that one runs in which effects on the host are looked for",
    "All that they do must be known for a repair: among more there is always something unknown.",
)
RECURSION_CALLS = Bound(
    5,
    "calls on the way from a function back to itself",
    "Longer ways were not seen; each step multiplies the functions on the way.",
)
RECURSION_FUNCTIONS = Bound(
    200,
    "functions that are looked through for a way back to one",
    "Each function under `tf.function` would have the whole project looked through.",
)
GLOBAL_SITES = Bound(
    20,
    "call sites of a function that reads or changes a global",
    "Each site is compared with each change.",
)

# Loops.

NUMBER_STEPS = Bound(
    64,
    "steps from a number to the loop that changes it",
    "Each operand and each call site is a step of its own, some calls of Python deep, whose stack is limited.",
)
NUMBER_SITES = Bound(
    16,
    "call sites of one function that pass a number",
    "What all sites pass is joined, and each is followed to its loop.",
)
ELEMENT_CALLS = Bound(
    2,
    "calls inside each other that compute one element",
    "Such a function must be nothing but arithmetic, and be understood at a glance where it is named.",
)
NAMED_FUNCTIONS = Bound(
    50,
    "functions of a file whose names a loop calls",
    "They are found by their names alone, so that more are likely to be others of the same name.",
)
BUILDER_CALLS = Bound(
    3,
    "functions that hand on the model which another one builds",
    "All that each function returns must be a new model.",
)

# Input pipelines.

PIPELINE_STEPS = Bound(
    60,
    "operations of one pipeline after each other",
    "Each operation stands on Python's stack on top of the one before.",
)
PIPELINE_VARIANTS = Bound(
    16,
    "datasets that one expression may be",
    "Two branches at each of some operations double what the pipeline may be each time.",
)
JOINED_DATASETS = Bound(
    64,
    "datasets that are joined",
    "A dataset joined with itself again and again would be without end.",
)
ITERATOR_STEPS = Bound(
    8,
    "wrappers around a dataset that is iterated over",
    "An iterator may be made of itself: `it = iter(it)`.",
)
DATASET_PARTS = Bound(4, "tuples inside each other that a dataset is made of", "A value may hold itself.")
MAPPED_CALLS = Bound(
    6,
    "calls inside each other in a dataset's function",
    "Each function is looked at in a context of its own for each operation that runs it.",
)
LOCKED_CALLS = Bound(
    4,
    "calls inside each other that stay under Python's lock",
    "All of them must be known; deeper there is always one that may leave the lock.",
)
RANDOM_CALLS = Bound(
    4,
    "calls inside each other that draw random numbers for each element",
    "Each call is followed in a context of its own, so that functions which call each other multiply them.",
)
SAMPLE_STEPS = Bound(
    8,
    "steps from a dataset to the table of samples",
    "A value may be made of itself.",
)
DRAWN_NAMES = Bound(
    2,
    "names between a random number and the operation that takes it",
    "All uses of each name must take a tensor, and each of them may make another name.",
)
DTYPE_CALLS = Bound(
    2,
    "calls inside each other that hand on a number whose dtype is looked for",
    "Each call leads to all uses of a parameter, and a fix must be right for every one of them.",
)
INPUT_STEPS = Bound(
    6,
    "steps from what a loop gives a model to the value that it is made of",
    "A value may be made of itself.",
)
SHAPE_STEPS = Bound(
    40,
    "steps inside each other from a value to what sets its shape",
    "Each step takes some of Python's stack, and a value may be made of itself.",
)
SHAPE_VALUES = Bound(
    2_000,
    "values of which one argument's shape is made",
    "What depends on itself in a loop is looked at again on each way to it.",
)
SOURCE_VALUES = Bound(
    200,
    "values that one value is computed from",
    "A program may compute all that it has from one array.",
)
GENERATED_STEPS = Bound(
    6,
    "steps from what a generator yields to an array",
    "A value may be made of itself.",
)

# Arrays and networks.

ARRAY_STEPS = Bound(
    8,
    "operations from an array to the call that makes it",
    "An array may be computed from itself, and both operands are followed.",
)
ABSTRACT_STEPS = Bound(
    4_000,
    "steps to the dtype and shape of a value",
    "Each operand is asked separately, and a loop asks them again until they stay the same.",
)
ABSTRACT_PARTS = Bound(
    4_000,
    "parts of a structure whose values are known",
    "A dataset zipped with itself is twice as large, and twenty times of it a million.",
)
ABSTRACT_ROUNDS = Bound(
    6,
    "rounds in which a value that depends on itself may change",
    "Each round forgets one length at least, or the value is unknown.",
)
RUN_STEPS = Bound(
    60_000,
    "steps of a program that trains",
    "Large programs were seen to need 5,000; a program may run for days.",
)
RUN_CALLS = Bound(
    12,
    "calls inside each other of a program that trains",
    "A function that calls itself with values that are not known would be without end.",
)
RUN_ITERATIONS = Bound(
    400,
    "iterations of a loop of a program that trains",
    "Loops that build networks have fewer; a loop over data has millions.",
)
RUN_ITEMS = Bound(
    2_000,
    "items of a list or text that a program computes which trains",
    "`range(10**9)` and `[0] * 10**9` would be made in memory.",
)
RUN_NUMBER = Bound(
    10**15,
    "as a number of a program that trains",
    "Numbers that grow in a loop would have thousands of digits; no size of a network is larger.",
)
RUN_EXPONENT = Bound(
    64,
    "as an exponent in a program that trains",
    "`10**10**10` would take minutes, and all memory.",
)

ALL = tuple(value for value in tuple(globals().values()) if isinstance(value, Bound))
"""All bounds, in the order in which they stand here."""


def page() -> str:
    """The page of the documentation that lists them, as Markdown."""
    rows = "".join(f"| {bound.limit:,} | {bound.what} | {bound.reason} |\n" for bound in ALL)
    return f"{_PAGE}\n| Bound | Of what | Why |\n|---:|---|---|\n{rows}"


_PAGE = """\
# How far the analysis looks

A check follows values, calls and loops through a program only so far. What is further away is not known, and a
rule that needs to know it says nothing. `tflint-gpu check --verbose` tells for each file which bounds cut
something off:

```text
deep.py: values were followed no further than 8 calls inside each other for which arguments are told apart
```

The bounds are constants of `tflint_gpu/bounds.py`, and no settings: with each of them findings are the same on every
machine. This page is made of them:
`python -c "import tflint_gpu.bounds as b; print(b.page(), end='')" > docs/bounds.md`
"""
