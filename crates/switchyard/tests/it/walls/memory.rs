//! Agents that say so much that it would fill the daemon, if it kept it.

use serde_json::json;
use testkit::proc;

use super::session;
use crate::serve_rest::{Api, EXE};

/// What an attack may add to a daemon that has nothing to do.
const MAX_ADDED_KIB: u64 = 64 << 10;
/// What the daemon may take for a moment, while a long line of few values passes through it.
const MAX_PEAK_KIB: u64 = 256 << 10;

/// An agent that says one large thing many times: while a session is made, or in a turn. From its
/// turn on, it reads nothing but what it waits for.
const HOG: &str = r"
const [way, count, bytes] = [process.argv[2], +process.argv[3], +process.argv[4]];
const text = 'x'.repeat(bytes);
const fs = require('fs');
const input = require('readline').createInterface({ input: process.stdin });
const waiting = {};
let cwd, terminal;
const put = (message) =>
  new Promise((done) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n', done));
const update = (sessionId, update) => put({ method: 'session/update', params: { sessionId, update } });
const say = {
  parked: (n) => update('nobody ' + n, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
  tools: (n) => update('one', { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: 'a', rawInput: { text } }),
  commands: (n) => update('one', { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: text, rawInput: { command: text } }),
  titles: () => update('one', { sessionUpdate: 'session_info_update', title: text }),
  asked: (n) => put({ id: 'asked ' + n, method: '_asked/by_me', params: { sessionId: 'one', text } }),
  places: (n) => update('one', { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: 'a', locations: many((k) => ({ path: '/' + n + '/' + k })) }),
  inputs: (n) => update('one', { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: 'a', rawInput: many(() => 1) }),
  settings: () => update('one', { sessionUpdate: 'config_option_update', configOptions: many((k) => ({ id: 'o' + k, name: 'n', type: 'select', currentValue: 'a', options: [] })) }),
  ask_places: (n) => permission(n, { kind: 'edit', locations: many((k) => ({ path: '/' + n + '/' + k })) }, 2),
  ask_words: (n) => permission(n, { kind: 'execute', rawInput: { command: many(() => 'a') } }, 2),
  ask_options: (n) => permission(n, { kind: 'edit' }, bytes),
  forms: (n) => request('form ' + n, 'elicitation/create', { mode: 'form', message: text, requestedSchema: { type: 'object', properties: {} } }),
  commands_of_many_words: (n) => request('run ' + n, 'terminal/create', { command: 'sleep', args: many(() => 'a') }),
  reads: (n) => request('read ' + n, 'fs/read_text_file', { path: cwd + '/big' }),
  outputs: (n) => request('output ' + n, 'terminal/output', { terminalId: terminal }),
  waits: (n) => request('wait ' + n, 'terminal/wait_for_exit', { terminalId: terminal }),
}[way];
const many = (one) => Array.from({ length: bytes }, (_, k) => one(k));
const request = (id, method, params) => put({ id, method, params: { sessionId: 'one', ...params } });
const permission = (n, call, options) => request('may ' + n, 'session/request_permission', {
  toolCall: { toolCallId: 'call ' + n, title: 'a', ...call },
  options: Array.from({ length: options }, (_, k) => ({ optionId: 'o' + k, name: 'a', kind: k ? 'allow_once' : 'reject_once' })),
});
const answer = (id) => new Promise((done) => { waiting[id] = done; });
const prepare = {
  reads: () => fs.writeFileSync(cwd + '/big', text),
  outputs: async () => {
    const args = ['-c', String(bytes), '/dev/zero'];
    request('run', 'terminal/create', { command: 'head', args, outputByteLimit: 2 ** 40 });
    terminal = (await answer('run')).terminalId;
    request('end', 'terminal/wait_for_exit', { terminalId: terminal });
    await answer('end');
  },
  waits: async () => {
    request('run', 'terminal/create', { command: 'sleep', args: ['600'] });
    terminal = (await answer('run')).terminalId;
  },
}[way];
const all = async () => {
  if (prepare) {
    await prepare();
    input.pause();
  }
  for (let n = 0; n < count; n++) await say(n);
};
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': async (params) => { cwd = params.cwd; if (way === 'parked') await all(); return { sessionId: 'one' }; },
  'session/prompt': async () => {
    if (way !== 'parked') await all();
    await update('one', { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'said all' } });
    return { stopReason: 'end_turn' };
  },
};
input.on('line', async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined && waiting[id]) waiting[id](result);
  if (id === undefined || !answers[method]) return;
  await put({ id, result: await answers[method](params) });
});
";

async fn attack(way: &str, count: usize, bytes: usize) -> (Api, String) {
    let home = testkit::test_home::switchyard(EXE);
    let hog = home.work().join("hog.cjs");
    std::fs::write(&hog, HOG).unwrap();
    let args = json!([hog, way, count.to_string(), bytes.to_string()]);
    let config = format!("[agents.hog]\ncommand = \"node\"\nargs = {args}\n");
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(home).await;
    api.get("/v1/sessions").await.is(200);
    let idle = proc::memory(api.daemon.pid()).unwrap().resident_kib;
    let id = session(&api, json!({ "agent": "hog" })).await;
    api.prompt(&id, "go").await;
    let ended = api.until_idle(&id).await;
    assert_eq!(ended["lastTurn"]["stopReason"], "end_turn", "{way}: {ended:#}");
    until_given_back(&api, idle, way).await;
    (api, id)
}

/// Waits until the daemon has little more than it had; what is free is handed back a moment later.
pub(super) async fn until_given_back(api: &Api, idle_kib: u64, what: &str) {
    let deadline = std::time::Instant::now() + soak::PATIENCE;
    loop {
        let now = proc::memory(api.daemon.pid()).unwrap();
        let added = now.resident_kib.saturating_sub(idle_kib);
        if added < MAX_ADDED_KIB {
            return;
        }
        let is_late = std::time::Instant::now() >= deadline;
        assert!(!is_late, "{what}: {added} KiB added; the most was {}", now.peak_kib);
        testkit::test_home::pause_between_polls().await;
    }
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

/// One that takes no more at any time, either.
async fn small_attack(way: &str, count: usize, bytes: usize) -> (Api, String) {
    let (api, id) = attack(way, count, bytes).await;
    let peak = proc::memory(api.daemon.pid()).unwrap().peak_kib;
    assert!(peak < MAX_PEAK_KIB, "{way}: {peak} KiB at the most");
    (api, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_too_many_values_is_refused_and_the_session_goes_on() {
    for (way, n_values) in [("places", 1_000_000), ("inputs", 3_000_000), ("settings", 150_000)] {
        let (api, id) = small_attack(way, 1, n_values).await;
        let events = api.events(&id).await;
        let told = serde_json::Value::Array(events).to_string();
        assert!(told.contains("there are too many values in it"), "{way}");
    }
    for (way, n_values) in [("ask_places", 2_000_000), ("ask_words", 8_000_000)] {
        small_attack(way, 1, n_values).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_many_values_is_not_kept() {
    for (way, n_values) in [("places", 60_000), ("settings", 25_000), ("ask_places", 60_000)] {
        small_attack(way, soak::size(10, 100), n_values).await;
    }
    small_attack("ask_options", soak::size(60, 200), 40_000).await;
    small_attack("commands_of_many_words", soak::size(20, 60), 150_000).await;
    small_attack("forms", soak::size(500, 3000), 30_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_an_agent_does_not_read_are_not_made() {
    small_attack("outputs", soak::size(300, 3000), 3_000_000).await;
    small_attack("reads", soak::size(300, 2000), 9 << 20).await;
    small_attack("waits", soak::size(20_000, 200_000), 0).await;
}
