"""What creates variables, apart from layers and `tf.Variable`."""

from __future__ import annotations

VARIABLE_GENERATORS = frozenset(
    (
        "tf.random.Generator.from_seed tf.random.Generator.from_non_deterministic_state "
        "tf.random.Generator.from_state keras.random.SeedGenerator"
    ).split()
)
CREATING_METHODS = frozenset(name.rpartition(".")[2] for name in VARIABLE_GENERATORS) - {"SeedGenerator"} | {
    "add_weight",
    "add_variable",
    "variable",
}
"""Methods and functions that create variables and have no capital letter."""
