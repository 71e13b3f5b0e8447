use super::*;

fn entropy(seed: u8) -> [u8; ENTROPY] {
    let mut next = seed;
    std::array::from_fn(|_| {
        next = next.wrapping_mul(37).wrapping_add(11);
        next
    })
}

#[test]
fn a_minted_id_reads_back_as_itself() {
    for seed in 0..=255 {
        let id = SessionId::from_entropy(&entropy(seed));

        assert_eq!(SessionId::parse(id.as_str()), Ok(id));
        assert_eq!(id.as_str().len(), 26);
    }
}

#[test]
fn a_turn_id_has_the_shape_of_a_cuid2() {
    let id = TurnId::from_entropy(&entropy(1));

    assert_eq!(id.as_str().len(), 24);
    assert!(id.as_str().starts_with(|c: char| c.is_ascii_lowercase()));
}

#[test]
fn derived_ids_depend_on_where_parts_end() {
    assert_eq!(CallId::derived(&[b"ab", b"c"]), CallId::derived(&[b"ab", b"c"]));
    assert_ne!(CallId::derived(&[b"ab", b"c"]), CallId::derived(&[b"a", b"bc"]));
}

#[test]
fn what_is_not_an_id_is_refused() {
    for text in ["", "1abc", "../../etc/passwd", "a\0b", &"a".repeat(27), &"é".repeat(13)] {
        assert!(SessionId::parse(text).is_err(), "{text:?}");
    }
}
