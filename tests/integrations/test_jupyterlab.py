"""Protects that JupyterLab checks notebooks after `pip install 'tflint-gpu[lsp]' jupyterlab jupyterlab-lsp` and no more."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browsers import browser, wait_for
from checkout import needs_installation
from jsonschema import Draft7Validator

from tflint_gpu.integrations.editor import parse_editor_settings
from tflint_gpu.integrations.jupyter import SCHEMA, specification
from tflint_gpu.settings.options import Options

pytestmark = pytest.mark.slow

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "jupyterlab.png"
CELLS = [
    "import numpy as np\nimport tensorflow as tf",
    "class Swish(tf.keras.layers.Layer):\n    def call(self, x):\n        return x / (1 + np.abs(-x))",
    "model = tf.keras.Sequential([Swish()])\nmodel.compile(loss='mse')\nmodel.fit(tf.ones((8, 2)), tf.ones((8, 2)))",
]
# Other servers for Python may be installed; JupyterLab uses one for a language.
LAB = """
import sys
for name in ("pylsp", "pyls", "jedi_language_server"):
    sys.modules[name] = None
from jupyterlab.labapp import main
main()
"""
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false"},
    "@jupyter-lsp/jupyterlab-lsp/plugin": {
        "language_servers": {"tflint-gpu": {"serverSettings": {"tflint-gpu.ignore": ["TFG401"]}}}
    },
}


def test_the_server_announces_itself() -> None:
    needs_installation()
    [point] = [point for point in entry_points(group="jupyter_lsp_spec_v1") if point.name == "tflint-gpu"]
    assert point.value == "tflint_gpu.integrations.jupyter:specification"
    [(name, server)] = specification(None).items()
    assert name == "tflint-gpu" and server["argv"] == [sys.executable, "-m", "tflint_gpu", "server"]


def test_what_is_announced_is_as_jupyter_lsp_wants_it() -> None:
    jupyter_lsp = pytest.importorskip("jupyter_lsp", reason="jupyterlab-lsp is not installed")
    schema = json.loads((Path(jupyter_lsp.__file__).parent / "schema" / "schema.json").read_text())
    schema["$ref"] = "#/definitions/language-server-specs-implementation-map"
    assert list(Draft7Validator(schema).iter_errors(specification(None))) == []


def test_nothing_is_announced_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    assert specification(None) == {}


def test_the_settings_that_editors_show_are_ours() -> None:
    """Also that what an editor sends for settings that nobody made, null, changes nothing."""
    schema = json.loads(SCHEMA.read_text())
    Draft7Validator.check_schema(schema)
    defaults = {key.removeprefix("tflint-gpu."): setting["default"] for key, setting in schema["properties"].items()}
    assert parse_editor_settings(defaults) == Options()
    samples: dict[str, object] = {"targetTensorflow": "2.15", "gpuMemory": "24GiB", "severity": {"TFG1": "error"}}
    types: dict[str, object] = {"array": ["TFG101"], "object": {"a.py": ["TFG1"]}, "string": "https://example.org"}
    for key, setting in schema["properties"].items():
        short = key.removeprefix("tflint-gpu.")
        kind = setting["type"] if isinstance(setting["type"], str) else setting["type"][0]
        value = samples.get(short, types[kind])
        assert not isinstance(value, dict) or setting["default"] == {}, "jupyterlab-lsp wants it for a table"
        assert parse_editor_settings({short: value}) != Options(), f"{key} = {value}"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where JupyterLab shows a notebook."""
    needs_installation()
    for package in ("jupyterlab", "jupyterlab_lsp"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    work = tmp_path / "work"
    work.mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["language_info"] = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    nbformat.write(notebook, work / "swish.ipynb")
    for name, settings in SETTINGS.items():
        path = tmp_path / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR", "HOME")
    environment = {**os.environ, **{name: str(tmp_path / name) for name in folders}}
    environment["JUPYTERLAB_SETTINGS_DIR"] = str(tmp_path / "settings")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (f"--port={port}", f"--ServerApp.root_dir={work}", "--IdentityProvider.token=", "--no-browser")
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-c", LAB, *options, "--allow-root"]
        server = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: answers(f"http://127.0.0.1:{port}/api"), "JupyterLab")
        yield f"http://127.0.0.1:{port}/doc/tree/swish.ipynb"
    finally:
        server.terminate()
        server.wait()


def test_a_notebook_in_jupyterlab(address: str, tmp_path: Path) -> None:
    """Squiggles as JupyterLab's settings want them, the message, the fix as the page on editors says, and text while it is typed."""
    with browser(940, 560) as page:
        page.get(address)

        def squiggles() -> list[Any]:
            return list(page.find_elements("css selector", ".cm-lintRange"))

        def words() -> list[str]:
            return [squiggle.text for squiggle in squiggles()]

        wait_for(lambda: words() == ["np.abs"], "the finding")
        assert "cm-lintRange-error" in squiggles()[0].get_attribute("class")
        from selenium.webdriver import ActionChains, Keys

        wait_for(lambda: page.find_elements("xpath", "//*[contains(text(), 'Fully initialized')]"), "the status")
        ActionChains(page).move_to_element(squiggles()[0]).perform()
        wait_for(lambda: page.find_elements("css selector", ".cm-tooltip-lint"), "the message")
        text = page.find_element("css selector", ".cm-tooltip-lint").text
        assert "`np.abs` gets a tensor" in text and "help: use `tf.abs`" in text
        if "TFLINT_PICTURES" in os.environ:
            PICTURE.write_bytes(page.get_screenshot_as_png())
        fix = [sys.executable, "-m", "tflint_gpu", "check", "--fix", "swish.ipynb"]
        subprocess.run(fix, cwd=tmp_path / "work", check=True, capture_output=True, timeout=600)
        menu = "//*[contains(@class, 'lm-Menu') and contains(@class, 'Label') and text()='{}']"
        for button in (menu.format("File"), menu.format("Reload Notebook from Disk"), "//button[.='Reload']"):
            wait_for(partial(page.find_elements, "xpath", button), button)
            page.find_element("xpath", button).click()
        line = "//*[contains(@class, 'cm-line') and contains(., 'tf.abs')]"
        wait_for(lambda: page.find_elements("xpath", line), "the fix")
        wait_for(lambda: not squiggles(), "that nothing is found any more")
        ActionChains(page).click(page.find_element("xpath", line)).send_keys(Keys.END, " - np.abs(x)").perform()
        wait_for(lambda: words() == ["np.abs"], "the finding in what is typed")


def test_the_picture_in_the_documentation() -> None:
    assert PICTURE.read_bytes().startswith(b"\x89PNG"), (
        "run: TFLINT_PICTURES=1 pytest tests/integrations/test_jupyterlab.py"
    )


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
