// Asks `tracejury mcp` through the TypeScript SDK: node client.mjs SDK COMMAND ARGUMENT...
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const part = (path) => import(pathToFileURL(`${sdk}/dist/esm/client/${path}.js`).href);
const { Client } = await part("index");
const { StdioClientTransport } = await part("stdio");

const client = new Client({ name: "other", version: "1" });
await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
const { tools } = await client.listTools();
const errors = await client.callTool({ name: "list_errors", arguments: {} });
const [first] = errors.structuredContent.items;
const why = await client.callTool({ name: "why", arguments: { id: first.id } });
const trace = await client.readResource({ uri: `tracejury://traces/${first.trace_id}` });
const wrong = await client.callTool({ name: "why", arguments: { ids: 1 } });
await client.close();
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name),
  why: why.structuredContent,
  trace: trace.contents[0].text,
  wrong: wrong.content[0].text,
}));
