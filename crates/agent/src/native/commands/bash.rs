//! The tool `bash`: runs a line in a shell.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{CommandEnd, CommandRequest, FinishedCommand, permission_key, run};
use crate::native::display_text;
use crate::native::settings::CommandSettings;
use crate::native::tool::arguments::{integer, string};
use crate::native::tool::{
    CallContent, CallDescription, CallNeed, PreparedCall, Tool, ToolContext, ToolError, ToolKind,
    ToolOutput,
};

/// The kernel takes no single argument of 128 KiB or more.
const MAX_LINE_BYTES: usize = 100 << 10;
const MAX_DESCRIPTION_CHARS: usize = 200;

#[derive(Debug, Deserialize)]
struct BashArguments {
    command: String,
    /// Milliseconds. Some models write numbers with a fraction.
    timeout: Option<f64>,
    workdir: Option<PathBuf>,
    description: Option<String>,
}

pub(in crate::native) fn tool() -> Arc<Tool> {
    let description = "Runs a command line in a shell and returns what it printed (stdout and \
        stderr together) and its exit code. Each call is a new shell: directories and \
        variables do not carry over, use `workdir`. There is no input, so nothing may \
        ask for any. Everything the command started is ended when it exits, so nothing \
        can be left running in the background. Use the file and search tools instead of \
        cat, sed, find and grep.";
    let workdir = "Directory to run in, inside the workspace (default: the session's directory)";
    let arguments = [
        string("command", "The command line to run").required(),
        integer("timeout", "Milliseconds after which it is ended (default 120000)"),
        string("workdir", workdir),
        string("description", "What the command does, in a few words, for the user"),
    ];
    Tool::at_once("bash", ToolKind::Execute, description, arguments, prepare)
}

fn prepare(arguments: BashArguments, context: &ToolContext) -> Result<PreparedCall, ToolError> {
    let line = arguments.command;
    check(&line)?;
    let session = &context.workspace;
    session.settings.sandbox.check().map_err(ToolError::new)?;
    let cwd = directory(arguments.workdir.as_deref(), &session.cwd, &session.roots)?;
    let own = session.cwd.canonicalize().unwrap_or_else(|_| session.cwd.clone());
    let elsewhere = (cwd != own).then(|| cwd.to_string_lossy());
    let key = permission_key(&line, elsewhere.as_deref());

    let mut asked = display_text::fenced("sh", &display_text::asked(&line));
    if let Some(description) = arguments.description.filter(|text| !text.trim().is_empty()) {
        let short: String = description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        asked = format!("{asked}\n{}", display_text::title(&short));
    }
    if elsewhere.is_some() {
        asked = format!("{asked}\nin {}", display_text::title(&cwd.to_string_lossy()));
    }
    let timeout = time_limit(arguments.timeout, &session.settings.commands);
    let shown = CallDescription {
        title: display_text::title(&line),
        content: vec![CallContent::Text(asked)],
        ..CallDescription::default()
    };
    let context = context.clone();
    let work = async move {
        let finished = run(&context, CommandRequest { line, cwd, timeout }).await?;
        Ok(report(finished, timeout))
    };
    Ok(PreparedCall { shown, need: CallNeed::Permission { key }, work: Box::pin(work) })
}

fn check(line: &str) -> Result<(), ToolError> {
    if line.trim().is_empty() {
        return Err(ToolError::new("`command` is empty; give a command line to run"));
    }
    if line.len() > MAX_LINE_BYTES {
        return Err(ToolError(format!(
            "the command is {} bytes long, and at most {MAX_LINE_BYTES} can be run; write long \
             scripts to a file first",
            line.len()
        )));
    }
    if line.contains('\0') {
        return Err(ToolError::new("the command has a NUL character in it, which no shell takes"));
    }
    Ok(())
}

/// The directory to run in, with symbolic links resolved: the session's or one inside its roots.
fn directory(wanted: Option<&Path>, cwd: &Path, roots: &[PathBuf]) -> Result<PathBuf, ToolError> {
    let path = match wanted {
        Some(wanted) if !wanted.as_os_str().is_empty() => cwd.join(wanted),
        _ => cwd.to_path_buf(),
    };
    let real = path
        .canonicalize()
        .map_err(|error| ToolError(format!("workdir {}: {error}", path.display())))?;
    if !real.is_dir() {
        return Err(ToolError(format!("workdir {} is not a directory", path.display())));
    }
    let is_inside = std::iter::once(cwd)
        .chain(roots.iter().map(PathBuf::as_path))
        .any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
    match is_inside {
        true => Ok(real),
        false => Err(ToolError(format!(
            "workdir {} is outside the session's directories; use one inside {}",
            path.display(),
            cwd.display()
        ))),
    }
}

fn time_limit(milliseconds: Option<f64>, settings: &CommandSettings) -> Duration {
    match milliseconds {
        Some(wanted) if wanted > 0.0 => {
            let wanted = Duration::try_from_secs_f64(wanted / 1000.0);
            wanted.unwrap_or(settings.max_timeout).min(settings.max_timeout)
        }
        _ => settings.timeout,
    }
}

/// The result of the call: for the model how it ended, then its output; for people the reverse.
fn report(finished: FinishedCommand, limit: Duration) -> ToolOutput {
    let took = finished.took.as_secs_f64();
    let end = match &finished.end {
        CommandEnd::Code(0) => format!("Exit code 0 after {took:.1} s."),
        CommandEnd::Code(code) => format!("Failed with exit code {code} after {took:.1} s."),
        CommandEnd::Signal(signal) => format!("Killed by {signal} after {took:.1} s."),
        CommandEnd::Unknown => format!("Ended after {took:.1} s with an unknown exit status."),
        CommandEnd::TimedOut => format!(
            "Ended by us, with everything it had started, because it took longer than {} s. \
             If it needs more time, give a larger `timeout` in milliseconds.",
            limit.as_secs_f64()
        ),
    };
    let printed = match finished.text.trim_end() {
        "" => "(no output)",
        text => text,
    };
    let mut told = format!("{end}\n\n{printed}");
    if let Some(held_in) =
        finished.sandbox_restrictions.filter(|_| finished.end != CommandEnd::Code(0))
    {
        told = format!("{told}\n\n(The command ran in a sandbox: {held_in})");
    }
    let mut raw = json!({ "output": finished.text });
    match finished.end {
        CommandEnd::Code(code) => raw["exitCode"] = json!(code),
        CommandEnd::Signal(signal) => raw["signal"] = json!(signal),
        CommandEnd::TimedOut => raw["timedOut"] = json!(true),
        CommandEnd::Unknown => {}
    }
    let content = match finished.terminal {
        Some(id) => CallContent::Terminal(id),
        None => CallContent::Text(display_text::fenced("", &format!("{printed}\n\n{end}"))),
    };
    ToolOutput { content: vec![content], raw: Some(raw), ..ToolOutput::text(told) }
}
