//! `switchyard sessions …` and `switchyard cancel`.

pub(crate) mod audit;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use client::{DaemonClient, encoded};
use projection::{TextOptions, command_line};
use serde_json::Value;
use wire::Seq;

use crate::cli::format::OutputFormat;
use crate::cli::sessions::SessionsVerb;
use crate::command_daemon::CommandDaemon;
use crate::config::Config;
use crate::daemon::in_process;
use crate::outcome::Failure;
use crate::session_info::{SessionInfo, shown};
use crate::terminal;
use crate::terminal::format::{Formatter, style};
use crate::terminal::log_view::{LogView, QuestionHandling, read_all};
use crate::terminal::output::{OutputTarget, print};
use crate::terminal::spinner::Spinner;
use crate::this_process::require_a_person;
use crate::time::days_ago;
use crate::time::timestamp;
use crate::verbs::session_args::working_directory;

pub(crate) async fn dispatch(verb: SessionsVerb, config: Arc<Config>) -> Result<ExitCode, Failure> {
    if matches!(verb, SessionsVerb::Delete { .. } | SessionsVerb::Prune { .. }) {
        require_a_person("it may not delete sessions")?;
    }
    let daemon = CommandDaemon::for_the_log(&config)?;
    let daemon = &daemon;
    let done = match verb {
        SessionsVerb::List { agent, cwd, limit, json } => {
            list(daemon, agent, cwd.as_deref(), limit, json).await
        }
        SessionsVerb::Show { session, json, all } => show(daemon, &session, json, all).await,
        SessionsVerb::Watch { session, after, format } => {
            watch(daemon, &session, Seq(after), format).await
        }
        SessionsVerb::Export { session, format, output } => {
            export(daemon, &session, format, output.as_deref()).await
        }
        SessionsVerb::Audit(args) => audit::audit(daemon, &args).await,
        SessionsVerb::Delete { sessions, yes } => delete(daemon, &sessions, yes).await,
        SessionsVerb::Prune { older_than, keep, yes } => {
            prune(daemon.client(), older_than, keep, yes).await
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}

async fn list(
    daemon: &CommandDaemon,
    agent: Option<String>,
    cwd: Option<&Path>,
    limit: usize,
    as_json: bool,
) -> Result<(), Failure> {
    let mut query = String::new();
    query.extend(agent.map(|agent| format!("&agent={}", encoded(&agent))));
    let cwd = cwd.map(|cwd| working_directory(Some(cwd))).transpose()?;
    query.extend(cwd.map(|cwd| format!("&cwd={}", encoded(&cwd.to_string_lossy()))));
    let sessions = SessionInfo::list(daemon.client(), &query, limit).await?;
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

async fn show(
    daemon: &CommandDaemon,
    named: &str,
    as_json: bool,
    all: bool,
) -> Result<(), Failure> {
    let info = SessionInfo::find(daemon.client(), named).await?;
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
    write_log(daemon, &info, formatter, print).await
}

/// Writes a session's whole log as it is now.
async fn write_log(
    daemon: &CommandDaemon,
    info: &SessionInfo,
    mut formatter: Formatter,
    mut write: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let session = daemon.client().session(info.id);
    read_all(&session, info.head, |event| {
        formatter.add(event);
        write(&formatter.take())
    })
    .await
}

async fn watch(
    daemon: &CommandDaemon,
    named: &str,
    after: Seq,
    format: OutputFormat,
) -> Result<(), Failure> {
    let info = SessionInfo::find(daemon.client(), named).await?;
    let formatter = Formatter::new(format, info.id, style(), true);
    let session = daemon.client().session(info.id);
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
    daemon: &CommandDaemon,
    named: &str,
    format: OutputFormat,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let info = SessionInfo::find(daemon.client(), named).await?;
    let usual = style();
    let style = TextOptions { color: output.is_none() && usual.color, ..usual };
    let formatter = Formatter::new(format, info.id, style, true);
    let mut output = OutputTarget::open(output)?;
    let _spinner = output.path().map(|path| Spinner::start(format!("writing {path} …")));
    write_log(daemon, &info, formatter, |text| output.write(text)).await?;
    output.finish()
}

async fn delete(daemon: &CommandDaemon, named: &[String], yes: bool) -> Result<(), Failure> {
    let mut sessions = Vec::new();
    for name in named {
        sessions.push(SessionInfo::find(daemon.client(), name).await?);
    }
    let line = |session: &SessionInfo| format!("  {}  {}", session.id, session.shown_title());
    let titles: Vec<String> = sessions.iter().map(line).collect();
    confirm(&format!("Delete for good:\n{}\nSure?", titles.join("\n")), yes)?;
    let spinner = Spinner::start("deleting …");
    for SessionInfo { id, .. } in sessions {
        daemon.client().session(id).delete().await?;
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
    confirm(&format!("Delete sessions that were not used for {older_than} days?"), yes)?;
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
