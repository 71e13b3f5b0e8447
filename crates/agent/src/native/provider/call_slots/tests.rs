use super::*;

fn fragment<'a>(
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: &'a str,
) -> CallFragment<'a> {
    CallFragment { index, id, name, arguments }
}

fn places(fragments: &[CallFragment<'_>]) -> Vec<usize> {
    let mut slots = CallSlots::default();
    fragments.iter().map(|fragment| slots.place(*fragment).unwrap().slot).collect()
}

#[test]
fn numbers_decide_where_there_are_numbers() {
    let placed = places(&[
        fragment(Some(1), Some("b"), Some("x"), ""),
        fragment(Some(0), Some("a"), Some("y"), ""),
        fragment(Some(1), None, None, "{"),
        fragment(Some(0), None, None, "{"),
    ]);
    assert_eq!(placed, [0, 1, 0, 1]);
}

#[test]
fn another_id_is_another_call_even_under_the_same_number() {
    let placed = places(&[
        fragment(Some(0), Some("a"), Some("x"), "{}"),
        fragment(Some(0), Some("b"), Some("x"), "{}"),
        fragment(Some(0), Some("a"), Some("x"), ""),
        fragment(Some(0), None, None, ""),
    ]);
    assert_eq!(placed, [0, 1, 0, 1]);
}

#[test]
fn without_numbers_a_fragment_belongs_to_the_call_before_it() {
    let placed = places(&[
        fragment(None, Some("a"), Some("x"), ""),
        fragment(None, None, None, "{\"k\":"),
        fragment(None, None, None, "1}"),
        fragment(None, Some("b"), Some("x"), "{}"),
        fragment(None, None, Some("y"), "{}"),
    ]);
    assert_eq!(placed, [0, 0, 0, 1, 2]);
}

#[test]
fn a_name_that_is_repeated_begins_no_call_until_the_arguments_are_whole() {
    let placed = places(&[
        fragment(Some(0), None, Some("x"), "{\"k\":\"}"),
        fragment(Some(0), None, Some("x"), "\"}"),
        fragment(Some(0), None, Some("x"), "{}"),
    ]);
    assert_eq!(placed, [0, 0, 1]);
}

#[test]
fn there_is_an_end_to_calls() {
    let mut slots = CallSlots::default();
    let placed: Vec<_> =
        (0..300).map(|n| slots.place(fragment(Some(n), None, Some("x"), ""))).collect();
    assert_eq!(placed.iter().flatten().count(), MAX_CALLS);
    assert_eq!(placed.last(), Some(&None));
}
