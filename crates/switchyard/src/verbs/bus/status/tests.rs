use super::*;

fn status() -> Value {
    json!({
        "pid": 7, "file": "/x/bus.toml", "uptimeMs": 61_000, "listeners": ["tcp 127.0.0.1:9000"],
        "sessions": 3, "openRequests": 1, "guests": 0, "notLetIn": 2, "unfinishedBytes": 0,
        "clients": [{"id": 1, "via": "tcp", "queuedBytes": 10, "paused": false}],
        "counters": {"requests": 5, "answeredByWorkers": 4, "answeredBySwitch": 0},
        "pools": [{
            "name": "a\"b", "state": "failed", "retryInMs": 5_000, "waiting": 0,
            "lastFailure": "exit code 1\u{1b}[2J", "workers": [
                {"id": 1, "slot": 0, "pid": 99, "state": "stopping", "requests": 1, "sessions": 3,
                 "clients": 1, "memoryBytes": 0, "queuedBytes": 12, "paused": true},
            ],
        }],
    })
}

#[test]
fn people_see_what_is_wrong() {
    let text = text(&status(), Paint::none());
    assert!(text.contains("failed, tried again in 5 s"), "{text}");
    assert!(text.contains("last failure: exit code 1"), "{text}");
    assert!(!text.contains('\u{1b}'), "what a worker wrote cannot move the cursor: {text}");
    assert!(text.contains("12 bytes queued, paused"), "{text}");
}

#[test]
fn prometheus_can_read_it() {
    let text = prometheus(&status());
    assert!(text.contains("\nswitchyard_bus_answered_by_workers_total 4\n"), "{text}");
    assert!(text.contains("\nswitchyard_bus_pool_up{pool=\"a\\\"b\"} 0\n"), "{text}");
    assert!(text.contains("\nswitchyard_bus_client_queued_bytes 10\n"), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}
