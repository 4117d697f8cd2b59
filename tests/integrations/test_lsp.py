"""Protects the language server, driven by a real client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from editor import COMMAND, Editor, codes, edited, editor_that_ends_well
from lsprotocol import types
from pytest_lsp import client_capabilities

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.narrowing.measurements import key_of

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LAYER = """\
import numpy as np
import tensorflow as tf


class Wave(tf.keras.layers.Layer):
    def call(self, x):
        return np.abs(x)
"""
SERVING = "from tflint_gpu.cli import main; main(['server'])"
TRAINING = """
model = tf.keras.Sequential([Wave()])
model.compile(loss="mse")
model.fit(tf.ones((8, 2)), tf.ones((8, 2)))
"""
ALL = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        configuration=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
    ),
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(properties=["edit"])
        ),
    ),
)


@pytest_asyncio.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    async with editor_that_ends_well(tmp_path) as editor:
        yield editor


async def test_what_is_told_of_a_finding(editor: Editor) -> None:
    await editor.start()
    found = await editor.open("train.py", LAYER + TRAINING)
    assert [(one.code, one.severity, one.source) for one in found] == [
        ("TFG101", types.DiagnosticSeverity.Error, "tflint-gpu"),
        ("TFG401", types.DiagnosticSeverity.Hint, "tflint-gpu"),
    ]
    assert found[0].range == types.Range(types.Position(6, 15), types.Position(6, 21))
    assert found[0].message.startswith("`np.abs` gets a tensor") and "\nhelp: use `tf.abs`" in found[0].message
    assert found[0].related_information is None, "this editor did not say that it shows related places"


async def test_a_file_without_findings_is_published_too(editor: Editor) -> None:
    await editor.start()
    assert await editor.open("plain.py", "print(1)\n") == []


async def test_only_what_holds_for_the_newest_text_is_published(editor: Editor) -> None:
    await editor.start()
    await editor.open("train.py", LAYER)
    for row in range(1, 30):
        await editor.change("train.py", "\n" * row + LAYER, wait=False)
        await asyncio.sleep(0.004 * (row % 9))
    assert codes(await editor.found("train.py", 30)) == [("TFG101", 7 + 29)]
    published = [(one.version, codes(list(one.diagnostics))) for one in editor.published]
    assert published == [(version, [("TFG101", 6 + version)]) for version, _ in published if version is not None]
    assert published == sorted(published)
    assert len(published) < 30, "texts that were typed over at once are not checked"


async def test_what_a_long_check_finds_too_late_is_dropped(editor: Editor) -> None:
    await editor.start()
    await editor.open("train.py", LAYER + "print(np.abs(1.0))\n" * 20_000, wait=False)
    assert codes(await editor.change("train.py", LAYER)) == [("TFG101", 7)]
    assert [one.version for one in editor.published] == [2]


async def test_the_rest_of_a_text_with_ipython_lines_is_checked(editor: Editor) -> None:
    """Protects exported notebooks in an editor; as for other texts, that it does not parse is told when it is saved."""
    await editor.start()
    exported = "!echo (it's\n%matplotlib inline\n" + LAYER
    assert codes(await editor.open("train.py", exported)) == [("TFG000", 1), ("TFG101", 9)]
    assert codes(await editor.change("train.py", "\n" + exported)) == [("TFG101", 10)]
    assert codes(await editor.save("train.py")) == [("TFG000", 2), ("TFG101", 10)]


async def test_closing_clears(editor: Editor) -> None:
    await editor.start()
    assert await editor.open("train.py", LAYER) != []
    assert await editor.close("train.py") == []
    assert codes(await editor.open("train.py", LAYER)) == [("TFG101", 7)]


async def test_hover(editor: Editor) -> None:
    await editor.start()
    await editor.open("train.py", LAYER)
    hover = await editor.hover("train.py", 6, 17)
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert hover.contents.value.startswith("**TFG101 numpy-in-call**\n\nPredicted: crash")
    assert "gets a tensor" not in hover.contents.value, "editors show the message beside the hover"
    assert "```python\n" in hover.contents.value, "the rule's own example"
    assert hover.range == types.Range(types.Position(6, 15), types.Position(6, 21))
    assert await editor.hover("train.py", 5, 3) is None


async def test_a_hover_over_a_name_says_what_it_is(editor: Editor) -> None:
    """Protects who asks for shapes: with and without a finding there, and after a change of the text."""
    await editor.start()
    await editor.open("train.py", "import tensorflow as tf\nrows = tf.zeros((8, 3))\ntotal = rows + 1\n")
    hover = await editor.hover("train.py", 2, 9)
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.value == "`rows`: Tensor float32 (8, 3)"
    assert hover.range == types.Range(types.Position(2, 8), types.Position(2, 12))
    assert await editor.hover("train.py", 2, 16) is None
    await editor.change("train.py", LAYER.replace("(self, x)", "(self, x=tf.zeros((2, 4)))"))
    hover = await editor.hover("train.py", 5, 20)
    assert hover is None or "(8, 3)" not in str(hover.contents)


async def test_what_verify_measured_is_in_the_hover(editor: Editor) -> None:
    """Protects `server --verified FILE`: what was read at the start is still known once an editor has opened a folder."""
    place = Location(row=7, column=16)
    finding = Diagnostic("TFG101", "numpy-in-call", "", "train.py", place, place, 7, "error")
    lines = LAYER.splitlines()
    key = key_of(finding, lambda _name, row, _cell: lines[row - 1] if row <= len(lines) else None)
    measured = {"ratio": 3.1, "low": 2.9, "high": 3.2}
    report = {"device": {}, "results": [{"key": key, "verdict": "confirmed", "measured": measured, "device": "cpu"}]}
    (editor.root / "verified.json").write_text(json.dumps(report))
    await editor.start(command=(*COMMAND, "--verified", "verified.json"))
    await editor.open("train.py", LAYER)
    hover = await editor.hover("train.py", 6, 17)
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert "Measured here: 3.1 times (2.9 to 3.2) on the CPU: confirmed" in hover.contents.value


async def test_a_safe_fix(editor: Editor) -> None:
    await editor.start()
    await editor.open("train.py", LAYER)
    fix, silence, _ = await editor.actions("train.py", 6)
    assert (fix.title, fix.kind, fix.is_preferred) == ("tflint-gpu (TFG101): Replace with `tf.abs`", "quickfix", True)
    assert [one.code for one in fix.diagnostics or ()] == ["TFG101"]
    assert edited(LAYER, fix.edit) == LAYER.replace("np.abs", "tf.abs")
    assert silence.is_preferred is None
    assert await editor.actions("train.py", 4, ["quickfix"]) == []


async def test_an_unsafe_fix_says_so(editor: Editor) -> None:
    await editor.start()
    text = LAYER.replace("np.abs", "tf.abs") + TRAINING
    await editor.open("train.py", text)
    actions = await editor.actions("train.py", 10)
    assert [(one.title.partition(": ")[2], one.is_preferred) for one in actions] == [
        ("Turn memory growth on for every GPU (unsafe: may change what the program does)", None),
        ("Suppress here (# noqa: TFG401)", None),
    ]
    assert await editor.change("train.py", edited(text, actions[0].edit)) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_suppressing_joins_the_comment_that_is_there(editor: Editor, newline: str) -> None:
    await editor.start()
    text = (LAYER.replace("np.abs(x)", "np.abs(x)  # wave  # noqa: E501") + TRAINING).replace("\n", newline)
    await editor.open("train.py", text)
    for row, code in ((6, "TFG101"), (10, "TFG401")):
        action = next(
            one for one in await editor.actions("train.py", row) if code in one.title and "Suppress" in one.title
        )
        text = edited(text, action.edit)
        found = await editor.change("train.py", text)
        assert code not in {one.code for one in found}
    lines = text.split(newline)
    assert lines[6].endswith("# wave  # noqa: E501, TFG101")
    assert lines[10].endswith("tf.ones((8, 2)))  # noqa: TFG401")


@pytest.mark.parametrize("resolving", [False, True])
async def test_fix_all_is_safe_fixes_only(editor: Editor, resolving: bool) -> None:
    await editor.start(ALL if resolving else None)
    text = (LAYER + "\n    def build(self, x):\n        pass\n" + LAYER[LAYER.index("class") :] + TRAINING).replace(
        "\n", "\r\n"
    )
    await editor.open("train.py", text)
    for wish in ("source", "source.fixAll", "source.fixAll.tflintGpu"):
        assert [one.kind for one in await editor.actions("train.py", 0, [wish])] == ["source.fixAll.tflintGpu"]
    assert await editor.actions("train.py", 0, ["source.organizeImports"]) == []
    (action,) = await editor.actions("train.py", 0, ["source.fixAll"])
    assert (action.edit is None) is resolving
    if resolving:
        action = await editor.client.code_action_resolve_async(action)
        assert action.edit is not None and action.edit.document_changes is not None
        assert action.edit.document_changes[0].text_document.version == 1  # type: ignore[union-attr]
    assert edited(text, action.edit) == text.replace("np.abs", "tf.abs")
    assert [one.code for one in await editor.change("train.py", edited(text, action.edit))] == ["TFG401"]
    assert await editor.actions("train.py", 0, ["source.fixAll"]) == []


async def test_a_fix_that_takes_long_is_made_when_it_is_asked_for(editor: Editor) -> None:
    """Protects the fixes that no keystroke waits for: after a change they are offered as after the text was opened."""
    await editor.start()
    text = (Path(__file__).parents[2] / "examples" / "train.py").read_text("utf-8")
    found = await editor.open("train.py", text)
    row = next(one.range.start.line for one in found if one.code == "TFG202")
    opened = [one.title for one in await editor.actions("train.py", row, ["quickfix"])]
    assert opened[0].startswith("tflint-gpu (TFG202): Move the step into `train_step`")
    changed = await editor.change("train.py", f"\n{text}")
    assert [one.message for one in changed] == [one.message for one in found]
    assert await editor.actions("train.py", 0, ["quickfix"]) == []
    assert [one.title for one in await editor.actions("train.py", row + 1, ["quickfix"])] == opened


async def test_actions_are_for_the_newest_text(editor: Editor) -> None:
    """An editor asks for `fixAll` when it saves, at once after the last key."""
    await editor.start()
    await editor.open("train.py", "import tensorflow\n")
    await editor.change("train.py", "\n\n" + LAYER, wait=False)
    (action,) = await editor.actions("train.py", 0, ["source.fixAll"])
    assert edited("\n\n" + LAYER, action.edit) == "\n\n" + LAYER.replace("np.abs", "tf.abs")


@pytest.mark.parametrize(("encoding", "start"), [("utf-16", 31), ("utf-8", 33), ("utf-32", 30)])
async def test_columns_are_counted_as_agreed(editor: Editor, encoding: str, start: int) -> None:
    general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)])
    result = await editor.start(types.ClientCapabilities(general=general) if encoding != "utf-16" else None)
    assert result.capabilities.position_encoding == encoding
    text = LAYER.replace("np.abs", '("\N{ROCKET}" and 0) or np.abs')
    (found,) = await editor.open("train.py", text)
    assert (found.range.start.character, found.range.end.character) == (start, start + 6)
    if encoding == "utf-16":
        assert edited(text, (await editor.actions("train.py", 6))[0].edit) == text.replace("np.abs", "tf.abs")
        hover = await editor.hover("train.py", 6, start)
        assert hover is not None and hover.range == found.range


@pytest.mark.parametrize(
    "before",
    [
        "# \f\x1c\u2028 rows for nobody but Python\n",
        "\r\n\r\n",
        "# -*- coding: latin-1 -*-\ncaf\N{LATIN SMALL LETTER E WITH ACUTE} = 1; ",
    ],
)
async def test_rows_and_columns_in_unusual_texts(editor: Editor, before: str) -> None:
    await editor.start()
    text = f"{before}import numpy as np\n{LAYER}"
    (found,) = await editor.open("train.py", text)
    row, column = found.range.start.line, found.range.start.character
    assert text.replace("\r\n", "\n").split("\n")[row][column:] == "np.abs(x)"


BASE = "import tensorflow as tf\n\n\nclass Base{}:\n    pass\n"
DERIVED = "import numpy as np\nimport tensorflow as tf\nfrom base import Base\n\n\nclass Wave(Base):\n    def call(self, x):\n        return np.abs(x)\n"


async def test_unsaved_texts_of_other_files_count(editor: Editor) -> None:
    (editor.root / "base.py").write_text(BASE.format(""))
    await editor.start(ALL)
    assert await editor.open("wave.py", DERIVED) == []
    await editor.open("base.py", BASE.format("(tf.keras.layers.Layer)"))
    await editor.until(lambda: codes(editor.shown("wave.py")) == [("TFG101", 8)])
    (finding,) = editor.shown("wave.py")
    assert all(
        one.location.uri in (editor.uri("wave.py"), editor.uri("base.py")) for one in finding.related_information or ()
    )
    await editor.change("base.py", BASE.format("(object)"))
    await editor.until(lambda: editor.shown("wave.py") == [])


HELPERS = "import numpy as np\nimport tensorflow as tf\n\n\ndef wave(x):\n    return np.abs(x)\n"
CALLER = "import tensorflow as tf\nfrom helpers import wave\n\n\nclass Wave(tf.keras.layers.Layer):\n    def call(self, x):\n        return wave(x)\n"


async def test_a_finding_in_another_open_file_is_shown_there(editor: Editor) -> None:
    (editor.root / "helpers.py").write_text(HELPERS)
    await editor.start(ALL)
    assert await editor.open("caller.py", CALLER) == []
    await editor.open("helpers.py", HELPERS)
    await editor.until(lambda: codes(editor.shown("helpers.py")) == [("TFG101", 6)])
    (finding,) = editor.shown("helpers.py")
    related = [(one.location.uri, one.location.range.start.line) for one in finding.related_information or ()]
    assert (editor.uri("caller.py"), 6) in related or (editor.uri("caller.py"), 5) in related
    assert await editor.change("helpers.py", "\n" + HELPERS) == [], "the finding was for another text"
    await editor.until(lambda: codes(editor.shown("helpers.py")) == [("TFG101", 7)])
    await editor.close("caller.py")
    await editor.until(lambda: editor.shown("helpers.py") == [])


@pytest.mark.parametrize("importer", ["caller.py", "notebook.ipynb"])
async def test_what_a_file_that_is_not_open_shows_of_an_open_one_arrives(editor: Editor, importer: str) -> None:
    """Protects `check FILE` and the editor saying the same: who calls a function decides, whichever file it is in."""
    (editor.root / "setup.py").write_text("")
    (editor.root / "helpers.py").write_text(HELPERS)
    caller = editor.root / importer
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": CALLER}]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    text = notebook if caller.suffix == ".ipynb" else CALLER
    caller.write_text(text)
    await editor.start(ALL)
    await editor.open("helpers.py", HELPERS)
    await editor.until(lambda: codes(editor.shown("helpers.py")) == [("TFG101", 6)])
    assert editor.uri(importer) not in {params.uri for params in editor.published}, "nobody asked about it"
    assert await editor.change("helpers.py", "\n" + HELPERS) == [], "the finding was for another text"
    await editor.until(lambda: codes(editor.shown("helpers.py")) == [("TFG101", 7)])
    caller.write_text(text.replace("wave(x)", "x"))
    editor.notice(importer)
    await editor.until(lambda: editor.shown("helpers.py") == [])
    caller.write_text(text)
    editor.notice(importer)
    await editor.until(lambda: codes(editor.shown("helpers.py")) == [("TFG101", 7)])
    caller.unlink()
    editor.notice(importer, types.FileChangeType.Deleted)
    await editor.until(lambda: editor.shown("helpers.py") == [])


async def test_settings_of_the_greeting_and_their_changes(editor: Editor) -> None:
    await editor.start(options={"tflint-gpu": {"ignore": ["TFG101"], "targetTensorflow": "2.15", "select": None}})
    assert [one.code for one in await editor.open("train.py", LAYER + TRAINING)] == ["TFG401"]

    def change(settings: Any) -> None:
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))

    pushed = {"tflint-gpu": {"ignore": ["TFG4"]}}
    assert [one.code for one in await editor.after("train.py", lambda: change(pushed))] == ["TFG101"]
    assert editor.client.messages == []
    change({"tflint-gpu": {"ignor": ["TFG4"]}})
    await editor.until(lambda: bool(editor.client.messages))
    (message,) = editor.client.messages
    assert message.type == types.MessageType.Error
    assert message.message == "tflint-gpu: the editor's settings: unknown key `ignor`; did you mean `ignore`?"
    assert codes(await editor.change("train.py", LAYER)) == [("TFG101", 7)], "and the server goes on"


async def test_settings_that_the_editor_is_asked_for(editor: Editor) -> None:
    configuration = {"": {"tflint-gpu": {"select": ["TFG4"]}}}
    editor.client._configuration.update(configuration)
    await editor.start(ALL)
    await editor.open("train.py", LAYER + TRAINING)
    await editor.until(lambda: [one.code for one in editor.shown("train.py")] == ["TFG401"])
    editor.client._configuration.update({"": {"tflint-gpu": {"select": ["TFG1"]}}})
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    await editor.until(lambda: [one.code for one in editor.shown("train.py")] == ["TFG101"])


async def test_settings_files_are_read_anew(editor: Editor) -> None:
    await editor.start(ALL)
    assert codes(await editor.open("train.py", LAYER)) == [("TFG101", 7)]
    (watchers,) = [one for one in editor.registered if one.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES]
    patterns = [one["globPattern"] for one in watchers.register_options["watchers"]]  # type: ignore[index]
    assert "**/pyproject.toml" in patterns
    settings = editor.root / "pyproject.toml"
    settings.write_text('[tool.tflint-gpu]\nignore = ["TFG101"]\n')
    assert await editor.change("train.py", LAYER + "\n") == [], "even if the editor watches no files"

    def watched() -> None:
        editor.notice(settings.name)

    settings.write_text("[tool.tflint-gpu]\n")
    assert codes(await editor.after("train.py", watched)) == [("TFG101", 7)]
    settings.write_text("[tool.tflint-gpu]\nselct = []\n")
    assert codes(await editor.after("train.py", watched)) == [("TFG101", 7)]
    await editor.change("train.py", LAYER)
    (message,) = editor.client.messages
    assert message.message == f"tflint-gpu: {settings}: unknown key `selct`; did you mean `select`?"


async def test_excluded_files_are_left_alone(editor: Editor) -> None:
    await editor.start(options={"exclude": ["third_party"]})
    assert await editor.open("third_party/train.py", LAYER) == []
    assert codes(await editor.open("train.py", LAYER)) == [("TFG101", 7)]


async def test_documents_outside_of_a_workspace(editor: Editor, tmp_path_factory: Any) -> None:
    await editor.start(folder=False)
    elsewhere = tmp_path_factory.mktemp("else where;1") / "tr\N{LATIN SMALL LETTER A WITH DIAERESIS}in 100%.py"
    assert codes(await editor.open(elsewhere.as_uri(), LAYER)) == [("TFG101", 7)]
    assert codes(await editor.open("untitled:Untitled-1", LAYER)) == [("TFG101", 7)]


async def test_what_is_no_python_file_is_not_checked(editor: Editor) -> None:
    await editor.start()
    await editor.open("notes.md", LAYER, language="markdown", wait=False)
    await editor.open("train.ipynb", LAYER, language="json", wait=False)
    await editor.open(f"vscode-notebook-cell:{editor.root}/train.ipynb#a", LAYER, wait=False)
    await editor.open("train.py", LAYER)
    assert {one.uri for one in editor.published} == {editor.uri("train.py")}


@pytest.mark.parametrize("client", ["visual_studio_code", "neovim", "emacs"])
async def test_with_what_real_editors_say_of_themselves(editor: Editor, client: str) -> None:
    await editor.start(client_capabilities(client))
    assert codes(await editor.open("train.py", LAYER)) == [("TFG101", 7)]
    assert (await editor.hover("train.py", 6, 17)) is not None
    assert len(await editor.actions("train.py", 6)) == 3


async def test_a_rule_that_fails_is_logged_and_the_others_go_on(editor: Editor) -> None:
    rule = "rules.gpu_memory.tfg401_missing_memory_growth"
    await editor.start(
        command=(sys.executable, "-c", f"import sys; sys.modules['tflint_gpu.{rule}'] = sys\n{SERVING}"),
    )
    assert [one.code for one in await editor.open("train.py", LAYER + TRAINING)] == ["TFG101"]
    await editor.change("train.py", LAYER)
    (message,) = editor.client.log_messages
    assert message.message.startswith("train.py: TFG401 failed; please report this:\n")
    editor.client.log_messages.clear()


async def test_requests_for_what_is_not_open_get_an_answer(editor: Editor) -> None:
    await editor.start()
    assert await editor.hover("nowhere.py", 1, 1) is None
    assert await editor.actions("nowhere.py", 1) == []
    await editor.open("train.py", LAYER)
    await editor.close("train.py")
    assert await editor.hover("train.py", 6, 17) is None


async def test_interest_that_is_lost_breaks_nothing(editor: Editor) -> None:
    await editor.start()
    await editor.open("train.py", LAYER, wait=False)
    for _ in range(5):
        request = editor.client.protocol.send_request(
            types.TEXT_DOCUMENT_HOVER,
            types.HoverParams(types.TextDocumentIdentifier(editor.uri("train.py")), types.Position(6, 17)),
            msg_id="hover",
        )
        editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams("hover"))
        await asyncio.wait([asyncio.wrap_future(request)])
    assert codes(await editor.found("train.py", 1)) == [("TFG101", 7)]
    assert (await editor.hover("train.py", 6, 17)) is not None


async def test_comments_that_silence_nothing(editor: Editor) -> None:
    """Protects what is said of comments: only of a text at rest, and with the files that import it."""
    unused = "import numpy as np\n\n\ndef wave(x):\n    return np.abs(x)  # noqa: TFG101\n"
    await editor.start(options={"extend-select": ["TFG001"]})
    assert codes(await editor.open("layers.py", unused)) == [("TFG001", 5)]
    [action] = await editor.actions("layers.py", 4, ["quickfix"])
    assert action.title == "tflint-gpu (TFG001): Remove the unused suppression", "and no offer to silence it"
    assert edited(unused, action.edit) == unused.replace("  # noqa: TFG101", "")
    [action] = await editor.actions("layers.py", 4, ["source.fixAll"])
    assert edited(unused, action.edit) == unused.replace("  # noqa: TFG101", "")
    assert await editor.change("layers.py", f"{unused}\n") == []
    (editor.root / "layers.py").write_text(f"{unused}\n")
    assert codes(await editor.save("layers.py")) == [("TFG001", 5)]
    using = "import tensorflow as tf\nfrom layers import wave\n\n\nclass Wave(tf.keras.layers.Layer):\n    def call(self, x):\n        return wave(x)\n"
    (editor.root / "train.py").write_text(using)
    assert await editor.save("layers.py") == []


async def test_links_to_the_pages_of_rules(editor: Editor) -> None:
    await editor.start(options={"documentationUrl": "https://example.org/rules"})
    [found] = await editor.open("train.py", LAYER)
    assert found.code_description == types.CodeDescription("https://example.org/rules/TFG101.html")
