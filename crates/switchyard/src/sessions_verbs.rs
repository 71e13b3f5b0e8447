//! `switchyard sessions …` and `switchyard cancel`.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use projection::{command_line, sanitize_line};
use serde_json::{Value, json};
use sessions::details::Details;
use sessions::mint;
use store::{EventLog, Filter, Prune, SessionRecord, StoreError};
use wire::{Millis, Seq};

use crate::cli::{Format, SessionsVerb};
use crate::config::Config;
use crate::follow::{Questions, follow, is_broken_pipe, show_all};
use crate::format::{self, Formatter, TextOptions};
use crate::outcome::Failure;
use crate::spinner::Spinner;
use crate::worker::require_a_person;
use crate::{control, terminal, world};

pub(crate) async fn dispatch(verb: SessionsVerb, config: Config) -> Result<ExitCode, Failure> {
    if matches!(verb, SessionsVerb::Delete { .. } | SessionsVerb::Prune { .. }) {
        require_a_person("what sessions have said and decided is for people to delete")?;
    }
    let log = world::open_log(&config)?;
    let log = &*log;
    let done = match verb {
        SessionsVerb::List { agent, cwd, limit, json } => {
            list(log, agent, cwd.as_deref(), limit, json).await
        }
        SessionsVerb::Show { session, json, all } => show(log, &session, json, all).await,
        SessionsVerb::Watch { session, after, format } => {
            watch(log, &session, Seq(after), format).await
        }
        SessionsVerb::Export { session, format, output } => {
            export(log, &session, format, output.as_deref()).await
        }
        SessionsVerb::Audit(args) => crate::audit::audit(log, &args).await,
        SessionsVerb::Delete { sessions, yes } => delete(log, &sessions, yes).await,
        SessionsVerb::Prune { older_than, keep, yes } => prune(log, older_than, keep, yes).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}

async fn list(
    log: &dyn EventLog,
    agent: Option<String>,
    cwd: Option<&Path>,
    limit: usize,
    as_json: bool,
) -> Result<(), Failure> {
    let cwd = match cwd {
        None => None,
        Some(cwd) => Some(world::working_directory(Some(cwd))?.to_string_lossy().into_owned()),
    };
    let filter = Filter { agent, cwd, limit, ..Filter::default() };
    let records = log.sessions(filter).await?;
    if as_json {
        let mut all = Vec::new();
        for record in &records {
            all.push(describe(record, status_now(log, record).await));
        }
        return print(&format!("{:#}\n", Value::Array(all)));
    }
    if records.is_empty() {
        terminal::say("no sessions yet; `switchyard run demo \"say hello\"` makes one");
        return Ok(());
    }
    let mut text = String::new();
    let now = mint::now();
    for record in &records {
        let status = status_now(log, record).await;
        let title = shown(record.title.as_deref().unwrap_or("-"));
        let line = format!(
            "{:.10}  {:<15} {:<10} {:>8}  {}\n",
            record.id.as_str(),
            for_people(status),
            shown(&record.agent),
            ago(now, record.updated),
            title
        );
        text.push_str(&line);
    }
    print(&text)
}

async fn show(log: &dyn EventLog, named: &str, as_json: bool, all: bool) -> Result<(), Failure> {
    let record = world::find_session(log, named).await?;
    if as_json {
        return print(&format!("{:#}\n", describe(&record, status_now(log, &record).await)));
    }
    let details = Details::read(&record);
    // A named agent is known by its name.
    let command = match details.is_named {
        true => String::new(),
        false => format!(" ({})", shown(&command_line(details.command.iter().map(String::as_str)))),
    };
    let text = format!(
        "session   {}\nagent     {}{}\ncwd       {}\nstatus    {}\nevents    {}\nupdated   {}\n",
        record.id,
        shown(&record.agent),
        command,
        shown(&record.cwd),
        for_people(status_now(log, &record).await),
        record.head.0,
        timestamp(record.updated),
    );
    let title = record.title.as_deref().map(|title| format!("title     {}\n", shown(title)));
    print(&format!("{text}{}\n", title.unwrap_or_default()))?;
    let options = TextOptions { show_thinking: all, verbose: all, ..reading() };
    let mut formatter = Formatter::new(Format::Text, record.id, options);
    let shown = show_all(log, record.id, record.head, &mut formatter, format::print).await;
    shown.or_else(forgive_broken_pipe)
}

async fn watch(log: &dyn EventLog, named: &str, after: Seq, format: Format) -> Result<(), Failure> {
    let record = world::find_session(log, named).await?;
    let mut formatter = Formatter::new(format, record.id, reading());
    let look = |_: &_| ControlFlow::Continue(());
    let following = follow(log, record.id, after, &mut formatter, Questions::Elsewhere, look);
    tokio::select! {
        followed = following => match followed {
            Ok(_) => Ok(()),
            Err(failure) => Err(failure),
        },
        // Being interrupted is how watching ends.
        _ = tokio::signal::ctrl_c() => Ok(()),
        () = terminal::reader_gone() => Ok(()),
    }
}

async fn export(
    log: &dyn EventLog,
    named: &str,
    format: Format,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let record = world::find_session(log, named).await?;
    let options = TextOptions { color: output.is_none() && reading().color, ..reading() };
    let mut formatter = Formatter::new(format, record.id, options);
    let Some(path) = output else {
        let written = show_all(log, record.id, record.head, &mut formatter, format::print).await;
        return written.or_else(forgive_broken_pipe);
    };
    let context = || format!("cannot write {}", path.display());
    let mut file = std::io::BufWriter::new(create_private(path).with_context(context)?);
    let write = |text: &str| file.write_all(text.as_bytes()).with_context(context);
    let _spinner = Spinner::start(format!("writing {} …", path.display()));
    show_all(log, record.id, record.head, &mut formatter, write).await?;
    file.flush().with_context(context)?;
    file.get_ref().sync_all().with_context(context)?;
    Ok(())
}

/// For us alone: a log holds whatever secrets were said or read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

async fn delete(log: &dyn EventLog, named: &[String], yes: bool) -> Result<(), Failure> {
    let mut records = Vec::new();
    for name in named {
        records.push(world::find_session(log, name).await?);
    }
    let titles: Vec<String> = records
        .iter()
        .map(|record| {
            let title = shown(record.title.as_deref().unwrap_or("-"));
            format!("  {}  {title}", record.id)
        })
        .collect();
    confirm(&format!("Delete for good:\n{}\nSure?", titles.join("\n")), yes)?;
    let spinner = Spinner::start("deleting …");
    for record in records {
        // Nobody may be using it.
        let _claim = log.claim(record.id).await?;
        log.delete(record.id).await?;
        spinner.aside(|| terminal::say(&format!("deleted {}", record.id)));
    }
    Ok(())
}

async fn prune(log: &dyn EventLog, older_than: u32, keep: usize, yes: bool) -> Result<(), Failure> {
    confirm(&format!("Delete sessions that were not used for {older_than} days?"), yes)?;
    let before = Some(world::days_ago(older_than));
    let spinner = Spinner::start("deleting …");
    let removed = log.prune(Prune { before, max_total_bytes: None, keep }).await?;
    drop(spinner);
    terminal::say(&format!("deleted {} sessions", removed.len()));
    Ok(())
}

pub(crate) async fn cancel(named: &str, config: Config) -> Result<ExitCode, Failure> {
    let log = world::open_log(&config)?;
    let record = world::find_session(&*log, named).await?;
    let _spinner = Spinner::start("stopping the turn …");
    let owner = match log.claim(record.id).await {
        Err(StoreError::InUse { pid, .. }) => pid,
        Ok(_) => {
            terminal::say(&format!("session {} is not running", record.id));
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(pid) = owner else {
        return Err(Failure::new(
            1,
            format!("session {} is in use, but not known where", record.id),
        ));
    };
    let cancelled = control::cancel(&config.home.run, pid, record.id).await;
    match cancelled {
        Ok(control::Response::Done) => {
            terminal::say(&format!("session {} is idle now", record.id));
        }
        Ok(control::Response::NotHere) => {
            terminal::say(&format!("session {} is not running", record.id));
        }
        Err(error) => {
            // A process that ends with its turn may be gone before it could answer.
            let record = world::find_session(&*log, record.id.as_str()).await?;
            if record.active_turn.is_some() {
                return Err(error.into());
            }
            terminal::say(&format!("session {} is idle now", record.id));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn confirm(question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !terminal::can_ask() {
        return Err(Failure::usage("nobody is there to confirm").hint("add --yes"));
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new(1, "nothing was deleted")),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    match format::print(text) {
        Err(error) if !is_broken_pipe(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// One safe line, not too long for a list.
fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    sanitize_line(text, MAX_CHARS)
}

fn forgive_broken_pipe(failure: Failure) -> Result<(), Failure> {
    // `… | head` has seen enough.
    if failure.is_broken_pipe() { Ok(()) } else { Err(failure) }
}

fn reading() -> TextOptions {
    TextOptions {
        color: terminal::color_on_stdout(),
        show_thinking: true,
        show_prompts: true,
        verbose: false,
    }
}

fn describe(record: &SessionRecord, status: &str) -> Value {
    json!({
        "id": record.id,
        "agent": record.agent,
        "command": Details::read(record).command,
        "cwd": record.cwd,
        "title": record.title,
        "status": status,
        "created": timestamp(record.created),
        "updated": timestamp(record.updated),
        "events": record.head.0,
        "bytes": record.bytes,
        "epoch": record.epoch,
        "agentSession": record.agent_session,
    })
}

fn status(record: &SessionRecord) -> &'static str {
    match record {
        SessionRecord { damage: Some(_), .. } => "damaged",
        SessionRecord { active_turn: Some(_), .. } => "running",
        SessionRecord { is_closed: true, .. } => "closed",
        _ => "idle",
    }
}

/// As [`status`], but tells a turn that runs from one whose process was killed, and from one
/// that waits for an answer.
async fn status_now(log: &dyn EventLog, record: &SessionRecord) -> &'static str {
    match status(record) {
        "running" if log.claim(record.id).await.is_ok() => "interrupted",
        "running" if is_asking(log, record).await => "requires_action",
        status => status,
    }
}

/// Whether one of the last events is a question that nobody has answered. An agent that waits
/// says little meanwhile.
async fn is_asking(log: &dyn EventLog, record: &SessionRecord) -> bool {
    const LOOKED_AT: usize = 500;
    let after = Seq(record.head.0.saturating_sub(LOOKED_AT as u64));
    let Ok(events) = log.read(record.id, after, LOOKED_AT).await else { return false };
    let mut waiting = HashSet::new();
    for event in &events {
        waiting.extend(event.asked_person().map(|asked| asked.id));
        if let Some(request) = event.own().and_then(|own| own.answered()) {
            waiting.remove(&request);
        }
    }
    !waiting.is_empty()
}

/// The word for a status that the API has another name for.
fn for_people(status: &str) -> &str {
    if status == "requires_action" { "waiting for you" } else { status }
}

fn timestamp(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}

fn ago(now: Millis, then: Millis) -> String {
    let seconds = (now.0 - then.0).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}
