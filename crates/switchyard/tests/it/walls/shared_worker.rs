//! A process that serves many sessions, and says in each of them as much as is kept of one.

use serde_json::json;
use testkit::proc;

use super::memory::until_given_back;
use super::session;
use crate::serve_rest::{Api, EXE};

const N_SESSIONS: usize = 60;

/// An agent that, when it is asked once, talks in all of its sessions.
const HOG: &str = r"
const text = 'x'.repeat(900000);
const sessions = [];
const put = (message) =>
  new Promise((done) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n', done));
const update = (sessionId, update) => put({ method: 'session/update', params: { sessionId, update } });
const option = { id: 'o', name: text, type: 'select', currentValue: 'a', options: [] };
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => {
    sessions.push('s' + sessions.length);
    return { sessionId: sessions.at(-1) };
  },
  'session/prompt': async () => {
    for (const id of sessions) {
      for (let n = 0; n < 3; n++) {
        await update(id, { sessionUpdate: 'tool_call', toolCallId: 'call ' + n, title: text, rawInput: { command: text } });
      }
      await update(id, { sessionUpdate: 'current_mode_update', currentModeId: text });
      await update(id, { sessionUpdate: 'config_option_update', configOptions: [option] });
      await update(id, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'said all' } });
    }
    return { stopReason: 'end_turn' };
  },
};
require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined && answers[method]) await put({ id, result: await answers[method](params) });
});
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_says_in_all_its_sessions_has_one_limit() {
    let home = testkit::test_home::switchyard(EXE);
    let script = home.work().join("hog.cjs");
    std::fs::write(&script, HOG).unwrap();
    let agents = home.path().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    let definition = format!(
        "id = \"hog\"\nname = \"Hog\"\nbins = [\"node\"]\ninstall = \"-\"\n[[forms]]\n\
         dialect = \"acp\"\nargs = [{}]\nprompt = \"acp\"\nresume = {{ style = \"protocol\" }}\n\
         permissions = {{ asks = true }}\nshared_worker = true\n",
        json!(script)
    );
    std::fs::write(agents.join("hog.toml"), definition).unwrap();
    let api = Api::start_in(home).await;
    let first = session(&api, json!({ "agent": "hog" })).await;
    let mut last = String::new();
    for _ in 1..N_SESSIONS {
        last = session(&api, json!({ "agent": "hog" })).await;
    }
    api.get("/v1/sessions").await.is(200);
    let idle = proc::memory(api.daemon.pid()).unwrap().resident_kib;

    api.prompt(&first, "go").await;
    api.until_idle(&first).await;

    // The last of them has heard it as well.
    api.until_said(&last, "said all").await;
    until_given_back(&api, idle, "all sessions").await;
}
