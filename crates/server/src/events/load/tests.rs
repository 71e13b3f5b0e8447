use super::*;

#[test]
fn there_are_so_many_streams_and_exports_and_a_place_is_given_back() {
    let load = Load::default();
    let streams: Vec<Held> = (0..MAX_STREAMS).map(|_| load.stream().unwrap()).collect();
    assert_eq!(load.stream().unwrap_err().status, 503);
    drop(streams);
    assert!(load.stream().is_ok());
    let exports: Vec<_> = (0..MAX_EXPORTS).map(|_| load.export().unwrap()).collect();
    assert_eq!(load.export().unwrap_err().status, 503);
    drop(exports);
    assert!(load.export().is_ok());
}

#[test]
fn only_those_with_a_large_page_are_too_much_and_only_while_there_is_too_much() {
    let load = Load::default();
    let (mut small, mut large) = (load.stream().unwrap(), load.stream().unwrap());
    small.set(LARGE_PAGE - 1);
    large.set(MAX_HELD);
    assert!(!large.is_too_much());
    let mut other = load.stream().unwrap();
    other.set(LARGE_PAGE);
    assert!(large.is_too_much() && other.is_too_much() && !small.is_too_much());
    drop(large);
    assert!(!other.is_too_much());
    other.set(0);
    assert_eq!(load.n_held.load(Ordering::Relaxed), 0);
}
