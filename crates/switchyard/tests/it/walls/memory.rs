//! Agents that say so much that it would fill the daemon, if it kept it.

use serde_json::json;
use testkit::proc;

use super::session;
use crate::serve_rest::{Api, EXE};

/// What an attack may add to a daemon that has nothing to do.
const MAX_ADDED_KIB: u64 = 64 << 10;

/// An agent that says one large thing many times: while a session is made, or in a turn.
const HOG: &str = r"
const [way, count, bytes] = [process.argv[2], +process.argv[3], +process.argv[4]];
const text = 'x'.repeat(bytes);
const put = (message) =>
  new Promise((done) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n', done));
const update = (sessionId, update) => put({ method: 'session/update', params: { sessionId, update } });
const say = {
  parked: (n) => update('nobody ' + n, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
  tools: (n) => update('one', { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: 'a', rawInput: { text } }),
  commands: (n) => update('one', { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: text, rawInput: { command: text } }),
  titles: () => update('one', { sessionUpdate: 'session_info_update', title: text }),
  asked: (n) => put({ id: 'asked ' + n, method: '_asked/by_me', params: { sessionId: 'one', text } }),
}[way];
const all = async () => { for (let n = 0; n < count; n++) await say(n); };
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': async () => { if (way === 'parked') await all(); return { sessionId: 'one' }; },
  'session/prompt': async () => {
    if (way !== 'parked') await all();
    await update('one', { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'said all' } });
    return { stopReason: 'end_turn' };
  },
};
require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined || !answers[method]) return;
  await put({ id, result: await answers[method]() });
});
";

async fn attack(way: &str, count: usize, bytes: usize) -> (Api, String) {
    let yard = testkit::process::switchyard(EXE);
    let hog = yard.work().join("hog.cjs");
    std::fs::write(&hog, HOG).unwrap();
    let args = json!([hog, way, count.to_string(), bytes.to_string()]);
    let config = format!("[agents.hog]\ncommand = \"node\"\nargs = {args}\n");
    std::fs::write(yard.home().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(yard).await;
    api.get("/v1/sessions").await.is(200);
    let idle = proc::memory(api.daemon.pid()).unwrap().resident_kib;
    let id = session(&api, json!({ "agent": "hog" })).await;
    api.prompt(&id, "go").await;
    let ended = api.until_idle(&id).await;
    assert_eq!(ended["lastTurn"]["stopReason"], "end_turn", "{way}: {ended:#}");
    let now = proc::memory(api.daemon.pid()).unwrap();
    let added = now.resident_kib.saturating_sub(idle);
    assert!(added < MAX_ADDED_KIB, "{way}: {added} KiB added; the most was {}", now.peak_kib);
    (api, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_says_to_nobody_is_not_kept() {
    attack("parked", soak::size(12, 60), 20 << 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_its_tools_are_given_is_not_kept() {
    attack("tools", soak::size(8, 40), 20 << 20).await;
    attack("commands", soak::size(8, 40), 10 << 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_is_short_whatever_an_agent_calls_it() {
    let (api, id) = attack("titles", soak::size(3, 10), 30 << 20).await;
    let listed = api.get("/v1/sessions").await.is(200).body.to_string();
    assert!(listed.contains(&id) && listed.len() < 10_000, "{}", listed.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_nobody_answers_are_not_kept() {
    attack("asked", soak::size(12, 60), 10 << 20).await;
}
