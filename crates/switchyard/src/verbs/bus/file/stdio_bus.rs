//! A stdio Bus configuration, so that its users can change over without rewriting it.
//!
//! In: `{"pools": [{"id", "command", "args", "instances"}], "limits": {…}, "transport": {…}}`.
//! Out: a [`BusFile`]. What is left out has the default of stdio Bus where that is a matter of
//! behaviour, and ours where it is only a size, since those were the larger ones anyway. Keys
//! that stdio Bus would have ignored are warned about, but `env` and `cwd` of a pool are used:
//! who wrote them meant them.

use std::collections::BTreeMap;
use std::time::Duration;

use bus::switch::RestartPolicy;
use serde_json::{Map, Value};

use super::{BusFile, BusFileFormat, BusFileProblem};
use crate::verbs::bus::limits_table::{LimitsTable, QueueLimit};
use crate::verbs::bus::pool_table::{IntensityTable, PoolEntry, PoolTable};
use crate::verbs::bus::units::{BusWait, ByteSize, WaitOrNever};

const MAX_RESTARTS: u64 = 5;
const RESTART_WINDOW_SEC: u64 = 60;
const DRAIN_TIMEOUT_SEC: u64 = 30;
const BACKPRESSURE_TIMEOUT_SEC: u64 = 60;

type Object = Map<String, Value>;

pub(super) fn parse(text: &str) -> Result<BusFile, BusFileProblem> {
    let root: Value =
        serde_json::from_str(text).map_err(|error| BusFileProblem::of_json(&error))?;
    let root = object(&root, "the configuration")?;
    let mut warnings = Vec::new();
    warn_unknown(root, &["pools", "limits", "transport"], "", &mut warnings);
    let given = StdioBusLimits::read(root, &mut warnings)?;
    read_transport(root, &mut warnings)?;
    let pools = match root.get("pools") {
        Some(Value::Array(pools)) => pools.as_slice(),
        Some(_) => return Err(BusFileProblem::new("`pools` is no list")),
        None => &[],
    };
    let mut entries: Vec<PoolEntry> = Vec::new();
    for (n, pool) in pools.iter().enumerate() {
        let entry = read_pool(pool, n, &given, &mut warnings)?;
        if entries.iter().any(|other| other.name() == entry.name()) {
            return Err(BusFileProblem::new(format!("pool `{}` is there twice", entry.name()))
                .hint("stdio Bus took both; give each pool an id of its own"));
        }
        entries.push(entry);
    }
    let table = LimitsTable {
        max_client_line: given.max_input_buffer,
        max_worker_line: given.max_input_buffer,
        client_queue: given.max_output_queue.map(QueueLimit::Limit),
        slow_client_after: Some(WaitOrNever(Some(given.backpressure_timeout))),
        ..LimitsTable::default()
    };
    let (limits, edges) = table.settle();
    Ok(BusFile {
        form: BusFileFormat::StdioBus,
        pools: entries,
        limits,
        edges,
        listeners: Vec::new(),
        token_file: None,
        warnings,
    })
}

/// The `limits` of a stdio Bus configuration.
struct StdioBusLimits {
    max_input_buffer: Option<ByteSize>,
    max_output_queue: Option<ByteSize>,
    max_restarts: u32,
    restart_window: BusWait,
    drain_timeout: BusWait,
    backpressure_timeout: BusWait,
}

impl StdioBusLimits {
    fn read(root: &Object, warnings: &mut Vec<String>) -> Result<Self, BusFileProblem> {
        const KEYS: [&str; 6] = [
            "max_input_buffer",
            "max_output_queue",
            "max_restarts",
            "restart_window_sec",
            "drain_timeout_sec",
            "backpressure_timeout_sec",
        ];
        let empty = Object::new();
        let limits = match root.get("limits") {
            Some(limits) => object(limits, "`limits`")?,
            None => &empty,
        };
        warn_unknown(limits, &KEYS, "limits.", warnings);
        let number = |key: &str, least: u64| match limits.get(key) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|number| *number >= least) {
                Some(number) => Ok(Some(number)),
                None => Err(BusFileProblem::new(format!(
                    "`limits.{key}` is {}, but must be a whole number of {least} or more",
                    brief(value)
                ))),
            },
        };
        let seconds = |key: &str, least: u64, usual: u64| {
            number(key, least).map(|n| BusWait(Duration::from_secs(n.unwrap_or(usual))))
        };
        let max_restarts = number("max_restarts", 0)?.unwrap_or(MAX_RESTARTS);
        Ok(Self {
            max_input_buffer: number("max_input_buffer", 1)?.map(ByteSize),
            max_output_queue: number("max_output_queue", 1)?.map(ByteSize),
            max_restarts: u32::try_from(max_restarts).unwrap_or(u32::MAX),
            restart_window: seconds("restart_window_sec", 1, RESTART_WINDOW_SEC)?,
            drain_timeout: seconds("drain_timeout_sec", 0, DRAIN_TIMEOUT_SEC)?,
            // At zero every client that is a moment behind would be closed.
            backpressure_timeout: seconds("backpressure_timeout_sec", 1, BACKPRESSURE_TIMEOUT_SEC)?,
        })
    }
}

fn read_pool(
    value: &Value,
    n: usize,
    given: &StdioBusLimits,
    warnings: &mut Vec<String>,
) -> Result<PoolEntry, BusFileProblem> {
    let unnamed = format!("`pools[{n}]`");
    let pool = object(value, &unnamed)?;
    let id = required(pool, "id", &unnamed)?;
    let of_pool = format!("pool `{id}`");
    let known = ["id", "command", "args", "instances", "env", "cwd"];
    warn_unknown(pool, &known, &format!("{of_pool}: "), warnings);
    for key in ["env", "cwd"] {
        if pool.contains_key(key) {
            warnings.push(format!("{of_pool}: `{key}` is used; stdio Bus ignored it"));
        }
    }
    let instances = pool.get("instances").and_then(Value::as_u64).unwrap_or_default();
    let Some(workers) = u32::try_from(instances).ok().filter(|n| *n > 0) else {
        return Err(BusFileProblem::new(format!("{of_pool}: `instances` must be 1 or more")));
    };
    let table = PoolTable {
        name: id.to_owned(),
        command: Some(required(pool, "command", &of_pool)?.to_owned()),
        args: strings(pool.get("args"), &format!("{of_pool}: `args`"))?,
        cwd: match pool.get("cwd") {
            Some(_) => Some(required(pool, "cwd", &of_pool)?.into()),
            None => None,
        },
        env: read_env(pool.get("env"), &of_pool)?,
        workers: Some(workers),
        // Stdio Bus never restarted a worker that ended well; here one is started on demand.
        restart: Some(RestartPolicy::OnFailure),
        intensity: IntensityTable {
            deaths: Some(given.max_restarts),
            window: Some(given.restart_window),
            ..IntensityTable::default()
        },
        drain_timeout: Some(given.drain_timeout),
        ..PoolTable::default()
    };
    PoolEntry::try_from(table).map_err(BusFileProblem::new)
}

fn read_env(
    value: Option<&Value>,
    of_pool: &str,
) -> Result<BTreeMap<String, String>, BusFileProblem> {
    let Some(value) = value else { return Ok(BTreeMap::new()) };
    let mut env = BTreeMap::new();
    for (name, value) in object(value, &format!("{of_pool}: `env`"))? {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(BusFileProblem::new(format!("{of_pool}: `env.{name}` is no text")));
            }
        };
        env.insert(name.clone(), text);
    }
    Ok(env)
}

fn read_transport(root: &Object, warnings: &mut Vec<String>) -> Result<(), BusFileProblem> {
    let Some(transport) = root.get("transport") else { return Ok(()) };
    let transport = object(transport, "`transport`")?;
    warn_unknown(transport, &["mode", "framing", "protocol", "options"], "transport.", warnings);
    let word = |key: &str| transport.get(key).map(brief);
    match word("mode").as_deref() {
        None | Some("stdio") => {}
        Some(mode @ ("tcp" | "unix")) => warnings.push(format!(
            "`transport.mode` is {mode}; where to listen is said on the command line, with --{mode}"
        )),
        Some(mode) => {
            return Err(BusFileProblem::new(format!(
                "`transport.mode` is {mode}, which is not offered"
            ))
            .hint("remove `transport` and use a unix socket: --unix PATH"));
        }
    }
    for (key, offered, hint) in [
        ("framing", "ndjson", "remove it, and send one JSON message a line (ndjson)"),
        ("protocol", "json", "remove it, and send JSON-RPC as JSON"),
    ] {
        if let Some(asked) = word(key).filter(|asked| asked != offered) {
            let why = format!("`transport.{key}` is {asked}, which is not offered");
            return Err(BusFileProblem::new(why).hint(hint));
        }
    }
    if transport.contains_key("options") {
        warnings.push("`transport.options` is ignored: it is for shm and mqueue alone".to_owned());
    }
    Ok(())
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Object, BusFileProblem> {
    value.as_object().ok_or_else(|| BusFileProblem::new(format!("{what} is no object")))
}

fn required<'a>(object: &'a Object, key: &str, of: &str) -> Result<&'a str, BusFileProblem> {
    match object.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(value) => {
            Err(BusFileProblem::new(format!("{of}: `{key}` is {}, but must be text", brief(value))))
        }
        None => Err(BusFileProblem::new(format!("{of} has no `{key}`"))),
    }
}

fn strings(value: Option<&Value>, what: &str) -> Result<Vec<String>, BusFileProblem> {
    let no_list = || BusFileProblem::new(format!("{what} must be a list of texts"));
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(no_list)).collect()
        }
        Some(_) => Err(no_list()),
    }
}

fn warn_unknown(object: &Object, known: &[&str], of: &str, warnings: &mut Vec<String>) {
    for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
        warnings.push(match of.ends_with(' ') {
            true => format!("{of}`{key}` is not known and is ignored"),
            false => format!("`{of}{key}` is not known and is ignored"),
        });
    }
}

/// A value in a message: short, and text without quotes.
fn brief(value: &Value) -> String {
    const MAX_CHARS: usize = 40;
    let text = match value {
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
