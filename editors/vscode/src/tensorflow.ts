import { readFile } from "node:fs/promises";

/** The files of a folder that may name TensorFlow. */
export const CODE = "**/*.{py,ipynb,qmd}";
/** Folders whose files nobody wrote in this project: environments, caches, packages. */
export const FOREIGN = "**/{.*,node_modules,site-packages}/**";

/** Whether a text may have findings: it names TensorFlow or Keras. */
export function mentionsTensorflow(text: string | Buffer): boolean {
  return text.includes("tensorflow") || text.includes("keras");
}

/** Whether one of these files names TensorFlow or Keras. */
export async function someMentionTensorflow(paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    // A file that cannot be read, such as one that was deleted meanwhile, says nothing.
    const content = await readFile(path).catch(() => "");
    if (mentionsTensorflow(content)) {
      return true;
    }
  }
  return false;
}
