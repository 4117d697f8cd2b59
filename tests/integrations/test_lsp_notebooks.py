"""Protects notebooks in the language server: cells are texts of their own, and one program."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from editor import Editor, changed, codes, edited, editor_that_ends_well
from lsprotocol import types

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

IMPORTS = "import numpy as np\nimport tensorflow as tf"
PROSE = "# Import numpy, and use it"
HALVES = "class Halves(tf.keras.layers.Layer):\n    def call(self, batch):\n        return np.round(batch / 2)"
HEIGHTS = "class Heights(tf.keras.layers.Layer):\n    def call(self, batch):\n        return np.sign(batch)"
CELLS = [IMPORTS, PROSE, "%matplotlib inline\n" + HALVES, "", HEIGHTS]
LANGUAGES = ["python", "markdown"]


@pytest_asyncio.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    async with editor_that_ends_well(tmp_path) as editor:
        yield editor


async def test_findings_in_cells(editor: Editor) -> None:
    await editor.start()
    cells = await editor.open_notebook("lab.ipynb", CELLS, LANGUAGES)
    found = [codes(await editor.found(cell, 1)) for cell in cells]
    assert found == [[], [], [("TFG101", 4)], [], [("TFG101", 3)]]
    place = types.Range(types.Position(3, 15), types.Position(3, 23))
    assert editor.shown(cells[2])[0].range == place
    hover = await editor.hover(cells[2], 3, 17)
    assert hover is not None and hover.range == place
    assert await editor.hover(cells[4], 3, 17) is None, "it is in another cell"


async def test_a_name_of_one_cell_is_used_in_another(editor: Editor) -> None:
    await editor.start()
    cells = await editor.open_notebook("lab.ipynb", CELLS, LANGUAGES)
    assert codes(await editor.found(cells[2], 1)) == [("TFG101", 4)]
    await editor.change_cell("lab.ipynb", cells[0], IMPORTS.replace("numpy", "jax.numpy"))
    await editor.until(lambda: editor.shown(cells[2]) == [] and editor.shown(cells[4]) == [])
    await editor.change_cell("lab.ipynb", cells[0], IMPORTS)
    await editor.until(lambda: codes(editor.shown(cells[4])) == [("TFG101", 3)])


async def test_fixes_in_cells(editor: Editor) -> None:
    await editor.start()
    cells = await editor.open_notebook("lab.ipynb", CELLS, LANGUAGES)
    [fix, silence, _] = await editor.actions(cells[2], 3)
    assert list(changed(fix.edit)) == [cells[2]]
    assert edited(CELLS[2], fix.edit) == CELLS[2].replace("np.round", "tf.round")
    assert edited(CELLS[2], silence.edit).endswith("np.round(batch / 2)  # noqa: TFG101")
    assert await editor.actions(cells[4], 0, ["quickfix"]) == []
    for wish, kind in (("source.fixAll", "source"), ("notebook", "notebook.source")):
        [action] = await editor.actions(cells[0], 0, [wish])
        assert action.kind == f"{kind}.fixAll.tflintGpu"
        assert changed(action.edit) == {
            cells[2]: ["        return tf.round(batch / 2)"],
            cells[4]: ["        return tf.sign(batch)"],
        }


async def test_edits_say_for_which_text_they_are(editor: Editor) -> None:
    workspace = types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
    )
    await editor.start(types.ClientCapabilities(workspace=workspace))
    cells = await editor.open_notebook("lab.ipynb", CELLS, LANGUAGES)
    await editor.change_cell("lab.ipynb", cells[4], f"{HEIGHTS}\n")
    [action] = await editor.actions(cells[4], 0, ["source.fixAll"])
    assert action.edit is not None and action.edit.document_changes is not None
    documents = [one.text_document for one in action.edit.document_changes]  # type: ignore[union-attr]
    assert [(one.uri, one.version) for one in documents] == [(cells[2], 1), (cells[4], 2)]  # type: ignore[union-attr]


async def test_cells_come_and_go_and_move(editor: Editor) -> None:
    await editor.start()
    cells = await editor.open_notebook("lab.ipynb", CELLS, LANGUAGES)
    assert codes(await editor.found(cells[4], 1)) == [("TFG101", 3)]
    new = f"vscode-notebook-cell:{editor.root}/lab.ipynb#new"
    structure = types.NotebookDocumentCellChangeStructure(
        types.NotebookCellArrayChange(3, 2, [types.NotebookCell(types.NotebookCellKind.Code, new)]),
        did_open=[types.TextDocumentItem(new, "python", 1, HEIGHTS.replace("sqrt", "cbrt"))],
        did_close=[types.TextDocumentIdentifier(cell) for cell in cells[3:]],
    )
    editor.change_cells("lab.ipynb", types.NotebookDocumentCellChanges(structure))
    assert codes(await editor.found(new, 1)) == [("TFG101", 3)]
    await editor.until(lambda: editor.shown(cells[4]) == [])
    swapped = [types.NotebookCell(types.NotebookCellKind.Code, cell) for cell in (new, cells[2])]
    array = types.NotebookDocumentCellChangeStructure(types.NotebookCellArrayChange(2, 2, swapped))
    found = await editor.after(new, lambda: editor.change_cells("lab.ipynb", types.NotebookDocumentCellChanges(array)))
    assert codes(found) == [("TFG101", 3)]
    await editor.until(lambda: codes(editor.shown(cells[2])) == [("TFG101", 4)])
    closed = types.DidCloseNotebookDocumentParams(
        types.NotebookDocumentIdentifier(editor.uri("lab.ipynb")),
        [types.TextDocumentIdentifier(cell) for cell in (cells[0], new, cells[2])],
    )
    await editor.after(new, lambda: editor.client.notebook_document_did_close(closed))
    await editor.until(lambda: editor.shown(new) == [] and editor.shown(cells[2]) == [])
    assert await editor.actions(new, 2) == []


async def test_a_cell_that_is_being_written_hides_nothing_of_the_others(editor: Editor) -> None:
    """The cell of the imports does not parse for a while: what was found by them stays."""
    await editor.start()
    gap = "rate = ___ ?? ask the reader"
    cells = await editor.open_notebook("lab.ipynb", [*CELLS, gap], LANGUAGES)
    assert codes(await editor.found(cells[5], 1)) == [("TFG000", 1)], "it never parsed"
    assert await editor.change_cell("lab.ipynb", cells[0], f"{IMPORTS}\nimport (") == []
    assert codes(await editor.change_cell("lab.ipynb", cells[4], f"{HEIGHTS}\n")) == [("TFG101", 3)]
    assert editor.shown(cells[0]) == [] and editor.shown(cells[2]) != []
    await editor.until(lambda: editor.shown(cells[5]) == [])  # that it does not parse is told when it is saved
    saved = types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(editor.uri("lab.ipynb")))
    found = await editor.after(cells[0], lambda: editor.client.notebook_document_did_save(saved))
    assert codes(found) == [("TFG000", 3)]
    await editor.change_cell("lab.ipynb", cells[0], "import tensorflow as tf")
    await editor.until(lambda: editor.shown(cells[4]) == [])


async def test_a_cell_that_is_being_written_doubles_nothing_of_the_others(editor: Editor) -> None:
    """What is found in the other cells is shown once, and what was fixed there is gone at once."""
    await editor.start()
    cells = await editor.open_notebook("lab.ipynb", CELLS, LANGUAGES)
    assert codes(await editor.found(cells[4], 1)) == [("TFG101", 3)]
    writing = HALVES.replace("np.round(", "np.round((")
    assert codes(await editor.change_cell("lab.ipynb", cells[2], writing)) == [("TFG101", 3)]
    await editor.until(lambda: codes(editor.shown(cells[4])) == [("TFG101", 3)])
    assert await editor.change_cell("lab.ipynb", cells[4], HEIGHTS.replace("np.", "tf.")) == []
    assert codes(editor.shown(cells[2])) == [("TFG101", 3)], "kept where it is written"


async def test_notebooks_and_modules(editor: Editor) -> None:
    """A finding of a notebook's check in an open module is shown there, and leads back to the cell."""
    helper = "import numpy as np\n\n\ndef level(batch):\n    return np.sign(batch)\n"
    (editor.root / "levels.py").write_text(helper)
    capability = types.PublishDiagnosticsClientCapabilities(related_information=True)
    text = types.TextDocumentClientCapabilities(publish_diagnostics=capability)
    await editor.start(types.ClientCapabilities(text_document=text))
    using = "class Levels(tf.keras.layers.Layer):\n    def call(self, batch):\n        return level(batch)"
    imports = "import tensorflow as tf\nfrom levels import level"
    cells = await editor.open_notebook("lab.ipynb", [imports, using])
    assert await editor.found(cells[1], 1) == []
    await editor.open("levels.py", helper)
    await editor.until(lambda: codes(editor.shown("levels.py")) == [("TFG101", 5)])
    related = [one.location.uri for one in editor.shown("levels.py")[0].related_information or ()]
    assert cells[1] in related


async def test_a_notebook_without_a_file(editor: Editor) -> None:
    await editor.start(folder=False)
    cells = await editor.open_notebook("untitled:Untitled-1", [IMPORTS, HEIGHTS])
    assert codes(await editor.found(cells[1], 1)) == [("TFG101", 3)]


async def test_excluded_notebooks_and_other_languages(editor: Editor) -> None:
    await editor.start(options={"exclude": ["old"]})
    old = await editor.open_notebook("old/lab.ipynb", [IMPORTS, HEIGHTS])
    assert await editor.found(old[1], 1) == []
    cells = await editor.open_notebook("lab.ipynb", [IMPORTS, HEIGHTS, HEIGHTS], ["python", "r", "python"])
    assert [codes(await editor.found(cell, 1)) for cell in cells] == [[], [], [("TFG101", 3)]]
