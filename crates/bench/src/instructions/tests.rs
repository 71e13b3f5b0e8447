//! What was recorded is read again, and drift is called by its name.

use super::*;

#[test]
fn recorded_figures_are_read_as_they_were_written() {
    let found = BTreeMap::from([("a".to_owned(), 12.0), ("b".to_owned(), 345.0)]);
    assert_eq!(read(&text(&found)), found);
}

#[test]
fn every_load_has_a_recorded_figure() {
    let recorded = read(&fs::read_to_string(RECORDED).unwrap());
    for load in &LOADS {
        assert!(recorded.contains_key(load.name), "{}", load.name);
    }
}

#[test]
fn only_large_changes_are_drift() {
    assert_eq!(drift(100.0, 104.0), "+4.0 %");
    assert_eq!(drift(100.0, 106.0), "+6.0 % (DRIFT)");
    assert_eq!(drift(100.0, 90.0), "-10.0 % (DRIFT)");
}
