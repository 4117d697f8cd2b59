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
    "assignments of one name that may reach one location",
    "Generated code has hundreds of branches, and each location would need the path from each of them. If there "
    "are more, all assignments of the name count.",
)
REEXPORTS = Bound(
    6,
    "files through which an imported name is re-exported",
    "Each step reads and parses another file, and imports may form a cycle.",
)
ALIASES = Bound(
    4,
    "names for one class",
    "Two files that import each other may have `A = B` and `B = A`, which would never end.",
)
LINEAGE = Bound(
    20,
    "base classes above one class",
    "Each base class needs a search in another file, and each use of `self` needs the base classes.",
)
SUBCLASSES = Bound(
    32,
    "subclasses below one class",
    "Each class in the files of the check is compared with all its base classes. A library's base class has "
    "hundreds of subclasses.",
)
OVERRIDES = Bound(
    6,
    "subclasses whose methods and attribute values are also considered for their base class",
    "If many subclasses override a method, what all of them may do says nothing about one of them.",
)
CONSTRUCTORS = Bound(
    32,
    "constructors that call the constructor of their base class, one after the other",
    "Each step searches the methods of all base classes again.",
)

# Values.

VALUE_STEPS = Bound(
    40,
    "steps from a value to its origin",
    "No real program was seen to need more. Each step needs more of Python's stack.",
)
ORIGINS = Bound(
    24,
    "origins of one expression",
    "The numbers of origins of an expression's parts multiply. Expressions with more are mostly in TensorFlow's "
    "own files. Only the first 24 decide whether a value is a model.",
)
CONTEXT_CALLS = Bound(
    8,
    "nested calls whose arguments are kept separate",
    "Each further level multiplies the contexts of a function. Deeper calls are analysed with the arguments of "
    "all callers together.",
)
MADE_WITHIN = Bound(
    3,
    "nested objects whose arguments are kept separate, if their methods create each other",
    "If a generator iterates over another object of its own class, each further level multiplies the contexts.",
)
CALL_SITES = Bound(
    100,
    "call sites of one function that pass a value",
    "The values of all call sites are joined, and each is followed to its origins. With more call sites, the "
    "parameter is unknown.",
)
HANDED_ON = Bound(
    4,
    "names through which a function is passed on before it is called",
    "Each step leads to all uses of another name: a parameter, an attribute, or the result of `functools.partial`.",
)
OUTSIDE_FUNCTIONS = Bound(
    200,
    "functions in other files that the code of one file runs",
    "A program that calls a framework would need a search for loops in the whole framework.",
)
CONTAINER_ITEMS = Bound(
    200,
    "items of one list, tuple or dictionary that are followed",
    "Some programs contain tables of thousands of entries, and any entry may be used.",
)

# Constants.

CONSTANT_STEPS = Bound(
    5_000,
    "steps to compute a constant",
    "`n = n * 2 + n` a hundred times in a row doubles the steps with each line. It took 88 s in a fuzzed program.",
)
CONSTANT_DEPTH = Bound(
    200,
    "nested steps to compute a constant",
    "Each step needs some of Python's stack, and a sum of hundreds of operands would exhaust it.",
)
CONSTANT_TEXT = Bound(
    10_000,
    "characters of a string that a number multiplies",
    '`"x" * 10**9` would need that much memory.',
)
CONSTANT_SEQUENCE = Bound(
    100,
    "elements of a constant list or tuple",
    "Each element is computed and compared, although rules need only shapes, sizes and short lists.",
)
CONSTANT_ENTRIES = Bound(
    200,
    "entries of a constant dictionary",
    "Settings have fewer entries. The dictionary is computed again for each key.",
)

# What code runs.

REGION_FUNCTIONS = Bound(
    400,
    "functions that one loop or function runs",
    "Only code that runs a framework has more, and a framework calls everything.",
)
WALK_CALLS = Bound(
    8,
    "nested calls that a loop or program runs",
    "Applications were seen with training steps six calls deep.",
)
PROGRAM_CALLS = Bound(
    4_000,
    "calls in a program whose models are followed from compilation to training",
    "Each call of a function is followed separately, so functions that call each other multiply them.",
)
CALLERS = Bound(
    8,
    "callers above one location, one calling the next",
    "The same bound as for the nested calls that a loop runs, so that both directions give the same answer.",
)
TRACED_ARGUMENT_SITES = Bound(
    20,
    "call sites of a function that could be under `tf.function`",
    "The arguments of all call sites are analysed, and a fix must be right for each of them.",
)

# Conditions, and what comes before a place.

DEVICE_STEPS = Bound(
    5,
    "assignments between a condition and the query for GPUs",
    "Each name leads to all its assignments, and names may refer to each other in a cycle.",
)
VERSION_NAMES = Bound(
    4,
    "names between a condition and TensorFlow's version",
    "Names may refer to each other in a cycle.",
)
INITIALISER_CALLS = Bound(
    3,
    "nested calls that may initialise the GPUs",
    "All calls before a location are examined, each with everything that it calls.",
)

# Models and tracing.

MODEL_PARTS = Bound(
    4,
    "nested models whose layers are examined",
    "A model may be added to itself, or be called in the function that creates it.",
)
LISTED_FUNCTIONS = Bound(
    3,
    "nested lists of losses and metrics",
    "Keras takes lists in dictionaries, and a list may contain itself.",
)
TRACED_CALLS = Bound(
    6,
    "nested calls in code that TensorFlow traces",
    "All rules for traced code examine each function that these calls reach.",
)
TENSOR_CALLS = Bound(
    6,
    "nested calls that pass a tensor on during tracing",
    "A function is analysed once for each set of parameters that may hold tensors.",
)
WEIGHT_LAYERS = Bound(
    4,
    "nested layers that may create weights",
    "Wrappers and models can be nested, and layers may create each other.",
)
EFFECT_FUNCTIONS = Bound(
    60,
    "functions that are searched for the effects of one function on the host",
    "A fix needs to know all effects. Among more functions, something is always unknown.",
)
RECURSION_CALLS = Bound(
    5,
    "calls from a function back to itself",
    "Longer cycles were not seen. Each step multiplies the functions on the way.",
)
RECURSION_FUNCTIONS = Bound(
    200,
    "functions that are searched for a call back to one function",
    "Otherwise each function under `tf.function` would need a search of the whole project.",
)
GLOBAL_SITES = Bound(
    20,
    "call sites of a function that reads or changes a global",
    "Each call site is compared with each change.",
)

# Loops.

NUMBER_STEPS = Bound(
    64,
    "steps from a number to the loop that changes it",
    "Each operand and each call site is a separate step and needs several levels of Python's stack, which is limited.",
)
NUMBER_SITES = Bound(
    16,
    "call sites of one function that pass a number",
    "The numbers of all call sites are joined, and each is followed to its loop.",
)
ELEMENT_CALLS = Bound(
    2,
    "nested calls that compute one element",
    "Only functions of plain arithmetic count, and these are short.",
)
NAMED_FUNCTIONS = Bound(
    50,
    "functions of a file whose names a loop calls",
    "The functions are found only by name. If there are more, some probably just share the name.",
)
BUILDER_CALLS = Bound(
    3,
    "functions that return the model which another function builds",
    "Every value that each function returns must be a new model.",
)

# Input pipelines.

PIPELINE_STEPS = Bound(
    60,
    "operations in one pipeline",
    "Each operation needs more of Python's stack.",
)
PIPELINE_VARIANTS = Bound(
    16,
    "datasets that one expression may be",
    "If several operations are in branches, each branch doubles the possible pipelines.",
)
JOINED_DATASETS = Bound(
    64,
    "datasets that are joined",
    "A dataset that is repeatedly joined with itself would never end.",
)
ITERATOR_STEPS = Bound(
    8,
    "wrappers around a dataset that a loop iterates over",
    "An iterator may be made from itself: `it = iter(it)`.",
)
DATASET_PARTS = Bound(
    4,
    "nested tuples from which a dataset is made",
    "A value may contain itself.",
)
MAPPED_CALLS = Bound(
    6,
    "nested calls in a dataset's function",
    "Each function is analysed in a separate context for each operation that runs it.",
)
LOCKED_CALLS = Bound(
    4,
    "nested calls that keep Python's global lock (GIL)",
    "All of them must be known. Any deeper call may release the lock.",
)
RANDOM_CALLS = Bound(
    4,
    "nested calls that draw random numbers for each element",
    "Each call is followed in a separate context, so functions that call each other multiply them.",
)
SAMPLE_STEPS = Bound(
    8,
    "steps from a dataset, or from a number of rows, to the array or table that holds the samples",
    "A value may be made from itself.",
)
USED_NAMES = Bound(
    2,
    "names between a value and the code that uses it, if a fix replaces the value with a tensor",
    "Each use of each name must accept a tensor, and may define another name.",
)
DTYPE_CALLS = Bound(
    2,
    "nested calls that pass on a number whose dtype is needed",
    "Each call leads to all uses of a parameter, and a fix must be right for all of them.",
)
INPUT_STEPS = Bound(
    6,
    "steps from a model's input in a loop to the value that it is made from",
    "A value may be made from itself.",
)
SHAPE_STEPS = Bound(
    40,
    "nested steps from a value to the code that sets its shape",
    "Each step needs some of Python's stack, and a value may be made from itself.",
)
SHAPE_VALUES = Bound(
    2_000,
    "values that determine the shape of one argument",
    "A value that depends on itself in a loop is analysed again on each path to it.",
)
SOURCE_VALUES = Bound(
    200,
    "values from which one value is computed",
    "A program may compute all its values from one array.",
)
GENERATED_STEPS = Bound(
    6,
    "steps from a value that a generator yields to an array",
    "A value may be made from itself.",
)

# Arrays and networks.

ARRAY_STEPS = Bound(
    8,
    "operations from an array to the call that creates it",
    "An array may be computed from itself, and both operands are followed.",
)
ABSTRACT_STEPS = Bound(
    4_000,
    "steps to the dtype and shape of a value",
    "Each operand is a separate question, and a loop repeats the questions until the answers stay the same.",
)
ABSTRACT_PARTS = Bound(
    4_000,
    "parts of a structure whose values are known",
    "A dataset that is zipped with itself doubles in size, and after twenty times it has a million parts.",
)
ABSTRACT_ROUNDS = Bound(
    6,
    "rounds in which a value that depends on itself may change",
    "Each round gives up at least one known length, or the value becomes unknown.",
)
RUN_STEPS = Bound(
    60_000,
    "interpreted steps of a training program",
    "Large programs needed 5,000 steps. A program may run for days.",
)
RUN_CALLS = Bound(
    12,
    "nested calls of an interpreted training program",
    "A function that calls itself with unknown values would never end.",
)
RUN_ITERATIONS = Bound(
    400,
    "iterations of one loop of an interpreted training program",
    "Loops that build networks have fewer iterations. A loop over data has millions.",
)
RUN_ITEMS = Bound(
    2_000,
    "items of a list or string that an interpreted training program computes",
    "`range(10**9)` and `[0] * 10**9` would need that much memory.",
)
RUN_NUMBER = Bound(
    10**15,
    "as the largest number of an interpreted training program",
    "Numbers that grow in a loop would have thousands of digits. No network has a larger size.",
)
RUN_EXPONENT = Bound(
    64,
    "as the largest exponent in an interpreted training program",
    "`10**10**10` would take minutes and all memory.",
)

ALL = tuple(value for value in tuple(globals().values()) if isinstance(value, Bound))
"""All bounds, in the order in which they stand here."""


def page() -> str:
    """The page of the documentation that lists them, as Markdown."""
    rows = "".join(f"| {bound.limit:,} | {bound.what} | {bound.reason} |\n" for bound in ALL)
    return f"{_PAGE}\n| Limit | Bounded | Reason |\n|---:|---|---|\n{rows}"


_PAGE = """\
# How far the analysis looks

`check` follows values, calls and loops through a program, but only up to the bounds on this page. Beyond most bounds
a value is unknown, and a rule that needs it reports nothing. If the analysis continues with less precision instead, the
table says so. `tflint-gpu check --verbose` names the bounds that were reached in each file:

```text
deep.py: the analysis stopped at 8 nested calls whose arguments are kept separate
```

The bounds are constants in `tflint_gpu/bounds.py` and cannot be set, so that findings are the same on every machine.
This command writes the page from them:
`python -c "import tflint_gpu.bounds as b; print(b.page(), end='')" > docs/bounds.md`
"""
