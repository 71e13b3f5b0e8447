use super::*;

#[test]
fn there_are_so_many_streams_and_exports_and_a_place_is_given_back() {
    let load = Load::default();
    let take = |client: &str| load.stream(client);
    let mut streams: Vec<StreamPlace> = Vec::new();
    for client in ["a", "b", "c", "d"] {
        streams.extend((0..MAX_STREAMS_EACH).map(|_| take(client).unwrap()));
        assert_eq!(take(client).unwrap_err().status, 429);
    }
    assert_eq!(take("e").unwrap_err().status, 503);
    drop(streams);
    assert!(take("a").is_ok());
    let exports: Vec<_> = (0..MAX_EXPORTS).map(|_| load.export().unwrap()).collect();
    assert_eq!(load.export().unwrap_err().status, 503);
    drop(exports);
    assert!(load.export().is_ok());
}

#[test]
fn clients_that_read_nothing_are_forgotten_and_others_keep_their_budget() {
    let load = Load::default();
    let budget = load.budget("reads");
    let _stream = load.stream("streams").unwrap();
    for n in 0..2 * MAX_IDLE_CLIENTS {
        drop(load.budget(&n.to_string()));
    }
    let clients = load.clients.lock().unwrap();
    assert!(clients.len() <= MAX_IDLE_CLIENTS + 2);
    assert!(clients.contains_key("reads") && clients.contains_key("streams"));
    drop((budget, clients));
}
