"""What a web framework calls for each request."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.library.web import APPLICATIONS, ROUTES
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.functions import Function


class RequestHandlers(Analysis):
    """The functions of the file that is checked which answer requests."""

    def all(self) -> Iterator[Function]:
        """Those with `@app.route("/")` and its like alone: another decorator may keep what they return."""
        for node in self.file.tree.functions:
            decorators = node.decorators if isinstance(node, cst.FunctionDef) else ()
            if decorators and all(self._is_route(decorator.decorator) for decorator in decorators):
                yield Function(self.file, node)

    def _is_route(self, expr: cst.BaseExpression) -> bool:
        return isinstance(expr, cst.Call) and self.inference.is_method_of(self.file, expr, ROUTES, APPLICATIONS)
