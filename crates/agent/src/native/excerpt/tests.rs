use super::{ends, head, tail};

#[test]
fn what_fits_stays_as_it_is() {
    let text = "Änderung am Ende";
    assert_eq!(head(text, 16), text);
    assert_eq!(tail(text, 16), text);
    assert_eq!(tail(text, usize::MAX), text);
    assert_eq!(ends(text, (8, 8), |n| n.to_string()), text);
    assert_eq!(ends(text, (usize::MAX, usize::MAX), |n| n.to_string()), text);
}

#[test]
fn what_is_cut_is_cut_between_characters() {
    let text = "Änderung am Endé";
    assert_eq!(head(text, 3), "Änd…");
    assert_eq!(tail(text, 4), "Endé");
    assert_eq!((head(text, 0).as_str(), tail(text, 0)), ("…", ""));
    assert_eq!(ends(text, (4, 4), |n| format!(" [{n}] ")), "Ände [8] Endé");
    assert_eq!(ends(text, (0, 4), |n| format!("[{n}]")), "[12]Endé");
}
