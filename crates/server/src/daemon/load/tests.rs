use super::*;

#[test]
fn there_are_so_many_places_of_each_kind_and_one_is_given_back() {
    let load = Load::default();
    type Take = fn(&Load, &str) -> Result<LoadPermit, Problem>;
    let kinds: [(Take, usize, usize); 3] = [
        (Load::stream, MAX_STREAMS_EACH, MAX_STREAMS),
        (Load::export, MAX_EXPORTS_EACH, MAX_EXPORTS),
        (Load::transfer, MAX_TRANSFERS_EACH, MAX_TRANSFERS),
    ];
    for (take, n_each, n_all) in kinds {
        let mut taken: Vec<LoadPermit> = Vec::new();
        for n in 0..n_all / n_each {
            let client = n.to_string();
            taken.extend((0..n_each).map(|_| take(&load, &client).unwrap()));
            assert_eq!(take(&load, &client).unwrap_err().status, 429);
        }
        assert_eq!(take(&load, "another").unwrap_err().status, 503);
        drop(taken);
        assert!(take(&load, "0").is_ok());
    }
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

#[tokio::test(start_paused = true)]
async fn a_client_that_looks_up_much_waits_for_itself() {
    let load = Load::default();
    let lookup = async |client: &str| {
        tokio::time::timeout(std::time::Duration::from_secs(9), load.lookup(client)).await
    };
    let mut taken = Vec::new();
    for _ in 0..MAX_LOOKUPS_EACH {
        taken.push(lookup("a").await.unwrap());
    }

    assert!(lookup("a").await.is_err());
    assert!(lookup("b").await.is_ok());
    taken.pop();
    assert!(lookup("a").await.is_ok());
}
