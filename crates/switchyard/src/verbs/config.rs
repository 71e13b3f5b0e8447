//! `switchyard config …`: where the configuration is, what it says, and whether it can be used.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;
use toml::Value;

use crate::agents::{self, native};
use crate::cli::ConfigVerb;
use crate::cli::serve::ServeArgs;
use crate::config::serve::{ServeConfig, WarmConfig};
use crate::config::{Config, ConfigFile, ConfigWait};
use crate::daemon::serve::check_webhook;
use crate::home::Home;
use crate::outcome::Failure;
use crate::terminal::format::members;
use crate::terminal::output::print;

pub(crate) fn dispatch(verb: &ConfigVerb, config: &Config) -> Result<ExitCode, Failure> {
    let text = match verb {
        ConfigVerb::Path => {
            let Home { config, state, run } = &config.home;
            format!(
                "configuration  {}\nlog            {}\nrun            {}\n",
                config.display(),
                state.join("switchyard.db").display(),
                run.display()
            )
        }
        ConfigVerb::Show => show(config),
        ConfigVerb::Check => {
            if let Some(file) = config.rules_file() {
                file.load().map_err(anyhow::Error::from)?;
            }
            check_webhook(config)?;
            agents::catalogue(config)?;
            native::check(config)?;
            match config.home.config.exists() {
                true => format!("{} is fine\n", config.home.config.display()),
                false => {
                    format!("{} does not exist; defaults apply\n", config.home.config.display())
                }
            }
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The settings in effect, in the form of the file. Keys are never shown.
fn show(config: &Config) -> String {
    let ConfigFile { store, limits, waits, permissions, workers, webhook, log, .. } = &config.file;
    let mut text = String::new();
    show_members(&mut text, "store", store);
    show_members(&mut text, "limits", limits);
    show_members(&mut text, "waits", waits);
    let permissions = json!({ "mode": permissions.mode(), "rules": permissions.rules });
    show_members(&mut text, "permissions", &permissions);
    show_members(&mut text, "workers", workers);
    if let Some(webhook) = webhook {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{}", webhook.shown());
    }
    let rotation = log.rotation();
    let log = json!({
        "format": log.format,
        "level": log.level.as_deref().unwrap_or("info"),
        "file": log.file,
        "max_bytes": rotation.max_bytes,
        "keep": rotation.keep,
    });
    show_members(&mut text, "log", &log);
    for (name, defaults) in as_written(config) {
        let mut table = toml::Table::try_from(defaults).unwrap_or_default();
        let written = config.raw_tables.as_ref().and_then(|written| written.get(name));
        if let Some(Value::Table(written)) = written {
            table.extend(written.clone());
        }
        if !table.is_empty() {
            show_table(&mut text, name, &table);
        }
    }
    text.trim_start().to_owned()
}

/// All of a table, whether it is written or not.
fn show_members(text: &mut String, name: &str, table: &impl Serialize) {
    let _ = writeln!(text, "\n[{name}]");
    for (key, value) in members(table) {
        // What nobody has set, and has no default, cannot be said in TOML.
        if let Ok(value) = Value::try_from(value) {
            show_member(text, &key, &value);
        }
    }
}

/// The tables that are shown as they are written, with what holds where they say nothing.
fn as_written(config: &Config) -> [(&'static str, serde_json::Value); 7] {
    let args = ServeArgs::default();
    let ServeConfig { host, drain, worker_idle, put_aside, .. } = ServeConfig::default();
    let serve = json!({
        "host": host, "drain": drain, "worker_idle": worker_idle, "put_aside": put_aside,
    });
    let api = config.file.open_design.with(&args, config.file.permissions.mode);
    let inactivity = ConfigWait(api.inactivity.unwrap_or_default());
    [
        ("traces", json!({})),
        ("serve", serve),
        ("warm", json!(WarmConfig::default())),
        ("open_design", json!({ "permissions": api.permissions, "inactivity": inactivity })),
        ("native", json!({ "context_tools": false, "checks": [] })),
        ("agents", json!({})),
        ("agent_servers", json!({})),
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
        Value::Float(number) => format!("{number:?}"),
        Value::Integer(number) => number.to_string(),
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
