//! Formats the status JSON of a bus: as text for people, or as Prometheus' text format.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::terminal::paint::Paint;

/// The status as text for a person.
pub(super) fn text(status: &Value, paint: Paint) -> String {
    let mut text = String::new();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let listeners: Vec<&str> = strings(&status["listeners"]);
    let n_clients = status["clients"].as_array().map_or(0, Vec::len);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} (pid {}), for {}",
        paint.strong(status["file"].as_str().unwrap_or("bus")),
        status["pid"],
        seconds(number(&status["uptimeMs"])),
    );
    let on = if listeners.is_empty() { "stdin and stdout".into() } else { listeners.join(", ") };
    let _ = writeln!(text, "on {on}");
    let _ = writeln!(
        text,
        "{n_clients} clients, {} sessions, {} requests open; {} taken, {} answered by workers, {} by the bus",
        status["sessions"],
        status["openRequests"],
        status["counters"]["requests"],
        status["counters"]["answeredByWorkers"],
        status["counters"]["answeredBySwitch"],
    );
    for pool in status["pools"].as_array().into_iter().flatten() {
        let state = pool["state"].as_str().unwrap_or_default();
        let state = match state {
            "serving" => paint.good(state),
            "failed" => paint.bad(state),
            _ => paint.doubtful(state),
        };
        let name = paint.strong(pool["name"].as_str().unwrap_or_default());
        let _ = write!(text, "\n{name}  {state}");
        if let Some(retry) = pool["retryInMs"].as_u64() {
            let _ = write!(text, ", tried again in {}", seconds(retry));
        }
        if number(&pool["waiting"]) > 0 {
            let _ = write!(text, ", {} requests wait for a worker", pool["waiting"]);
        }
        text.push('\n');
        if let Some(why) = pool["lastFailure"].as_str() {
            let _ = writeln!(text, "  last failure: {}", projection::sanitize(why));
        }
        let workers = pool["workers"].as_array().map(Vec::as_slice).unwrap_or_default();
        if workers.is_empty() {
            text.push_str("  no worker runs\n");
        }
        for worker in workers {
            let pid = worker["pid"].as_u64().map_or_else(|| "-".to_owned(), |pid| pid.to_string());
            let _ = writeln!(
                text,
                "  {:<3} pid {pid:<8} {:<9} {} sessions, {} requests, {} bytes queued{}",
                number(&worker["slot"]),
                worker["state"].as_str().unwrap_or_default(),
                number(&worker["sessions"]),
                number(&worker["requests"]),
                number(&worker["queuedBytes"]),
                if worker["paused"] == true { ", paused" } else { "" },
            );
        }
    }
    text
}

/// The status for Prometheus, by its textfile collector or any exporter that runs a command.
pub(super) fn prometheus(status: &Value) -> String {
    let mut text = String::new();
    let no_counters = Map::new();
    for (name, value) in status["counters"].as_object().unwrap_or(&no_counters) {
        let name = snake(name);
        let _ = writeln!(text, "# TYPE switchyard_bus_{name}_total counter");
        let _ = writeln!(text, "switchyard_bus_{name}_total {value}");
    }
    let n_clients = json!(status["clients"].as_array().map_or(0, Vec::len));
    let n_queued: u64 = status["clients"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|client| client["queuedBytes"].as_u64())
        .sum();
    let gauges = [
        ("clients", &n_clients),
        ("guests", &status["guests"]),
        ("not_let_in", &status["notLetIn"]),
        ("sessions", &status["sessions"]),
        ("open_requests", &status["openRequests"]),
        ("unfinished_bytes", &status["unfinishedBytes"]),
        ("client_queued_bytes", &json!(n_queued)),
    ]
    .map(|(name, value)| (name, value.clone()));
    for (name, value) in gauges {
        let _ = writeln!(text, "# TYPE switchyard_bus_{name} gauge\nswitchyard_bus_{name} {value}");
    }
    let pools: Vec<&Value> = status["pools"].as_array().into_iter().flatten().collect();
    let mut of_pools = |name: &str, value: fn(&Value) -> u64| {
        let _ = writeln!(text, "# TYPE switchyard_bus_pool_{name} gauge");
        for pool in &pools {
            let label = pool["name"].as_str().unwrap_or_default();
            let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ =
                writeln!(text, "switchyard_bus_pool_{name}{{pool=\"{label}\"}} {}", value(pool));
        }
    };
    of_pools("up", |pool| u64::from(pool["state"] == "serving"));
    of_pools("waiting", |pool| pool["waiting"].as_u64().unwrap_or_default());
    of_pools("workers_running", |pool| {
        let workers = pool["workers"].as_array().into_iter().flatten();
        workers.filter(|worker| worker["state"] == "running").count() as u64
    });
    of_pools("worker_queued_bytes", |pool| {
        let workers = pool["workers"].as_array().into_iter().flatten();
        workers.filter_map(|worker| worker["queuedBytes"].as_u64()).sum()
    });
    text
}

pub(super) fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn seconds(n_millis: u64) -> String {
    match n_millis / 1000 {
        n @ 0..=119 => format!("{n} s"),
        n @ 120..=7199 => format!("{} min", n / 60),
        n => format!("{} h", n / 3600),
    }
}

fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests;
