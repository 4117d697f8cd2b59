"""Protects what the language server makes of texts as they are written: parts of them, and what does not parse yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from editor import Editor, codes, edited, editor_that_ends_well
from lsprotocol import types

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

BLOCK = """\
import numpy as np
import tensorflow as tf


class Damped(tf.keras.layers.Layer):
    def call(self, signal):
        return np.abs(-signal)


class Rounded(tf.keras.layers.Layer):
    def call(self, signal):
        return np.square(signal)
"""


@pytest_asyncio.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    async with editor_that_ends_well(tmp_path) as editor:
        yield editor


async def test_findings_stay_while_a_text_does_not_parse(editor: Editor) -> None:
    """They move with their lines, have no fixes that were made for another text, and go when the text parses."""
    await editor.start()
    assert codes(await editor.open("filters.py", BLOCK)) == [("TFG101", 7), ("TFG101", 12)]
    broken = BLOCK.replace("np.abs(-signal)", "np.abs(\n            (-signal")
    assert codes(await editor.change("filters.py", broken)) == [("TFG101", 7), ("TFG101", 13)]
    assert [one.title for one in await editor.actions("filters.py", 12)] == []
    hover = await editor.hover("filters.py", 12, 17)
    assert hover is not None and "numpy-in-call" in str(hover.contents)
    assert codes(await editor.save("filters.py")) == [("TFG000", 8), ("TFG101", 7), ("TFG101", 13)]
    assert codes(await editor.change("filters.py", f"{broken}(\n")) == [("TFG101", 7), ("TFG101", 13)]
    right = BLOCK.replace("np.abs", "tf.abs")
    assert codes(await editor.change("filters.py", right)) == [("TFG101", 12)]


async def test_a_text_that_never_parsed_has_no_findings(editor: Editor) -> None:
    await editor.start()
    broken = BLOCK.replace("np.abs(-signal)", "np.abs(-signal")
    assert codes(await editor.open("filters.py", broken)) == [("TFG000", 7)]
    assert await editor.change("filters.py", f"{broken}\n") == []


async def test_parts_of_texts(editor: Editor) -> None:
    """Lines end as the protocol says, not at each character that Python's `splitlines` takes for a line's end."""
    result = await editor.start()
    sync = result.capabilities.text_document_sync
    assert isinstance(sync, types.TextDocumentSyncOptions) and sync.change == types.TextDocumentSyncKind.Incremental
    odd = "# a\fb\x1cc\u2028d \N{ROCKET}\r\n"
    assert codes(await editor.open("filters.py", odd + BLOCK)) == [("TFG101", 8), ("TFG101", 13)]
    await editor.replace("filters.py", "tf", (7, 15), (7, 17))
    await editor.replace("filters.py", "(1)\n\n", (0, 10), (1, 0))
    assert codes(await editor.found("filters.py", 3)) == [("TFG101", 14)]
    end = len((odd + BLOCK).splitlines())
    await editor.replace("filters.py", "\n\nbroken = (", (end + 7, 0), (end + 7, 0))
    assert codes(await editor.found("filters.py", 4)) == [("TFG101", 14)]
    await editor.replace("filters.py", BLOCK, (0, 0), (end + 90, 0))
    assert codes(await editor.found("filters.py", 5)) == [("TFG101", 7), ("TFG101", 12)]


async def test_the_section_of_settings_is_named(editor: Editor) -> None:
    """Protects editors that send changed settings only to servers which ask for them by name."""
    configuration = types.DidChangeConfigurationClientCapabilities(dynamic_registration=True)
    workspace = types.WorkspaceClientCapabilities(did_change_configuration=configuration)
    await editor.start(types.ClientCapabilities(workspace=workspace))
    await editor.open("filters.py", BLOCK)
    [registered] = editor.registered
    assert registered.method == types.WORKSPACE_DID_CHANGE_CONFIGURATION
    assert registered.register_options == {"section": "tflint-gpu"}
    changed = types.DidChangeConfigurationParams({"tflint-gpu": {"ignore": ["numpy-in-call"]}})
    found = await editor.after("filters.py", lambda: editor.client.workspace_did_change_configuration(changed))
    assert found == []


async def test_a_notebook_as_one_text(editor: Editor) -> None:
    """jupyterlab-lsp sends the cells of a notebook as one text that it says lies in a folder of its own."""
    (editor.root / "lab").mkdir()
    (editor.root / "lab" / "tflint-gpu.toml").write_text('ignore = ["TFG401"]\n')
    await editor.start()
    name = ".virtual_documents/lab/filters.ipynb"
    text = f"%matplotlib inline\n!pip list\n{BLOCK}"
    assert [one.code for one in await editor.open(name, text)] == ["TFG101", "TFG101"]
    [fix, *_] = await editor.actions(name, 8)
    assert fix.edit is not None and list(fix.edit.changes or ()) == [editor.uri(name)]


QUARTO = "# Damped\n\nHow `np.abs` works:\n\n```{python}\n" + BLOCK + "```\n"
MARIMO = (
    "import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _(Base, np):\n"
    "    class Damped(Base):\n        def call(self, signal):\n            return np.abs(-signal)\n    return\n\n\n"
    "@app.cell\ndef _():\n    import numpy as np\n    import tensorflow as tf\n\n    Base = tf.keras.layers.Layer\n"
    "    return Base, np\n"
)


@pytest.mark.parametrize(
    ("name", "language", "text", "row"),
    [
        ("damped.qmd", "quarto", QUARTO.replace("np.square", "tf.square"), 12),
        (
            "damped.md",
            "markdown",
            f"---\njupytext: {{}}\n---\n```python\n{BLOCK.replace('np.square', 'tf.square')}```\n",
            11,
        ),
        ("damped.py", "python", MARIMO, 10),
    ],
)
async def test_documents_with_cells(editor: Editor, name: str, language: str, text: str, row: int) -> None:
    await editor.start()
    found = await editor.open(name, text, language=language)
    assert codes(found) == [("TFG101", row)]
    assert text.splitlines()[row - 1][found[0].range.start.character :].startswith("np.abs")
    [fix, suppress, _] = await editor.actions(name, row - 1)
    [everything] = await editor.actions(name, 0, ["source.fixAll"])
    for action in (fix, everything):
        assert edited(text, action.edit) == text.replace("np.abs(", "tf.abs(")
    assert await editor.change(name, edited(text, suppress.edit)) == []


async def test_markdown_without_a_program(editor: Editor) -> None:
    await editor.start()
    await editor.open("readme.md", QUARTO, language="markdown", wait=False)
    await editor.open("plain.py", "")
    assert {one.uri for one in editor.published} == {editor.uri("plain.py")}
