//! `switchyard config show`: what is in effect, in the form of the file. Keys are never shown.

use std::time::Duration;

use runtimes::catalogue::Own;
use store::Durability;

use crate::cli_serve::ServeArgs;
use crate::config::Config;

/// What is in effect, in the form of the file.
pub(crate) fn show(config: &Config) -> String {
    use std::fmt::Write;
    let (settings, options) = (config.settings(), config.store_options());
    let pace = config.pace();
    let wait = |duration: Duration| format!("\"{}ms\"", duration.as_millis());
    let mut text = format!(
        "[store]\ndurability = \"{}\"\nmax_session_bytes = {}\n",
        match options.durability {
            Durability::Process => "process",
            Durability::Power => "power",
        },
        options.max_session_bytes,
    );
    let store = &config.file.store;
    // Writing to a String cannot fail.
    if let Some(days) = store.keep_days {
        let _ = writeln!(text, "keep_days = {days}");
    }
    if let Some(bytes) = store.max_total_bytes {
        let _ = writeln!(text, "max_total_bytes = {bytes}");
    }
    let _ = writeln!(
        text,
        "\n[limits]\nworker_line_bytes = {}\nclient_line_bytes = {}\nqueued_prompts = {}\n\
         sessions_per_token = {}\nterminals = {}\nterminal_output_bytes = {}\nrestarts = {}",
        settings.worker_line_bytes,
        settings.client_line_bytes,
        settings.max_queued_prompts,
        settings.max_sessions_per_token,
        settings.max_terminals,
        settings.terminal_output_bytes,
        settings.max_restarts,
    );
    let _ = writeln!(
        text,
        "\n[waits]\ninitialize = {}\nopen = {}\nwrite_stall = {}\ncancel_grace = {}\n\
         after_eof = {}\nafter_term = {}\npermission = {}\nquiet = {}\n\
         client_warning = {}\nclient_eviction = {}\nheartbeat = {}",
        wait(settings.initialize_within),
        wait(settings.open_within),
        wait(settings.write_stall),
        wait(settings.cancel_grace),
        wait(settings.stop.after_eof),
        wait(settings.stop.after_term),
        wait(settings.permission_within),
        wait(settings.quiet_after),
        wait(pace.warn_after),
        wait(pace.evict_after),
        wait(pace.heartbeat),
    );
    let mode = wire::Json::of(&config.file.permissions.mode());
    let _ = writeln!(text, "\n[permissions]\nmode = {}", mode.as_str());
    if let Some(rules) = &config.file.permissions.rules {
        let _ = writeln!(text, "rules = {}", wire::Json::of(rules).as_str());
    }
    let _ = writeln!(text, "\n[workers]\ncgroups = {}", config.file.workers.cgroups);
    if let Some(webhook) = &config.file.webhook {
        let _ = write!(text, "\n{}", webhook.shown());
    }
    text.push_str(&config.file.log.show());
    text.push_str(&config.file.traces.show());
    for (name, mut table) in defaults(config) {
        let written = config.written.as_ref().and_then(|written| written.get(name));
        if let Some(toml::Value::Table(written)) = written {
            table.extend(written.clone());
        }
        show_table(&mut text, name, &table);
    }
    for (table, agents) in
        [("agents", &config.file.agents), ("agent_servers", &config.file.agent_servers)]
    {
        for (name, own) in agents {
            show_agent(&mut text, table, name, own);
        }
    }
    text
}

/// What holds of the tables that are shown as they are written, where they say nothing.
fn defaults(config: &Config) -> [(&'static str, toml::Table); 4] {
    let table = |members: Vec<(&str, toml::Value)>| {
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<toml::Table>()
    };
    let time = |time: Duration| toml::Value::from(format!("{}ms", time.as_millis()));
    let number = |n: u64| toml::Value::from(i64::try_from(n).unwrap_or(i64::MAX));
    let serve = crate::config_serve::Serve::default().with(&ServeArgs::default());
    let serve = table(vec![
        ("host", serve.host.to_string().into()),
        ("drain", time(serve.drain)),
        ("worker_idle", time(serve.worker_idle)),
        ("put_aside", time(serve.put_aside)),
    ]);
    let warm = sessions::pools::WarmSettings::default();
    let warm = table(vec![
        ("enabled", warm.is_on.into()),
        ("workers", number(warm.max_workers as u64)),
        ("per_key", number(warm.max_per_key as u64)),
        ("memory_bytes", number(warm.max_memory_bytes)),
        ("idle", time(warm.idle)),
        ("open_sessions", warm.opens_sessions.into()),
    ]);
    let mode = config.file.permissions.chosen_mode();
    let api = config.file.open_design.with(&ServeArgs::default(), mode);
    let api = table(vec![
        (
            "permissions",
            wire::Json::of(&api.permissions).read::<String>().unwrap_or_default().into(),
        ),
        ("inactivity", time(api.inactivity.unwrap_or_default())),
    ]);
    let native =
        table(vec![("context_tools", false.into()), ("checks", toml::Value::Array(vec![]))]);
    [("serve", serve), ("warm", warm), ("open_design", api), ("native", native)]
}

/// JSON strings, lists and keys are TOML as well.
fn show_agent(text: &mut String, table: &str, name: &str, own: &Own) {
    use std::fmt::Write;
    let _ = writeln!(text, "\n[{table}.{}]", wire::Json::of(&name).as_str());
    let members = [
        ("base", &own.base),
        ("name", &own.name),
        ("command", &own.command),
        ("default_model", &own.default_model),
        ("dialect", &own.dialect),
    ];
    for (member, value) in members {
        if let Some(value) = value {
            let _ = writeln!(text, "{member} = {}", wire::Json::of(value).as_str());
        }
    }
    if !own.args.is_empty() {
        let _ = writeln!(text, "args = {}", wire::Json::of(&own.args).as_str());
    }
    if !own.env.is_empty() {
        // Values may be secrets; names say enough.
        let names: Vec<&String> = own.env.keys().collect();
        let _ = writeln!(text, "# env: {names:?}");
    }
}

/// A table as it was written, without its secrets.
fn show_table(text: &mut String, name: &str, table: &toml::Table) {
    use std::fmt::Write;
    let (tables, members): (Vec<_>, Vec<_>) =
        table.iter().partition(|(_, value)| matches!(value, toml::Value::Table(_)));
    if !members.is_empty() || tables.is_empty() {
        let _ = writeln!(text, "\n[{name}]");
    }
    for (key, value) in members {
        match key.as_str() {
            "api_key" => text.push_str("# api_key is set\n"),
            "url" | "base_url" => {
                let shown = value.as_str().map(without_secrets).unwrap_or_default();
                let _ = writeln!(text, "{key} = {}", wire::Json::of(&shown).as_str());
            }
            _ => _ = writeln!(text, "{} = {}", bare(key), written(value)),
        }
    }
    for (key, value) in tables {
        let toml::Value::Table(inner) = value else { continue };
        if ["env", "headers"].contains(&key.as_str()) {
            // Values may be secrets; names say enough.
            let names: Vec<&String> = inner.keys().collect();
            let _ = writeln!(text, "# {key}: {names:?}");
        } else {
            show_table(text, &format!("{name}.{}", bare(key)), inner);
        }
    }
}

/// JSON's strings are TOML's as well.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => wire::Json::of(text).as_str().to_owned(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => format!("{number:?}"),
        toml::Value::Boolean(flag) => flag.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        toml::Value::Table(inner) => {
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
