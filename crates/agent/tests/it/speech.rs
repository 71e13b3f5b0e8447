//! Prompts that are answered in words.

use crate::client::Client;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn say_hello_greets_the_newcomer_in_several_chunks() {
    let (mut client, session) = Client::with_session(&[]).await;
    for script in ["say hello", "What can you do?", "", "/say hello"] {
        let exchange = client.prompt(&session, script).await;

        let text = exchange.text();
        assert!(text.starts_with("Hello!"), "{script}: {text}");
        assert!(text.contains("demo agent") && text.contains("`help`"));
        assert!(exchange.updates().len() > 3);
        assert_eq!(exchange.stop_reason(), "end_turn");
    }
}

#[tokio::test(start_paused = true)]
async fn help_lists_every_command_once() {
    let (mut client, session) = Client::with_session(&[]).await;

    let text = client.prompt(&session, "help").await.text();

    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("- `")).collect();
    let mut names: Vec<&str> =
        lines.iter().map(|line| line.split([' ', '`']).next().unwrap()).collect();
    let n_all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_all);
    assert!(n_all > 60, "{n_all}");
    for name in ["echo", "tool", "permission", "flood", "crash", "recall", "run"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn commands_run_in_order_across_lines_and_semicolons() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange =
        client.prompt(&session, "echo a;b ; say c d\n\necho e ; nonsense 1 ; text x").await;

    let text = exchange.text();
    assert!(text.starts_with("a;bc de"), "{text}");
    assert!(text.contains("do not know `nonsense`"));
    assert!(text.contains("usage: text N [BYTES]"));
}

#[tokio::test(start_paused = true)]
async fn chunks_are_numbered_and_of_the_size_that_was_asked_for() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "text 3 20").await;

    let texts: Vec<&str> =
        exchange.updates().iter().map(|it| it["content"]["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 3);
    for (n, text) in texts.iter().enumerate() {
        assert!(text.starts_with(&format!("chunk {}.", n + 1)));
        assert_eq!(text.len(), 20);
    }
    assert_eq!(client.prompt(&session, "slow 2 60000").await.text(), "chunk 1\nchunk 2\n");
}

#[tokio::test(start_paused = true)]
async fn everything_it_says_is_valid() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange =
        client.prompt(&session, "markdown ; unicode ; empty ; think a b ; image ; sleep 1").await;

    let kinds = exchange.kinds();
    let (message, thought) = ("agent_message_chunk", "agent_thought_chunk");
    assert_eq!(kinds, [message, message, message, thought, thought, message]);
    let unicode = exchange.updates()[1]["content"]["text"].as_str().unwrap();
    for hostile in ["\u{2028}", "\u{202e}", "\u{200b}", "\u{1b}]52;c;", "\u{301}", "\u{0}"] {
        assert!(unicode.contains(hostile), "{hostile:?}");
    }
    assert_eq!(exchange.updates()[5]["content"]["mimeType"], "image/png");
}

#[tokio::test(start_paused = true)]
async fn blocks_that_are_not_text_are_described() {
    let (mut client, session) = Client::with_session(&[]).await;
    let blocks = json!([
        { "type": "image", "mimeType": "image/png", "data": "AAAAAA==" },
        { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
        { "type": "resource_link", "name": "main.rs", "uri": "file:///main.rs" },
        { "type": "resource", "resource": { "uri": "file:///a", "text": "abc" } },
        { "type": "resource", "resource": { "uri": "file:///b", "blob": "AAA=" } },
        { "type": "text", "text": "echo-prompt" },
    ]);

    let params = json!({ "sessionId": session, "prompt": blocks });
    let exchange = client.call("session/prompt", params).await;

    let text = exchange.text();
    let expected = "You attached [image image/png, 4 bytes] [audio audio/wav, 3 bytes] \
        [link main.rs, file:///main.rs] [resource file:///a, 3 bytes of text] \
        [resource file:///b, 2 bytes].\n";
    assert_eq!(text.strip_prefix(expected), Some(blocks.to_string().as_str()));
}

#[tokio::test(start_paused = true)]
async fn it_talks_about_itself() {
    let (mut client, session) = Client::with_session(&[]).await;

    let script = "cwd ; pid ; env NO_SUCH_VARIABLE_HERE ; provider-error";
    let exchange = client.prompt(&session, script).await;

    let pid = std::process::id();
    let expected = format!("/tmp\n{pid}\nNO_SUCH_VARIABLE_HERE is not set\nAPI Error: 529");
    assert!(exchange.text().starts_with(&expected), "{}", exchange.text());
    assert_eq!(exchange.stop_reason(), "end_turn");
}
