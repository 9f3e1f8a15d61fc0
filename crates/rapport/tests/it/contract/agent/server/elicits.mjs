// A small MCP server over stdio with one tool, which asks the person at the client before it replies. What it asks is in
// the tool's arguments, and its reply is what it was told.
import { createInterface } from "node:readline";

let calls = 0;
const asked = new Map();
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const tool = {
  name: "ask_person",
  description: "Asks the person something",
  inputSchema: { type: "object", properties: { params: { type: "object" } } },
};

function request({ id, method, params }) {
  switch (method) {
    case "initialize":
      return send({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "elicits", version: "1" },
        },
      });
    case "ping":
      return send({ id, result: {} });
    case "tools/list":
      return send({ id, result: { tools: [tool] } });
    case "tools/call": {
      const question = `ask-${++calls}`;
      asked.set(question, id);
      return send({ id: question, method: "elicitation/create", params: params.arguments.params });
    }
    default:
      return send({ id, error: { code: -32601, message: `no method ${method}` } });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method && message.id !== undefined) return request(message);
  if (!asked.has(message.id)) return;
  const text = JSON.stringify(message.result ?? message.error);
  send({ id: asked.get(message.id), result: { content: [{ type: "text", text }] } });
  asked.delete(message.id);
});
