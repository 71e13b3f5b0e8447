//! Use of what the client offers: files, terminals, any method.

use crate::client::Client;

#[tokio::test(start_paused = true)]
async fn files_are_read_and_written_through_the_client() {
    let (mut client, session) = Client::with_session(&[]).await;

    let read = client.prompt(&session, "read a.txt 3 2").await;
    let write = client.prompt(&session, "write /tmp/b.txt some text").await;

    let params = &read.messages[0]["params"];
    assert_eq!(params["path"], "/tmp/a.txt");
    assert_eq!((&params["line"], &params["limit"]), (&3.into(), &2.into()));
    assert_eq!(read.text(), "file content\n");
    assert_eq!(write.messages[0]["params"]["content"], "some text");
    assert_eq!(write.text(), "Wrote 9 bytes to /tmp/b.txt.\n");
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_in_a_terminal_that_is_released() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "run sh -c 'echo out' \"\" x").await;

    assert_eq!(
        exchange.methods(),
        ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
    );
    let create = &exchange.messages[0]["params"];
    assert_eq!(create["command"], "sh");
    assert_eq!(create["args"], serde_json::json!(["-c", "echo out", "", "x"]));
    let embedded = exchange.updates()[1];
    assert_eq!(embedded["content"][0]["terminalId"], "term-1");
    assert_eq!(exchange.updates()[2]["status"], "completed");
    assert!(exchange.text().contains("\"exitCode\":0"), "{}", exchange.text());
}

#[tokio::test(start_paused = true)]
async fn a_command_can_be_killed() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "terminal-kill sleep 1000").await;

    assert_eq!(
        exchange.methods(),
        ["terminal/create", "terminal/kill", "terminal/output", "terminal/release"]
    );
}

#[tokio::test(start_paused = true)]
async fn any_method_can_be_called_and_its_raw_answer_is_shown() {
    let (mut client, session) = Client::with_session(&[]).await;
    client.is_strict = false;

    let script = "call _x/y {\"n\":1e2} ; notify _x/z ; call broken {";
    let exchange = client.prompt(&session, script).await;

    assert_eq!(exchange.methods(), ["_x/y", "_x/z"]);
    let text = exchange.text();
    assert!(text.starts_with("error {\"code\":-32601"), "{text}");
    assert!(text.ends_with("usage: call METHOD JSON\n"));
}
