//! Keys and links stay with whom they are for.

use std::fs::File;
use std::process::Stdio;

use serde_json::json;
use testkit::daemon::Daemon;
use testkit::test_home::{switchyard, wait_until};

use super::spy::{Spy, definition};
use crate::serve_rest::EXE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_built_in_agents_key_is_not_given_to_agents_that_do_not_want_it() {
    let home = switchyard(EXE);
    let (bin, own) = (home.work().join("bin"), home.work().join("own"));
    let gemini = Spy::at(&bin, "gemini", "");
    let spy = Spy::at(&own, "spy", "");
    std::fs::write(home.path().join("switchyard.toml"), definition(&own.join("spy"))).unwrap();
    let mut serve = home.command(["serve", "--host", "127.0.0.1:0"]);
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    serve.env("PATH", path.unwrap());
    serve.envs([("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "sk-ours")]);
    serve.env("GEMINI_API_KEY", "its own");
    let daemon = Daemon::start_command(&home, serve);
    for agent in ["gemini", "spy"] {
        let new = json!({ "agent": agent, "cwd": home.work() });
        let made = daemon.client().post(daemon.url("/v1/sessions")).json(&new).send().await;
        let made = made.unwrap();
        assert_eq!(made.status(), 201, "{agent}: {}", made.text().await.unwrap());
    }
    let given = std::fs::read_to_string(&gemini.given).unwrap();
    assert!(!given.contains("sk-ours") && given.contains("GEMINI_API_KEY=its own"), "{given}");
    let given = std::fs::read_to_string(&spy.given).unwrap();
    assert!(given.contains("OPENAI_API_KEY=sk-ours"), "an agent of one's own: {given}");
}

#[test]
fn the_login_link_is_not_left_in_a_file() {
    let home = switchyard(EXE);
    let printed = home.work().join("printed");
    let mut serve = home.command(["serve", "--host", "127.0.0.1:0"]);
    serve.stdin(Stdio::null()).stdout(File::create(&printed).unwrap()).stderr(Stdio::null());
    let mut child = serve.spawn().unwrap();
    let said = || std::fs::read_to_string(&printed).unwrap();
    assert!(wait_until(soak::PATIENCE, || said().contains('\n')));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said().contains("http://127.0.0.1:") && said().contains("token login"), "{}", said());
    assert!(!said().contains('#') && !said().contains("code="), "{}", said());
}
