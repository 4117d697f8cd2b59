import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { transformSync } from "esbuild";

const source = readFileSync(new URL("../src/command.ts", import.meta.url), "utf8");
const { code } = transformSync(source, { loader: "ts", format: "esm" });
const { commands, firstThatRuns, status } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

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
