"""Protects comments from being called useless: everything that they could silence has been looked for, or nothing is said."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from checks import notebook

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.fixes import fix_source
from tflint_gpu.checking.workers import check_files
from tflint_gpu.rule import Finding, Rule
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery, FileToCheck
from tflint_gpu.settings.options import Options
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile

Make = Callable[..., Rule]
Write = Callable[..., list[Path]]
TF = "import tensorflow as tf\n"


def run(tmp_path: Path, *rules: Rule, paths: tuple[str, ...] = (".",), **options: Any) -> list[str]:
    """`file:row message` of each comment that is said to do nothing."""
    options.setdefault("extend_select", ("TFG001",))
    ignore_noqa = options.pop("ignore_noqa", False)
    resolver = SettingsResolver(Options(**options), working_directory=tmp_path)
    engine = Engine(resolver, tmp_path, list(rules), ignore_noqa=ignore_noqa)
    results = check_files(engine, Discovery(resolver, tmp_path).find(paths), 1)
    return [
        f"{one.filename}:{one.location} {one.message}"
        for result in results
        for one in result.diagnostics
        if one.code == "TFG001"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1  # noqa: TFG901", "2:8 `TFG901` in this `noqa` comment suppresses nothing"),
        ("x = BAD  # noqa: TFG901", None),
        ("x = BAD  # noqa: TFG9", None),
        ("f(\n  BAD,\n  1)  # noqa: TFG901", None),
        ("f(\n  BAD,\n  1)\n# noqa: TFG901", "5:1 `TFG901` in this `noqa` comment suppresses nothing"),
        ("x = 1  # noqa: TFG9", "2:8 `TFG9` in this `noqa` comment suppresses nothing"),
        ("x = BAD  # noqa: TFG901, tfg902", "2:10 `TFG902` in this `noqa` comment is not the code of a rule"),
        ("x = BAD  # noqa: TFG901, E1, TFG901", "2:10 `TFG901` appears in this `noqa` comment already"),
        (
            "x = 1  # noqa: TFG901, TFG8, TFG7, E1, TFG8",
            "2:8 `TFG901` in this `noqa` comment suppresses nothing; `TFG8` and `TFG7` in this `noqa` comment are not codes "
            "of a rule; `TFG8` appears in this `noqa` comment already",
        ),
        ("# tflint-gpu: noqa: TFG901\nx = BAD", None),
        ("# tflint-gpu: noqa: TFG901\nx = 1", "2:1 `TFG901` in this comment for the whole file suppresses nothing"),
        ("# flake8: noqa: TFG901\nx = 1", "2:1 `TFG901` in this comment for the whole file suppresses nothing"),
        (
            "# tflint-gpu: noqa: TFG901\nx = BAD  # noqa: TFG901",
            "3:10 `TFG901` in this `noqa` comment suppresses nothing",
        ),
        # Silence
        ("x = 1  # noqa", None),
        ("x = 1  # noqa: E501, F401", None),
        ("x = 1  # noqa: TFGX901", None),
        ("x = 1  # NOQA:TFG901, TFG001", None),
        ("x = 1  # noqa: TFG901\n# tflint-gpu: noqa: TFG001", None),
        ("x = 1  # noqa: TFG901\n# tflint-gpu: noqa", None),
        ("x = '# noqa: TFG901'", None),
        ('"""\n# noqa: TFG901\n"""', None),
        ("x = (  # noqa: TFG901", None),
        ("!ls\nx = 1  # noqa: TFG901", None),
    ],
)
def test_what_is_said_of_a_comment(
    text: str, expected: str | None, tmp_path: Path, write_files: Write, make_rule: Make
) -> None:
    write_files({"a.py": TF + text + "\n"})
    assert run(tmp_path, make_rule()) == ([] if expected is None else [f"a.py:{expected}"])


def test_nobody_is_told_unasked(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    write_files({"a.py": TF + "x = 1  # noqa: TFG901\n"})
    for options in ({"extend_select": ()}, {"extend_select": ("TFG0",)}):
        assert run(tmp_path, make_rule(), **options) == []
    assert len(run(tmp_path, make_rule(), select=("ALL",), extend_select=())) == 1, "as all opt-in rules"
    assert run(tmp_path, make_rule(), select=("ALL",), extend_select=(), ignore=("TFG001",)) == []
    assert run(tmp_path, make_rule(), per_file_ignores=(("a.py", ("TFG001",)),)) == []
    assert run(tmp_path, make_rule(), ignore_noqa=True) == []


def test_rules_that_do_not_run_have_a_use_for_their_comments(
    tmp_path: Path, write_files: Write, make_rule: Make
) -> None:
    """Protects comments that another run needs: for a rule that is off, opt-in, or was not selected here."""
    write_files({"a.py": TF + "x = 1  # noqa: TFG901\n", "b.py": TF + "x = 1  # noqa: TFG9\n"})
    other = make_rule(code="TFG902", word="ELSE", opt_in=True)
    assert len(run(tmp_path, make_rule())) == 2
    assert run(tmp_path, make_rule(), ignore=("TFG901",)) == []
    assert run(tmp_path, make_rule(), select=("TFG001",)) == []
    assert [one[:4] for one in run(tmp_path, make_rule(), other)] == ["a.py"], "the prefix means the other rule, too"
    assert len(run(tmp_path, make_rule(), other, extend_select=("TFG001", "TFG902"))) == 2
    sized = make_rule(code="TFG901", needs_gpu_memory=True)
    assert run(tmp_path, sized) == []
    assert len(run(tmp_path, sized, gpu_memory="24GiB")) == 2
    assert [one[:4] for one in run(tmp_path, make_rule(), per_file_ignores=(("b.py", ("TFG9",)),))] == ["a.py"]


class InLibrary(Rule):
    """Finds what stands in `library.py` while a file is checked that says USES."""

    code, name = "TFG905", "in-library"
    library = Path()

    def check(self, model: Any) -> Iterator[Finding]:
        if "USES" in model.source.text:
            source = SourceFile.decode(self.library.read_bytes(), self.library)
            yield from self.finder.check(type("Fake", (), {"source": source}))  # type: ignore[attr-defined]


@pytest.fixture
def in_library(tmp_path: Path, make_rule: Make) -> Rule:
    """A rule whose findings lie in another file than the one that is checked."""
    attributes = {"library": tmp_path / "library.py", "finder": make_rule(code="TFG905")}
    return type("Here", (InLibrary,), attributes)()


def test_comments_that_another_files_check_needs(tmp_path: Path, write_files: Write, in_library: Rule) -> None:
    """Protects a comment whose finding shows only when another file is checked, in this run or not."""
    write_files({"pyproject.toml": "", "library.py": "x = BAD  # noqa: TFG905\ny = 1  # noqa: TFG905\n"})
    assert len(run(tmp_path, in_library)) == 2, "nobody uses it"
    write_files({"train.py": TF + "import library  # USES\n"})
    expected = ["library.py:2:8 `TFG905` in this `noqa` comment suppresses nothing"]
    assert run(tmp_path, in_library) == expected
    assert run(tmp_path, in_library, paths=("library.py",)) == expected
    write_files({"train.py": TF + "import middle  # USES\n", "middle.py": "import library\n"})
    assert run(tmp_path, in_library, paths=("library.py",)) == expected, "through a third one"


@pytest.mark.parametrize("broken", ["train.py", "other.py", "config.py"])
def test_nothing_is_said_while_a_file_around_cannot_be_read(
    broken: str, tmp_path: Path, write_files: Write, in_library: Rule
) -> None:
    """Protects comments from a `--fix` while a file that needs them, or that theirs needs, is being edited."""
    files = {
        "pyproject.toml": "",
        "library.py": "import config\nx = 1  # noqa: TFG905\n",
        "config.py": "",
        "train.py": TF + "import library\nimport other\n",
        "other.py": "",
    }
    write_files(files)
    assert len(run(tmp_path, in_library, paths=("library.py",))) == 1
    write_files({broken: files[broken] + "x = (\n"})
    assert run(tmp_path, in_library, paths=("library.py",)) == []
    assert run(tmp_path, in_library) == []


def test_nothing_is_said_when_a_rule_failed(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    class Fails(Rule):
        code, name = "TFG902", "fails"

        def check(self, model: Any) -> Iterator[Finding]:
            raise ValueError
            yield

    write_files({"a.py": TF + "x = 1  # noqa: TFG901\n"})
    assert run(tmp_path, make_rule(), Fails()) == []


def test_standard_input(tmp_path: Path, write_files: Write, in_library: Rule) -> None:
    """Protects a file whose text in the editor is not the one that the others see."""
    text = "x = 1  # noqa: TFG905\n"
    [_, library] = write_files({"pyproject.toml": "", "library.py": "\n\nBAD  # noqa: TFG905\n"})
    resolver = SettingsResolver(Options(extend_select=("TFG001",)), working_directory=tmp_path)

    def codes() -> list[str]:
        engine = Engine(resolver, tmp_path, [in_library])
        file = Discovery(resolver, tmp_path).describe(library, tmp_path, text.encode())
        return [one.code for result in check_files(engine, [file], 1) for one in result.diagnostics]

    assert codes() == ["TFG001"]
    write_files({"train.py": TF + "import library  # USES\n"})
    assert codes() == []


def test_notebooks(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    """Protects cells: places count in them, and one that has nothing but the comment keeps it."""
    cells = (TF + "x = BAD  # noqa: TFG901", "%time 1\ny = 2  # noqa: TFG901", "# noqa: TFG901", "!ls  # noqa: TFG901")
    [path] = write_files({"a.ipynb": notebook(*cells)})
    said = "`TFG901` in this `noqa` comment suppresses nothing"
    assert run(tmp_path, make_rule()) == [f"a.ipynb:cell 2:2:8 {said}", f"a.ipynb:cell 3:1:1 {said}"]
    resolver = SettingsResolver(Options(extend_select=("TFG001",)), working_directory=tmp_path)
    [file] = Discovery(resolver, tmp_path).find(["."])
    [result] = check_files(Engine(resolver, tmp_path, [make_rule()]), [file], 1)
    fixed = fix_source(decode_source(path.read_bytes(), path, "a.ipynb"), result.diagnostics, lambda _: ())
    texts = ["".join(cell["source"]) for cell in json.loads(fixed.source.encode())["cells"]]
    assert texts == [cells[0], "%time 1\ny = 2", *cells[2:]]
    write_files({"a.ipynb": notebook(*cells, "x = (")})
    assert run(tmp_path, make_rule()) == [], "what does not parse may define what the others use"


PROGRAM = """\
import tensorflow as tf  # noqa: TFG901, F401


# noqa: TFG901
def f(
    x,  # noqa: TFG901
    y,  # noqa: TFG901 - why
):  # type: ignore # noqa: E501,TFG901
    # noqa: TFG901
    text = '''
    # noqa: TFG901
    '''  # noqa: TFG901
    if x: return BAD  # noqa: TFG901
    return x \\
        + y  # noqa: TFG901  # pragma: no cover
# tflint-gpu: noqa: TFG902"""


def test_the_fix_changes_comments_only_and_at_once(tmp_path: Path, write_files: Write, make_rule: Make) -> None:
    [path] = write_files({"a.py": PROGRAM})
    resolver = SettingsResolver(Options(extend_select=("TFG001",)), working_directory=tmp_path)
    other = make_rule(code="TFG902", word="NONE")

    def check(file: FileToCheck) -> Any:
        return check_files(Engine(resolver, tmp_path, [make_rule(), other]), [file], 1)[0].diagnostics

    [file] = Discovery(resolver, tmp_path).find(["."])
    before = decode_source(path.read_bytes(), path, "a.py")
    fixed = fix_source(before, check(file), lambda _: ()).source
    assert ast.dump(ast.parse(fixed.text)) == ast.dump(ast.parse(PROGRAM))
    path.write_bytes(fixed.encode())
    assert check(file) == ()
    assert fixed.text == (
        "import tensorflow as tf  # noqa: F401\n\n\ndef f(\n    x,\n    y,  # - why\n):  # type: ignore # noqa: E501\n"
        "    text = '''\n    # noqa: TFG901\n    '''\n    if x: return BAD  # noqa: TFG901\n    return x \\\n"
        "        + y  # pragma: no cover\n"
    )
