//! Tests are little histories: what goes in, and what must come out below it. In what is
//! expected, `…` stands for any text.

use super::history::output_text;
use super::*;
use replaying::read_input;

mod clients;
mod deaths;
mod fans;
mod initialising;
mod lines;
mod model;
mod moves;
mod plans;
mod pressure;
mod replay;
mod replaying;
mod requests;
mod sessions;
mod sharing;
mod supervision;

/// Runs a script against a switch whose workers all start at once.
fn check(plan: SwitchPlan, script: &str) -> Switch {
    let mut switch = Switch::new(plan, 1).unwrap();
    run(&mut switch, script);
    switch
}

fn run(switch: &mut Switch, script: &str) {
    let mut lines = script.lines().map(str::trim).filter(|l| !l.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let Some(step) = line.strip_prefix("> ") else { panic!("no input: {line}") };
        let (at, input) = step.split_once(' ').unwrap();
        let input = read_input(input).unwrap();
        let mut out = Vec::new();
        switch.take(MonotonicMillis(at.parse().unwrap()), input, &mut out);
        let found: Vec<String> = out.iter().map(output_text).collect();
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("< ")) {
            expected.push(&line[2..]);
        }
        let is_same = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(found, expected)| fits(found, expected));
        assert!(is_same, "after {line}\nexpected {expected:#?}\nfound {found:#?}");
    }
}

fn fits(found: &str, expected: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else { return found == expected };
    let Some(mut found) = found.strip_prefix(start) else { return false };
    let mut parts = rest.split('…').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return found.ends_with(part);
        }
        match found.find(part) {
            Some(at) => found = &found[at + part.len()..],
            None => return false,
        }
    }
    true
}

fn plan_of(pools: Vec<PoolPlan>) -> SwitchPlan {
    SwitchPlan { pools, limits: SwitchLimits::default() }
}

/// One pool `p` of `n` workers, without jitter.
fn fixed(n_workers: u32) -> SwitchPlan {
    plan_of(vec![pool("p", n_workers)])
}

fn pool(name: &str, n_workers: u32) -> PoolPlan {
    let backoff = Backoff { initial: 100, max: 1000, jitter_percent: 0 };
    PoolPlan { backoff, ..PoolPlan::fixed(name, "cmd", n_workers) }
}

/// A switch whose workers run, with clients 1 to `n_clients`.
fn running(plan: SwitchPlan, n_clients: u64) -> Switch {
    let mut switch = Switch::new(plan, 1).unwrap();
    let mut out = Vec::new();
    switch.take(MonotonicMillis(0), SwitchInput::TimePassed, &mut out);
    for output in std::mem::take(&mut out) {
        let SwitchOutput::StartWorker { worker, .. } = output else { panic!("{output:?}") };
        switch.take(MonotonicMillis(0), SwitchInput::WorkerRuns { worker }, &mut out);
    }
    for client in (1..=n_clients).map(ClientId) {
        switch.take(MonotonicMillis(0), SwitchInput::ClientCame { client, pool: None }, &mut out);
    }
    assert_eq!(out, []);
    switch
}
