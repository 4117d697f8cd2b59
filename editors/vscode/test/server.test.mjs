import assert from "node:assert/strict";
import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Client, UNSET } from "./client.mjs";

const IMPORTS = "import numpy as np\nimport tensorflow as tf\n";
const LAYER = "class Gate(tf.keras.layers.Layer):\n    def call(self, x):\n        return np.sign(x)\n";
const TRAINING = "model = tf.keras.Sequential([Gate()])\nmodel.compile(loss='mse')\nmodel.fit(tf.ones((8, 2)), tf.ones((8, 2)))\n";
const START = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

let client;
let capabilities;

beforeEach(async () => {
  client = new Client(realpathSync(mkdtempSync(path.join(tmpdir(), "gate-"))));
  capabilities = await client.start();
});

afterEach(async () => {
  assert.equal(await client.stop(), 0);
  assert.deepEqual(client.messages, []);
});

test("what VS Code needs to know of the server", () => {
  assert.deepEqual(capabilities.notebookDocumentSync, { notebookSelector: [{ cells: [{ language: "python" }] }], save: true });
  assert.equal(capabilities.textDocumentSync.change, 2);
  assert.deepEqual(capabilities.codeActionProvider.codeActionKinds, [
    "quickfix", "source.fixAll.tflintGpu", "notebook.source.fixAll.tflintGpu",
  ]);
});

test("a file: findings, a fix, all fixes", async () => {
  await client.open("gate.py", IMPORTS + LAYER);
  const [found] = await client.shows(client.uri("gate.py"), ["TFG101"]);
  assert.deepEqual(found.range, { start: { line: 4, character: 15 }, end: { line: 4, character: 22 } });
  const [fix] = await client.actions(client.uri("gate.py"), found.range, "quickfix");
  assert.equal(fix.isPreferred, true);
  const [change] = fix.edit.documentChanges;
  assert.deepEqual(change.textDocument, { uri: client.uri("gate.py"), version: 1 });
  assert.deepEqual(change.edits.map((edit) => edit.newText), ["tf.sign"]);
  const [all, ...others] = await client.actions(client.uri("gate.py"), START, "source.fixAll.tflintGpu");
  assert.deepEqual(others, []);
  assert.deepEqual(all.edit.documentChanges[0].edits.map((edit) => edit.newText), ["        return tf.sign(x)\n"]);
});

test("a file while it is written: parts of the text, and what does not parse yet", async () => {
  const uri = client.uri("gate.py");
  await client.open("gate.py", IMPORTS + LAYER);
  await client.shows(uri, ["TFG101"]);
  const change = (version, line, character, text) =>
    client.notify("textDocument/didChange", {
      textDocument: { uri, version },
      contentChanges: [{ range: { start: { line, character }, end: { line, character } }, rangeLength: 0, text }],
    });
  client.published.clear();
  await change(2, 5, 0, "\nbroken = (");
  await client.shows(uri, ["TFG101"]);
  await change(3, 6, 10, ")");
  await change(4, 2, 0, "np = tf.math\n");
  await client.shows(uri, []);
});

test("a notebook: names of other cells, fixes in cells, cells that change", async () => {
  await client.openNotebook("gates.ipynb", [IMPORTS, `%matplotlib inline\n${LAYER}`, TRAINING]);
  const [first, second, third] = [0, 1, 2].map((number) => client.cell("gates.ipynb", number));
  const [found] = await client.shows(second, ["TFG101"]);
  assert.equal(found.range.start.line, 3);
  await client.shows(third, ["TFG401"]);
  await client.shows(first, []);
  for (const kind of ["source.fixAll", "notebook.source.fixAll"]) {
    const [all] = await client.actions(first, START, kind);
    assert.equal(all.kind, `${kind}.tflintGpu`);
    assert.deepEqual(all.edit.documentChanges.map((change) => change.textDocument), [{ uri: second, version: 1 }]);
  }
  const notebookDocument = { uri: client.uri("gates.ipynb"), version: 1 };
  const range = { start: { line: 3, character: 15 }, end: { line: 3, character: 17 } };
  const textContent = [{ document: { uri: second, version: 2 }, changes: [{ range, rangeLength: 2, text: "tf" }] }];
  await client.notify("notebookDocument/didChange", { notebookDocument, change: { cells: { textContent } } });
  await client.shows(second, []);
  const data = [{ kind: 2, document: second, executionSummary: { executionOrder: 1, success: true } }];
  await client.notify("notebookDocument/didChange", { notebookDocument, change: { cells: { data } } });
  const structure = { array: { start: 2, deleteCount: 1 }, didClose: [{ uri: third }] };
  await client.notify("notebookDocument/didChange", { notebookDocument, change: { cells: { structure } } });
  await client.shows(third, []);
  await client.notify("notebookDocument/didSave", { notebookDocument });
  await client.notify("notebookDocument/didClose", { notebookDocument, cellTextDocuments: [{ uri: first }, { uri: second }] });
});

test("settings, and their changes while the server runs", async () => {
  await client.open("gate.py", IMPORTS + LAYER + TRAINING);
  await client.shows(client.uri("gate.py"), ["TFG101", "TFG401"]);
  const asked = client.registered.find((one) => one.method === "workspace/didChangeConfiguration");
  assert.deepEqual(asked.registerOptions, { section: "tflint-gpu" });
  client.settings = { ...UNSET, ignore: ["TFG1"], severity: { TFG401: "error" } };
  await client.notify("workspace/didChangeConfiguration", { settings: { "tflint-gpu": client.settings } });
  const [found] = await client.shows(client.uri("gate.py"), ["TFG401"]);
  assert.equal(found.severity, 1);
  client.settings = UNSET;
  await client.notify("workspace/didChangeConfiguration", { settings: null });
  await client.shows(client.uri("gate.py"), ["TFG101", "TFG401"]);
});
