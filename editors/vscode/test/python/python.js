/* In place of Microsoft's extension, which only its marketplace has: the interpreter of a folder is what its settings say. */
const vscode = require("vscode");

exports.activate = () => {
  const setting = "python.defaultInterpreterPath";
  const changed = new vscode.EventEmitter();
  vscode.workspace.onDidChangeConfiguration((event) => {
    for (const resource of vscode.workspace.workspaceFolders ?? []) {
      if (event.affectsConfiguration(setting, resource)) {
        changed.fire({ resource });
      }
    }
  });
  const environments = {
    getActiveEnvironmentPath: (resource) => ({ path: vscode.workspace.getConfiguration("", resource).get(setting) }),
    resolveEnvironment: async ({ path }) => (path ? { executable: { uri: vscode.Uri.file(path) } } : undefined),
    onDidChangeActiveEnvironmentPath: changed.event,
  };
  return { environments };
};
