"""Modules that try themselves out: a main block shows that the models which the file makes for others compute."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.keras_methods import LOADING_FUNCTIONS, RESTORING_METHODS, UPDATES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import EveryWay, RunSite, ways
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, asks_for_main, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.training.training import Training

_TRAINING = UPDATES | {"fit", "fit_generator"}


class TryOuts(Analysis):
    """Which models a main block only tries out, seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.training = model.once(Training)
        self._restored = Summaries(
            self.inference, "weights are restored", _restores_itself, self.inference.functions_run
        )

    def is_fresh(self, site: RunSite, file: File, model: Expression, context: Context | None = None) -> bool:
        """Whether only the main block of its file runs what runs a model, which is made there and not restored.

        Arguments:
            site: what runs it.
            file: of `model`.
        """
        if not self.inference.must_be(file, model, lambda origin: self._is_own(site.file, origin), context):
            return False
        return EveryWay(self.inference, self._is_run_fresh).holds(site)

    def is_untrained(self, site: RunSite, file: File, model: Expression, context: Context | None = None) -> bool:
        """Whether such a model has the weights that were drawn for it: nobody waits for its results."""
        if not self.is_fresh(site, file, model, context) or site.file.once(_has_trained_weights):
            return False
        mains = [(way.file, _main_block(way)) for way in ways(self.inference, site) if way.function is None]
        return not any(main is not None and self._trains(where, main) for where, main in mains)

    def _trains(self, file: File, main: cst.If) -> bool:
        calls = _calls_of(file, main)
        functions = (function for call in calls for function in self.inference.functions_run(file, call))
        return any(method_name(call) in _TRAINING for call in calls) or any(
            self.training.runs_training(function.file, function.node) for function in functions
        )

    def _is_own(self, file: File, origin: Origin) -> bool:
        """Whether a model is of a class of the file, or made by a function of it."""
        cls = self.inference.instance_class(origin)
        if cls is not None:
            return cls.file is file
        is_loaded = (origin.made_by or "").rpartition(".")[2] in LOADING_FUNCTIONS
        return origin.file is file and file.tree.function(origin.node) is not None and not is_loaded

    def _is_run_fresh(self, site: RunSite) -> bool | None:
        if site.function is not None:
            return None
        main = _main_block(site)
        calls = _calls_of(site.file, main) if main is not None else []
        if main is None or any(_loads(site.file, call) for call in calls):
            return False
        functions = (function for call in calls for function in self.inference.functions_run(site.file, call))
        return not any(self._restored.holds(function.file, function.node) for function in functions)


def _calls_of(file: File, main: cst.If) -> list[cst.Call]:
    """The calls of a main block itself."""
    return [call for call in file.calls_in.get(None, ()) if file.tree.within(call, main)]


def _main_block(site: RunSite) -> cst.If | None:
    """`if __name__ == "__main__":` around a place."""
    above = site.file.tree.ancestors(site.node)
    return next((block for block in above if isinstance(block, cst.If) and asks_for_main(block.test)), None)


def _has_trained_weights(file: File) -> bool:
    """Whether a file somewhere takes over weights that were trained before."""
    given = any(True for _ in file.calls("keras.applications.*", "tensorflow_hub.*"))
    return given or any(_loads(file, call) for call in file.method_calls(*RESTORING_METHODS))


def _restores_itself(file: File, node: Node) -> bool:
    return any(method_name(call) in RESTORING_METHODS - LOADING_FUNCTIONS for call in file.calls_below.get(node, ()))


def _loads(file: File, call: cst.Call) -> bool:
    """Whether a call may load a model or its weights: `json.load` does not."""
    is_of_others = not (file.name(call.func) or "tf.").startswith(("tf.", "keras."))
    return method_name(call) in RESTORING_METHODS and not is_of_others
