// A client that speaks with the real server as VS Code does, with the library that VS Code uses.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const protocol = createRequire(import.meta.url)("vscode-languageserver-protocol/node");

const PYTHON = process.env.TFLINT_GPU_PYTHON ?? "python3";
const PATIENCE = 300_000;
const CAPABILITIES = {
  workspace: {
    configuration: true,
    workspaceFolders: true,
    workspaceEdit: { documentChanges: true },
    didChangeConfiguration: { dynamicRegistration: true },
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  textDocument: {
    synchronization: { dynamicRegistration: true, didSave: true },
    publishDiagnostics: { relatedInformation: true, versionSupport: false },
    codeAction: {
      dynamicRegistration: true,
      isPreferredSupport: true,
      dataSupport: true,
      resolveSupport: { properties: ["edit"] },
      codeActionLiteralSupport: { codeActionKind: { valueSet: ["", "quickfix", "source", "source.fixAll"] } },
    },
    hover: { contentFormat: ["markdown", "plaintext"] },
  },
  notebookDocument: { synchronization: { dynamicRegistration: true, executionSummarySupport: true } },
  general: { positionEncodings: ["utf-16"] },
};

/** What VS Code has in a section where nobody set anything. */
export const UNSET = {
  path: [], trace: { server: "off" }, select: null, ignore: null, perFileIgnores: {}, severity: {}, targetTensorflow: null,
};

export class Client {
  published = new Map();
  registered = [];
  messages = [];
  settings = UNSET;

  constructor(folder) {
    this.folder = folder;
    this.server = spawn(PYTHON, ["-m", "tflint_gpu", "server"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    const { stdin, stdout } = this.server;
    const streams = [new protocol.StreamMessageReader(stdout), new protocol.StreamMessageWriter(stdin)];
    this.connection = protocol.createProtocolConnection(...streams);
    this.connection.onNotification("textDocument/publishDiagnostics", ({ uri, diagnostics }) => this.published.set(uri, diagnostics));
    this.connection.onNotification("window/showMessage", ({ message }) => this.messages.push(message));
    this.connection.onNotification("window/logMessage", ({ message }) => this.messages.push(message));
    this.connection.onRequest("client/registerCapability", ({ registrations }) => void this.registered.push(...registrations));
    this.connection.onRequest("workspace/configuration", ({ items }) =>
      items.map((item) => (item.section === "tflint-gpu" ? this.settings : null)),
    );
    this.connection.listen();
  }

  async start() {
    const folder = { uri: pathToFileURL(this.folder).href, name: "work" };
    const greeting = { processId: process.pid, rootUri: folder.uri, workspaceFolders: [folder], capabilities: CAPABILITIES };
    const answer = await this.connection.sendRequest("initialize", greeting);
    await this.connection.sendNotification("initialized", {});
    return answer.capabilities;
  }

  /** Say farewell; the exit code. */
  async stop() {
    const ended = new Promise((resolve) => this.server.once("exit", resolve));
    await this.connection.sendRequest("shutdown");
    await this.connection.sendNotification("exit");
    return ended;
  }

  uri(name) {
    return pathToFileURL(`${this.folder}/${name}`).href;
  }

  cell(name, number) {
    return `vscode-notebook-cell:${this.folder}/${name}#W${number}sZmlsZQ%3D%3D`;
  }

  notify(method, params) {
    return this.connection.sendNotification(method, params);
  }

  async open(name, text) {
    await this.notify("textDocument/didOpen", { textDocument: { uri: this.uri(name), languageId: "python", version: 1, text } });
  }

  async openNotebook(name, texts) {
    const cells = texts.map((_, number) => ({ kind: 2, document: this.cell(name, number), metadata: { metadata: {} } }));
    await this.notify("notebookDocument/didOpen", {
      notebookDocument: { uri: this.uri(name), notebookType: "jupyter-notebook", version: 0, cells },
      cellTextDocuments: texts.map((text, number) => ({ uri: this.cell(name, number), languageId: "python", version: 1, text })),
    });
  }

  /** Wait until what is shown for a text has these codes. */
  async shows(uri, codes) {
    const until = Date.now() + PATIENCE;
    const shown = () => this.published.get(uri)?.map((one) => one.code);
    while (JSON.stringify(shown()) !== JSON.stringify(codes)) {
      if (Date.now() > until) {
        throw new Error(`${uri} shows ${shown()}, not ${codes}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.published.get(uri);
  }

  /** What is offered in a text, as the light bulb and "save" ask for it, with its edit. */
  async actions(uri, range, only) {
    const diagnostics = this.published.get(uri) ?? [];
    const context = { diagnostics, triggerKind: 1, ...(only === undefined ? {} : { only: [only] }) };
    const actions = await this.connection.sendRequest("textDocument/codeAction", { textDocument: { uri }, range, context });
    return Promise.all(
      actions.map((action) => (action.edit === undefined ? this.connection.sendRequest("codeAction/resolve", action) : action)),
    );
  }
}
