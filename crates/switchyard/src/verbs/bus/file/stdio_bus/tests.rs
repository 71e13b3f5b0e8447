use super::*;
use crate::verbs::bus::pool_table::PoolProgram;
use crate::verbs::bus::setup::problems;
use bus::IoLimits;
use bus::switch::{PoolPlan, QueueMarks, RestartIntensity, RestartPolicy, SwitchLimits};
use proptest::prelude::*;
use serde_json::json;

fn read(value: Value) -> Result<BusFile, String> {
    parse(&value.to_string()).map_err(|wrong| match wrong.hint {
        Some(hint) => format!("{}; {hint}", wrong.message),
        None => wrong.message,
    })
}

fn pool(more: Value) -> Value {
    let mut pool = json!({"id": "p", "command": "node", "instances": 2});
    for (key, value) in more.as_object().unwrap() {
        pool[key] = value.clone();
    }
    json!({"pools": [pool]})
}

fn refused(value: Value) -> String {
    read(value).unwrap_err()
}

#[test]
fn pools_and_limits_are_taken_over() {
    let file = read(json!({
        "pools": [
            {"id": "a", "command": "node", "args": ["worker.js", "-v"], "instances": 4},
            {"id": "b", "command": "./b", "instances": 1},
        ],
        "limits": {
            "max_input_buffer": 1_048_576,
            "max_output_queue": 4_194_304,
            "max_restarts": 7,
            "restart_window_sec": 90,
            "drain_timeout_sec": 11,
            "backpressure_timeout_sec": 12,
        },
    }))
    .unwrap();

    assert_eq!(file.form, BusFileFormat::StdioBus);
    let args = ["worker.js", "-v"].map(str::to_owned).to_vec();
    assert_eq!(file.pools[0].work, PoolProgram::Command { program: "node".into(), args });
    let usual = PoolPlan::fixed("a", "", 4);
    let expected = PoolPlan {
        restart: RestartPolicy::OnFailure,
        intensity: RestartIntensity { n_deaths: 7, window: 90_000, ..usual.intensity },
        drain_timeout: 11_000,
        ..usual
    };
    assert_eq!(file.pools[0].plan, expected);
    assert_eq!(file.pools[1].name(), "b");

    let expected = SwitchLimits {
        client_queue: QueueMarks { low: 512 << 10, high: 2 << 20, full: 4 << 20 },
        slow_client_after: Some(12_000),
        ..SwitchLimits::default()
    };
    assert_eq!(file.limits, expected);
    let expected = IoLimits {
        max_client_line_bytes: 1 << 20,
        max_worker_line_bytes: 1 << 20,
        ..IoLimits::default()
    };
    assert_eq!(file.edges, expected);
    assert!(file.warnings.is_empty() && problems(&file).is_empty());
}

#[test]
fn what_is_left_out_has_its_documented_default() {
    let file = read(pool(json!({}))).unwrap();
    let plan = &file.pools[0].plan;
    assert_eq!((plan.intensity.n_deaths, plan.intensity.window), (5, 60_000));
    assert_eq!(plan.drain_timeout, 30_000);
    assert_eq!(
        file.limits,
        SwitchLimits { slow_client_after: Some(60_000), ..SwitchLimits::default() }
    );
    assert_eq!(file.edges, IoLimits::default());
}

#[test]
fn env_and_cwd_are_used_and_that_is_said() {
    let file =
        read(pool(json!({"env": {"KEY": "v", "PORT": 80, "ON": true}, "cwd": "work"}))).unwrap();
    let expected = [("KEY", "v"), ("ON", "true"), ("PORT", "80")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(file.pools[0].env, expected.into());
    assert_eq!(file.pools[0].cwd, Some("work".into()));
    let expected = [
        "pool `p`: `env` is used; stdio Bus ignored it",
        "pool `p`: `cwd` is used; stdio Bus ignored it",
    ];
    assert_eq!(file.warnings, expected);
}

#[test]
fn unknown_keys_are_warned_about() {
    let mut file = pool(json!({"user": "me"}));
    file["version"] = json!(1);
    file["limits"] = json!({"max_sessions": 3});
    file["transport"] = json!({"tls": true, "options": {"shm_size": 1}});
    let expected = [
        "`version` is not known and is ignored",
        "`limits.max_sessions` is not known and is ignored",
        "`transport.tls` is not known and is ignored",
        "`transport.options` is ignored: it is for shm and mqueue alone",
        "pool `p`: `user` is not known and is ignored",
    ];
    assert_eq!(read(file).unwrap().warnings, expected);
}

#[test]
fn a_transport_that_is_offered_is_said_on_the_command_line() {
    let with = |transport: Value| {
        let mut file = pool(json!({}));
        file["transport"] = transport;
        read(file)
    };
    let plain = json!({"mode": "stdio", "framing": "ndjson", "protocol": "json"});
    assert!(with(plain).unwrap().warnings.is_empty());
    let expected =
        "`transport.mode` is tcp; where to listen is said on the command line, with --tcp";
    assert_eq!(with(json!({"mode": "tcp"})).unwrap().warnings, [expected]);

    let not_offered = |transport| with(transport).unwrap_err();
    for mode in ["shm", "mqueue", "carrier pigeon"] {
        let expected = format!(
            "`transport.mode` is {mode}, which is not offered; remove `transport` and use a unix \
             socket: --unix PATH"
        );
        assert_eq!(not_offered(json!({"mode": mode})), expected);
    }
    for framing in ["length", "raw", "capnp"] {
        let expected = format!(
            "`transport.framing` is {framing}, which is not offered; remove it, and send one JSON \
             message a line (ndjson)"
        );
        assert_eq!(not_offered(json!({"framing": framing})), expected);
    }
    assert_eq!(
        not_offered(json!({"protocol": "binary"})),
        "`transport.protocol` is binary, which is not offered; remove it, and send JSON-RPC as JSON"
    );
}

#[test]
fn what_is_wrong_is_named() {
    let two = json!({"pools": [
        {"id": "p", "command": "a", "instances": 1},
        {"id": "p", "command": "b", "instances": 1},
    ]});
    let limits = |limits: Value| {
        let mut file = pool(json!({}));
        file["limits"] = limits;
        file
    };
    for (file, why) in [
        (json!([]), "the configuration is no object"),
        (json!({"pools": {}}), "`pools` is no list"),
        (json!({"pools": [1]}), "`pools[0]` is no object"),
        (json!({"pools": [{"command": "x", "instances": 1}]}), "`pools[0]` has no `id`"),
        (pool(json!({"id": ""})), "`pools[0]`: `id` is empty, but must be text"),
        (pool(json!({"command": null})), "pool `p`: `command` is null, but must be text"),
        (json!({"pools": [{"id": "p", "instances": 1}]}), "pool `p` has no `command`"),
        (pool(json!({"instances": 0})), "pool `p`: `instances` must be 1 or more"),
        (pool(json!({"instances": -1})), "pool `p`: `instances` must be 1 or more"),
        (pool(json!({"instances": "4"})), "pool `p`: `instances` must be 1 or more"),
        (pool(json!({"args": "-v"})), "pool `p`: `args` must be a list of texts"),
        (pool(json!({"args": [1]})), "pool `p`: `args` must be a list of texts"),
        (pool(json!({"cwd": 1})), "pool `p`: `cwd` is 1, but must be text"),
        (pool(json!({"env": []})), "pool `p`: `env` is no object"),
        (pool(json!({"env": {"A": null}})), "pool `p`: `env.A` is no text"),
        (
            pool(json!({"env": {"SWITCHYARD_X": "1"}})),
            "pool `p`: `SWITCHYARD_X` is Switchyard's own and never reaches a worker",
        ),
        (two, "pool `p` is there twice; stdio Bus took both; give each pool an id of its own"),
        (limits(json!(1)), "`limits` is no object"),
        (
            limits(json!({"max_restarts": -1})),
            "`limits.max_restarts` is -1, but must be a whole number of 0 or more",
        ),
        (
            limits(json!({"max_input_buffer": "1MB"})),
            "`limits.max_input_buffer` is 1MB, but must be a whole number of 1 or more",
        ),
        (
            limits(json!({"backpressure_timeout_sec": 0})),
            "`limits.backpressure_timeout_sec` is 0, but must be a whole number of 1 or more",
        ),
        (
            limits(json!({"drain_timeout_sec": "x".repeat(100)})),
            &format!(
                "`limits.drain_timeout_sec` is {}…, but must be a whole number of 0 or more",
                "x".repeat(40)
            ),
        ),
    ] {
        assert_eq!(refused(file.clone()), why, "{file}");
    }
}

#[test]
fn bad_json_is_told_with_its_place() {
    let wrong = parse("{\n  \"pools\": [,]\n}").unwrap_err();
    assert_eq!((wrong.at, wrong.message.as_str()), (Some((2, 13)), "expected value"));
}

#[test]
fn a_file_without_pools_is_read_so_that_it_can_be_said() {
    let file = read(json!({})).unwrap();
    assert_eq!(problems(&file).len(), 1);
}

#[test]
fn the_largest_numbers_do_no_harm() {
    let mut file = pool(json!({"instances": u32::MAX}));
    let most = u64::MAX;
    file["limits"] = json!({
        "max_input_buffer": most, "max_output_queue": most, "max_restarts": most,
        "restart_window_sec": most, "drain_timeout_sec": most, "backpressure_timeout_sec": most,
    });
    let file = read(file).unwrap();
    assert_eq!(file.pools[0].plan.intensity.n_deaths, u32::MAX);
    assert_eq!(file.pools[0].plan.drain_timeout, u64::MAX);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        Just("pools"),
        Just("limits"),
        Just("transport"),
        Just("id"),
        Just("command"),
        Just("args"),
        Just("instances"),
        Just("env"),
        Just("cwd"),
        Just("mode"),
        Just("framing"),
        Just("max_restarts"),
        Just("drain_timeout_sec"),
        Just("x"),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|members| {
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(value in any_value(), limits in any_value()) {
        let _ = read(value.clone());
        let _ = read(json!({"pools": [value], "limits": limits}));
    }
}
