//! Beginning and end stay, in any cut.

use proptest::prelude::*;

use super::OutputBuffer;

#[test]
fn a_short_output_is_kept_whole() {
    let mut kept = OutputBuffer::new(9);
    kept.push("aä".as_bytes());
    kept.push("漢b".as_bytes());
    assert_eq!(kept.text(), "aä漢b");
}

#[test]
fn of_a_long_one_the_ends_stay_and_the_note_says_how_much_is_missing() {
    let mut kept = OutputBuffer::new(30);
    kept.push(b"0123456789");
    kept.push(&[b'x'; 1000]);
    kept.push(b"and the very last 20");
    let text = kept.text();
    assert!(text.starts_with("0123456789\n[… 1000 bytes left out"), "{text}");
    assert!(text.ends_with("\nand the very last 20"), "{text}");
}

#[test]
fn no_character_is_cut_in_two() {
    let mut kept = OutputBuffer::new(30);
    kept.push("a漢漢漢漢漢漢漢漢漢漢漢漢漢漢".as_bytes());
    let text = kept.text();
    assert!(!text.contains('\u{fffd}'), "{text}");
    assert!(text.starts_with("a漢漢漢\n["), "{text}");
}

proptest! {
    #[test]
    fn any_cut_gives_the_same(text in "[a-z\n]{0,200}", cuts in prop::collection::vec(0usize..200, 0..5)) {
        let mut whole = OutputBuffer::new(60);
        whole.push(text.as_bytes());
        let mut cut_up = OutputBuffer::new(60);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for to in cuts.into_iter().chain([text.len()]) {
            cut_up.push(&text.as_bytes()[from..to]);
            from = to;
        }
        prop_assert_eq!(whole.text(), cut_up.text());
        prop_assert_eq!(whole.recent(20), cut_up.recent(20));
        prop_assert!(text.ends_with(&whole.recent(20)));
    }
}
