use super::*;

#[test]
fn markers_are_random_and_read_back() {
    let (one, two) = (Marker::random().unwrap(), Marker::random().unwrap());

    assert_ne!(one, two);
    assert_eq!(Marker::parse(one.as_str()), Some(one));
}

#[test]
fn what_is_not_a_marker_is_refused() {
    for text in ["", "00112233445566778899aabbccddeef", "00112233445566778899AABBCCDDEEFF", "../x"]
    {
        assert_eq!(Marker::parse(text), None);
    }
}
