"""The model of one file: the way to its analyses, whose results it remembers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from tflint_gpu.model.library.higher_order import LIBRARY
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.text.source import SourceFile, UnreadableSource

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.python.project.functions import Function
    from tflint_gpu.model.python.project.mentions import Mentions
    from tflint_gpu.model.python.project.project import Project
    from tflint_gpu.model.python.syntax.syntax import Expression, Node
    from tflint_gpu.model.python.value_flow.origins import Context
    from tflint_gpu.targets import Target

_T = TypeVar("_T")


class Model:
    """What one file means, seen as the program or module that is checked, with the files that it reaches.

    Arguments:
        file: the file that is checked.
        project: finds and opens the others.
        predicts_by_size: whether the sizes of steps narrow predictions, which takes as long as many rules.
        tries_fixes: whether fixes are made for which the file is analysed as it would be then.
    """

    def __init__(
        self, file: File, project: Project, *, predicts_by_size: bool = True, tries_fixes: bool = True
    ) -> None:
        self.file = file
        self.project = project
        self.predicts_by_size = predicts_by_size
        self.tries_fixes = tries_fixes
        self.inference = Inference(project, LIBRARY, file)
        self.constants = self.inference.constants
        self.assumed: Mapping[Node, Function] = {}
        """Functions that count as if `tf.function` decorated them."""
        self._answers: dict[Callable[[Model], Any], Any] = {}

    @classmethod
    def open(
        cls, source: SourceFile, project: Project, *, predicts_by_size: bool = True, tries_fixes: bool = True
    ) -> Model:
        """Parse a file that is to be checked.

        Raises:
            UnreadableSource: it does not parse.
        """
        file = project.open(source)
        return cls(file, project, predicts_by_size=predicts_by_size, tries_fixes=tries_fixes)

    def once(self, analysis: Callable[[Model], _T]) -> _T:
        """The result of an analysis of this model: it runs when it is first needed, and is then remembered.

        Arguments:
            analysis: a function of the model, or a class whose constructor takes it.
        """
        answers = self._answers
        if analysis not in answers:
            answers[analysis] = analysis(self)
        return cast("_T", answers[analysis])

    def assuming(self, function: Function) -> Model:
        """The model that the file would have with one more function under `tf.function`."""
        other = Model.__new__(Model)
        other.file, other.project = self.file, self.project
        other.predicts_by_size, other.tries_fixes = self.predicts_by_size, self.tries_fixes
        other.inference, other.constants = self.inference, self.constants
        other.assumed = {**self.assumed, function.node: function}
        untraced = (a for a in self._answers if isinstance(a, type) and issubclass(a, Analysis) and a.is_of_values)
        other._answers = {analysis: self._answers[analysis] for analysis in untraced}
        return other

    def supposing(self, text: str) -> Model | None:
        """The model that the file would have with other code; None where that does not parse."""

        try:
            return Model(self.project.supposed(SourceFile(self.source.path, self.source.name, text)), self.project)
        except UnreadableSource:
            return None

    def close(self) -> None:
        """Drop everything, so that it dies now: the analyses know each other, and some the model, in circles."""
        for answer in self._answers.values():
            if isinstance(answer, Analysis):
                vars(answer).clear()
        vars(self.inference.definitions).clear()
        vars(self.inference).clear()
        self.project.leave(self.file)
        vars(self).clear()

    @cached_property
    def mentions(self) -> Mentions:
        """Where the file names parts of libraries."""
        from tflint_gpu.model.python.project.mentions import Mentions

        return Mentions(self.file)

    @property
    def source(self) -> SourceFile:
        """The file's text."""
        return self.file.source

    @property
    def target(self) -> Target:
        """The TensorFlow version that findings speak about."""
        return self.project.target

    def calls(self, *names: str) -> Iterator[cst.Call]:
        """All calls of functions by canonical name in the file; "numpy.*" means everything below numpy."""
        return self.file.calls(*names)

    def method_calls(self, *methods: str) -> Iterator[cst.Call]:
        """All calls `anything.method(...)` in the file, whatever the receiver is."""
        return self.file.method_calls(*methods)

    def reaches(self, text: bytes) -> bool:
        """Whether this file, or one of the project that its imports reach, has some bytes."""
        own = text.decode() in self.source.text
        return own or self.project.reached_mention(self.source, re.compile(re.escape(text)))

    def name(self, expr: Node | None) -> str | None:
        """Canonical name of an expression of the file: "tf.function", "keras.layers.Dense", "numpy.sin"."""
        return self.file.name(expr)

    def value(self, expr: Expression | None, file: File | None = None, context: Context | None = None) -> Any:
        """The constant that an expression is, or `constants.UNKNOWN`; of this file, if no other is named."""
        return self.constants.of(file or self.file, expr, context)


class Analysis:
    """An analysis with state of its own: what `Model.once` makes one of for each model."""

    is_of_values: ClassVar[bool] = False
    """Whether its answers are the same whatever TensorFlow traces."""
    _asked_once: ClassVar[Mapping[str, Callable[[Model], Any]]] = {}

    def __init__(self, model: Model) -> None:
        self.file = model.file
        self.inference = model.inference
        self.constants = model.constants
        self.target = model.target
        for name, analysis in self._asked_once.items():
            setattr(self, name, model.once(analysis))

    def importers(self, file: File, pattern: re.Pattern[bytes]) -> Iterator[Model]:
        """The models of the files that import one and hold a pattern, each open until the next one is asked for.

        None where it is not the checked file, or is checked with another text than the project has.
        """
        project = self.inference.project
        if file is not self.file or not project.is_open(file):
            return
        for importing in list(project.importing(file, pattern)):
            model = Model(importing, project)
            try:
                yield model
            finally:
                model.close()


class Once(Generic[_T]):
    """Another analysis that an analysis asks: `kinds = Once(Kinds)` in its class gives each its `self.kinds`."""

    def __init__(self, analysis: Callable[[Model], _T]) -> None:
        self.analysis = analysis

    def __set_name__(self, owner: type[Analysis], name: str) -> None:
        owner._asked_once = {**owner._asked_once, name: self.analysis}

    if TYPE_CHECKING:

        def __get__(self, instance: Analysis, owner: type[Analysis]) -> _T: ...
