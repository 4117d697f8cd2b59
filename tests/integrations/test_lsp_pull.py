"""Protects editors that ask for diagnostics: each text is either asked for or published, and an answer is the newest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from editor import Editor, codes, editor_that_ends_well
from lsprotocol import types

pytestmark = pytest.mark.asyncio

LAYER = """\
import numpy as np
import tensorflow as tf
from sizes import WIDTH


class Wave(tf.keras.layers.Layer):
    def call(self, x):
        return np.abs(x)
"""
DATA = """\
import tensorflow as tf

ds = tf.data.Dataset.range(9).shuffle(1)
ds.batch(3)
is_there = tf.test.is_gpu_available()
"""
PULLING = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(diagnostics=types.DiagnosticWorkspaceClientCapabilities(True)),
    text_document=types.TextDocumentClientCapabilities(
        diagnostic=types.DiagnosticClientCapabilities(),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            tag_support=types.ClientDiagnosticsTagOptions([types.DiagnosticTag.Unnecessary])
        ),
    ),
)


@pytest_asyncio.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    async with editor_that_ends_well(tmp_path) as editor:
        yield editor


async def pulled(editor: Editor, name: str) -> tuple[list[tuple[str, int]], str]:
    """The findings of a full report, and which answer it is."""
    report = await editor.pull(name)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport) and report.result_id is not None
    return codes(list(report.items)), report.result_id


async def test_what_is_asked_for_is_the_newest_and_is_not_published(editor: Editor) -> None:
    provider = (await editor.start(PULLING)).capabilities.diagnostic_provider
    assert isinstance(provider, types.DiagnosticOptions) and provider.inter_file_dependencies
    await editor.open("wave.py", LAYER, wait=False)
    found, answer = await pulled(editor, "wave.py")
    assert found == [("TFG101", 8)]
    again = await editor.pull("wave.py", answer)
    assert again == types.RelatedUnchangedDocumentDiagnosticReport(answer)

    editor.published.clear()
    await editor.change("wave.py", "\n" + LAYER, wait=False)
    moved, newer = await pulled(editor, "wave.py")
    assert moved == [("TFG101", 9)] and newer != answer
    await editor.change("wave.py", LAYER.replace("np.abs", "tf.abs"), wait=False)
    assert (await pulled(editor, "wave.py"))[0] == []
    assert editor.published == [], "an editor would show it twice"

    assert await editor.open("plain.py", LAYER) != [], "what the editor does not ask for is published"
    assert await editor.close("wave.py") == []
    assert (await pulled(editor, "wave.py"))[0] == [], "what is not open has an answer"


async def test_the_editor_is_told_to_ask_again_when_another_file_changes_the_answer(editor: Editor) -> None:
    helper = "import numpy as np\n\n\ndef wave(x):\n    return np.abs(x)\n"
    (editor.root / "helper.py").write_text(helper)
    step = "import tensorflow as tf\nfrom helper import wave\n\n\n@tf.function\ndef step(x):\n    return wave(x)\n\n\nstep(tf.ones(3))\n"
    await editor.start(PULLING)
    await editor.open("helper.py", helper, wait=False)
    assert (await pulled(editor, "helper.py"))[0] == []
    await editor.open("step.py", step, wait=False)
    await editor.until(lambda: editor.refreshes != [])
    assert (await pulled(editor, "helper.py"))[0] == [("TFG101", 5)]


async def test_cells_are_asked_for_one_by_one(editor: Editor) -> None:
    await editor.start(PULLING)
    head, body = LAYER.replace("from sizes import WIDTH\n", "").split("\n\n\n")
    cells = await editor.open_notebook("lab.ipynb", [head, body])
    assert [(await pulled(editor, cell))[0] for cell in cells] == [[], [("TFG101", 3)]]
    editor.published.clear()
    document = types.VersionedTextDocumentIdentifier(2, cells[1])
    text = types.TextDocumentContentChangeWholeDocument(body.replace("np.abs", "tf.abs"))
    content = [types.NotebookDocumentCellContentChanges(document, [text])]
    editor.change_cells("lab.ipynb", types.NotebookDocumentCellChanges(text_content=content))
    assert (await pulled(editor, cells[1]))[0] == []
    assert editor.published == []


@pytest.mark.slow
async def test_old_names_are_struck_out_and_code_that_does_nothing_is_faded(editor: Editor) -> None:
    await editor.start(PULLING, options={"select": ["ALL"]})
    found = await editor.open("data.py", DATA + "x = 1  # noqa: TFG101\n")
    deprecated, unnecessary = (types.DiagnosticTag.Deprecated,), (types.DiagnosticTag.Unnecessary,)
    assert {str(diagnostic.code): diagnostic.tags for diagnostic in found} == {
        "TFG701": deprecated,
        "TFG317": unnecessary,
        "TFG308": unnecessary,
        "TFG001": unnecessary,
    }
