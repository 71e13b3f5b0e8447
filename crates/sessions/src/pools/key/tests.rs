//! Tests of `key`.

use super::*;

fn command() -> AgentCommand {
    AgentCommand {
        name: "some".into(),
        program: "/bin/some".into(),
        args: vec!["acp".into()],
        cwd: "/work".into(),
        env: bus::Environment::default(),
        is_named: true,
        quirks: AgentQuirks::default(),
    }
}

fn key_of(command: &AgentCommand) -> PoolKey {
    PoolKey::new(command, None)
}

#[test]
fn whatever_a_worker_is_started_with_is_in_its_key() {
    let base = command();
    let mut others = Vec::new();
    for change in 0..7 {
        let mut other = base.clone();
        match change {
            0 => other.name = "other".into(),
            1 => other.program = "/bin/other".into(),
            2 => other.args.push("--fast".into()),
            3 => other.cwd = "/elsewhere".into(),
            4 => drop(other.env.set.insert("TOKEN".into(), "a".into())),
            5 => drop(other.env.strip.insert("TOKEN".into())),
            _ => other.quirks.session_mode = Some("ask".into()),
        }
        others.push(key_of(&other));
    }
    others.push(PoolKey::new(&base, Some("big")));

    for (n, other) in others.iter().enumerate() {
        assert_ne!(*other, key_of(&base), "change {n}");
        assert_eq!(others.iter().filter(|another| *another == other).count(), 1, "change {n}");
    }
}

#[test]
fn the_order_of_members_makes_no_difference() {
    let (a, b) = (r#"{"a":{"x":1,"y":[1,2]},"b":2}"#, r#"{ "b":2, "a":{"y":[1,2],"x":1}}"#);
    let (a, b) = (Json::trusted(a), Json::trusted(b));
    assert!(are_same(&a, &b));
    assert!(!are_same(&a, &Json::trusted(r#"{"a":{"x":1,"y":[2,1]},"b":2}"#)));
}

#[test]
fn a_key_does_not_tell_what_variables_hold() {
    let mut command = command();
    command.env.set.insert("API_KEY".into(), "hush-hush".into());
    assert!(!format!("{:?}", key_of(&command)).contains("hush"));
}

#[test]
fn only_a_directory_without_servers_is_plain() {
    for (params, is_plain) in [
        (r#"{"cwd":"/work","mcpServers":[]}"#, true),
        (r#"{"mcpServers":[],"cwd":"/work"}"#, true),
        (r#"{"cwd":"/work"}"#, false),
        (r#"{"cwd":"/work","mcpServers":[{"name":"x"}]}"#, false),
        (r#"{"cwd":"/work","mcpServers":[],"_meta":{}}"#, false),
        ("[]", false),
    ] {
        assert_eq!(are_plain(&Json::trusted(params)), is_plain, "{params}");
    }
}

#[test]
fn a_program_that_depends_on_the_directory_is_not_shared() {
    let mut command = command();
    command.quirks.shares_worker = true;
    for (program, may) in [("/bin/some", true), ("some", true), ("./some", false)] {
        command.program = program.into();
        assert_eq!(can_be_shared(&command), may, "{program}");
    }
    command.quirks.shares_worker = false;
    command.program = "some".into();
    assert!(!can_be_shared(&command));
}
