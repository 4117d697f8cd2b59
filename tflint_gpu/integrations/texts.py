"""The texts that an editor has open, as the protocol has them, and what they are as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from tflint_gpu.integrations.editor import Document, OpenText
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.bytesearch import JUPYTEXT_ENDING, NOTEBOOK_ENDING, QUARTO_ENDING, is_jupytext
from tflint_gpu.text.decoding import program_of
from tflint_gpu.text.decoding.notebooks import Notebook, written_notebook
from tflint_gpu.text.source import SourceFile

_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class _Text(TextDocument):
    """A text whose lines end as the protocol says; pygls takes more characters for line ends."""

    @property
    def lines(self) -> Sequence[str]:
        return _LINE.findall(self.source)


class Texts(Workspace):
    """The workspace that pygls keeps up to date."""

    @classmethod
    def of(cls, workspace: Workspace) -> Texts:
        """A workspace without texts that is like another one."""
        kind = types.TextDocumentSyncKind.Incremental
        return cls(workspace.root_uri, kind, [*workspace.folders.values()], workspace.position_encoding)

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        return _Text(doc_uri, source, version, language_id, position_codec=self.position_codec)

    def text(self, uri: str) -> TextDocument | None:
        """A text that is open."""
        text: TextDocument | None = self.text_documents.get(unquote(uri))
        return text

    def notebook(self, uri: str) -> types.NotebookDocument | None:
        """A notebook that is open, by its own name or a cell's."""
        return self.get_notebook_document(notebook_uri=uri) or self.get_notebook_document(cell_uri=uri)

    def has_python(self, uri: str, name: str) -> bool:
        """Whether a text that is open is Python, or a document that has cells of it.

        Arguments:
            name: of the file.
        """
        text = self.get_text_document(uri)
        if name.endswith(JUPYTEXT_ENDING):
            return is_jupytext(text.source.encode("utf-8", "replace"))
        return text.language_id == "python" or name.endswith((".py", QUARTO_ENDING))

    def document(self, uri: str, path: Path, name: str, folder: Path) -> Document:
        """A file that is open, as it is now.

        Arguments:
            uri: what the editor calls it; of a notebook, not of a cell.
            path, name: what reports call it.
            folder: that it belongs to.
        """
        notebook = self.notebook(uri)
        if notebook is not None:
            cells = [(cell, self.text(cell.document)) for cell in notebook.cells]
            content = written_notebook(
                ("code", text.language_id or "", text.source)
                if text is not None and cell.kind == types.NotebookCellKind.Code
                else ("markdown", "", "")
                for cell, text in cells
            )
            texts = [OpenText(cell.document, None if text is None else text.version) for cell, text in cells]
            return Document.of(uri, tuple(texts), Notebook.decode(content.encode(), path, name), folder)
        text = self.get_text_document(uri)
        source = program_of(SourceFile(path, name, text.source))
        if path.suffix == NOTEBOOK_ENDING:  # what jupyterlab-lsp makes of a notebook: its cells as one text
            content = written_notebook([("code", "python", text.source)])
            source = Notebook.decode(content.encode(), path, name)
        return Document.of(uri, (OpenText(uri, text.version),), source, folder)
