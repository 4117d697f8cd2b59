import * as vscode from "vscode";
import { LanguageClient, State } from "vscode-languageclient/node";
import { Command, commands, firstThatRuns, status } from "./command";

const NAME = "tflint-gpu";
const FIX_ALL = vscode.CodeActionKind.SourceFixAll.append("tflintGpu");
const PYTHON = "ms-python.python";
const LANGUAGES = ["python", "quarto", "markdown"];
const INSTALL = "pip install 'tflint-gpu[lsp]' (in a checkout of tflint-gpu: pip install '.[lsp]')";

/** What we use of the Python extension: https://github.com/microsoft/vscode-python/blob/main/src/client/api/types.ts */
interface Environments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
  resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
}

let client: LanguageClient | undefined;
let output: vscode.LogOutputChannel;
let bar: vscode.StatusBarItem;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel(NAME, { log: true });
  bar = vscode.window.createStatusBarItem(NAME, vscode.StatusBarAlignment.Left);
  bar.name = NAME;
  const environments = await pythonEnvironments();
  const again = () => restart(environments);
  context.subscriptions.push(
    output,
    bar,
    vscode.commands.registerCommand("tflint-gpu.fixAll", fixAll),
    vscode.commands.registerCommand("tflint-gpu.restart", again),
    vscode.commands.registerCommand("tflint-gpu.showOutput", () => output.show()),
    vscode.languages.onDidChangeDiagnostics(showStatus),
    vscode.window.onDidChangeActiveTextEditor(showStatus),
    vscode.window.onDidChangeActiveNotebookEditor(showStatus),
    vscode.workspace.onDidChangeConfiguration((event) => (event.affectsConfiguration(`${NAME}.path`) ? again() : undefined)),
    vscode.workspace.onDidGrantWorkspaceTrust(again),
  );
  if (environments !== undefined) {
    context.subscriptions.push(environments.onDidChangeActiveEnvironmentPath(again));
  }
  await again();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(environments: Environments | undefined): Promise<void> {
  const former = client;
  client = undefined;
  await former?.dispose();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const configured = vscode.workspace.getConfiguration(NAME).get<string[]>("path", []);
  const interpreter = await interpreterOf(environments, folder);
  const candidates = commands(configured, interpreter);
  const command = await firstThatRuns(candidates, folder?.fsPath);
  if (command === undefined) {
    showMissing(candidates);
    return;
  }
  output.info(`starts ${[command.command, ...command.args].join(" ")}`);
  client = makeClient(command, folder);
  client.onDidChangeState(showStatus);
  await client.start();
}

function makeClient(command: Command, folder: vscode.Uri | undefined): LanguageClient {
  const schemes = ["file", "untitled", "vscode-notebook-cell"];
  const server = { ...command, options: { cwd: folder?.fsPath } };
  return new LanguageClient(NAME, NAME, server, {
    documentSelector: LANGUAGES.flatMap((language) => schemes.map((scheme) => ({ scheme, language }))),
    outputChannel: output,
  });
}

async function pythonEnvironments(): Promise<Environments | undefined> {
  const extension = vscode.extensions.getExtension<{ environments?: Environments }>(PYTHON);
  return extension === undefined ? undefined : (await extension.activate())?.environments;
}

async function interpreterOf(environments: Environments | undefined, folder?: vscode.Uri): Promise<string | undefined> {
  const environment = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
  return environment?.executable.uri?.fsPath;
}

function showMissing(candidates: readonly Command[]): void {
  const tried = candidates.map((candidate) => candidate.command).join(" and ");
  output.error(`no tflint-gpu with a language server: tried ${tried}`);
  bar.text = `$(error) ${NAME}`;
  bar.tooltip = `${NAME} is not installed: ${INSTALL}`;
  bar.command = "tflint-gpu.showOutput";
  bar.show();
  void vscode.window.showWarningMessage(`${NAME} is not installed here. Run: ${INSTALL}`);
}

/** The texts that the user looks at: a file, or all cells of a notebook. */
function visibleTexts(): vscode.Uri[] {
  const notebook = vscode.window.activeNotebookEditor?.notebook;
  if (notebook !== undefined) {
    return notebook.getCells().map((cell) => cell.document.uri);
  }
  const document = vscode.window.activeTextEditor?.document;
  return document !== undefined && LANGUAGES.includes(document.languageId) ? [document.uri] : [];
}

function showStatus(): void {
  const texts = visibleTexts();
  if (client === undefined || texts.length === 0) {
    if (client !== undefined) {
      bar.hide();
    }
    return;
  }
  if (client.state === State.Running) {
    const found = texts.flatMap((uri) => vscode.languages.getDiagnostics(uri)).filter((one) => one.source === NAME);
    bar.text = status(found.length);
    bar.tooltip = found.length === 1 ? "1 finding" : `${found.length} findings`;
    bar.command = "workbench.actions.view.problems";
  } else {
    bar.text = client.state === State.Starting ? `$(sync~spin) ${NAME}` : `$(error) ${NAME}`;
    bar.tooltip = client.state === State.Starting ? "The server starts" : "The server has stopped";
    bar.command = "tflint-gpu.showOutput";
  }
  bar.show();
}

async function fixAll(): Promise<void> {
  const [text] = visibleTexts();
  if (text === undefined) {
    return;
  }
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider", text, new vscode.Range(0, 0, 0, 0), FIX_ALL.value, 10,
  );
  const edit = actions.find((action) => action.edit !== undefined && action.kind?.value === FIX_ALL.value)?.edit;
  if (edit === undefined) {
    void vscode.window.showInformationMessage(`${NAME}: nothing here can be fixed safely`);
  } else {
    await vscode.workspace.applyEdit(edit);
  }
}
