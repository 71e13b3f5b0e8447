//! When the model or its endpoint fails: the sentence that the user reads, the turn that ends
//! all the same, and what `switchyard run` makes of it.

use crate::native::{Stage, Way, judge, stop_reason};
use serde_json::{Value, json};
use testkit::Validator;
use testkit::model_server::{ScriptedAnswer, calls, status, text};
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::test_home::PATIENCE;

fn explained(code: u16, message: &str) -> ScriptedAnswer {
    status(code).json(&json!({ "error": { "message": message, "type": "some_error" } }))
}

/// What the endpoint answers, the words that the user reads, the category, how often it is asked.
fn failures() -> Vec<(ScriptedAnswer, &'static str, &'static str, usize)> {
    vec![
        (explained(401, "bad key"), "Authentication error (HTTP 401) calling ", "auth", 1),
        (explained(403, "not you"), "Authentication error (HTTP 403) calling ", "auth", 1),
        (
            explained(429, "slow down").retry_after("0"),
            "Rate limit exceeded (HTTP 429) calling ",
            "rate_limit",
            3,
        ),
        (explained(500, "oh no"), "Server error (HTTP 500) from ", "upstream_unavailable", 3),
        (status(503), "Server error (HTTP 503) from ", "upstream_unavailable", 3),
        (
            explained(404, "The model `x` does not exist"),
            "HTTP error (404) from ",
            "model_unavailable",
            1,
        ),
        (explained(400, "no such member"), "HTTP error (400) from ", "bad_input", 1),
    ]
}

#[tokio::test]
async fn every_refusal_is_a_sentence_and_the_turn_ends() {
    for (answer, words, _, n_asked) in failures() {
        let stage = Stage::with_config("", "").await;
        stage.model.answer_with(move |_| answer.clone());
        let (client, session) = stage.bare(Way::Alone).await;

        let turn = client.prompt(&session, "hello").await.unwrap();

        let said = turn.text();
        assert_eq!(stop_reason(&turn), "end_turn", "{words}");
        assert!(said.starts_with(words), "{said}");
        assert!(said.contains("/v1/chat/completions"), "it names the URL: {said}");
        if words.starts_with("Auth") {
            assert!(said.contains("Check your OPENAI_API_KEY"), "{said}");
        }
        if words.contains("404") {
            assert!(said.contains("The model `x` does not exist"), "{said}");
        }
        assert_eq!(stage.model.chats().len(), n_asked, "{words}");
        let n_told = turn.thoughts().matches("Trying again").count();
        assert_eq!(n_told, n_asked - 1, "each repetition is told: {}", turn.thoughts());
        stage.model.answer_with(|_| text("better"));
        let next = client.prompt(&session, "again").await.unwrap();
        assert_eq!(next.text(), "better", "the session goes on");
        judge(client).await;
    }
}

#[tokio::test]
async fn every_refusal_fails_the_turn_of_a_run_with_its_category() {
    for (answer, words, category, _) in failures() {
        let stage = Stage::with_config("", "").await;
        stage.model.answer_with(move |_| answer.clone());

        let ran = stage.run(&["hello", "--format", "json"]).await;

        assert_eq!(ran.code, 1, "{words}: {}{}", ran.out, ran.err);
        let events: Vec<Value> =
            ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ended = events.iter().find(|event| event["kind"] == "turn_ended").expect("an end");
        assert!(ended.to_string().contains(&format!("\"{category}\"")), "{words}: {ended}");
        stage.home.assert_empty_within(PATIENCE);
    }
}

#[tokio::test]
async fn behind_a_session_the_turn_fails_with_the_same_sentence() {
    let stage = Stage::with_config("", "").await;
    stage.model.answer(explained(401, "bad key"));
    stage.model.answer("better");
    let (client, session) = stage.bare(Way::Acp).await;

    let failed = client.prompt(&session, "hello").await.unwrap();
    let next = client.prompt(&session, "again").await.unwrap();

    assert!(failed.text().contains("Authentication error (HTTP 401)"), "{}", failed.text());
    assert_eq!(stop_reason(&failed), "end_turn");
    assert_eq!(next.text(), "better");
    let seen = judge(client).await;
    let all: Vec<Value> = seen.messages(crate::native::FROM_AGENT).collect();
    assert!(all.iter().all(|message| message.get("error").is_none()), "it is told once: {all:#?}");
    let n_told = all
        .iter()
        .filter(|message| message["params"]["update"].to_string().contains("Authentication error"));
    assert_eq!(n_told.count(), 1);
    // Those who look see that it failed, and why.
    let results = all.iter().map(|message| &message["result"]["_meta"]["switchyard"]["error"]);
    let errors: Vec<&Value> = results.filter(|error| error.is_object()).collect();
    assert_eq!((errors.len(), &errors[0]["category"]), (1, &json!("auth")));
    let listed = stage.command(&["sessions", "export", "last"]).output().unwrap();
    let log = String::from_utf8(listed.stdout).unwrap();
    let ended = log.lines().find(|line| line.contains("\"turn_ended\"")).expect("an end");
    assert!(ended.contains("\"stopReason\":\"error\""), "{ended}");
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_named() {
    let stage = Stage::with_config("", "").await;
    let mut command = stage.agent(Way::Alone);
    command.env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(stage.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "hello").await.unwrap();

    let said = turn.text();
    let words = "Network error connecting to http://127.0.0.1:1/v1/chat/completions: ";
    assert!(said.starts_with(words), "{said}");
    assert_eq!(stop_reason(&turn), "end_turn");
    judge(client).await;
}

#[tokio::test]
async fn a_request_that_is_repeated_is_told_and_the_answer_comes_once() {
    let stage = Stage::with_config("", "").await;
    stage.model.answer(status(503));
    stage.model.answer(status(429).retry_after("0"));
    stage.model.answer(text("here it is").usage(7, 3));
    let (client, session) = stage.bare(Way::Alone).await;

    let turn = client.prompt(&session, "hello").await.unwrap();

    assert_eq!((turn.text().as_str(), stop_reason(&turn).as_str()), ("here it is", "end_turn"));
    let thoughts = turn.thoughts();
    assert!(thoughts.contains("(attempt 1)") && thoughts.contains("(attempt 2)"), "{thoughts}");
    assert!(thoughts.contains("Trying again now (attempt 2)"), "{thoughts}");
    let used = crate::native::updates_of(&turn)
        .into_iter()
        .find(|update| update["sessionUpdate"] == "usage_update")
        .expect("what it used");
    assert_eq!((&used["used"], used["size"].as_u64() > Some(1000)), (&json!(10), true));
    let told = client.transcript();
    let answered = told.messages(crate::native::FROM_AGENT);
    let usage = answered.filter_map(|m| m["result"].get("usage").cloned()).last().unwrap();
    assert_eq!((&usage["inputTokens"], &usage["outputTokens"]), (&json!(7), &json!(3)));
    judge(client).await;
}

#[tokio::test]
async fn an_answer_that_is_cut_is_not_asked_for_again_and_is_told_as_cut() {
    for answer in [text("half of it").cut_after(3), text("half of it").reset_after(3)] {
        let stage = Stage::with_config("", "").await;
        stage.model.answer(answer);
        stage.model.answer("the rest");
        let (client, session) = stage.bare(Way::Alone).await;

        let turn = client.prompt(&session, "tell me").await.unwrap();
        client.prompt(&session, "go on").await.unwrap();

        let said = turn.text();
        assert!(said.starts_with("half"), "{said}");
        assert!(said.contains("Network error"), "{said}");
        assert_eq!(stop_reason(&turn), "end_turn");
        let chats = stage.model.chats();
        assert_eq!(chats.len(), 2, "what was heard is not said twice");
        assert_eq!(chats[1].roles(), ["system", "user", "assistant", "user"]);
        let kept = chats[1].messages()[2].to_string();
        assert!(kept.contains("half") && kept.contains("cut off"), "{kept}");
        judge(client).await;
    }
}

#[tokio::test]
async fn an_endpoint_that_falls_silent_is_given_up() {
    for answer in [
        text("never").hang_before_headers(),
        text("never").hang_after_headers(),
        text("half of it").hang_after(3),
    ] {
        let stage = Stage::with_config("", "first_byte = \"100ms\"\nidle = \"100ms\"").await;
        stage.model.answer_with(move |_| answer.clone());
        let (client, session) = stage.bare(Way::Alone).await;

        let turn = client.prompt(&session, "tell me").await.unwrap();

        assert_eq!(stop_reason(&turn), "end_turn");
        assert!(turn.text().contains("nothing came for 0.1 s"), "{}", turn.text());
        judge(client).await;
    }
}

#[tokio::test]
async fn a_stream_in_any_shape_is_one_answer() {
    let stage = Stage::new().await;
    let (client, session) = stage.bare(Way::Alone).await;
    let words = "a whole answer, with é and \u{1f980}";
    for answer in [
        text(words).split_every_byte(),
        text(words).crlf().comments(),
        text(words).no_done(),
        text(words).open_end().no_space(),
        text(words).unframed(),
        text(words).whole(),
        text(words).garbage(2),
        text(words).thought("hm").thought_member("reasoning").pieces(1),
    ] {
        stage.model.answer(answer);
        let turn = client.prompt(&session, "speak").await.unwrap();
        assert_eq!(turn.text(), words);
        assert_eq!(stop_reason(&turn), "end_turn");
    }
    stage.put("a.txt", "words\n");
    let two = [("read", json!({ "path": "a.txt" })), ("glob", json!({ "pattern": "*.txt" }))];
    stage.model.answer(calls(two).interleaved().pieces(1).split_every_byte());
    stage.model.answer("done");
    client.prompt(&session, "work").await.unwrap();
    let results = stage.model.last_chat().new_tool_results();
    assert!(results[0].contains("words") && results[1].contains("a.txt"), "{results:?}");
    judge(client).await;
}

#[tokio::test]
async fn arguments_are_mended_or_the_model_hears_what_is_wrong() {
    let stage = Stage::new().await;
    stage.put("a.txt", "words\n");
    let answer = calls([])
        .raw_call("read", r#"{"path": "a.txt""#)
        .raw_call("read", r#"{"path": "a.t"#)
        .raw_call("read", "[]")
        .raw_call("read", r#"{"file": 7}"#)
        .raw_call("fly", "{}");
    stage.model.answer(answer);
    stage.model.answer("done");
    let (client, session) = stage.bare(Way::Alone).await;

    let turn = client.prompt(&session, "read").await.unwrap();

    let results = stage.model.last_chat().tool_results();
    assert!(results[0].contains("words"), "{results:#?}");
    assert!(results[1].contains("The arguments could not be read"), "{results:#?}");
    assert!(results[2].contains("they are a list"), "{results:#?}");
    assert!(results[3].contains("Error"), "{results:#?}");
    assert!(results[4].contains("There is no tool `fly`. There are: "), "{results:#?}");
    assert_eq!(stop_reason(&turn), "end_turn");
    judge(client).await;
}

#[tokio::test]
async fn a_call_that_keeps_failing_in_the_same_way_is_stopped() {
    let stage = Stage::new().await;
    stage.model.answer_with(|_| calls([("read", json!({ "path": "missing.txt" }))]));
    let (client, session) = stage.bare(Way::Alone).await;

    let turn = client.prompt(&session, "read it").await.unwrap();

    assert_eq!(stop_reason(&turn), "max_turn_requests");
    assert_eq!(stage.model.chats().len(), 6, "three that fail, three that are refused");
    let results = stage.model.last_chat().tool_results();
    assert!(results[0].contains("does not exist"), "{results:#?}");
    assert!(results[3].contains("was not run again"), "{results:#?}");
    judge(client).await;
}

#[tokio::test]
async fn a_turn_ends_for_the_reason_that_there_was() {
    let stage = Stage::with_config("max_requests = 3", "").await;
    let (client, session) = stage.bare(Way::Alone).await;
    for (answer, expected) in [
        (text("too lo").finish("length"), "max_tokens"),
        (text("I must not").finish("content_filter"), "refusal"),
        (text("odd").finish(""), "end_turn"),
        (text("odd").finish("some_new_reason"), "end_turn"),
        (calls([("write", json!({ "path": "a.txt" }))]).finish("length"), "max_tokens"),
    ] {
        stage.model.answer(answer);
        let turn = client.prompt(&session, "speak").await.unwrap();
        assert_eq!(stop_reason(&turn), expected);
    }
    let n_before = stage.model.chats().len();
    stage.model.answer_with(|asked| {
        let n = asked.messages().len();
        calls([("list", json!({ "path": ".", "n": n }))])
    });
    let turn = client.prompt(&session, "look").await.unwrap();
    assert_eq!(stop_reason(&turn), "max_turn_requests");
    assert_eq!(stage.model.chats().len() - n_before, 3);
    judge(client).await;
}

#[tokio::test]
async fn a_session_that_fills_the_window_is_summarised_and_the_turn_goes_on() {
    for is_shown in [true, false] {
        let stage = Stage::with_config("compact_at_percent = 50", "context_window = 8000").await;
        stage.model.answer(calls([("list", json!({ "path": "." }))]).usage(5000, 10));
        stage.model.answer(text("SUMMARY of all of it").usage(5000, 20));
        stage.model.answer(text("done").usage(900, 5));
        let client = SdkClient::start(stage.agent(Way::Alone), ClientBehavior::default()).await;
        let capabilities = match is_shown {
            true => json!({ "session": { "compaction": {} } }),
            false => json!({}),
        };
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        client.call("initialize", params).await.unwrap();
        let session = client.new_session(stage.work()).await.unwrap().session_id;

        let turn = client.prompt(&session, "look around").await.unwrap();

        assert_eq!((turn.text().as_str(), stop_reason(&turn).as_str()), ("done", "end_turn"));
        let chats = stage.model.chats();
        assert_eq!(chats.len(), 3);
        assert!(chats[1].last_user().contains("Summarise this whole session"));
        assert_eq!(chats[2].roles(), ["system", "user"]);
        assert!(chats[2].last_user().contains("SUMMARY of all of it"), "{}", chats[2].body);
        let (exit, seen) = client.stop().await;
        assert!(exit.success());
        let states: Vec<String> = seen
            .calls(crate::native::FROM_AGENT, "session/update")
            .filter(|m| m["params"]["update"]["sessionUpdate"] == "compaction_update")
            .map(|m| m["params"]["update"]["status"].as_str().unwrap().to_owned())
            .collect();
        match is_shown {
            true => assert_eq!(states, ["in_progress", "completed"]),
            false => assert!(states.is_empty() && turn.thoughts().contains("summarised")),
        }
        Validator::v1_unstable().assert_valid(&seen);
    }
}

#[tokio::test]
async fn with_nothing_configured_the_user_hears_what_to_set() {
    let stage = Stage::new().await;
    let mut command = stage.agent(Way::Alone);
    for name in ["OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"] {
        command.env_remove(name);
    }
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(stage.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "hello").await.unwrap();

    // Whoever runs a model on one of the usual ports is answered by it.
    if !turn.thoughts().contains("http://") {
        assert!(turn.text().contains("OPENAI_BASE_URL"), "{}", turn.text());
        assert_eq!(stop_reason(&turn), "end_turn");
    }
    judge(client).await;
}

#[tokio::test]
async fn a_command_in_our_own_terminal_sees_no_key() {
    let stage = Stage::new().await;
    let line = "env | grep -F 1234567890; echo \"<$OPENAI_API_KEY>\"";
    stage.model.answer(calls([("bash", json!({ "command": line }))]));
    stage.model.answer("done");
    stage.run(&["go", "--approve-all"]).await;
    let results = stage.model.last_chat().tool_results();
    assert!(results[0].contains("<>") && !results[0].contains("1234567890"), "{results:?}");
}

#[tokio::test]
async fn the_words_of_a_failure_are_printed_once_by_a_run() {
    let stage = Stage::with_config("", "").await;
    stage.model.answer_with(|_| explained(401, "bad key"));
    let ran = stage.run(&["hello"]).await;
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let all = format!("{}{}", ran.out, ran.err);
    assert_eq!(all.matches("Authentication error (HTTP 401)").count(), 1, "{all}");
}

#[tokio::test]
async fn a_variable_that_means_nothing_is_told_by_a_run_at_once_and_by_the_agent_with_a_prompt() {
    for (name, value) in
        [("OPENAI_MAX_TOKENS", "abc"), ("OPENAI_MAX_TOKENS", "-5"), ("OPENAI_TEMPERATURE", "warm")]
    {
        let stage = Stage::new().await;
        let mut command = stage.command(&["run", "native", "hello"]);
        command.env(name, value).stderr(std::process::Stdio::piped());
        let ran: crate::cli::Ran =
            tokio::process::Command::from(command).output().await.unwrap().into();
        assert_eq!(ran.code, 2, "{}", ran.err);
        let words = [name, value, "hint: set the variable"];
        assert!(words.iter().all(|words| ran.err.contains(words)), "{}", ran.err);

        for way in crate::native::BOTH {
            let mut command = stage.agent(way);
            command.env(name, value);
            let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
            let session = client.new_session(stage.work()).await.unwrap().session_id;
            let turn = client.prompt(&session, "hello").await.unwrap();
            let said = turn.text();
            assert!(said.contains(name) && said.contains(value), "{way:?}: {said}");
            assert_eq!(stop_reason(&turn), "end_turn");
            judge(client).await;
        }
        assert!(stage.model.chats().is_empty());
    }
}

#[tokio::test]
async fn a_chunk_that_is_no_json_is_told_on_stderr_and_passed_over() {
    let stage = Stage::new().await;
    stage.model.answer(text("whole").garbage(1));
    let said = stage.home.path().join("stderr");
    let mut command = stage.agent(Way::Alone);
    command.stderr(std::fs::File::create(&said).unwrap());
    let client = SdkClient::ready(command, ClientBehavior::default()).await.unwrap();
    let session = client.new_session(stage.work()).await.unwrap().session_id;

    let turn = client.prompt(&session, "hello").await.unwrap();

    assert_eq!((turn.text().as_str(), stop_reason(&turn).as_str()), ("whole", "end_turn"));
    judge(client).await;
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("not JSON"), "{said}");
}
