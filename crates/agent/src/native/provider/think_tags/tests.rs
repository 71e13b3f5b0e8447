use proptest::prelude::*;

use super::*;

/// The thought and the text of an answer that comes in these pieces.
fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
    let mut think = ThinkParser::default();
    let mut said: Vec<Delta> = pieces.into_iter().flat_map(|piece| think.feed(piece)).collect();
    said.extend(think.release());
    let mut both = (String::new(), String::new());
    for one in said {
        match one {
            Delta::Thought(thought) => both.0.push_str(&thought),
            Delta::Text(text) => both.1.push_str(&text),
            other => panic!("{other:?}"),
        }
    }
    both
}

fn both(thought: &str, text: &str) -> (String, String) {
    (thought.to_owned(), text.to_owned())
}

#[test]
fn a_thought_is_what_an_answer_begins_with_between_the_tags() {
    assert_eq!(read(["<think>\nhm\n</think>\n\nYes."]), both("hm", "Yes."));
    assert_eq!(read([" \n<think>hm</think>Yes."]), both("hm", "Yes."));
    assert_eq!(read(["<think></think>Yes."]), both("", "Yes."));
    assert_eq!(read(["<think>a < b </thin"]), both("a < b </thin", ""), "cut off in the tag");
    assert_eq!(read(["<think>no end"]), both("no end", ""));
}

#[test]
fn everything_else_is_text() {
    for text in ["Yes.", "", " \n", "<thi", "<thinking>x</thinking>", "I say <think>x</think>."] {
        assert_eq!(read([text]), both("", text));
    }
    let twice = "<think>a</think>b <think>c</think>";
    assert_eq!(read([twice]), both("a", "b <think>c</think>"));
}

#[test]
fn a_flood_of_line_breaks_is_not_held() {
    let mut think = ThinkParser::default();
    think.feed("<think>x");
    let told: usize = (0..1_000)
        .flat_map(|_| think.feed("\n"))
        .map(|said| matches!(said, Delta::Thought(text) if !text.is_empty()))
        .filter(|is_told| *is_told)
        .count();
    assert!(told > 0);
}

proptest! {
    #[test]
    fn where_it_is_cut_does_not_matter(
        text in r"(\s{0,2}<think>)?[a</think>\n ]{0,40}(</think>)?\PC{0,20}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut places: Vec<usize> = cuts
            .iter()
            .map(|cut| cut.index(text.len() + 1))
            .filter(|place| text.is_char_boundary(*place))
            .collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places {
            pieces.push(&text[from..place]);
            from = place;
        }
        pieces.push(&text[from..]);
        let visible = |(thought, text): (String, String)| {
            (thought.trim_matches('\n').to_owned(), text)
        };
        prop_assert_eq!(visible(read(pieces)), visible(read([text.as_str()])));
    }
}
