"""Which values lack a method of Keras's models: a call of it means another of the values that may arrive."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.classes import RUNTIMES
from tflint_gpu.model.python.project.functions import Class, Definitions
from tflint_gpu.model.python.syntax.syntax import method_name
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Origin

_LITERALS: dict[type[cst.CSTNode], type] = {
    cst.SimpleString: str,
    cst.Integer: int,
    cst.Float: float,
    cst.List: list,
    cst.Tuple: tuple,
    cst.Dict: dict,
    cst.Set: set,
}


def lacks_method(inference: Inference, origin: Origin, method: str) -> bool:
    """Whether a value certainly lacks a method of Keras's models, so that a call of it on this value would fail."""
    if origin.access_path:
        return False
    literal = _LITERALS.get(type(origin.node))
    if literal is not None:
        return not hasattr(literal, method)
    if origin.made_by in RUNTIMES or _is_entered(origin):
        return True
    cls = inference.instance_class(origin)
    return (
        cls is not None and not isinstance(origin.node, cst.Param) and _class_lacks(inference.definitions, cls, method)
    )


def _is_entered(origin: Origin) -> bool:
    """What `with tf.Graph().as_default() as graph` calls so: a graph, a session or a writer has this method."""
    return origin.call is not None and method_name(origin.call) == "as_default"


def _class_lacks(definitions: Definitions, cls: Class, method: str) -> bool:
    """Whether all of a class can be read, and nothing in it gives its instances such an attribute."""
    if not definitions.has_known_bases(cls, ("abc.", "typing.")):
        return False
    if any(current.node.keywords or current.node.decorators for current in definitions.lineage(cls)):
        return False
    if any(definitions.method(cls, name) is not None for name in (method, "__getattr__", "__getattribute__")):
        return False
    return not definitions.attributes(cls, method)
