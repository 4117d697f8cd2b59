"""Protects notebooks: one program of all cells, places by cell, and fixes that change nothing but their characters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from conftest import Command, FindsWords, SourceOnly, Span
from nbformat import v3, v4

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.fixes import difference, fix_source
from tflint_gpu.diagnostics import Diagnostic, Location, Prediction
from tflint_gpu.diagnostics import Edit as Change
from tflint_gpu.rule import Edit, Finding, Fix, Rule
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.decoding.notebooks import Notebook
from tflint_gpu.text.source import SourceFile, UnreadableSource

Make = Callable[..., Rule]
IMPORTS = "%matplotlib inline\nimport numpy as np\nimport tensorflow as tf"
WAVE = "class Wave(tf.keras.layers.Layer):\n    def call(self, x):\n        !nvidia-smi (\n        return np.abs(x)"


def notebook(*cells: str, **metadata: Any) -> Any:
    """A notebook of code cells; other kinds are `kind|text`."""
    kinds = {"md": v4.new_markdown_cell, "raw": v4.new_raw_cell}
    made = []
    for number, cell in enumerate(cells):
        kind, bar, text = cell.partition("|")
        made.append(kinds[kind](text) if bar and kind in kinds else v4.new_code_cell(cell))
        made[-1]["id"] = f"c{number}"
    return v4.new_notebook(cells=made, metadata=metadata)


def save(folder: Path, *cells: str, name: str = "a.ipynb", **metadata: Any) -> Path:
    path = folder / name
    made = notebook(*cells, **metadata)
    nbformat.validate(made)
    path.write_text(nbformat.writes(made), "utf-8")
    return path


def decode(data: bytes | str) -> SourceFile:
    return decode_source(data if isinstance(data, bytes) else data.encode(), Path("a.ipynb"))


def check(folder: Path, *rules: Rule, **options: Any) -> list[Diagnostic]:
    resolver = SettingsResolver(Options(**options), working_directory=folder)
    engine = Engine(resolver, folder, list(rules))
    results = [engine.check(file) for file in Discovery(resolver, folder).find(["."])]
    assert [error for result in results for error in result.errors] == []
    return [one for result in results for one in result.diagnostics]


def places(diagnostics: list[Diagnostic]) -> list[str]:
    return [f"{one.code} {one.location}" for one in diagnostics]


def found(tflint: Command, *arguments: str, stdin: str | None = None) -> list[str]:
    options = ("--isolated", "--no-cache", "--output-format", "concise", "--quiet")
    done = tflint("check", *options, *arguments, stdin=stdin)
    assert done.stderr == ""
    return [line.partition(" [*]")[0].split("`")[0].rstrip() for line in done.stdout.splitlines()]


# The program


def test_names_flow_from_cell_to_cell_and_places_are_cells(tmp_path: Path, tflint: Command) -> None:
    save(
        tmp_path,
        "md|# np.abs",
        IMPORTS,
        "raw|import torch as tf",
        WAVE,
        "%%bash\nnp.sin",
        "x = 1\n\n",
        "tf.device('/GUP:0')",
    )
    expected = ["a.ipynb:cell 4:4:16: error: TFG101", "a.ipynb:cell 7:1:11: error: TFG502"]
    assert [line[:34] for line in found(tflint, ".")] == expected


def test_other_files_of_the_project_are_known(tmp_path: Path, tflint: Command) -> None:
    (tmp_path / "device.py").write_text("NAME = '/GUP:0'\n")
    save(tmp_path, "import tensorflow as tf\nfrom device import NAME", "with tf.device(NAME):\n    !ls")
    assert [line.split()[3] for line in found(tflint, "a.ipynb")] == ["TFG502"]


def test_what_is_not_python_is_not_checked(tmp_path: Path, make_rule: Make) -> None:
    save(
        tmp_path,
        "import tensorflow",
        "md|BAD",
        "raw|BAD",
        "%%html\nBAD",
        "%%writefile x.py\nBAD",
        "%%time\nBAD",
        "",
        "  \n",
    )
    assert places(check(tmp_path, make_rule())) == ["TFG901 cell 6:2:1"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}},
        {"language_info": {"name": "julia"}, "kernelspec": {"name": "x", "display_name": "x", "language": "python"}},
    ],
)
def test_notebooks_of_other_languages_are_skipped(metadata: Any, tmp_path: Path, make_rule: Make) -> None:
    save(tmp_path, "tensorflow <- BAD", **metadata)
    assert check(tmp_path, make_rule()) == []


def test_a_cell_can_have_a_language_of_its_own(tmp_path: Path, make_rule: Make) -> None:
    made = notebook("import tensorflow", "BAD", "BAD")
    made.cells[1].metadata = {"vscode": {"languageId": "sql"}}
    (tmp_path / "a.ipynb").write_text(nbformat.writes(made))
    assert places(check(tmp_path, make_rule())) == ["TFG901 cell 3:1:1"]


def test_nbformat_3(tmp_path: Path, make_rule: Make) -> None:
    cells = [v3.new_text_cell("markdown", "BAD"), v3.new_code_cell("import tensorflow\nx = BAD")]
    more = [v3.new_code_cell("x = BAD", language="ruby"), v3.new_code_cell("y = BAD")]
    made = v3.new_notebook(worksheets=[v3.new_worksheet(cells=cells), v3.new_worksheet(cells=more)])
    path = tmp_path / "a.ipynb"
    path.write_text(v3.writes_json(made))
    before = path.read_text()
    assert places(check(tmp_path, make_rule())) == ["TFG901 cell 2:2:5", "TFG901 cell 4:1:5"]
    assert fixed(path, make_rule()) == before.replace('x = BAD"\n', 'x = GOOD"\n', 1).replace("y = BAD", "y = GOOD")


def test_text_in_one_string_or_in_lines(tmp_path: Path, make_rule: Make) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    texts: list[Any] = ["import tensorflow\nBAD", ["import tensorflow\n", "BA", "D"], ["BAD", 1], None, 3]
    cells = [*({**cell, "source": text} for text in texts), cell, "BAD", None]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    assert places(check(tmp_path, make_rule())) == ["TFG901 cell 1:2:1", "TFG901 cell 2:2:1"]


# What cannot be read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"cells": [\n {"tensorflow": 1,}]}', "2:1"),
        ("import tensorflow\n", "1:1: error: TFG000 is not a Jupyter notebook: its JSON is broken: Expecting value"),
        ('["tensorflow"]', "1:1: error: TFG000 is not a Jupyter notebook: its JSON has no list of cells"),
        ('{"keras": 1}', "1:1: error: TFG000 is not a Jupyter notebook: its JSON has no list of cells"),
        ('{"cells": {"keras": 1}}', "1:1: error: TFG000 is not a Jupyter notebook: its JSON has no list of cells"),
        ("[" * 100_000 + '"keras', "1:1: error: TFG000 is not a Jupyter notebook: its JSON is nested too deeply"),
        ('{"cells": [], "metadata": "keras"}', ""),
        ('{"worksheets": [1, {}, {"cells": 2}], "metadata": {"language_info": "keras"}}', ""),
        ('{"cells": [{"cell_type": "code", "x": "keras"}]}', ""),
        ("", ""),
    ],
)
def test_files_that_are_no_notebooks(text: str, expected: str, tmp_path: Path, tflint: Command) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    [line] = found(tflint, ".") or [""]
    assert line.removeprefix("a.ipynb:").startswith(expected)
    assert bool(line) == bool(expected)


def test_bytes_that_are_not_utf_8(tmp_path: Path, make_rule: Make) -> None:
    (tmp_path / "a.ipynb").write_bytes(b'{\n"keras": "\xff"}')
    [one] = check(tmp_path, make_rule())
    assert (one.message, one.location) == ("is not a Jupyter notebook: it is not UTF-8", Location(2, 1))


def test_a_cell_that_does_not_parse_is_told_of_and_the_others_are_checked(tmp_path: Path, make_rule: Make) -> None:
    save(tmp_path, "import tensorflow", "print 'BAD'", "BAD", "if x:\n    y = (\n", "  z = = 1", "BAD")
    diagnostics = check(tmp_path, make_rule(required_substrings=((b"BAD",),)))
    refused = [one for one in diagnostics if one.code == "TFG000"]
    assert len(refused) == 1, "a notebook with gaps to fill is one finding"
    assert refused[0].message.startswith("does not parse: ")
    assert refused[0].message.endswith("; 2 other cells do not parse either")
    assert [cell.message.partition(":")[0] for cell in refused[0].related] == ["does not parse"] * 2
    assert places(diagnostics) == [
        "TFG000 cell 2:1:1",
        "TFG901 cell 2:1:8",
        "TFG901 cell 3:1:1",
        "TFG901 cell 6:1:1",
    ]  # the toy rule finds words, in strings, too


def test_a_cell_that_could_crash_the_parser_is_left_out(tmp_path: Path, make_rule: Make) -> None:
    save(tmp_path, "import tensorflow", "x = 1\ny = " + "(" * 3000 + ")" * 3000, "BAD")
    assert [(one.code, one.location.cell) for one in check(tmp_path, make_rule())] == [("TFG000", 2), ("TFG901", 3)]


@pytest.mark.parametrize(
    "cell",
    [
        "await f(BAD)",
        "async with g() as x:\n    BAD",
        "  BAD\n  x = 1",
        "return BAD",
        "# a\n    \n  BAD",
        "x = [BAD\n]",
        " %%time\nBAD",
        "\n  %%capture out\n  BAD\n  x = 1",
    ],
)
def test_what_only_a_notebook_allows(cell: str, tmp_path: Path, make_rule: Make) -> None:
    save(tmp_path, "import tensorflow", "x = 1", cell, "class A:\n    pass")
    rule = make_rule(replacement="VERY_GOOD")
    before = (tmp_path / "a.ipynb").read_text()
    assert [one.code for one in check(tmp_path, rule)] == ["TFG901"]
    assert fixed(tmp_path / "a.ipynb", rule) == before.replace("BAD", "VERY_GOOD")


# Settings and comments


def test_comments_silence(tmp_path: Path, make_rule: Make) -> None:
    save(
        tmp_path,
        "import tensorflow",
        "x = 1\nf(BAD,\n  1)  # noqa",
        "!ls (\nBAD # noqa: TFG902",
        "print 1  # noqa: TFG000",
    )
    assert places(check(tmp_path, make_rule())) == ["TFG901 cell 3:2:1"]
    save(tmp_path, "import tensorflow", "# tflint-gpu: noqa: TFG901\nBAD", "BAD")
    assert check(tmp_path, make_rule()) == []
    save(tmp_path, "import tensorflow", "md|# tflint-gpu: noqa", "%%bash\n# tflint-gpu: noqa", "BAD")
    assert len(check(tmp_path, make_rule())) == 1


def test_a_comment_of_another_cell_is_not_meant(tmp_path: Path, make_rule: Make) -> None:
    save(tmp_path, "import tensorflow", "x = 1  # noqa", "BAD", "y = 1  # noqa")
    [one] = check(tmp_path, make_rule())
    assert (one.location, one.noqa_row) == (Location(1, 1, cell=3), 1)


def test_per_file_ignores_and_exclusion(tmp_path: Path, tflint: Command) -> None:
    for name in ("a.ipynb", "b.ipynb"):
        save(tmp_path, IMPORTS, WAVE, name=name)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    save(tmp_path / ".ipynb_checkpoints", IMPORTS, WAVE)
    assert len(found(tflint, ".")) == 2
    assert [line[:7] for line in found(tflint, ".", "--per-file-ignores", "a.ipynb:TFG101")] == ["b.ipynb"]


def test_words_that_the_json_spells_with_escapes(tmp_path: Path, make_rule: Make) -> None:
    path = save(tmp_path, 'import tensorflow\nx = "GPU"', "BAD")
    path.write_text(path.read_text().replace("tensorflow", r"\u0074ensorflow"))
    rule = make_rule(required_substrings=((b'"GPU"',), (b"import tensorflow\nx",)))
    assert places(check(tmp_path, rule)) == ["TFG901 cell 2:1:1"]


def test_outputs_are_not_searched(tmp_path: Path, make_rule: Make) -> None:
    made = notebook("import tensorflow\nBAD")
    made.cells[0].outputs = [v4.new_output("stream", text="model.fit(x)")]
    (tmp_path / "a.ipynb").write_text(nbformat.writes(made))
    assert check(tmp_path, make_rule(required_substrings=((b".fit(",),))) == []


@pytest.mark.slow
def test_the_cache_knows_the_cells(tmp_path: Path, tflint: Command) -> None:
    path = save(tmp_path, IMPORTS, WAVE)
    options = ("check", "--isolated", "--output-format", "json")
    first, second = tflint(*options), tflint(*options)
    assert (tmp_path / ".tflint_gpu_cache").is_dir()
    assert first.stdout == second.stdout
    assert json.loads(second.stdout)[0]["cell"] == 2
    save(tmp_path, "md|more", IMPORTS, WAVE)
    assert [one["cell"] for one in json.loads(tflint(*options).stdout)] == [3], path


def test_the_same_text_in_other_cells_is_another_notebook() -> None:
    """Protects positions while a server or `--fix` keeps models: cells can move while the program stays."""
    one, other = (decode(nbformat.writes(notebook(*cells))) for cells in (("a",), ("md|x", "a")))
    assert one.text == other.text
    assert not one.equals(other)
    assert one.equals(one)


# Reports


@pytest.mark.slow
def test_formats_without_cells_name_the_row_of_the_file(tmp_path: Path, tflint: Command) -> None:
    path = save(tmp_path, IMPORTS, WAVE)
    row = 1 + next(row for row, line in enumerate(path.read_text().split("\n")) if "np.abs" in line)
    column = 1 + path.read_text().split("\n")[row - 1].index("np.abs")
    options = ("check", "--isolated", "--no-cache", "--output-format")
    github = tflint(*options, "github").stdout
    assert f"line={row},col={column},endLine={row},endColumn={column + 6}::a.ipynb:cell 2:4:16: TFG101" in github
    assert tflint(*options, "pylint").stdout.startswith(f"a.ipynb:{row}: [TFG101] cell 2:4:16: ")
    [result] = json.loads(tflint(*options, "sarif").stdout)["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": row, "startColumn": column, "endLine": row, "endColumn": column + 6}
    assert "fixes" not in result, "a fix of Python is none of JSON"


def test_json_and_full_give_the_cell(tmp_path: Path, tflint: Command) -> None:
    save(tmp_path, IMPORTS, WAVE)
    (tmp_path / "b.py").write_text(IMPORTS.partition("\n")[2] + "\n" + WAVE.replace("!nvidia-smi (", "pass") + "\n")
    options = ("check", "--isolated", "--no-cache", "--output-format")
    assert [one["cell"] for one in json.loads(tflint(*options, "json").stdout)] == [2, None]
    full = tflint(*options, "full", "a.ipynb").stdout
    assert " --> a.ipynb:cell 2:4:16\n" in full
    assert "\n4 |         return np.abs(x)\n  |                ^^^^^^\n" in full


def test_related_places_are_in_their_cells(tmp_path: Path, tflint: Command) -> None:
    save(tmp_path, "import tensorflow as tf\nx = tf.constant(1)", "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)")  # fmt: skip
    done = tflint("check", "--isolated", "--no-cache", "--output-format", "json")
    [one] = json.loads(done.stdout)
    assert (one["cell"], one["related"][0]["cell"], one["related"][0]["location"]["row"]) == (2, 1, 2)


# Fixes


def fixed(path: Path, rule: Rule) -> str:
    """The file after the rule's fixes, mended as `--fix` does."""
    resolver = SettingsResolver(working_directory=path.parent)
    engine = Engine(resolver, path.parent, [rule])
    [file] = Discovery(resolver, path.parent).find([str(path)])

    def recheck(source: SourceFile) -> tuple[Diagnostic, ...]:
        path.write_bytes(source.encode())
        return engine.check(file).diagnostics

    source = decode_source(path.read_bytes(), path, file.name)
    path.write_bytes(fix_source(source, engine.check(file).diagnostics, recheck).source.encode())
    return path.read_bytes().decode()


CELLS = ("md|# BAD é", "import tensorflow", "!echo 'é BAD\nf('é', BAD)  # BAD \\ \" \t", "x = 1\nBAD")
STYLES: list[Callable[[Any], str]] = [
    nbformat.writes,
    lambda made: json.dumps(made),
    lambda made: json.dumps(made, indent=4, ensure_ascii=False, sort_keys=True).replace("\n", "\r\n") + "\r\n\r\n",
    lambda made: json.dumps(made, separators=(",", ":")) + "\n",
    lambda made: json.dumps(made, indent="\t").replace("é", r"\u00e9"),
    lambda made: "\ufeff" + nbformat.writes(made),
]


@pytest.mark.parametrize("style", STYLES)
def test_a_fix_changes_its_own_characters_only(style: Callable[[Any], str], tmp_path: Path, make_rule: Make) -> None:
    """Protects everything else in the file: spacing, order, escapes, outputs, line endings, marks."""
    made = notebook(*CELLS)
    made.cells[1].outputs = [v4.new_output("stream", text="BAD ➜ é\n")]
    path = tmp_path / "a.ipynb"
    path.write_bytes(style(made).encode())
    before = path.read_bytes().decode()
    after = fixed(path, make_rule(word=r"(?<=, )BAD|(?<=\n)BAD"))
    assert after.count("GOOD") == 2
    assert after.replace("GOOD", "BAD") == before


def test_new_lines_become_lines_of_the_list(tmp_path: Path, make_rule: Make) -> None:
    path = save(tmp_path, "import tensorflow\nBAD", "x = 1")
    assert fixed(path, make_rule(replacement="x = 1\ny = 2")).count('"x = 1\\n",\n    "y = 2"\n') == 1
    assert nbformat.read(path, 4).cells[0].source == "import tensorflow\nx = 1\ny = 2"


class SpansCells(FindsWords):
    """Its one fix changes the first and the last word of the notebook."""

    def check(self, model: Any) -> Iterator[Finding]:
        text, fake = model.source.text, SourceOnly(model.source)
        nodes: list[Any] = [Span(at, at + 3) for at in (text.index("BAD"), text.rindex("BAD"))]
        edits = tuple(Edit(node, "GOOD") for node in nodes)
        yield Finding(fake, nodes[0], "m", Prediction("no-effect"), fix=Fix("m", "safe", edits))  # type: ignore[arg-type]


def test_a_fix_that_spans_cells_is_not_offered(tmp_path: Path) -> None:
    save(tmp_path, "import tensorflow\nBAD", "BAD")
    [one] = check(tmp_path, SpansCells())
    assert one.fix is None
    save(tmp_path, "import tensorflow\nBAD\nBAD", "x = 1")
    [one] = check(tmp_path, SpansCells())
    assert one.fix is not None


def test_a_fix_below_the_last_line_of_a_cell_stays_in_it(tmp_path: Path, tflint: Command) -> None:
    path = save(tmp_path, "import tensorflow as tf", "tf.keras.Model().fit(1)", "x = 1")
    done = tflint("check", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", "a.ipynb")
    assert done.returncode == 0, done.stdout
    first, second, _ = nbformat.read(path, 4).cells
    assert first.source.startswith("import tensorflow as tf\n\nfor gpu in tf.config")
    assert first.source.endswith("(gpu, True)")
    assert second.source == "tf.keras.Model().fit(1)"


def test_a_cell_that_a_fix_would_break_stays(tmp_path: Path, make_rule: Make) -> None:
    path = save(tmp_path, "import tensorflow", "print 1", "BAD")
    before = path.read_text()
    with pytest.raises(Exception, match="would produce code that does not parse"):
        fixed(path, make_rule(replacement="1 2"))
    assert path.read_text() == before


def test_a_change_that_would_lose_a_cell_is_refused() -> None:
    source = decode(nbformat.writes(notebook("import tensorflow", "BAD")))
    start = source.text.index("BAD")
    with pytest.raises(UnreadableSource, match="cannot be changed separately"):
        source.edited([Change(start, start + 3, source.locate(start), source.locate(start + 3), "")])


def test_the_diff_shows_the_changed_cells() -> None:
    before = decode(nbformat.writes(notebook("a = 1", "md|m", "b = 1\nc = 2")))
    after = decode(nbformat.writes(notebook("a = 1", "md|m", "b = 1\nc = 3")))
    assert difference(before, after) == (
        "--- a.ipynb:cell 3\n+++ a.ipynb:cell 3\n@@ -1,2 +1,2 @@\n b = 1\n-c = 2\n+c = 3\n"
    )


def test_standard_input(tmp_path: Path, tflint: Command) -> None:
    text = nbformat.writes(notebook(IMPORTS, WAVE))
    assert found(tflint, "--stdin-filename", "x.ipynb", "-", stdin=text)[0].startswith(
        "x.ipynb:cell 2:4:16: error: TFG101"
    )
    done = tflint("check", "--isolated", "--fix", "--unsafe-fixes", "--stdin-filename", "x.ipynb", "-", stdin=text)
    assert done.stdout == text.replace("np.abs", "tf.abs")


def test_every_place_leads_there_and_back() -> None:
    """Protects the arithmetic between the program's rows, the cells' rows and the file's rows."""
    text = nbformat.writes(notebook("a\r\nb", "md|x\ny", "  c\n  d\n", "%%time\né", "e\n\n"))
    source = decode(text)
    assert isinstance(source, Notebook)
    for cell in source.cells:
        for offset in range(cell.start, cell.end + 1):
            place = source.locate(offset)
            assert source.row_of(place) == source.row(offset)
            lines = cell.text.replace("\r\n", "\n").split("\n")
            assert source.shown_line(place) == lines[place.row - 1]
            if source.text[offset : offset + 1].isalpha():
                assert lines[place.row - 1][place.column - 1] == source.text[offset]
                assert text.split("\n")[place.in_file.row - 1][place.in_file.column - 1] == source.text[offset]


@pytest.mark.slow
def test_a_fixed_notebook_runs_and_is_otherwise_the_same(tmp_path: Path, tflint: Command) -> None:
    """Protects the whole way: it fails before the fix and runs after it, in a real kernel."""
    train = "%time h = model.fit(np.ones((4, 2)), np.ones(4), verbose=0)"
    layer = WAVE.replace("!nvidia-smi (", "!echo 'it is é ('")
    model = "model = tf.keras.Sequential([Wave(), tf.keras.layers.Dense(1)])\nmodel.compile(loss='mse')\n" + train
    path = save(
        tmp_path,
        "md|# é",
        IMPORTS.partition("\n")[2],
        "files = !ls\nnp.sin?",
        layer,
        model,
        "float(h.history['loss'][0])",
    )
    before = path.read_bytes()
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        nbclient.NotebookClient(nbformat.read(path, 4), timeout=600, kernel_name="python3").execute()
    done = tflint("check", "--isolated", "--no-cache", "--fix", "a.ipynb")
    assert "Found 1 problem (1 fixed, 0 remaining).\n1 piece of advice (TFG401): --show-advice\n" in done.stdout
    assert path.read_bytes() == before.replace(b"return np.abs", b"return tf.abs")
    executed = nbclient.NotebookClient(nbformat.read(path, 4), timeout=600, kernel_name="python3").execute()
    assert float(executed.cells[-1].outputs[0].data["text/plain"]) >= 0
