"""Protects documents with cells that are no JSON: marimo's notebooks, Quarto, Jupytext's Markdown, percent scripts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checks import ALL_RULES, notebook

from tflint_gpu.checking.engine import Engine
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.decoding.cells import DocumentCells

FIXTURES = Path(__file__).parents[2] / "fixtures"
MARIMO = '''\
# /// script
# dependencies = ["marimo"]
# ///
import marimo

__generated_with = "0.13.0"
app = marimo.App(width="medium")

with app.setup:
    import numpy as np
    import tensorflow as tf


@app.cell
def train(Loud, batches):
    model = tf.keras.Sequential([Loud()])
    model.compile(loss="mse")
    model.fit(batches)
    return (model,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    np.abs is what `Loud` calls
    ! and this is no magic
""")
    return


@app.cell
def layer(
    gain,
):
    class Loud(tf.keras.layers.Layer):
        def call(self, wave):
            return np.abs(wave) * gain
    _private = 1
    return (Loud,)


@app.function
def doubled(x):
    return 2 * x


@app.cell
def _():
    gain = doubled(2.0)
    batches = tf.data.Dataset.from_tensors(tf.ones((4, 2)))

    return batches, gain


@app.cell(disabled=True)
def _():
    class Off(tf.keras.layers.Layer):
        def call(self, wave):
            return np.abs(wave)
    return (Off,)


@app.cell
def _():
    import marimo as mo
    return (mo,)


if __name__ == "__main__":
    app.run()
'''
QUARTO = """\
---
title: Loud
jupyter: python3
---

`np.abs` in prose, and an example:

```python
np.abs(what is not run
```

```{python}
#| label: imports
import numpy as np
import tensorflow as tf
```

1. The layer:

   ```{python}
   class Loud(tf.keras.layers.Layer):
       def call(self, wave):
           return np.abs(wave)
   ```

````{.markdown}
```{python}
np.abs(shown
```
````

```{python, echo=FALSE}
%matplotlib inline
model = tf.keras.Sequential([Loud()])
```

```{python}
#| eval: false
class Off(tf.keras.layers.Layer):
    def call(self, wave):
        return np.abs(wave)
```

```{r}
library(keras)
```
"""
JUPYTEXT = """\
---
jupyter:
  jupytext:
    text_representation:
      extension: .md
      format_name: markdown
  kernelspec:
    display_name: Python 3
    language: python
    name: python3
---

# Loud

```python
import numpy as np
import tensorflow as tf
```

<!-- #region -->
Prose with an example:

```python
np.abs(shown
```
<!-- #endregion -->

```python tags=["layer"]
class Loud(tf.keras.layers.Layer):
    def call(self, wave):
        return np.abs(wave)
```

```python .noeval
np.abs(shown
```

```bash
pip list
```
"""
MYST = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
---

```{code-cell} ipython3
---
tags: [imports]
---
import numpy as np
import tensorflow as tf
```

```{code-cell}
:tags: [layer]

class Loud(tf.keras.layers.Layer):
    def call(self, wave):
        return np.abs(wave)
```
"""
PERCENT = """\
# ---
# jupyter:
#   jupytext:
#     text_representation: {format_name: percent}
# ---

# %% [markdown]
# # Loud

# %%
import numpy as np
import tensorflow as tf

# %% tags=["layer"]
class Loud(tf.keras.layers.Layer):
    def call(self, wave):
        return np.abs(wave)
"""
FILES = {"loud.py": MARIMO, "loud.qmd": QUARTO, "loud.md": JUPYTEXT, "myst.md": MYST, "percent.py": PERCENT}


def test_magics_of_a_percent_script_are_no_mistake(tmp_path: Path) -> None:
    """Editors run its cells by IPython, as those of a notebook; without cells Python is to run the file."""
    magics = "# %%\n%matplotlib inline\n!nvidia-smi\n" + PERCENT
    (tmp_path / "percent.py").write_text(magics)
    assert [found.code for found in check(tmp_path)] == ["TFG101"]
    (tmp_path / "percent.py").write_text(magics.replace("# %%", "#"))
    assert [found.code for found in check(tmp_path)] == ["TFG000", "TFG101"]


def check(folder: Path, *paths: str) -> list[Diagnostic]:
    resolver = SettingsResolver(Options(), working_directory=folder)
    engine = Engine(resolver, folder)
    results = [engine.check(file) for file in Discovery(resolver, folder).find(paths or ["."])]
    assert [error for result in results for error in result.errors] == []
    return [one for result in results for one in result.diagnostics if one.code != "TFG401"]


def run(folder: Path, *arguments: str, code: int = 1) -> str:
    command = [sys.executable, "-m", "tflint_gpu", "check", "--no-cache", "--ignore", "TFG401", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_findings_are_where_the_file_has_them(tmp_path: Path, name: str, newline: str) -> None:
    """Also a name of a later cell is known where marimo would run it before."""
    text = FILES[name]
    (tmp_path / name).write_bytes(text.replace("\n", newline).encode())
    [found] = check(tmp_path)
    rows = text.splitlines()
    row = next(number for number, line in enumerate(rows, 1) if "return np.abs(wave)" in line)
    assert (found.code, found.location.row, found.location.cell) == ("TFG101", row, 0)
    assert rows[row - 1][found.location.column - 1 :].startswith("np.abs")
    assert (found.end_location.row, found.end_location.column) == (row, found.location.column + len("np.abs"))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_fixes_change_their_characters_and_no_others(tmp_path: Path, name: str) -> None:
    text = FILES[name].replace("\n", "\r\n")
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert f"+++ {name}" in run(tmp_path, "--diff")
    run(tmp_path, "--fix", code=0)
    fixed = text.replace("return np.abs(wave)", "return tf.abs(wave)", 1)
    assert (tmp_path / name).read_bytes() == b"\xef\xbb\xbf" + fixed.encode()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_comments_that_suppress(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    run(tmp_path, "--add-noqa", code=0)
    written = (tmp_path / name).read_text().splitlines()
    before = FILES[name].splitlines()
    [(old, new)] = [(old, new) for old, new in zip(before, written, strict=True) if old != new]
    assert new == f"{old}  # noqa: TFG101"
    assert check(tmp_path) == []
    (tmp_path / name).write_text(
        FILES[name].replace("import numpy as np", "import numpy as np  # noqa: no-such-rule", 1)
    )
    warned = subprocess.run(
        [sys.executable, "-m", "tflint_gpu", "check", "."], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    row = next(number for number, line in enumerate(before, 1) if "import numpy" in line)
    assert f"{name}:{row}: `# noqa: no-such-rule` names no rule" in warned.stderr


def test_a_comment_for_a_whole_marimo_file(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(f"# tflint-gpu: noqa\n{MARIMO}")
    assert check(tmp_path) == []


@pytest.mark.parametrize("name", [name for name in FILES if name != "percent.py"])
def test_a_cell_that_does_not_parse_is_reported_where_it_is(tmp_path: Path, name: str) -> None:
    """Of marimo's files all, which Python reads as a whole; of documents the cell, and the others are checked."""
    text = FILES[name].replace("import tensorflow as tf\n", "import tensorflow as tf\nbroken = = 1\n".replace(
        "broken", "    broken" if name == "loud.py" else "broken"), 1)  # fmt: skip
    (tmp_path / name).write_text(text)
    first, *others = check(tmp_path)
    row = next(number for number, line in enumerate(text.splitlines(), 1) if "broken" in line)
    assert (first.code, first.location.row) == ("TFG000", row)
    assert [other.code for other in others] == ([] if name == "loud.py" else ["TFG101"])


def test_markdown_that_only_shows_code_is_not_checked(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(JUPYTEXT.partition("---\n\n")[2])
    (tmp_path / "other.md").write_text(JUPYTEXT.replace("  jupytext:", "  other:"))
    assert check(tmp_path) == [] and check(tmp_path, "README.md") == []


def test_the_settings_of_a_marimo_file_are_a_python_files(tmp_path: Path) -> None:
    """A file that only speaks of marimo is none of its notebooks."""
    (tmp_path / "loud.py").write_text(f'"""As in marimo."""\n{PERCENT}')
    assert not isinstance(decode_source((tmp_path / "loud.py").read_bytes(), tmp_path / "loud.py"), DocumentCells)
    assert [one.code for one in check(tmp_path)] == ["TFG101"]


ABOVE = "import marimo\napp = marimo.App()\n@app.cell\ndef _():\n"


def as_cell(text: str) -> str:
    """A program as the only cell of a marimo file."""
    return (
        ABOVE
        + "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
        + "    return\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*.py")), ids=lambda path: path.stem)
def test_a_program_as_one_cell_has_the_same_findings(tmp_path: Path, path: Path) -> None:
    def seen(text: str, rows: int, columns: int) -> list[tuple[str, int, int, str]]:
        (tmp_path / "a.py").write_text(text)
        found = check(tmp_path)
        return [(one.code, one.location.row - rows, one.location.column - columns, one.message) for one in found]

    text = path.read_text()
    assert seen(as_cell(text), ABOVE.count("\n"), 4) == seen(text, 0, 0)


def as_quarto_cell(text: str) -> str:
    return f"# A program\n\n```{{python}}\n{text}```\n"


def as_notebook_cell(text: str) -> str:
    return notebook(text.removesuffix("\n"))


@pytest.mark.slow
def test_a_program_as_one_cell_has_the_same_fixes(tmp_path: Path) -> None:
    """Of the fixtures, and of what the rules' documentation shows."""
    programs = {path.stem: path.read_text() for path in FIXTURES.glob("*/*.py")}
    programs |= {rule.code: rule.example("Example") for rule in ALL_RULES if rule.fixable}
    kinds: dict[str, Callable[[str], str]] = {".py": as_cell, ".qmd": as_quarto_cell, ".ipynb": as_notebook_cell}
    for name, text in programs.items():
        for folder, file, content in [
            ("plain", f"{name}.py", text),
            *((f"cells{ending}", f"{name}{ending}", kind(text)) for ending, kind in kinds.items()),
        ]:
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / file).write_text(content)
    for folder in tmp_path.iterdir():
        run(folder, "--fix-only", "--unsafe-fixes", ".", code=0)
    fixed = {path.stem: path.read_text() for path in (tmp_path / "plain").iterdir()}
    for ending, kind in kinds.items():
        for path in (tmp_path / f"cells{ending}").iterdir():
            assert path.read_text().replace('\\n"]', '"]') == kind(fixed[path.stem]), path.name
    assert sum(programs[name] != text for name, text in fixed.items()) > 10


def ours(text: str, name: str) -> list[str]:
    source = decode_source(text.encode(), Path(name))
    assert isinstance(source, DocumentCells)
    return [cell.text for cell in source.cells]


@pytest.mark.parametrize("name", ["loud.md", "myst.md"])
def test_cells_are_those_that_jupytext_reads(name: str) -> None:
    jupytext: Any = pytest.importorskip("jupytext", reason="jupytext is not installed")
    notebook = jupytext.reads(FILES[name], fmt="md:myst" if name == "myst.md" else "md")
    python = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and "active" not in cell.metadata and not cell.source.startswith("%%bash")
    ]
    assert [text.strip() for text in ours(FILES[name], name)] == [text.strip() for text in python]


@pytest.mark.slow
def test_cells_run_in_the_order_of_marimo(tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "loud.py").write_text(MARIMO)
    command = [sys.executable, "-m", "marimo", "export", "script", "loud.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    exported = [line.strip() for line in done.stdout.splitlines()]
    marks = ["gain = doubled(2.0)", "class Loud(tf.keras.layers.Layer):", "model = tf.keras.Sequential([Loud()])"]
    own = [line.strip() for text in ours(MARIMO, "loud.py") for line in text.splitlines()]
    assert sorted(map(exported.index, marks)) == list(map(exported.index, marks))
    assert sorted(map(own.index, marks)) == list(map(own.index, marks))
