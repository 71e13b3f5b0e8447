use super::*;
use std::time::Duration;

fn parse(text: &str) -> Result<PoolEntry, String> {
    let table = toml::from_str::<PoolTable>(text);
    table.map_err(|error| error.message().to_owned()).and_then(PoolEntry::try_from)
}

fn refused(text: &str) -> String {
    parse(&format!("name = 'p'\n{text}")).unwrap_err()
}

#[test]
fn a_name_and_a_command_are_enough() {
    let pool = parse("name = 'p'\ncommand = 'agent'").unwrap();
    assert_eq!(pool.plan, PoolPlan::fixed("p", "", 1));
    assert_eq!(pool.ladder, StopLadder::default());
    assert_eq!(pool.work, PoolProgram::Command { program: "agent".into(), args: vec![] });
    assert_eq!((pool.cwd, pool.inherit_env, pool.env.len()), (None, None, 0));
}

#[test]
fn everything_about_a_pool_can_be_set() {
    let pool = parse(
        r#"
        name = "p"
        command = "agent"
        args = ["--acp", "-x"]
        cwd = "work"
        env = { A = "1", B = "two" }
        inherit_env = ["PATH", "HOME"]
        min = 0
        max = 8
        start = "on-demand"
        restart = "on-failure"
        backoff = { initial = "1s", max = "2m", jitter_percent = 0 }
        intensity = { deaths = 9, window = "3m", cool_down = "4m" }
        drain_timeout = "5s"
        stop = { after_eof = "6s", after_term = "7s" }
        ping = { method = "ping", interval = "8s", timeout = "9s" }
        max_memory = "2GiB"
        request_timeout = "10s"
        prompt_timeout = "11m"
        max_sessions_per_worker = 12
        sharing = "one-client"
        idle_stop = "14m"
        fan_out = ["session/list", "tools/list"]
        "#,
    )
    .unwrap();
    let expected = PoolPlan {
        name: "p".into(),
        launch: "".into(),
        min: 0,
        max: 8,
        start: StartPolicy::OnDemand,
        sharing: Sharing::OneClient,
        restart: RestartPolicy::OnFailure,
        backoff: Backoff { initial: 1_000, max: 120_000, jitter_percent: 0 },
        intensity: RestartIntensity { n_deaths: 9, window: 180_000, cool_down: 240_000 },
        drain_timeout: 5_000,
        ping: Some(PingPolicy { method: "ping".into(), interval: 8_000, timeout: 9_000 }),
        max_memory_bytes: Some(2 << 30),
        request_timeout: Some(10_000),
        prompt_timeout: Some(660_000),
        max_sessions_per_worker: Some(12),
        idle_stop: Some(840_000),
        fan_out: vec!["session/list".into(), "tools/list".into()],
    };
    assert_eq!(pool.plan, expected);
    let ladder =
        StopLadder { after_eof: Duration::from_secs(6), after_term: Duration::from_secs(7) };
    assert_eq!(pool.ladder, ladder);
    let args = ["--acp", "-x"].map(str::to_owned).to_vec();
    assert_eq!(pool.work, PoolProgram::Command { program: "agent".into(), args });
    assert_eq!(pool.cwd, Some("work".into()));
    let env = [("A", "1"), ("B", "two")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(pool.env, env.into());
    assert_eq!(pool.inherit_env, Some(vec!["PATH".into(), "HOME".into()]));
}

#[test]
fn an_agent_by_name_needs_no_command() {
    let pool = parse("name = 'p'\nagent = 'claude'\npermissions = 'accept-edits'").unwrap();
    let expected = PoolProgram::Agent {
        name: "claude".into(),
        permissions: Some(PermissionMode::AcceptEdits),
    };
    assert_eq!(pool.work, expected);
}

#[test]
fn a_ping_needs_only_its_method() {
    let pool = parse("name = 'p'\ncommand = 'x'\nping = { method = 'ping' }").unwrap();
    let expected = PingPolicy { method: "ping".into(), interval: 30_000, timeout: 10_000 };
    assert_eq!(pool.plan.ping, Some(expected));
}

#[test]
fn workers_are_counted_in_one_way() {
    let size = |text: &str| {
        let pool = parse(&format!("name = 'p'\ncommand = 'x'\n{text}"))?;
        Ok::<_, String>((pool.plan.min, pool.plan.max))
    };
    assert_eq!(size("workers = 4"), Ok((4, 4)));
    assert_eq!(size("max = 4"), Ok((1, 4)));
    assert_eq!(size("min = 2\nmax = 4"), Ok((2, 4)));
    assert_eq!(size("min = 2").unwrap_err(), "pool `p`: `min` without `max`; give both");
    for text in ["workers = 1\nmax = 2", "workers = 1\nmin = 1", "workers = 1\nmin = 1\nmax = 1"] {
        let why = size(text).unwrap_err();
        assert_eq!(why, "pool `p`: give either `workers`, or `min` and `max`");
    }
    assert!(size("workers = -1").is_err());
    assert!(size("workers = '2'").is_err());
}

#[test]
fn relative_paths_are_below_the_file_but_names_are_not_paths() {
    let below = |command: &str| {
        let pool = parse(&format!("name = 'p'\ncommand = '{command}'\ncwd = 'work'")).unwrap();
        let pool = pool.below(Path::new("/etc/bus"));
        assert_eq!(pool.cwd.as_deref(), Some(Path::new("/etc/bus/work")));
        let PoolProgram::Command { program, .. } = pool.work else { panic!("it is a command") };
        program
    };
    assert_eq!(below("agent"), Path::new("agent"));
    assert_eq!(below("./agent"), Path::new("/etc/bus/./agent"));
    assert_eq!(below("bin/agent"), Path::new("/etc/bus/bin/agent"));
    assert_eq!(below("/bin/agent"), Path::new("/bin/agent"));
}

#[test]
fn what_cannot_run_is_refused_with_the_name_of_its_pool() {
    for (text, why) in [
        ("", "it has neither `command` nor `agent`, so nothing can run"),
        ("command = 'x'\nagent = 'y'", "it has both `command` and `agent`; leave one out"),
        ("command = ''", "`command` is empty"),
        ("command = \"x\\u0000\"", "a command line cannot have a NUL in it"),
        ("command = 'x'\nargs = [\"\\u0000\"]", "a command line cannot have a NUL in it"),
        ("agent = 'y'\nargs = ['z']", "`args` go with `command`; an agent by name has its own"),
        (
            "command = 'x'\npermissions = 'auto'",
            "`permissions` is for agents that Switchyard knows; `x` takes arguments of its own",
        ),
        ("command = 'x'\nenv = { '' = 'v' }", "\"\" cannot be the name of a variable"),
        ("command = 'x'\nenv = { 'A=B' = 'v' }", "\"A=B\" cannot be the name of a variable"),
        ("command = 'x'\ninherit_env = ['A=B']", "\"A=B\" cannot be the name of a variable"),
        ("command = 'x'\nenv = { A = \"\\u0000\" }", "the value of `A` has a NUL in it"),
        (
            "command = 'x'\nenv = { SWITCHYARD_HOME = '/' }",
            "`SWITCHYARD_HOME` is Switchyard's own and never reaches a worker",
        ),
    ] {
        assert_eq!(refused(text), format!("pool `p`: {why}"), "{text}");
    }
}

#[test]
fn unknown_keys_are_refused_at_every_level() {
    for text in [
        "command = 'x'\nworker = 2",
        "command = 'x'\nbackoff = { first = '1s' }",
        "command = 'x'\nintensity = { n = 1 }",
        "command = 'x'\nstop = { after = '1s' }",
        "command = 'x'\nping = { method = 'ping', every = '1s' }",
    ] {
        let why = refused(text);
        assert!(why.starts_with("unknown field `"), "{text}: {why}");
    }
    assert_eq!(refused("command = 'x'\nping = { interval = '1s' }"), "missing field `method`");
    assert_eq!(parse("command = 'x'").unwrap_err(), "missing field `name`");
}
