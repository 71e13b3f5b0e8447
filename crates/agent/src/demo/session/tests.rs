//! Tests of `session`.

use super::bounded_lines::{MAX_BYTES, MAX_LINES};
use super::*;
use serde_json::json;

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

/// Saves a record to what stands for its file; gives the bytes that were written.
fn save(record: &mut DemoRecord, file: &mut String) -> usize {
    match record.take_unsaved() {
        UnsavedPart::Lines(lines) => {
            file.push_str(&lines);
            lines.len()
        }
        UnsavedPart::WholeFile(text) => {
            *file = text;
            file.len()
        }
    }
}

#[test]
fn what_turns_write_does_not_grow_with_their_number() {
    let (mut record, mut file) = (DemoRecord::new("a".into(), "/".into()), String::new());
    let mut write_turns = |n_turns: usize| {
        let mut n_written = 0;
        for _ in 0..n_turns {
            record.remember_prompt("say something".to_owned());
            n_written += save(&mut record, &mut file);
            (0..10).for_each(|_| record.remember_update(chunk("something")));
            n_written += save(&mut record, &mut file);
        }
        (n_written, file.len())
    };
    let (_, n_bytes_of_hundred) = write_turns(100);
    write_turns(8900);
    let (n_written_by_thousand, n_file_bytes) = write_turns(1000);

    // All lines once, and the whole file as often as it has become twice as large.
    assert!(n_written_by_thousand < 4 * 10 * n_bytes_of_hundred, "{n_written_by_thousand}");
    assert!(n_file_bytes < 4 * 10 * n_bytes_of_hundred, "{n_file_bytes}");
    let again = DemoRecord::from_text(&file).unwrap();
    assert_eq!(again.prompts().len(), MAX_LINES);
    assert_eq!(again.updates().len(), MAX_LINES);
}

#[test]
fn the_file_says_what_the_record_does() {
    let (mut record, mut file) = (DemoRecord::new("a".into(), "/".into()), String::new());
    save(&mut record, &mut file);
    for n in 0..5 {
        record.remember_prompt(format!("prompt {n}\nsecond line"));
        record.remember_note(format!("note {n}"));
        save(&mut record, &mut file);
        record.remember_update(chunk(&format!("chunk {n}")));
        record.settings_mut().set_mode(["ask", "code"][n % 2]);
        if n == 3 {
            record.not_saved();
        }
        save(&mut record, &mut file);
    }

    let mut again = DemoRecord::from_text(&file).unwrap();
    assert_eq!(again.prompts(), record.prompts());
    assert_eq!(again.notes(), record.notes());
    assert_eq!(again.updates(), record.updates());
    assert_eq!(again.updates().len(), 5);
    assert_eq!(again.head().title.as_deref(), Some("prompt 0"));
    assert_eq!(again.head().settings.modes(), record.head().settings.modes());
    assert!(matches!(again.take_unsaved(), UnsavedPart::Lines(lines) if lines.is_empty()));
}

#[test]
fn half_a_line_is_forgotten_and_nothing_is_appended_to_it() {
    let (mut record, mut file) = (DemoRecord::new("a".into(), "/".into()), String::new());
    record.remember_note("first".into());
    save(&mut record, &mut file);
    record.remember_note("second".into());
    save(&mut record, &mut file);

    for n_lost in 1..r#"{"note":"second"}"#.len() {
        let mut torn = file[..file.len() - n_lost].to_owned();
        let mut again = DemoRecord::from_text(&torn).unwrap();
        again.remember_note("third".into());
        save(&mut again, &mut torn);
        let notes = DemoRecord::from_text(&torn).unwrap().notes();
        assert_eq!(notes.first().map(String::as_str), Some("first"), "{n_lost}");
        assert_eq!(notes.last().map(String::as_str), Some("third"), "{n_lost}");
    }
}

#[test]
fn memory_is_bounded_in_bytes() {
    let (mut record, mut file) = (DemoRecord::new("a".into(), "/".into()), String::new());
    save(&mut record, &mut file);
    for _ in 0..20 {
        (0..3).for_each(|_| record.remember_update(chunk(&"x".repeat(MAX_BYTES / 4))));
        record.remember_note("x".repeat(MAX_BYTES));
        save(&mut record, &mut file);
        assert!(file.len() < 3 * MAX_BYTES);
    }
    assert_eq!(record.updates().len(), 3);
    assert!(record.notes().is_empty());
}
