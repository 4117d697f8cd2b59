"""The methods of Keras's models, layers, metrics and losses: which run a model, which train it, which Keras traces."""

from __future__ import annotations

FORWARD_METHODS = frozenset(["evaluate", "predict", "test_on_batch", "predict_on_batch"])
"""Methods that run a model without training it."""

RUNNING_METHODS = FORWARD_METHODS | {"fit", "train_on_batch"}
"""Methods that run a model, of all versions of Keras."""

LABELLED_METHODS = frozenset(["fit", "evaluate", "train_on_batch", "test_on_batch"])
"""Methods that run a model on inputs with labels: they compute its loss and its metrics."""

FITTING_METHODS = ("fit", "train_on_batch", "fit_generator")
"""Methods that train a model; the last one is not in Keras 3."""

OVERRIDDEN_METHODS = frozenset("call train_step test_step predict_step compute_loss update_state".split())
"""Methods that a program's own models, layers, metrics and losses define, and that Keras traces."""
