/* An extension for tests: it runs what is posted to it, with VS Code's API, and answers with the result. */
const http = require("node:http");
const vscode = require("vscode");

const AsyncFunction = (async () => {}).constructor;

exports.activate = () => {
  const server = http.createServer(async (request, response) => {
    request.setEncoding("utf8");
    let script = "";
    for await (const part of request) {
      script += part;
    }
    try {
      const value = await new AsyncFunction("vscode", script)(vscode);
      response.end(JSON.stringify({ value: value ?? null }));
    } catch (error) {
      response.end(JSON.stringify({ error: String(error) }));
    }
  });
  server.listen(Number(process.env.DRIVER_PORT), "127.0.0.1");
};
