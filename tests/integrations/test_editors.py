"""Protects the page on editors: its settings, as printed, in the real editors that Debian has."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import needs_installation
from editor import Editor, codes
from lsprotocol import types

from tflint_gpu.integrations.editor import parse_editor_settings
from tflint_gpu.integrations.session import SECTION
from tflint_gpu.settings.options import Options
from tflint_gpu.text.toml import loads

PAGE = (Path(__file__).parents[2] / "docs" / "editors.md").read_text("utf-8")
IGNORED = Options(ignore=("TFG401",))
PROGRAM = """\
import numpy as np
import tensorflow as tf


class Mish(tf.keras.layers.Layer):
    def call(self, x):
        return x * np.sign(x)


model = tf.keras.Sequential([Mish()])
model.compile(loss="mse")
model.fit(tf.ones((8, 2)), tf.ones((8, 2)))
"""
NEOVIM = """
local function wait(condition, what)
  if not vim.wait(200000, condition, 50) then
    print("no " .. what .. ": " .. vim.inspect(vim.diagnostic.get(0)))
    vim.cmd("cquit")
  end
end
local function codes()
  return vim.tbl_map(function(finding) return (finding.code or finding.user_data.lsp.code) .. ":" .. (finding.lnum + 1) end, vim.diagnostic.get(0))
end
wait(function() return vim.deep_equal(codes(), { "TFG101:7" }) end, "finding with the settings")
vim.api.nvim_buf_set_lines(0, 0, 0, false, { "# \\240\\159\\154\\128 above" })
wait(function() return vim.deep_equal(codes(), { "TFG101:8" }) end, "finding after a change")
local point = { start = { line = 7, character = 20 }, ["end"] = { line = 7, character = 20 } }
local document = vim.lsp.util.make_text_document_params()
local params = { textDocument = document, range = point, context = { diagnostics = {} } }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 200000)
for _, answer in pairs(answers) do
  vim.lsp.util.apply_workspace_edit(answer.result[1].edit, "utf-16")
end
wait(function() return #codes() == 0 end, "text without findings")
vim.cmd("write")
vim.cmd("qall!")
"""
EMACS = """
(setq debug-on-error nil)
(defun codes ()
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))
(defun wait-for (what condition)
  (let ((until (+ (float-time) 200)))
    (while (not (funcall condition))
      (when (> (float-time) until)
        (message "no %s: %S" what (codes))
        (kill-emacs 1))
      (accept-process-output nil 0.1))))
(require 'eglot)
(setq eglot-sync-connect 100 eglot-autoshutdown t)
(find-file "mish.py")
(call-interactively #'eglot)
(wait-for "finding with the settings"
          (lambda () (and (= (length (codes)) 1) (string-match-p "np.sign" (car (codes))))))
(goto-char (point-min))
(search-forward "np.sign")
(backward-char 2)
(eglot--apply-workspace-edit
 (plist-get (seq-find (lambda (action) (string-match-p "Replace with" (plist-get action :title)))
                      (eglot-code-actions (line-beginning-position) (line-end-position) nil nil))
            :edit))
(eglot--signal-textDocument/didChange)
(wait-for "text without findings" (lambda () (null (codes))))
(save-buffer)
(kill-emacs 0)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    needs_installation()
    (tmp_path / "mish.py").write_text(PROGRAM)
    return tmp_path


def drive(folder: Path, *command: str) -> str:
    """Run an editor without a window; the program that it leaves."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "home")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "mish.py").read_text("utf-8")


@pytest.mark.slow
def test_neovim(folder: Path) -> None:
    """Findings with the settings of the page, again after a change, and a fix that is applied."""
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed (Debian's package neovim)")
    version = subprocess.run(["nvim", "--version"], capture_output=True, text=True, timeout=60).stdout
    [release] = re.findall(r"^NVIM v(\d+\.\d+)", version)
    newer, older = blocks("lua")
    settings = newer if tuple(map(int, release.split("."))) >= (0, 11) else older
    (folder / "init.lua").write_text(settings)
    (folder / "drive.lua").write_text(NEOVIM)
    text = drive(folder, "nvim", "--headless", "-u", "init.lua", "-i", "NONE", "-n", "mish.py", "-S", "drive.lua")
    assert text == "# \N{ROCKET} above\n" + PROGRAM.replace("np.sign", "tf.sign")


@pytest.mark.slow
def test_emacs(folder: Path) -> None:
    """Findings with the settings of the page, and a fix that is applied."""
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed (Debian's package emacs-nox)")
    probe = "(progn (package-initialize) (require 'eglot))"
    if subprocess.run(["emacs", "--batch", "--eval", probe], capture_output=True, timeout=100).returncode != 0:
        pytest.skip("Emacs has no eglot (Emacs 29, or Debian's package elpa-eglot)")
    [settings] = blocks("elisp")
    (folder / "drive.el").write_text(f"(package-initialize)\n{settings}\n{EMACS}")
    text = drive(folder, "emacs", "--batch", "-l", "drive.el")
    assert text == PROGRAM.replace("np.sign", "tf.sign")


def test_the_settings_of_other_editors() -> None:
    """What Helix and VS Code would send is what the server takes."""
    [helix] = map(loads, blocks("toml"))
    server = helix["language-server"]["tflint-gpu"]
    assert parse_editor_settings(server["config"][SECTION]) == IGNORED
    assert [server["command"], *server["args"]] == ["tflint-gpu", "server"]
    code, zed = map(json.loads, blocks("json"))
    own = {key.partition(".")[2]: value for key, value in code.items() if key.startswith(f"{SECTION}.")}
    assert parse_editor_settings(own) == IGNORED
    assert zed["lsp"]["pylsp"]["binary"] == {"path": "tflint-gpu", "arguments": ["server"]}


@pytest.mark.slow
@pytest.mark.asyncio
async def test_helix_as_it_speaks(tmp_path: Path) -> None:
    """Helix sends `config` of the page with its greeting, and again as changed settings."""
    [helix] = map(loads, blocks("toml"))
    config = helix["language-server"]["tflint-gpu"]["config"]
    editor = Editor(tmp_path)
    await editor.start(options=config)
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(config))
    assert codes(await editor.open("mish.py", PROGRAM)) == [("TFG101", 7)], "nothing of what the settings ignore"
    assert editor.client.messages == []
    assert await editor.leave() == 0


@pytest.mark.slow
def test_the_external_tool_of_pycharm(folder: Path) -> None:
    """PyCharm's macros are replaced as PyCharm does; its output filter makes a link of each line that it matches."""
    rows = dict(re.findall(r"^\| (\w[\w ]+) \| `(.+)` \|$", PAGE, re.MULTILINE))
    macros = {
        "$PyInterpreterDirectory$": str(Path(sys.executable).parent),
        "$FilePath$": str(folder / "mish.py"),
        "$ProjectFileDir$": str(folder),
    }
    fields = {name: re.sub(r"\$\w+\$", lambda macro: macros[macro[0]], rows[name]) for name in list(rows)[:3]}
    assert list(fields) == ["Program", "Arguments", "Working directory"]
    command = [fields["Program"], *fields["Arguments"].split(), "--isolated", "--select", "TFG101"]
    done = subprocess.run(command, cwd=fields["Working directory"], capture_output=True, text=True, timeout=600)
    parts = {"$FILE_PATH$": "(?P<path>.+?)", "$LINE$": r"(?P<line>\d+)", "$COLUMN$": r"(?P<column>\d+)"}
    pattern = re.sub(r"\$\w+\$", lambda macro: parts[macro[0]], rows["Output filters"])
    link = re.match(pattern, done.stdout)
    assert link is not None, done.stdout + done.stderr
    assert (folder / link["path"]).samefile(folder / "mish.py") and (link["line"], link["column"]) == ("7", "20")
