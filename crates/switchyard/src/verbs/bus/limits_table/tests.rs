use super::*;

fn settle(text: &str) -> (SwitchLimits, IoLimits) {
    toml::from_str::<LimitsTable>(text).unwrap().settle()
}

#[test]
fn nothing_said_means_the_defaults() {
    assert_eq!(settle(""), (SwitchLimits::default(), IoLimits::default()));
    assert_eq!(changed_limits(&SwitchLimits::default(), &IoLimits::default()), []);
}

#[test]
fn every_limit_can_be_set() {
    let text = r#"
        max_clients = 1
        max_open_per_client = 2
        max_sessions = 3
        max_sessions_per_client = 2
        client_queue = { low = 4, high = "5KiB", full = "6MiB" }
        worker_queue = { low = "7B", high = 8, full = 9 }
        session_grace = "10s"
        slow_client_after = "11s"
        max_client_line = "12KiB"
        max_worker_line = 13
        max_unfinished = "14MiB"
        line_timeout = "15ms"
        hello_timeout = "16s"
        half_close_wait = "17m"
        worker_stuck_after = "18s"
        memory_interval = "19s"
    "#;
    let (limits, edges) = settle(text);
    let marks = |low, high, full| QueueMarks { low, high, full };
    let expected = SwitchLimits {
        max_clients: 1,
        max_open_per_client: 2,
        max_sessions: 3,
        max_sessions_per_client: 2,
        client_queue: marks(4, 5 << 10, 6 << 20),
        worker_queue: marks(7, 8, 9),
        session_grace: 10_000,
        slow_client_after: Some(11_000),
    };
    assert_eq!(limits, expected);
    let expected = IoLimits {
        max_client_line_bytes: 12 << 10,
        max_worker_line_bytes: 13,
        max_unfinished_bytes: 14 << 20,
        line_timeout: 15,
        hello_timeout: 16_000,
        half_close_wait: 1_020_000,
        worker_stuck_after: 18_000,
        memory_interval: 19_000,
    };
    assert_eq!(edges, expected);

    let names: Vec<&str> = changed_limits(&limits, &edges).iter().map(|one| one.name).collect();
    let said: Vec<&str> =
        text.lines().filter_map(|line| Some(line.split_once('=')?.0.trim())).collect();
    assert_eq!(names, said, "all of them are told apart");
}

#[test]
fn a_queue_may_be_given_by_its_limit_alone() {
    let usual = SwitchLimits::default().client_queue;
    let (large, _) = settle("client_queue = '1GiB'");
    assert_eq!(large.client_queue, QueueMarks { full: 1 << 30, ..usual });
    let (small, _) = settle("client_queue = 1000");
    assert_eq!(small.client_queue, QueueMarks { low: 250, high: 500, full: 1000 });
}

#[test]
fn longer_lines_make_room_for_themselves() {
    let (_, edges) = settle("max_client_line = '1GiB'");
    assert_eq!(edges.max_unfinished_bytes, 1 << 30);
    let (_, edges) = settle("max_client_line = '1GiB'\nmax_unfinished = '1MiB'");
    assert_eq!(edges.max_unfinished_bytes, 1 << 20, "what is said is not overruled");
}

#[test]
fn a_slow_client_may_be_kept_for_ever() {
    assert_eq!(settle("slow_client_after = 'never'").0.slow_client_after, None);
}

#[test]
fn what_is_not_the_usual_is_told_in_the_words_of_the_file() {
    let (limits, edges) = settle("slow_client_after = 'never'\nclient_queue = '1MiB'");
    let told: Vec<(String, String)> = changed_limits(&limits, &edges)
        .into_iter()
        .map(|one| (format!("{} = {}", one.name, one.value), one.usual))
        .collect();
    let expected = [
        ("client_queue = 256KiB / 512KiB / 1MiB", "512KiB / 2MiB / 64MiB"),
        ("slow_client_after = never", "1m"),
    ];
    assert_eq!(told, expected.map(|(now, usual)| (now.to_owned(), usual.to_owned())));
}
