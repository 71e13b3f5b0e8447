//! Numbers in all the ways in which models write them.

use serde_json::json;

use super::*;

#[test]
fn numbers_and_ranges_are_read_from_anything_that_holds_them() {
    for value in [
        json!("3-5, 9"),
        json!([3, 4, 5, 9]),
        json!(["3-5", 9]),
        json!("5-3 9"),
        json!(["3-4,5", "9"]),
    ] {
        let numbers = PartNumbers::read(&value).unwrap().unwrap();
        let all: Vec<u64> = (0..12).filter(|number| numbers.has(*number)).collect();
        assert_eq!(all, [3, 4, 5, 9], "{value}");
    }
    assert_eq!(PartNumbers::read(&json!("3-5, 9")).unwrap().unwrap().to_string(), "3-5, 9");
}

#[test]
fn nothing_is_none_and_nonsense_is_refused() {
    for value in [json!(null), json!(""), json!([]), json!(" , ")] {
        assert_eq!(PartNumbers::read(&value).unwrap(), None, "{value}");
    }
    for value in [
        json!("x"),
        json!("-1"),
        json!(-1),
        json!(1.5),
        json!([[1]]),
        json!({}),
        json!(true),
        json!("1-"),
    ] {
        assert!(PartNumbers::read(&value).is_err(), "{value}");
    }
}

#[test]
fn single_numbers_that_nobody_knows_are_told() {
    let numbers = PartNumbers::read(&json!("1-9, 4, 12")).unwrap().unwrap();
    assert_eq!(numbers.unknown(|number| number == 4), [12]);
}
