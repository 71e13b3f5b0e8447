//! `switchyard sessions …` and `switchyard cancel`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use client::{DaemonClient, encoded};
use projection::{TextOptions, command_line};
use serde::Deserialize;
use serde_json::Value;
use sessions::audit::{AuditRow, csv_header};
use wire::{Json, Seq};

use crate::cli::format::OutputFormat;
use crate::cli::sessions::{AuditArgs, AuditFormat, SessionsVerb};
use crate::command_daemon::CommandDaemon;
use crate::config::Config;
use crate::daemon::in_process;
use crate::outcome::Failure;
use crate::session_info::{NamedSession, SessionInfo, shown};
use crate::terminal;
use crate::terminal::confirm::confirm;
use crate::terminal::format::{Formatter, style};
use crate::terminal::log_view::{LogView, QuestionHandling, read_all};
use crate::terminal::output::{OutputTarget, print};
use crate::terminal::spinner::Spinner;
use crate::this_process::require_a_person;
use crate::time::days_ago;
use crate::time::timestamp;
use crate::verbs::session_args::working_directory;

const UNDELETED: &str = "nothing was deleted";

pub(crate) async fn dispatch(verb: SessionsVerb, config: Arc<Config>) -> Result<ExitCode, Failure> {
    if matches!(verb, SessionsVerb::Delete { .. } | SessionsVerb::Prune { .. }) {
        require_a_person("it may not delete sessions")?;
    }
    let daemon = CommandDaemon::for_the_log(&config)?;
    let client = daemon.client();
    let done = match verb {
        SessionsVerb::List { agent, cwd, limit, json } => {
            list(client, agent, cwd.as_deref(), limit, json).await
        }
        SessionsVerb::Show { session, json, all } => show(client, &session, json, all).await,
        SessionsVerb::Watch { session, after, format } => {
            watch(client, &session, Seq(after), format).await
        }
        SessionsVerb::Export { session, format, output } => {
            export(client, &session, format, output.as_deref()).await
        }
        SessionsVerb::Audit(args) => audit(client, &args).await,
        SessionsVerb::Delete { sessions, yes } => delete(client, &sessions, yes).await,
        SessionsVerb::Prune { older_than, keep, yes } => prune(client, older_than, keep, yes).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}

async fn list(
    client: &DaemonClient,
    agent: Option<String>,
    cwd: Option<&Path>,
    limit: usize,
    as_json: bool,
) -> Result<(), Failure> {
    let mut query = String::new();
    query.extend(agent.map(|agent| format!("&agent={}", encoded(&agent))));
    let cwd = cwd.map(|cwd| working_directory(Some(cwd))).transpose()?;
    query.extend(cwd.map(|cwd| format!("&cwd={}", encoded(&cwd.to_string_lossy()))));
    let sessions = SessionInfo::list(client, &query, limit).await?;
    if as_json {
        let all = sessions.iter().map(SessionInfo::to_json).collect();
        return print(&format!("{:#}\n", Value::Array(all)));
    }
    if sessions.is_empty() && !query.is_empty() {
        terminal::say("no such sessions; without --agent and --cwd all are listed");
        return Ok(());
    }
    if sessions.is_empty() {
        terminal::say("no sessions yet; `switchyard run demo \"say hello\"` makes one");
        return Ok(());
    }
    let line = |session: &SessionInfo| {
        format!(
            "{:.10}  {:<15} {:<10} {:>8}  {}\n",
            session.id.as_str(),
            session.status_word(),
            shown(&session.agent),
            session.age(),
            session.shown_title()
        )
    };
    print(&sessions.iter().map(line).collect::<String>())
}

async fn show(client: &DaemonClient, named: &str, as_json: bool, all: bool) -> Result<(), Failure> {
    let info = SessionInfo::find(client, named).await?;
    if as_json {
        return print(&format!("{:#}\n", info.to_json()));
    }
    let words = command_line(info.command.iter().map(String::as_str));
    let command = match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown(&words)),
    };
    let text = format!(
        "session   {}\nagent     {}{}\ncwd       {}\nstatus    {}\nevents    {}\nupdated   {}\n",
        info.id,
        shown(&info.agent),
        command,
        shown(&info.cwd),
        info.status_word(),
        info.head.0,
        timestamp(info.updated),
    );
    let title = info.title.as_deref().map(|title| format!("title     {}\n", shown(title)));
    print(&format!("{text}{}\n", title.unwrap_or_default()))?;
    let style = TextOptions { show_thinking: all, verbose: all, ..style() };
    let formatter = Formatter::new(OutputFormat::Text, info.id, style, true);
    write_log(client, &info, formatter, print).await
}

/// Writes a session's whole log as it is now.
async fn write_log(
    client: &DaemonClient,
    info: &SessionInfo,
    mut formatter: Formatter,
    mut write: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let session = client.session(info.id);
    read_all(&session, info.head, |event| {
        formatter.add(event);
        write(&formatter.take())
    })
    .await
}

async fn watch(
    client: &DaemonClient,
    named: &str,
    after: Seq,
    format: OutputFormat,
) -> Result<(), Failure> {
    let info = SessionInfo::find(client, named).await?;
    let formatter = Formatter::new(format, info.id, style(), true);
    let session = client.session(info.id);
    let mut view = LogView::new(&session, after, formatter, QuestionHandling::Elsewhere);
    let following = async {
        while view.next().await?.is_some() {
            if let Some(why) = view.halted.take() {
                terminal::say(&format!("the session could not go on: {}", shown(&why)));
            }
        }
        Ok(())
    };
    tokio::select! {
        followed = following => followed,
        // Being interrupted is how watching ends.
        _ = tokio::signal::ctrl_c() => Ok(()),
        () = terminal::reader_gone() => Ok(()),
    }
}

async fn export(
    client: &DaemonClient,
    named: &str,
    format: OutputFormat,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let info = SessionInfo::find(client, named).await?;
    let usual = style();
    let style = TextOptions { color: output.is_none() && usual.color, ..usual };
    let formatter = Formatter::new(format, info.id, style, true);
    let mut output = OutputTarget::open(output)?;
    let _spinner = output.path().map(|path| Spinner::start(format!("writing {path} …")));
    write_log(client, &info, formatter, |text| output.write(text)).await?;
    output.finish()
}

async fn delete(client: &DaemonClient, named: &[String], yes: bool) -> Result<(), Failure> {
    let mut sessions = Vec::new();
    for name in named {
        sessions.push(NamedSession::find(client, name).await?);
    }
    let line = |session: &NamedSession| match session {
        NamedSession::There(session) => format!("  {}  {}", session.id, session.shown_title()),
        NamedSession::Lost(id) => format!("  {id}  (missing from the log)"),
    };
    let titles: Vec<String> = sessions.iter().map(line).collect();
    confirm(&format!("Delete for good:\n{}\nSure?", titles.join("\n")), UNDELETED, yes)?;
    let spinner = Spinner::start("deleting …");
    for id in sessions.iter().map(NamedSession::id) {
        client.session(id).delete().await?;
        spinner.aside(|| terminal::say(&format!("deleted {id}")));
    }
    Ok(())
}

async fn prune(
    client: &DaemonClient,
    older_than: u32,
    keep: usize,
    yes: bool,
) -> Result<(), Failure> {
    confirm(&format!("Delete sessions that were not used for {older_than} days?"), UNDELETED, yes)?;
    let before = days_ago(older_than);
    let spinner = Spinner::start("deleting …");
    let all = SessionInfo::list(client, "", usize::MAX).await?;
    let is_old = |session: &&SessionInfo| session.updated < before && !session.is_running();
    let mut n_deleted = 0;
    for session in all.iter().skip(keep).filter(is_old) {
        match client.session(session.id).delete().await {
            Ok(()) => n_deleted += 1,
            // The session is in use, or has just been deleted.
            Err(error) if matches!(error.status(), Some(404 | 409)) => {}
            Err(error) => return Err(error.into()),
        }
        spinner.set_text(format!("deleting … {n_deleted}"));
    }
    drop(spinner);
    terminal::say(&format!("deleted {n_deleted} sessions"));
    Ok(())
}

pub(crate) async fn cancel(named: &str, config: Arc<Config>) -> Result<ExitCode, Failure> {
    let daemon = CommandDaemon::for_the_log(&config)?;
    let before = SessionInfo::find(daemon.client(), named).await?;
    let _spinner = Spinner::start("stopping the turn …");
    let session = daemon.client().session(before.id);
    if let Err(error) = session.cancel(None).await {
        let pid = error.refusal().and_then(|refusal| refusal.process).ok_or(error)?;
        let other = DaemonClient::at(in_process::socket_of(&config.home.run, pid));
        if let Err(error) = other.session(before.id).cancel(None).await {
            // A process that ends with its turn may be gone before it could answer.
            let now: SessionInfo = session.get().await?;
            if now.is_running() {
                let why = format!("process {pid} has the session, but cannot be asked: {error}");
                return Err(Failure::new(crate::outcome::ERROR, why));
            }
        }
    }
    let state = if before.is_running() { "idle now" } else { "not running" };
    terminal::say(&format!("session {} is {state}", before.id));
    Ok(ExitCode::SUCCESS)
}

async fn audit(client: &DaemonClient, args: &AuditArgs) -> Result<(), Failure> {
    let mut query = "limit=1000".to_owned();
    let session = match &args.session {
        Some(named) => Some(SessionInfo::find(client, named).await?.id),
        None => None,
    };
    query.extend(args.since.map(|since| format!("&since={}", since.0)));
    query.extend(args.until.map(|until| format!("&until={}", until.0)));
    query.extend(session.map(|session| format!("&session={session}")));
    let mut output = OutputTarget::open(args.output.as_deref())?;
    write_all(client, &query, args.format, &mut output).await?;
    output.finish()
}

/// Writes page by page: an audit of years must not be held in memory.
async fn write_all(
    client: &DaemonClient,
    query: &str,
    format: AuditFormat,
    output: &mut OutputTarget<'_>,
) -> Result<(), Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AuditRowPage {
        rows: Vec<AuditRow>,
        next_cursor: Option<String>,
    }
    if format == AuditFormat::Csv {
        output.write(&csv_header())?;
    }
    let (mut n_rows, mut cursor) = (0, String::new());
    loop {
        let page: AuditRowPage = client.get(&format!("/v1/audit?{query}{cursor}")).await?;
        n_rows += page.rows.len();
        let show = |row: &AuditRow| match format {
            AuditFormat::Text => text_line(row),
            AuditFormat::Json => format!("{}\n", Json::of(row).as_str()),
            AuditFormat::Csv => row.to_csv(),
        };
        let text: String = page.rows.iter().map(show).collect();
        output.write(&text)?;
        let Some(next) = page.next_cursor else { break };
        cursor = format!("&cursor={}", encoded(&next));
    }
    if n_rows == 0 && format == AuditFormat::Text {
        terminal::say("nothing was decided in that time");
    }
    Ok(())
}

fn text_line(row: &AuditRow) -> String {
    if row.is_damaged {
        return format!(
            "{}  {:.10}  damaged: event {} cannot be read\n",
            row.time, row.session, row.seq
        );
    }
    let verdict = if row.allowed { "allowed" } else { "denied" };
    let about = match &row.command {
        Some(command) if !row.title.contains(command) => format!("{}: {command}", row.title),
        _ => row.title.clone(),
    };
    let by = match (&row.detail, &row.rule_file, row.rule_index) {
        (Some(detail), Some(file), Some(index)) => format!("{} {detail} ({file} #{index})", row.by),
        (Some(detail), ..) => format!("{} {detail}", row.by),
        (None, ..) => row.by.clone(),
    };
    let waited = row.waited_ms.map(|ms| format!(", after {}.{} s", ms / 1000, ms % 1000 / 100));
    format!(
        "{}  {:.10}  {:<10} {verdict:<7}  {}  by {}{}\n",
        row.time,
        row.session,
        shown(&row.agent),
        shown(&about),
        shown(&by),
        waited.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests;
