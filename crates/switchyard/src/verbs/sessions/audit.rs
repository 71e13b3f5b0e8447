//! `switchyard sessions audit`: who allowed what, when and by which rule.

use client::encoded;
use projection::sanitize_line;
use serde::Deserialize;
use sessions::audit::{self, AuditRow};
use wire::Json;

use crate::cli::sessions::{AuditArgs, AuditFormat};
use crate::command_daemon::CommandDaemon;
use crate::outcome::Failure;
use crate::session_info::SessionInfo;
use crate::terminal;
use crate::terminal::output::OutputTarget;

pub(crate) async fn audit(daemon: &CommandDaemon, args: &AuditArgs) -> Result<(), Failure> {
    let mut query = "limit=1000".to_owned();
    let session = match &args.session {
        Some(named) => Some(SessionInfo::find(daemon.client(), named).await?.id),
        None => None,
    };
    query.extend(args.since.map(|since| format!("&since={}", since.0)));
    query.extend(args.until.map(|until| format!("&until={}", until.0)));
    query.extend(session.map(|session| format!("&session={session}")));
    let mut output = OutputTarget::open(args.output.as_deref())?;
    write_all(daemon, &query, args.format, &mut output).await?;
    output.finish()
}

/// Writes page by page: an audit of years must not be held in memory.
async fn write_all(
    daemon: &CommandDaemon,
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
        output.write(&audit::csv_header())?;
    }
    let (mut n_rows, mut cursor) = (0, String::new());
    loop {
        let page: AuditRowPage = daemon.client().get(&format!("/v1/audit?{query}{cursor}")).await?;
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
    const MAX_CHARS: usize = 100;
    let shown = |text: &str| sanitize_line(text, MAX_CHARS);
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
