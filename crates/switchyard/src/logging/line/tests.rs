use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::*;

/// Keeps the lines that it is given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<LogLine>>>, Secrets);

impl<S: tracing::Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.0.lock().unwrap().push(LogLine::of(event, &self.1));
    }
}

fn line_of(secrets: &[&str], event: impl FnOnce()) -> LogLine {
    let kept = Kept::default();
    kept.1.register_all(secrets.iter().copied());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(kept.clone()), event);
    kept.0.lock().unwrap().pop().unwrap()
}

/// The text behind time, level and target.
fn said(line: &LogLine) -> String {
    let text = line.text(Paint::none());
    text.split_once("line::tests ").unwrap().1.to_owned()
}

#[test]
fn text_reads_as_a_sentence_and_its_fields() {
    let line = line_of(&[], || tracing::warn!(n = 3, who = "a b", id = %"x-1", "it is so"));
    let text = line.text(Paint::none());
    assert!(text.contains(" WARN  switchyard::logging::line::tests it is so n=3"), "{text}");
    assert!(text.ends_with("n=3 who=\"a b\" id=x-1\n"), "{text}");
}

#[test]
fn a_name_cannot_forge_a_line_or_a_colour() {
    let name = "x\n2026-01-01T00:00:00Z ERROR forged\r\u{1b}[2J\u{202e}\u{85}\u{fe0f}";
    let line = line_of(&[], || tracing::info!(name, "client {name}"));
    let text = line.text(Paint::none());
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text:?}");
    let json = line.json();
    assert_eq!(json.matches('\n').count(), 1);
    assert!(!json.chars().any(|c| c != '\n' && is_hidden(c)), "{json:?}");
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["fields"]["name"], name);
}

#[test]
fn a_field_that_is_named_like_a_secret_is_not_shown() {
    let line = line_of(&[], || {
        tracing::info!(api_key = "abc", password = ?Some("x"), cookie = %"c", "asked");
    });
    assert_eq!(said(&line), "asked api_key=[redacted] password=[redacted] cookie=[redacted]\n");
}

#[test]
fn a_secret_written_in_pieces_is_found() {
    struct Pieces;
    impl fmt::Display for Pieces {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("se")?;
            f.write_char('c')?;
            write!(f, "{}-{:05}", char::from(b'r'), 12345)
        }
    }
    let line = line_of(&["secr-12345"], || tracing::info!(x = %Pieces, "is {}", Pieces));
    assert_eq!(said(&line), "is [redacted] x=[redacted]\n");
}

#[test]
fn a_secret_at_the_cut_is_not_shown_in_part() {
    let long = format!("{}secret-value-1234", "x".repeat(MAX_VALUE_BYTES - 6));
    let line = line_of(&["secret-value-1234"], || tracing::info!(long, "cut"));
    let text = said(&line);
    assert!(!text.contains("secret"), "{}", &text[text.len() - 40..]);
}

#[test]
fn a_huge_value_does_not_make_a_huge_line() {
    let huge = "é".repeat(4 << 20);
    let line = line_of(&[], || {
        tracing::info!(a = huge, b = %huge, c = ?huge, d = huge, e = huge, f = huge, "{huge}");
    });
    assert!(line.text(Paint::none()).len() < 2 * MAX_LINE_BYTES);
    assert!(serde_json::from_str::<serde_json::Value>(&line.json()).is_ok());
}

#[test]
fn errors_and_odd_numbers_are_written_as_they_can_be_read() {
    let error = std::io::Error::other("disk \"x\" is gone");
    let line = line_of(&[], || {
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::error!(error, nan = f64::NAN, half = 0.5, "no");
    });
    assert_eq!(said(&line), "no error=\"disk \\\"x\\\" is gone\" nan=NaN half=0.5\n");
    let json: serde_json::Value = serde_json::from_str(&line.json()).unwrap();
    assert_eq!(json["fields"]["half"], 0.5);
}

proptest! {
    #[test]
    fn any_value_gives_one_line_without_the_secret(
        before in any::<String>(),
        after in any::<String>(),
        secret in "[a-zA-Z0-9\"\\\\/+=é]{8,24}",
    ) {
        let value = format!("{before}{secret}{after}");
        let line = line_of(&[&secret], || tracing::info!(value, other = ?value, "{value}"));
        let text = line.text(Paint::none());
        prop_assert_eq!(text.matches('\n').count(), 1);
        prop_assert!(!text.contains(&secret), "{}", text);
        let json = line.json();
        prop_assert_eq!(json.matches('\n').count(), 1);
        prop_assert!(!json.contains(&secret), "{}", json);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
    }
}
