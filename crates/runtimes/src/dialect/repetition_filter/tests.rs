//! Repetitions, whole and broken.

use proptest::prelude::*;

use super::RepetitionFilter;

fn tell(attempts: &[&[&str]]) -> String {
    let mut retold = RepetitionFilter::default();
    let mut text = String::new();
    for (n, attempt) in attempts.iter().enumerate() {
        if n > 0 {
            retold.restart();
        }
        for piece in *attempt {
            text.push_str(&retold.push(piece));
        }
    }
    text
}

#[test]
fn what_is_repeated_is_told_once() {
    assert_eq!(tell(&[&["Hello", ", "], &["Hello", ", ", "world"]]), "Hello, world");
    assert_eq!(tell(&[&["Hello", ", "], &["Hel", "lo, wor", "ld"]]), "Hello, world");
    assert_eq!(tell(&[&["Hello"], &["He"], &["Hello", "!"]]), "Hello!");
    assert_eq!(tell(&[&[], &["Hello"]]), "Hello");
}

#[test]
fn another_course_is_told_in_full() {
    assert_eq!(tell(&[&["Hello"], &["He", "y there"]]), "HelloHey there");
}

#[test]
fn what_was_no_repetition_can_be_told_after_all() {
    let mut retold = RepetitionFilter::default();
    retold.push("ha ha ");
    retold.restart();
    assert_eq!(retold.push("ha "), "");
    assert_eq!(retold.withheld(), "ha ");
    assert_eq!(retold.withheld(), "");
}

proptest! {
    #[test]
    fn any_cuts_give_the_text_once(
        text in "\\PC{0,40}",
        cuts in prop::collection::vec(prop::collection::vec(0usize..60, 0..5), 1..4),
    ) {
        let chars: Vec<char> = text.chars().collect();
        let mut retold = RepetitionFilter::default();
        let mut told = String::new();
        let last = cuts.len() - 1;
        for (n, cuts) in cuts.iter().enumerate() {
            if n > 0 {
                retold.restart();
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (chars.len() + 1)).collect();
            cuts.sort_unstable();
            // Only the last attempt reaches the end.
            if n == last {
                cuts.push(chars.len());
            }
            let mut from = 0;
            for to in cuts {
                let piece: String = chars[from..to].iter().collect();
                told.push_str(&retold.push(&piece));
                from = to;
            }
        }
        prop_assert_eq!(told, text);
    }
}
