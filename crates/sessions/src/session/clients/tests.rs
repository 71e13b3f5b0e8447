use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Attach { files: bool, others: bool },
    Detach(prop::sample::Index),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<(bool, bool)>().prop_map(|(files, others)| Step::Attach { files, others }),
        2 => any::<prop::sample::Index>().prop_map(Step::Detach),
    ]
}

proptest! {
    #[test]
    fn the_latest_that_serves_something_is_asked_for_it(
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let mut clients = Clients::default();
        let mut model: Vec<(u64, bool, bool)> = Vec::new();
        for (id, step) in (0_u64..).zip(steps) {
            match step {
                Step::Attach { files, others } => {
                    let (calls, _) = mpsc::channel(1);
                    clients.attach(AttachedClient { id, calls, serves: ServedRequests { files, others } });
                    model.push((id, files, others));
                }
                Step::Detach(which) if !model.is_empty() => {
                    let (id, ..) = model.remove(which.index(model.len()));
                    clients.detach(id);
                    // A second time it changes nothing.
                    clients.detach(id);
                }
                Step::Detach(_) => {}
            }
            let asked = |method: &str| clients.server_of(method).map(|client| client.id);
            let latest = |serves: fn(&(u64, bool, bool)) -> bool| {
                model.iter().rev().find(|client| serves(client)).map(|client| client.0)
            };
            prop_assert_eq!(clients.is_empty(), model.is_empty());
            prop_assert_eq!(asked("fs/read_text_file"), latest(|client| client.1));
            prop_assert_eq!(asked("_acme.example/ask"), latest(|client| client.2));
            // Terminals are Switchyard's own, whoever is there.
            prop_assert_eq!(asked("terminal/create"), None);
        }
    }
}
