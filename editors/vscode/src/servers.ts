import { PVSC_EXTENSION_ID, PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, State as ClientState } from "vscode-languageclient/node";
import { Command, commands, firstThatRuns } from "./command";
import { CODE, FOREIGN, mentionsTensorflow, someMentionTensorflow } from "./tensorflow";

export const NAME = "tflint-gpu";
export const CELL = "vscode-notebook-cell";
/** Languages of the texts that may start a server. Every README would, if Markdown were one of them. */
const STARTING = ["python", "quarto"];
/** Languages of the texts that a server checks. */
export const LANGUAGES = [...STARTING, "markdown"];
const SEARCHED_FILES = 10_000;

/** The language server of one folder of the workspace; of no folder in a window that has none. */
export interface Server {
  readonly folder: vscode.WorkspaceFolder | undefined;
  state: "starting" | "running" | "stopped" | "missing";
  client?: LanguageClient;
  /** Resolves when the server runs, or cannot. */
  ready: Promise<void>;
}

/** The language servers: one for each folder of the workspace that uses TensorFlow, in the environment of that folder. */
export class Servers implements vscode.Disposable {
  private readonly servers = new Map<vscode.WorkspaceFolder | undefined, Server>();
  private readonly searches = new Map<vscode.WorkspaceFolder | undefined, Promise<boolean>>();
  private environments: Promise<PythonExtension["environments"] | undefined> | undefined;
  private readonly subscriptions: vscode.Disposable[] = [];

  /**
   * @param output where the servers and their clients log
   * @param onChange is called when a server has another state
   * @param onMissing is called with the programs that were tried where none is tflint-gpu
   */
  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly onChange: () => void,
    private readonly onMissing: (tried: string) => void,
  ) {}

  /** The server that checks a text; undefined if there is none. */
  of(uri: vscode.Uri): Server | undefined {
    return this.servers.get(folderOf(uri));
  }

  /** Start the server of a text's folder, unless it has one or does not use TensorFlow. */
  async consider(document: vscode.TextDocument): Promise<void> {
    const folder = folderOf(document.uri);
    if (!STARTING.includes(document.languageId) || !isChecked(document.uri) || this.servers.has(folder)) {
      return;
    }
    if (mentionsTensorflow(document.getText()) || (await this.usesTensorflow(folder))) {
      this.start(folder);
    }
  }

  /** Start again the server of a folder; all servers if it is not given. */
  async restart(folder?: vscode.WorkspaceFolder): Promise<void> {
    const former = [...this.servers.values()].filter((server) => folder === undefined || server.folder === folder);
    former.forEach((server) => this.servers.delete(server.folder));
    this.searches.clear();
    await Promise.all(former.map((server) => this.end(server)));
    await Promise.all(vscode.workspace.textDocuments.map((document) => this.consider(document)));
    this.onChange();
  }

  /** Stop all servers. */
  async stop(): Promise<void> {
    const former = [...this.servers.values()];
    this.servers.clear();
    await Promise.all(former.map((server) => this.end(server)));
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private usesTensorflow(folder: vscode.WorkspaceFolder | undefined): Promise<boolean> {
    const known = this.searches.get(folder) ?? (folder === undefined ? Promise.resolve(false) : search(folder));
    this.searches.set(folder, known);
    return known;
  }

  private start(folder: vscode.WorkspaceFolder | undefined): void {
    if (this.servers.has(folder)) {
      return;
    }
    const server: Server = { folder, state: "starting", ready: Promise.resolve() };
    this.servers.set(folder, server);
    server.ready = this.run(server);
    this.onChange();
  }

  private async run(server: Server): Promise<void> {
    const { folder } = server;
    const configured = vscode.workspace.getConfiguration(NAME, folder?.uri).get<string[]>("path", []);
    const candidates = commands(configured, await this.interpreter(folder));
    const command = await firstThatRuns(candidates, folder?.uri.fsPath);
    if (command === undefined) {
      server.state = "missing";
      const tried = candidates.map((candidate) => candidate.command).join(" and ");
      this.output.error(`tflint-gpu is not installed for ${folder?.uri.fsPath ?? "this window"}: tried ${tried}`);
      this.onMissing(tried);
    } else {
      this.output.info(`starts ${[command.command, ...command.args].join(" ")}`);
      server.client = this.client(command, folder);
      server.client.onDidChangeState(({ newState }) => {
        server.state = STATES[newState];
        this.onChange();
      });
      await server.client.start().catch((error: unknown) => this.output.error(String(error)));
    }
    this.onChange();
  }

  private async end(server: Server): Promise<void> {
    await server.ready;
    // Settings that changed together with the environment are still on their way to this server.
    await new Promise((resolve) => setTimeout(resolve, 100));
    // A server that is too busy to say farewell in time is ended without it.
    await server.client?.dispose().catch((error: unknown) => this.output.warn(String(error)));
  }

  private async interpreter(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
    const environments = await (this.environments ??= this.pythonEnvironments());
    const environment = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    return environment?.executable.uri?.fsPath;
  }

  private async pythonEnvironments(): Promise<PythonExtension["environments"] | undefined> {
    if (vscode.extensions.getExtension(PVSC_EXTENSION_ID) === undefined) {
      return undefined;
    }
    const { environments } = await PythonExtension.api();
    this.subscriptions.push(environments.onDidChangeActiveEnvironmentPath(({ resource }) => this.restart(resource)));
    return environments;
  }

  private client(command: Command, folder: vscode.WorkspaceFolder | undefined): LanguageClient {
    const client: LanguageClient = new LanguageClient(NAME, NAME, { ...command, options: { cwd: folder?.uri.fsPath } }, {
      documentSelector: selector(folder),
      outputChannel: this.output,
      workspaceFolder: folder,
      notebookDocumentOptions: {
        filterCells: (notebook, cells) => (isChecked(notebook.uri) && folderOf(notebook.uri) === folder ? cells : []),
      },
      middleware: {
        provideCodeActions: (document, range, context, token, next) =>
          next(context.only?.value.startsWith("notebook") ? firstPythonCell(document) : document, range, context, token),
        workspace: {
          // A setting may also be why the client is just being stopped.
          didChangeConfiguration: async (sections, next) => (client.isRunning() ? next(sections) : undefined),
          configuration: (params, token, next) =>
            next({ items: params.items.map((item) => ({ ...item, scopeUri: folder?.uri.toString() })) }, token),
        },
      },
    });
    return client;
  }
}

const STATES = {
  [ClientState.Starting]: "starting",
  [ClientState.StartFailed]: "stopped",
  [ClientState.Running]: "running",
  [ClientState.Stopped]: "stopped",
} as const;

async function search(folder: vscode.WorkspaceFolder): Promise<boolean> {
  const files = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, CODE), FOREIGN, SEARCHED_FILES);
  return someMentionTensorflow(files.map((file) => file.fsPath));
}

/** The folder whose server checks a text: the one that it lies in, else the window's only one. */
function folderOf(uri: vscode.Uri): vscode.WorkspaceFolder | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const file = uri.scheme === CELL ? vscode.Uri.file(uri.path) : uri;
  return vscode.workspace.getWorkspaceFolder(file) ?? (folders.length === 1 ? folders[0] : undefined);
}

/** Whether a server checks a text: in a window with several folders no server is that of a text outside of all. */
function isChecked(uri: vscode.Uri): boolean {
  const isAlone = (vscode.workspace.workspaceFolders ?? []).length < 2;
  return ["file", "untitled", CELL].includes(uri.scheme) && (isAlone || folderOf(uri) !== undefined);
}

/** The texts that the server of a folder checks. Any cell: VS Code asks the first one of a notebook for its fixes. */
function selector(folder: vscode.WorkspaceFolder | undefined): LanguageClientOptions["documentSelector"] {
  const filters = [
    ...LANGUAGES.flatMap((language) => ["file", "untitled"].map((scheme) => ({ scheme, language }))),
    { scheme: CELL, language: "*" },
  ];
  if (folder === undefined || vscode.workspace.workspaceFolders?.length === 1) {
    return filters;
  }
  const pattern = { baseUri: folder.uri.toString(), pattern: "**/*" };
  return filters.map((filter) => ({ ...filter, pattern }));
}

/** On saving a notebook, VS Code asks its first cell for fixes of the whole, also if the server does not know that cell. */
function firstPythonCell(document: vscode.TextDocument): vscode.TextDocument {
  const notebook = vscode.workspace.notebookDocuments.find((candidate) => candidate.getCells().some((cell) => cell.document === document));
  return notebook?.getCells().find((cell) => cell.document.languageId === "python")?.document ?? document;
}
