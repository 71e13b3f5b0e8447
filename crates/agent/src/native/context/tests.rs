//! What a model is told fits every endpoint, whatever was done to it; what is restored is what
//! was there.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::native::chat::ModelToolCall;
use crate::native::journal::{CoveringKind, CoveringNote, PartEdit, WorkThread};

/// A journal that is written by hand.
#[derive(Debug, Clone, Default)]
struct Story(Vec<JournalEntry>);

impl Story {
    fn add(&mut self, item: JournalItem) -> u64 {
        let seq = self.0.last().map_or(1, |entry| entry.seq + 1);
        self.0.push(JournalEntry { seq, item: Arc::new(item) });
        seq
    }

    fn prompt(&mut self, text: &str) -> u64 {
        self.add(JournalItem::Prompt { blocks: Vec::new(), parts: vec![MessagePart::text(text)] })
    }

    fn answer(&mut self, text: &str, calls: &[&str]) -> u64 {
        let call = |id: &&str| ModelToolCall {
            id: (*id).to_owned(),
            name: "read".into(),
            arguments: "{}".into(),
        };
        self.add(JournalItem::Answer {
            text: text.into(),
            thought: format!("thinking of {text}"),
            calls: calls.iter().map(call).collect(),
            is_whole: true,
            usage: None,
        })
    }

    fn cut_off(&mut self, text: &str) -> u64 {
        self.add(JournalItem::Answer {
            text: text.into(),
            thought: String::new(),
            calls: Vec::new(),
            is_whole: false,
            usage: None,
        })
    }

    fn result(&mut self, answer: u64, index: usize, text: &str) -> u64 {
        let (shown, parts) = (serde_json::Value::Null, vec![MessagePart::text(text)]);
        self.add(JournalItem::Called { answer, index, shown, parts })
    }

    fn edit(&mut self, part: u64, shape: PartShape) {
        self.add(JournalItem::Edited { edits: vec![PartEdit { part, shape }] });
    }

    fn cover(&mut self, name: &str, cover: CoveringKind, parts: &[u64]) {
        let (name, note) = (name.to_owned(), format!("note of {name}"));
        self.add(JournalItem::Covered(CoveringNote { name, cover, note, parts: parts.to_vec() }));
    }

    fn told(&self) -> Vec<String> {
        messages("sys", &self.0).iter().map(short).collect()
    }
}

fn short(message: &ChatMessage) -> String {
    let texts = |parts: &[MessagePart]| -> String {
        let texts: Vec<&str> = parts
            .iter()
            .map(|part| match part {
                MessagePart::Text { text } => text.as_str(),
                MessagePart::Image { .. } => "image",
            })
            .collect();
        texts.join("|")
    };
    match message {
        ChatMessage::System { text } => format!("s {text}"),
        ChatMessage::User { parts } => format!("u {}", texts(parts)),
        ChatMessage::Assistant { text, calls, .. } => {
            format!("a {text}{}", "!".repeat(calls.len()))
        }
        ChatMessage::Tool { call, parts } => format!("t {call} {}", texts(parts)),
    }
}

/// Two turns: 1 prompt, 2 answer with calls, 3 and 4 results, 5 answer, 6 prompt, 7 answer.
fn two_turns() -> Story {
    let mut story = Story::default();
    story.prompt("one");
    let answer = story.answer("look", &["x", "y"]);
    story.result(answer, 0, "x gave");
    story.result(answer, 1, "y gave");
    story.answer("done", &[]);
    story.prompt("two");
    story.answer("again", &[]);
    story
}

#[test]
fn results_follow_their_calls_in_the_order_of_the_calls() {
    let mut story = Story::default();
    story.prompt("one");
    let answer = story.answer("look", &["x", "y", "z"]);
    story.result(answer, 2, "z gave");
    story.result(answer, 0, "x gave");

    let told = story.told();

    let expected = ["s sys", "u one", "a look!!!", "t x x gave"];
    assert_eq!(told[..4], expected);
    assert!(told[4].starts_with("t y [The call was interrupted"), "{told:?}");
    assert_eq!(told[5], "t z z gave");
}

#[test]
fn prompts_that_were_not_answered_become_one_message() {
    let mut story = Story::default();
    story.prompt("one");
    story.cut_off("");
    story.prompt("two");
    assert_eq!(story.told(), ["s sys", "u one|two"]);
}

#[test]
fn an_answer_that_was_cut_off_says_so_and_an_empty_one_is_not_there() {
    let mut story = Story::default();
    story.prompt("one");
    story.cut_off("hal");
    story.prompt("two");
    story.answer("", &[]);
    story.prompt("three");
    let told = story.told();
    assert_eq!(told[2], "a hal\n[This answer was cut off here.]");
    assert_eq!(told[3], "u two|three");
}

#[test]
fn a_summary_stands_for_everything_before_it_and_clearing_for_nothing() {
    let mut story = two_turns();
    story.add(JournalItem::Compacted { summary: "they talked".into() });
    story.prompt("three");
    let told = story.told();
    assert_eq!(told.len(), 2);
    assert!(told[1].ends_with("they talked|three"), "{told:?}");
    story.add(JournalItem::Cleared);
    story.prompt("four");
    assert_eq!(story.told(), ["s sys", "u four"]);
}

#[test]
fn a_prompt_that_came_before_room_was_made_is_told_after_the_summary() {
    let mut story = two_turns();
    story.prompt("and now this");
    story.add(JournalItem::Compacted { summary: "S".to_owned() });
    let told = story.told().join("\n");
    let (summary, prompt) = (told.find('S').unwrap(), told.find("and now this").unwrap());
    assert!(summary < prompt && told.matches("and now this").count() == 1, "{told}");

    story.answer("done", &[]);
    story.add(JournalItem::Compacted { summary: "T".to_owned() });
    assert!(!story.told().join("\n").contains("and now this"));
}

#[test]
fn no_system_words_mean_no_system_message() {
    let mut story = Story::default();
    story.prompt("one");
    assert_eq!(messages("", &story.0).len(), 1);
    story.add(JournalItem::Objective { text: Some("win".into()) });
    assert_eq!(
        messages("", &story.0)[0],
        ChatMessage::System { text: format!("{OBJECTIVE}\nwin") }
    );
}

#[test]
fn an_objective_stays_in_view_after_a_summary_and_goes_with_a_fresh_start() {
    let mut story = two_turns();
    story.add(JournalItem::Objective { text: Some("win".into()) });
    story.add(JournalItem::Compacted { summary: "they talked".into() });
    let with = format!("s sys\n\n{OBJECTIVE}\nwin");
    assert_eq!(story.told()[0], with);
    story.add(JournalItem::Objective { text: None });
    assert_eq!(story.told()[0], "s sys");
    story.add(JournalItem::Objective { text: Some("win".into()) });
    story.add(JournalItem::Cleared);
    story.prompt("three");
    assert_eq!(story.told(), ["s sys", "u three"]);
}

#[test]
fn a_hidden_answer_goes_with_its_results_and_a_result_can_go_alone() {
    let mut story = two_turns();
    story.edit(3, PartShape::Hidden);
    story.edit(4, PartShape::Replaced { text: "short".into() });
    let told = story.told();
    assert_eq!(told[3], format!("t x {HIDDEN_RESULT}"));
    assert_eq!(told[4], "t y short");
    story.edit(2, PartShape::Hidden);
    assert_eq!(story.told(), ["s sys", "u one", "a done", "u two", "a again"]);
    story.edit(2, PartShape::Replaced { text: "looked".into() });
    assert_eq!(story.told()[2], "a looked!!");
}

#[test]
fn a_hidden_prompt_leaves_a_word_where_two_answers_would_meet() {
    let mut story = two_turns();
    story.edit(6, PartShape::Hidden);
    story.edit(1, PartShape::Hidden);
    let told = story.told();
    assert_eq!(told[1], format!("u {HIDDEN_PROMPT}"));
    assert_eq!(told[6], format!("u {HIDDEN_PROMPT}"));
    story.edit(5, PartShape::Hidden);
    story.edit(7, PartShape::Hidden);
    // After a result nobody has to speak.
    assert_eq!(story.told().len(), 5);
}

#[test]
fn a_note_stands_once_for_all_of_its_parts() {
    let mut story = two_turns();
    let before = story.told();
    story.cover("a", CoveringKind::Parked, &[1, 2, 5]);
    story.prompt("three");
    let told = story.told();
    assert_eq!(
        told[1..],
        ["u [Put aside: the thread `a`, 3 parts. note of a]|two", "a again", "u three"]
    );
    story.cover("b", CoveringKind::Distilled, &[6, 7]);
    let told = story.told();
    assert_eq!(told.len(), 2);
    assert!(told[1].contains("[Notes `b`, in the place of 2 parts:]\nnote of b"), "{told:?}");
    story.add(JournalItem::Uncovered { name: "a".into() });
    story.add(JournalItem::Uncovered { name: "b".into() });
    assert_eq!(story.told()[..before.len()], before);
}

#[test]
fn parts_have_numbers_and_what_goes_on_is_marked() {
    let mut story = two_turns();
    let open = story.prompt("three");
    let running = story.answer("", &["z"]);
    let pieces = pieces(&story.0);
    let numbers: Vec<(u64, u64, &str)> =
        pieces.iter().map(|p| (p.number, p.group, p.role.word())).collect();
    assert_eq!(
        numbers[..4],
        [(1, 1, "user"), (2, 2, "answer"), (3, 2, "result"), (4, 2, "result")]
    );
    let present: Vec<u64> = pieces.iter().filter(|p| p.is_current).map(|p| p.number).collect();
    assert_eq!(present, [open, running]);
    assert_eq!(pieces[3].tools, "read");
}

#[test]
fn an_estimate_grows_with_what_is_told() {
    let story = two_turns();
    let few = estimate(&messages("", &story.0));
    let many = estimate(&messages(&"x".repeat(4000), &story.0));
    assert!(many >= few + 1000, "{few} {many}");
}

#[derive(Debug, Clone)]
enum Act {
    Turn { n_calls: Vec<usize>, lost: bool, end: u8 },
    Edit { part: u64, shape: PartShape },
    Cover { name: u8, parts: Vec<u64>, is_parked: bool },
    Uncover { name: u8 },
    Objective(bool),
    Threads,
    Compact,
    Clear,
}

fn act() -> impl Strategy<Value = Act> {
    let shape = prop_oneof![
        Just(PartShape::Hidden),
        Just(PartShape::Whole),
        "[a-z]{0,3}".prop_map(|text| PartShape::Replaced { text }),
    ];
    prop_oneof![
        4 => (prop::collection::vec(1_usize..4, 0..4), any::<bool>(), 0_u8..3)
            .prop_map(|(n_calls, lost, end)| Act::Turn { n_calls, lost, end }),
        4 => (1_u64..60, shape).prop_map(|(part, shape)| Act::Edit { part, shape }),
        3 => (0_u8..4, prop::collection::vec(1_u64..60, 0..12), any::<bool>())
            .prop_map(|(name, parts, is_parked)| Act::Cover { name, parts, is_parked }),
        1 => (0_u8..4).prop_map(|name| Act::Uncover { name }),
        1 => any::<bool>().prop_map(Act::Objective),
        1 => Just(Act::Threads),
        1 => Just(Act::Compact),
        1 => Just(Act::Clear),
    ]
}

/// Plays the acts. Parts that are not there yet are spoken of too, unless only the past counts.
fn play(acts: &[Act], only_past: bool) -> Story {
    let mut story = Story::default();
    let mut n = 0;
    let mut id = || {
        n += 1;
        format!("call{n}")
    };
    for act in acts {
        let n_items = story.0.len() as u64;
        let place = |part: u64| if only_past { part % n_items.max(1) + 1 } else { part };
        match act {
            Act::Edit { .. } | Act::Cover { .. } if only_past && n_items == 0 => {}
            Act::Turn { n_calls, lost, end } => {
                story.prompt("prompt");
                for n_calls in n_calls {
                    let ids: Vec<String> = (0..*n_calls).map(|_| id()).collect();
                    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                    let answer = story.answer("", &ids);
                    // They end in any order, and some do not end at all.
                    for index in (usize::from(*lost)..*n_calls).rev() {
                        story.result(answer, index, "result");
                    }
                }
                match end {
                    0 => story.answer("last", &[]),
                    1 => story.cut_off("cut"),
                    _ => story.answer("", &[]),
                };
            }
            Act::Edit { part, shape } => story.edit(place(*part), shape.clone()),
            Act::Cover { name, parts, is_parked } => {
                let cover = if *is_parked { CoveringKind::Parked } else { CoveringKind::Distilled };
                let parts: Vec<u64> = parts.iter().map(|part| place(*part)).collect();
                story.cover(&format!("n{name}"), cover, &parts);
            }
            Act::Uncover { name } => {
                story.add(JournalItem::Uncovered { name: format!("n{name}") });
            }
            Act::Objective(is_set) => {
                story.add(JournalItem::Objective { text: is_set.then(|| "win".to_owned()) });
            }
            Act::Threads => {
                let thread =
                    WorkThread { name: "t".into(), about: String::new(), parts: vec![1, 2] };
                story.add(JournalItem::Threads { threads: vec![thread] });
            }
            Act::Compact => {
                story.add(JournalItem::Compacted { summary: "sum".into() });
            }
            Act::Clear => {
                story.add(JournalItem::Cleared);
            }
        }
    }
    story
}

fn assert_valid(messages: &[ChatMessage]) {
    let shown: Vec<String> = messages.iter().map(short).collect();
    assert!(matches!(messages.first(), Some(ChatMessage::System { .. })), "{shown:?}");
    let mut waiting: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| messages.get(at));
        match message {
            ChatMessage::System { .. } => assert_eq!(at, 0, "{shown:?}"),
            ChatMessage::User { parts } => {
                assert!(waiting.is_empty() && !parts.is_empty(), "{shown:?}");
                assert!(!matches!(before, Some(ChatMessage::User { .. })), "{shown:?}");
            }
            ChatMessage::Assistant { text, calls, .. } => {
                assert!(waiting.is_empty(), "{shown:?}");
                assert!(!text.is_empty() || !calls.is_empty(), "{shown:?}");
                let follows =
                    matches!(before, Some(ChatMessage::User { .. } | ChatMessage::Tool { .. }));
                assert!(follows, "{shown:?}");
                waiting = calls.iter().map(|call| call.id.as_str()).collect();
            }
            ChatMessage::Tool { call, .. } => {
                assert!(!waiting.is_empty(), "{shown:?}");
                assert_eq!(waiting.remove(0), call, "{shown:?}");
            }
        }
    }
    assert!(waiting.is_empty(), "{shown:?}");
}

fn is_about_context(item: &JournalItem) -> bool {
    matches!(
        item,
        JournalItem::Edited { .. }
            | JournalItem::Covered { .. }
            | JournalItem::Uncovered { .. }
            | JournalItem::Threads { .. }
            | JournalItem::Objective { .. }
    )
}

proptest! {
    #[test]
    fn whatever_is_done_what_is_told_stays_valid(acts in prop::collection::vec(act(), 0..40)) {
        let story = play(&acts, false);
        // Also in the middle of it.
        for end in 0..=story.0.len() {
            assert_valid(&messages("sys", &story.0[..end]));
        }
    }

    #[test]
    fn restoring_gives_back_exactly_what_was_there(acts in prop::collection::vec(act(), 0..40)) {
        let mut story = play(&acts, false);
        let plain: Vec<JournalEntry> =
            story.0.iter().filter(|entry| !is_about_context(&entry.item)).cloned().collect();

        for name in 0..4 {
            story.add(JournalItem::Uncovered { name: format!("n{name}") });
        }
        let parts = Overlay::of(&story.0).edited();
        let edits = parts.into_iter().map(|part| PartEdit { part, shape: PartShape::Whole }).collect();
        story.add(JournalItem::Edited { edits });
        story.add(JournalItem::Objective { text: None });

        prop_assert_eq!(messages("sys", &story.0), messages("sys", &plain));
    }

    #[test]
    fn a_copy_in_another_journal_tells_the_same(
        acts in prop::collection::vec(act(), 0..30), gap in 0_u64..5,
    ) {
        let story = play(&acts, true);
        let mut copy: Vec<JournalEntry> = Vec::new();
        let mut places = HashMap::new();
        for entry in &story.0 {
            let seq = copy.last().map_or(1, |last| last.seq + 1) + gap;
            if let Some(item) = entry.item.renumbered(&places) {
                places.insert(entry.seq, seq);
                copy.push(JournalEntry { seq, item: Arc::new(item) });
            }
        }
        prop_assert_eq!(messages("sys", &story.0), messages("sys", &copy));
    }
}
