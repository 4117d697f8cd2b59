"""How jupyterlab-lsp learns of the language server: by the entry point `jupyter_lsp_spec_v1`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from tflint_gpu.integrations import NEEDED

SCHEMA = Path(__file__).with_name("editor_settings.json")
"""What an editor may set, as JSON Schema: the names that VS Code and JupyterLab show."""


def specification(_: object) -> dict[str, dict[str, object]]:
    """The language server, as jupyter-lsp describes one; nothing where the extra `lsp` is missing.

    The form: https://jupyterlab-lsp.readthedocs.io/en/latest/Contributing.html#specs.
    """
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        return {}
    server: dict[str, object] = {
        "version": 2,
        "argv": [sys.executable, "-m", "tflint_gpu", "server"],
        "languages": ["python"],
        "mime_types": ["text/python", "text/x-python", "text/x-ipython"],
        "display_name": "tflint-gpu",
        "install": {"pip": "pip install '.[lsp]' (in a checkout of tflint-gpu)"},
        "config_schema": json.loads(SCHEMA.read_text("utf-8")),
        "requires_documents_on_disk": False,
    }
    return {"tflint-gpu": server}
