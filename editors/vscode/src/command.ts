import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** How the language server is started. */
export interface Command {
  command: string;
  args: string[];
}

/**
 * What may start the server, the first choice first.
 *
 * @param configured the setting `tflint-gpu.path`; empty if nobody made it
 * @param interpreter the workspace's Python, if the Python extension knows one
 */
export function commands(configured: readonly string[], interpreter?: string): Command[] {
  const [program, ...rest] = configured;
  if (program !== undefined) {
    return [{ command: program, args: [...rest, "server"] }];
  }
  const inPath = { command: "tflint-gpu", args: ["server"] };
  return interpreter === undefined ? [inPath] : [{ command: interpreter, args: ["-m", "tflint_gpu", "server"] }, inPath];
}

/** The first command that there is; undefined if there is none. */
export async function firstThatRuns(candidates: readonly Command[], folder?: string): Promise<Command | undefined> {
  for (const candidate of candidates) {
    try {
      await run(candidate.command, [...candidate.args, "--help"], { cwd: folder, timeout: 60_000 });
      return candidate;
    } catch {
      // Not installed there: the next one may be.
    }
  }
  return undefined;
}

/** What the status bar says of a number of findings. */
export function status(findings: number): string {
  return findings === 0 ? "$(check) tflint-gpu" : `$(warning) tflint-gpu: ${findings}`;
}
