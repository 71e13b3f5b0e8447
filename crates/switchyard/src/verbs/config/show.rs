//! `switchyard config show`: what is in effect, in the form of the file. Keys are never shown.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use store::Durability;
use toml::Value;

use crate::cli::serve::ServeArgs;
use crate::config::Config;
use crate::logging::LogTable;
use crate::terminal::format::word;

type Members = Vec<(&'static str, Value)>;

/// What is in effect, in the form of the file.
pub(crate) fn show(config: &Config) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for (name, members) in settings(config) {
        show_members(&mut text, name, members);
    }
    if let Some(webhook) = &config.file.webhook {
        let _ = write!(text, "\n{}", webhook.shown());
    }
    show_members(&mut text, "log", log(&config.file.log));
    for (name, defaults) in as_written(config) {
        let mut table: toml::Table =
            defaults.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let written = config.written.as_ref().and_then(|written| written.get(name));
        if let Some(Value::Table(written)) = written {
            table.extend(written.clone());
        }
        if !table.is_empty() {
            show_table(&mut text, name, &table);
        }
    }
    text.trim_start().to_owned()
}

fn show_members(text: &mut String, name: &str, members: Members) {
    let _ = writeln!(text, "\n[{name}]");
    for (key, value) in &members {
        show_member(text, key, value);
    }
}

fn text_of(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}

fn time(time: Duration) -> Value {
    format!("{}ms", time.as_millis()).into()
}

fn number(n: u64) -> Value {
    i64::try_from(n).unwrap_or(i64::MAX).into()
}

fn count(n: usize) -> Value {
    number(n as u64)
}

fn log(table: &LogTable) -> Members {
    let level = table.level.as_deref().unwrap_or("info");
    let mut log = vec![("format", word(&table.format).into()), ("level", level.into())];
    log.extend(table.file.as_ref().map(|file| ("file", text_of(file))));
    let rotation = table.rotation();
    log.extend([("max_bytes", number(rotation.max_bytes)), ("keep", number(rotation.keep.into()))]);
    log
}

/// The tables of which all is shown, whether it is written or not.
fn settings(config: &Config) -> [(&'static str, Members); 5] {
    let (settings, options, pace) = (config.settings(), config.store_options(), config.pace());
    let durability = match options.durability {
        Durability::Process => "process",
        Durability::Power => "power",
    };
    let mut store = vec![
        ("durability", durability.into()),
        ("max_session_bytes", number(options.max_session_bytes)),
    ];
    store.extend(config.file.store.keep_days.map(|days| ("keep_days", number(days.into()))));
    store.extend(config.file.store.max_total_bytes.map(|n| ("max_total_bytes", number(n))));
    let limits = vec![
        ("worker_line_bytes", count(settings.worker_line_bytes)),
        ("client_line_bytes", count(settings.client_line_bytes)),
        ("queued_prompts", count(settings.max_queued_prompts)),
        ("sessions_per_token", count(settings.max_sessions_per_token)),
        ("terminals", count(settings.max_terminals)),
        ("terminal_output_bytes", count(settings.terminal_output_bytes)),
        ("restarts", count(settings.max_restarts)),
    ];
    let waits = vec![
        ("initialize", time(settings.initialize_within)),
        ("open", time(settings.open_within)),
        ("write_stall", time(settings.write_stall)),
        ("cancel_grace", time(settings.cancel_grace)),
        ("after_eof", time(settings.stop.after_eof)),
        ("after_term", time(settings.stop.after_term)),
        ("permission", time(settings.permission_within)),
        ("quiet", time(settings.quiet_after)),
        ("client_warning", time(pace.warn_after)),
        ("client_eviction", time(pace.evict_after)),
        ("heartbeat", time(pace.heartbeat)),
    ];
    let mut permissions = vec![("mode", word(&config.file.permissions.mode()).into())];
    let rules = config.file.permissions.rules.as_ref();
    permissions.extend(rules.map(|rules| ("rules", text_of(rules))));
    let workers = vec![("cgroups", config.file.workers.cgroups.into())];
    [
        ("store", store),
        ("limits", limits),
        ("waits", waits),
        ("permissions", permissions),
        ("workers", workers),
    ]
}

/// The tables that are shown as they are written, with what holds where they say nothing.
fn as_written(config: &Config) -> [(&'static str, Members); 7] {
    let serve = crate::config::serve::Serve::default().with(&ServeArgs::default());
    let serve = vec![
        ("host", serve.host.to_string().into()),
        ("drain", time(serve.drain)),
        ("worker_idle", time(serve.worker_idle)),
        ("put_aside", time(serve.put_aside)),
    ];
    let warm = sessions::pools::WarmSettings::default();
    let warm = vec![
        ("enabled", warm.is_on.into()),
        ("workers", count(warm.max_workers)),
        ("per_key", count(warm.max_per_key)),
        ("memory_bytes", number(warm.max_memory_bytes)),
        ("idle", time(warm.idle)),
        ("open_sessions", warm.opens_sessions.into()),
    ];
    let mode = config.file.permissions.chosen_mode();
    let api = config.file.open_design.with(&ServeArgs::default(), mode);
    let api = vec![
        ("permissions", word(&api.permissions).into()),
        ("inactivity", time(api.inactivity.unwrap_or_default())),
    ];
    let native = vec![("context_tools", false.into()), ("checks", Value::Array(vec![]))];
    [
        ("traces", vec![]),
        ("serve", serve),
        ("warm", warm),
        ("open_design", api),
        ("native", native),
        ("agents", vec![]),
        ("agent_servers", vec![]),
    ]
}

/// A table as it was written, without its secrets.
fn show_table(text: &mut String, name: &str, table: &toml::Table) {
    let (tables, members): (Vec<_>, Vec<_>) =
        table.iter().partition(|(_, value)| matches!(value, Value::Table(_)));
    if !members.is_empty() || tables.is_empty() {
        let _ = writeln!(text, "\n[{name}]");
    }
    for (key, value) in members {
        show_member(text, key, value);
    }
    for (key, value) in tables {
        let Value::Table(inner) = value else { continue };
        if ["env", "headers"].contains(&key.as_str()) {
            // Values may be secrets; names say enough.
            let names: Vec<&String> = inner.keys().collect();
            let _ = writeln!(text, "# {key}: {names:?}");
        } else {
            show_table(text, &format!("{name}.{}", bare(key)), inner);
        }
    }
}

fn show_member(text: &mut String, key: &str, value: &Value) {
    let _ = match key {
        "api_key" => writeln!(text, "# api_key is set"),
        "url" | "base_url" => {
            let shown = value.as_str().map(without_secrets).unwrap_or_default();
            writeln!(text, "{key} = {}", wire::Json::of(&shown).as_str())
        }
        _ => writeln!(text, "{} = {}", bare(key), written(value)),
    };
}

/// JSON's strings are TOML's as well.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => wire::Json::of(text).as_str().to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(time) => time.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(inner) => {
            let members: Vec<String> = inner
                .iter()
                .map(|(key, value)| format!("{} = {}", bare(key), written(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
    }
}

fn bare(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(is_plain) {
        true => key.to_owned(),
        false => wire::Json::of(&key).as_str().to_owned(),
    }
}

/// An address without user, password and query.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit('@').next().unwrap_or_default();
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests;
