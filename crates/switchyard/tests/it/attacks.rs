//! Peers that break the rules, each as a few lines of shell.

use std::fs;
use std::io::Write as _;
use std::process::{Output, Stdio};

use testkit::test_home::{PATIENCE, TestHome, wait_until};

fn home() -> TestHome {
    testkit::test_home::switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

/// An ACP agent as a shell script: `$id` is the id of the request, `$line` all of it.
pub(crate) fn agent(home: &TestHome, cases: &str) -> String {
    agent_that_can(home, "{}", cases)
}

/// As [`agent`], with these capabilities.
pub(crate) fn agent_that_can(home: &TestHome, capabilities: &str, cases: &str) -> String {
    let path = home.work().join("agent.sh");
    let script = format!(
        r#"while read -r line; do
printf '%s\n' "$line" >> {heard}
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
case "$line" in
*'"initialize"'*) answer '{{"protocolVersion":1,"agentCapabilities":{capabilities}}}';;
{cases}
esac
done
"#,
        heard = home.work().join("heard").display(),
    );
    fs::write(&path, script).unwrap();
    path.to_str().unwrap().to_owned()
}

fn initialize() -> String {
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#.into()
}

fn new_session(home: &TestHome, id: u32) -> String {
    let cwd = home.work().display().to_string();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"session/new","params":{{"cwd":"{cwd}","mcpServers":[]}}}}"#
    )
}

/// Says `lines` to `switchyard acp`, closes its stdin and returns what it answered.
fn acp(home: &TestHome, agent: &[&str], lines: &[String]) -> Output {
    let args: Vec<&str> = ["acp"].into_iter().chain(agent.iter().copied()).collect();
    let mut command = home.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_was_asked_is_answered_also_when_the_client_closes_its_side_at_once() {
    let home = home();

    let output = acp(&home, &["demo"], &[initialize()]);

    assert!(text(&output.stdout).contains(r#""id":1,"result""#), "{output:?}");
    home.assert_empty_within(PATIENCE);
}

/// An agent whose sessions share a process if `is_shared`, and all have the same id: what
/// `switchyard acp` answers to somebody who wants two of them.
fn twins(is_shared: bool) -> String {
    let home = home();
    let agent = agent(&home, r#"*'"session/new"'*) answer '{"sessionId":"same"}';;"#);
    let agents = home.path().join("agents");
    fs::create_dir_all(&agents).unwrap();
    let definition = format!(
        "id = \"twins\"\nname = \"Twins\"\nbins = [\"sh\"]\ninstall = \"-\"\n[[forms]]\n\
         dialect = \"acp\"\nargs = [\"{agent}\"]\nprompt = \"acp\"\n\
         resume = {{ style = \"protocol\" }}\npermissions = {{ asks = true }}\n\
         shared_worker = {is_shared}\n"
    );
    fs::write(agents.join("twins.toml"), definition).unwrap();
    let mut command = home.command(["acp", "twins"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut client = testkit::line_client::LineClient::pipes(stdin, stdout);
    for line in [initialize(), new_session(&home, 2), new_session(&home, 3)] {
        client.send(&line);
    }
    let answers = [2, 3].map(|id| client.answer_to(&serde_json::json!(id)).to_string());
    client.finish_sending();
    client.rest();
    assert!(child.wait().unwrap().success());
    home.assert_empty_within(PATIENCE);
    answers.join("\n")
}

#[test]
fn an_agent_that_gives_two_sessions_one_id_harms_neither_the_first_nor_us() {
    let opened = |answers: &str| answers.matches(r#""result":{"sessionId""#).count();
    let answers = twins(true);
    assert_eq!(opened(&answers), 1, "{answers}");
    assert!(answers.contains("the id of another one"), "{answers}");
    // Of two processes, each has its own ids.
    let answers = twins(false);
    assert_eq!(opened(&answers), 2, "{answers}");
}

#[test]
fn an_answer_that_can_not_be_read_ends_the_turn() {
    for answer in [
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"x"}}\n' "$id""#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"a":"\377"}}\n' "$id""#,
    ] {
        let home = home();
        let cases = format!(
            "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n*'\"session/prompt\"'*) {answer};;"
        );
        let agent = agent(&home, &cases);

        let output = home.command(["run", "hi", "--", "sh", &agent]).output().unwrap();

        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stdout).contains("unreadable answer"), "{output:?}");
        home.assert_empty_within(PATIENCE);
    }
}

#[test]
fn a_notification_reaches_the_agent_under_its_own_session_id() {
    let home = home();
    let cases = r#"*'"session/new"'*) answer '{"sessionId":"AGENTS-OWN"}';;"#;
    let agent = agent(&home, cases);
    let mut command = home.command(["acp", "--", "sh", &agent]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers =
        std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    writeln!(stdin, "{}\n{}", initialize(), new_session(&home, 2)).unwrap();
    let opened = answers.by_ref().map(Result::unwrap).find(|line| line.contains(r#""id":2"#));
    let opened: serde_json::Value = serde_json::from_str(&opened.unwrap()).unwrap();
    let session = opened["result"]["sessionId"].as_str().unwrap();

    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","method":"_x/note","params":{{"sessionId":"{session}","n":1}}}}"#
    )
    .unwrap();

    let heard = home.work().join("heard");
    let note = || fs::read_to_string(&heard).unwrap_or_default();
    assert!(wait_until(PATIENCE, || note().contains("_x/note")));
    let note = note().lines().find(|line| line.contains("_x/note")).unwrap().to_owned();
    assert!(note.contains(r#""sessionId":"AGENTS-OWN""#), "{note}");
    drop(stdin);
    child.wait().unwrap();
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_home_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = home();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();

    let output = home.command(["run", "demo", "say hello"]).output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("chmod go-w"), "{output:?}");
}

#[test]
fn an_empty_session_name_names_no_session() {
    let home = home();
    assert!(home.command(["run", "demo", "say hello"]).output().unwrap().status.success());

    for args in [&["sessions", "delete", "--yes", ""][..], &["sessions", "show", ""]] {
        let output = home.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn an_agent_that_talks_while_it_is_asked_is_heard_and_resumed() {
    let home = home();
    let chatter = r#"for n in 1 2 3 4 5 6 7 8 9; do printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"notice","severity":"info","title":"%s"}}}\n' "$n"; printf 'on stderr\n' >&2; done"#;
    let cases = format!(
        "*'\"session/new\"'*) answer '{{\"sessionId\":\"s\"}}';;\n\
         *'\"session/resume\"'*) {chatter}; answer '{{}}';;\n\
         *'\"session/list\"'*) {chatter}; answer '{{\"sessions\":[{{\"sessionId\":\"s\",\"cwd\":\"/\"}}]}}';;\n\
         *'\"session/prompt\"'*) answer '{{\"stopReason\":\"end_turn\"}}';;"
    );
    let can = r#"{"sessionCapabilities":{"resume":{},"list":{}}}"#;
    let agent = agent_that_can(&home, can, &cases);
    let first = home.command(["run", "hi", "--", "sh", &agent]).output().unwrap();
    assert!(first.status.success(), "{first:?}");

    let args = ["run", "-s", "last", "again", "--format", "json"];
    let again = home.command(args).output().unwrap();

    assert!(again.status.success(), "{again:?}");
    let events = text(&again.stdout);
    assert!(events.contains(r#""how":"resume","verified":"listed""#), "{events}");
    assert_eq!(events.matches(r#""kind":"notice""#).count(), 18, "{events}");
    home.assert_empty_within(PATIENCE);
}
