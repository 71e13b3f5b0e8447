// A client made with the official TypeScript SDK, for the tests of the binary: one conversation with the demo agent over
// the transport of the address, http: or ws:, that has to go as over stdio. The token is in SWITCHYARD_TOKEN.
//   node scripts/acp-client.mjs http://127.0.0.1:4141/acp /the/working/directory
import assert from "node:assert/strict";
import process from "node:process";
import { clearTimeout, setTimeout } from "node:timers";

import { PROTOCOL_VERSION, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";

const [address, cwd] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${process.env.SWITCHYARD_TOKEN}` };
const stream =
  new URL(address).protocol === "ws:" ? createWebSocketStream(address, { headers, WebSocket }) : createHttpStream(address, { headers });

const { session } = methods.agent;
let asked = 0;
/** The updates of the session since it was emptied last. */
let updates = [];
/** Those who wait for an update, with its condition. */
let waiting = [];

const said = () => texts().join("");
const texts = () => updates.filter((update) => update.sessionUpdate === "agent_message_chunk").map((update) => update.content.text);
const until = (text) => new Promise((resolve) => waiting.push({ text, resolve }));

const app = client({ name: "switchyard-tests" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked += 1;
    const { optionId } = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  })
  .onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    patience.refresh();
    const all = waiting.length > 0 ? said() : "";
    waiting.filter(({ text }) => all.includes(text)).forEach(({ resolve }) => resolve());
    waiting = waiting.filter(({ text }) => !all.includes(text));
  });

// Begun anew with each update; whoever waits for this hears where it got stuck.
const patience = setTimeout(() => assert.fail(`nothing more came; the last that did: ${JSON.stringify(updates.at(-1))}`), 60_000);

await app.connectWith(stream, async (agent) => {
  const prompt = (text) => {
    updates = [];
    return agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  };

  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  const { sessionId } = await agent.request(session.new, { cwd, mcpServers: [] });

  assert.equal((await prompt("say over the wire")).stopReason, "end_turn");
  assert.equal(said(), "over the wire");

  await prompt("permission");
  assert.match(said(), /allow_once/);
  assert.equal(asked, 1);

  const working = until("working");
  const turn = prompt("say working\nhang");
  await working;
  await agent.notify(session.cancel, { sessionId });
  assert.equal((await turn).stopReason, "cancelled");

  await agent.request(session.setMode, { sessionId, modeId: "code" });
  const { sessions } = await agent.request(session.list, {});
  assert.ok(sessions.some((info) => info.sessionId === sessionId));

  await prompt("flood 2000");
  assert.equal(texts().length, 2000);

  updates = [];
  await agent.request(session.load, { sessionId, cwd, mcpServers: [] });
  assert.ok(updates.length > 2000, `${updates.length} updates were replayed`);
  await agent.request(session.close, { sessionId });
});
clearTimeout(patience);
