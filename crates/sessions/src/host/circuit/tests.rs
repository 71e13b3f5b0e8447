//! Tests of `circuit`.

use super::*;
use crate::host::AgentQuirks;

fn command(name: &str, program: &str, cwd: &str) -> AgentCommand {
    AgentCommand {
        name: name.into(),
        program: program.into(),
        args: Vec::new(),
        cwd: cwd.into(),
        env: bus::Environment::default(),
        is_named: true,
        quirks: AgentQuirks::default(),
    }
}

fn settings(circuit_open: Duration) -> SessionSettings {
    SessionSettings { circuit_open, ..SessionSettings::default() }
}

fn fail(circuit: &StartCircuit, n: usize) {
    let max_restarts = SessionSettings::default().limits.restarts;
    (0..n).for_each(|n| circuit.failed(format!("no key, try {n}"), max_restarts));
}

const LONG: Duration = Duration::from_secs(1000);

#[test]
fn an_agent_that_keeps_failing_is_refused_in_every_directory_and_no_other_one_is() {
    let agents = FailingAgents::default();
    let here = agents.circuit_of(&command("a", "/bin/a", "/here"));
    let there = agents.circuit_of(&command("a", "/bin/a", "/there"));
    fail(&here, 3);
    fail(&there, 2);
    assert!(there.try_start(&settings(LONG)).is_ok());
    fail(&here, 1);

    let refused = there.try_start(&settings(LONG)).unwrap_err();

    let said = refused.to_string();
    assert!(said.starts_with("`a` could not be started 6 times within 180 seconds"), "{said}");
    assert!(said.contains("tried again in 1000 seconds"), "{said}");
    assert!(said.ends_with("the last time: no key, try 0"), "{said}");
    for other in [command("a", "/bin/b", "/here"), command("b", "/bin/a", "/here")] {
        assert!(agents.circuit_of(&other).try_start(&settings(LONG)).is_ok());
    }
}

#[test]
fn one_start_that_succeeds_forgets_all_failures() {
    let circuit = FailingAgents::default().circuit_of(&command("a", "a", "/"));
    fail(&circuit, 6);
    assert!(circuit.try_start(&settings(LONG)).is_err());
    circuit.succeeded();
    assert!(circuit.try_start(&settings(LONG)).is_ok());
    fail(&circuit, 5);
    assert!(circuit.try_start(&settings(LONG)).is_ok());
}

#[test]
fn after_the_pause_one_start_is_tried_and_not_all_that_wait() {
    let circuit = FailingAgents::default().circuit_of(&command("a", "a", "/"));
    fail(&circuit, 6);
    // The pause is over.
    assert!(circuit.try_start(&settings(Duration::ZERO)).is_ok());
    for _ in 0..3 {
        assert!(circuit.try_start(&settings(LONG)).is_err());
    }
}

#[test]
fn failures_of_long_ago_do_not_count() {
    let circuit = FailingAgents::default().circuit_of(&command("a", "a", "/"));
    fail(&circuit, 6);
    let settings = SessionSettings { restart_window: Duration::ZERO, ..settings(LONG) };
    assert!(circuit.try_start(&settings).is_ok());
}

#[test]
fn a_program_that_is_another_one_in_each_directory_fails_in_each_alone() {
    let agents = FailingAgents::default();
    fail(&agents.circuit_of(&command("a", "./a", "/here")), 6);
    let is_refused =
        |cwd| agents.circuit_of(&command("a", "./a", cwd)).try_start(&settings(LONG)).is_err();
    assert!(is_refused("/here"));
    assert!(!is_refused("/there"));
}

#[test]
fn what_is_remembered_is_bounded() {
    let agents = FailingAgents::default();
    for n in 0..2 * MAX_AGENTS {
        let circuit = agents.circuit_of(&command(&n.to_string(), "a", "/"));
        fail(&circuit, 20);
        circuit.failed("é".repeat(MAX_ERROR_BYTES), 5);
    }
    let agents = lock(&agents.0);
    assert_eq!(agents.len(), MAX_AGENTS);
    for agent in &*agents {
        assert!(agent.failures.len() <= 6 && agent.last_error.len() <= MAX_ERROR_BYTES);
    }
    assert!(agents.iter().any(|agent| agent.command.name == (2 * MAX_AGENTS - 1).to_string()));
    assert!(agents.iter().all(|agent| agent.command.name != "0"));
}
