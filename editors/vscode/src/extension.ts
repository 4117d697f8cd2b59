import * as vscode from "vscode";
import { BaseLanguageClient, CodeAction, CodeActionRequest, CodeActionResolveRequest } from "vscode-languageclient/node";
import { status } from "./command";
import { LANGUAGES, NAME, Servers } from "./servers";

const FIX_ALL = vscode.CodeActionKind.SourceFixAll.append("tflintGpu").value;
const INSTALL = "pip install 'tflint-gpu[lsp]' (in a checkout of tflint-gpu: pip install '.[lsp]')";
const MISSING = `${NAME} is not installed here. Run: ${INSTALL}`;
const ELSEWHERE = `${NAME} does not run here: no Python file or notebook of this folder names TensorFlow or Keras`;
const TROUBLES = {
  starting: `The server of ${NAME} is starting`,
  running: "",
  stopped: `The server of ${NAME} has stopped: see its output`,
  missing: MISSING,
};

let servers: Servers;
let bar: vscode.StatusBarItem;

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel(NAME, { log: true });
  bar = vscode.window.createStatusBarItem(NAME, vscode.StatusBarAlignment.Left);
  bar.name = NAME;
  servers = new Servers(output, showStatus, () => void vscode.window.showWarningMessage(MISSING));
  context.subscriptions.push(
    output,
    bar,
    servers,
    vscode.commands.registerCommand("tflint-gpu.fixAll", fixAll),
    vscode.commands.registerCommand("tflint-gpu.restart", () => servers.restart()),
    vscode.commands.registerCommand("tflint-gpu.showOutput", () => output.show()),
    vscode.languages.onDidChangeDiagnostics(showStatus),
    vscode.window.onDidChangeActiveTextEditor(showStatus),
    vscode.window.onDidChangeActiveNotebookEditor(showStatus),
    vscode.workspace.onDidOpenTextDocument((document) => servers.consider(document)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => servers.consider(document)),
    vscode.workspace.onDidChangeWorkspaceFolders(() => servers.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => (event.affectsConfiguration(`${NAME}.path`) ? servers.restart() : undefined)),
  );
  vscode.workspace.textDocuments.forEach((document) => void servers.consider(document));
}

export async function deactivate(): Promise<void> {
  await servers.stop();
}

/** The texts that the user looks at: a file, or all cells of a notebook. */
function visibleTexts(): vscode.TextDocument[] {
  const notebook = vscode.window.activeNotebookEditor?.notebook;
  if (notebook !== undefined) {
    return notebook.getCells().map((cell) => cell.document);
  }
  const document = vscode.window.activeTextEditor?.document;
  return document !== undefined && LANGUAGES.includes(document.languageId) ? [document] : [];
}

function showStatus(): void {
  const texts = visibleTexts().map((document) => document.uri);
  const server = texts[0] && servers.of(texts[0]);
  if (server === undefined) {
    bar.hide();
    return;
  }
  if (server.state === "running") {
    const findings = texts.flatMap((uri) => vscode.languages.getDiagnostics(uri)).filter(({ source }) => source === NAME);
    bar.text = status(findings.length);
    bar.tooltip = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
    bar.command = "workbench.actions.view.problems";
  } else {
    bar.text = server.state === "starting" ? `$(sync~spin) ${NAME}` : `$(error) ${NAME}`;
    bar.tooltip = TROUBLES[server.state];
    bar.command = "tflint-gpu.showOutput";
  }
  bar.show();
}

async function fixAll(): Promise<void> {
  const texts = visibleTexts();
  const text = texts.find(({ languageId }) => languageId === "python") ?? texts[0];
  if (text === undefined) {
    void vscode.window.showInformationMessage(`${NAME}: open a Python file or a notebook first`);
    return;
  }
  const server = servers.of(text.uri);
  await server?.ready;
  if (server?.client === undefined || server.state !== "running") {
    void vscode.window.showWarningMessage(server === undefined ? ELSEWHERE : TROUBLES[server.state]);
    return;
  }
  const edit = await allFixes(server.client, text.uri);
  if (edit === undefined) {
    void vscode.window.showInformationMessage(`${NAME}: nothing here can be fixed safely`);
  } else {
    await vscode.workspace.applyEdit(edit);
  }
}

/**
 * The edit that makes all safe fixes in a file or notebook; undefined if there are none.
 *
 * The server is asked, not VS Code, which offers nothing for a cell that it has not drawn yet.
 */
async function allFixes(client: BaseLanguageClient, uri: vscode.Uri): Promise<vscode.WorkspaceEdit | undefined> {
  const textDocument = { uri: client.code2ProtocolConverter.asUri(uri) };
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const context = { diagnostics: [], only: [FIX_ALL] };
  const actions = await client.sendRequest(CodeActionRequest.type, { textDocument, range, context });
  const [action] = (actions ?? []) as CodeAction[]; // the server has no bare commands
  const resolved = action && (await client.sendRequest(CodeActionResolveRequest.type, action));
  return client.protocol2CodeConverter.asWorkspaceEdit(resolved?.edit);
}
