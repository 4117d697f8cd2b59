import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { transformSync } from "esbuild";

async function load(name) {
  const source = readFileSync(new URL(`../src/${name}`, import.meta.url), "utf8");
  const { code } = transformSync(source, { loader: "ts", format: "esm" });
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

const { commands, firstThatRuns, status } = await load("command.ts");
const { someMentionTensorflow } = await load("tensorflow.ts");

const PYTHON = process.env.TFLINT_GPU_PYTHON ?? "python3";

test("the setting beats the interpreter, and that the PATH", () => {
  assert.deepEqual(commands(["/opt/tflint-gpu", "-v"], "/venv/python"), [{ command: "/opt/tflint-gpu", args: ["-v", "server"] }]);
  const module = { command: "/venv/python", args: ["-m", "tflint_gpu", "server"] };
  assert.deepEqual(commands([], "/venv/python"), [module, { command: "tflint-gpu", args: ["server"] }]);
  assert.deepEqual(commands([]), [{ command: "tflint-gpu", args: ["server"] }]);
});

test("what is not installed is passed over", async () => {
  const missing = { command: "/no/such/python", args: ["-m", "tflint_gpu", "server"] };
  const other = { command: process.execPath, args: ["/no/such/module.js"] };
  const [real] = commands([], PYTHON);
  assert.deepEqual(await firstThatRuns([missing, other, real]), real);
  assert.equal(await firstThatRuns([missing, other]), undefined);
});

test("the status bar counts", () => {
  assert.equal(status(0), "$(check) tflint-gpu");
  assert.equal(status(3), "$(warning) tflint-gpu: 3");
});

test("a project that uses TensorFlow names it in one of its files", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "project-"));
  const write = (name, text) => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const [plain, gone] = [write("plain.py", "import numpy\n"), path.join(folder, "gone.py")];
  assert.equal(await someMentionTensorflow([plain, gone]), false);
  assert.equal(await someMentionTensorflow([plain, gone, write("model.py", "from tensorflow import nn\n")]), true);
  assert.equal(await someMentionTensorflow([write("layers.ipynb", '{"source": "import keras"}')]), true);
});
