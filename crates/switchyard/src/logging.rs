//! Switchyard's own log: one line an event, to stderr or to a file.
//!
//! In: events of `tracing`. Out: text for people, or JSON lines. Before anything is
//! written, secrets are taken out of every value, control characters are shown as escapes,
//! and what is too long is cut; so a hostile name can neither forge a line nor a colour.
//!
//! Always true: stdout stays free for the answer or the protocol. A daemon never waits for
//! its log: lines that cannot be written are dropped and counted [`writer`].

mod file;
mod line;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use server::secrets::Secrets;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, reload};

use crate::terminal;
use crate::terminal::paint::Paint;
use file::Rotation;
use line::LogLine;
use writer::{LogSink, LogWriter};

/// `[log]` of the configuration: what a daemon writes, and where.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogTable {
    /// A file to write instead of stderr.
    pub(crate) file: Option<PathBuf>,
    pub(crate) format: LogFormat,
    /// `info`, or by target: `warn,sessions=debug`.
    pub(crate) level: Option<String>,
    /// The size at which a file is rotated.
    pub(crate) max_bytes: Option<u64>,
    /// How many rotated files are kept.
    pub(crate) keep: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

impl LogTable {
    /// When files are rotated, and how many are kept.
    pub(crate) fn rotation(&self) -> Rotation {
        Rotation::new(self.max_bytes, self.keep)
    }
}

impl LogFormat {
    fn write(self, line: &LogLine, paint: Paint) -> String {
        match self {
            Self::Text => line.text(paint),
            Self::Json => line.json(),
        }
    }
}

/// A handle on the log of this process.
#[derive(Debug, Clone)]
pub(crate) struct Logging {
    shared: Arc<LoggingState>,
    filter: reload::Handle<Targets, Registry>,
    /// The filter of the command line or the environment; wins over the configuration.
    override_filter: Option<Targets>,
}

#[derive(Debug)]
struct LoggingState {
    secrets: Secrets,
    output: RwLock<LogOutput>,
    /// Lines dropped by writers that are no longer in use.
    n_dropped_before: AtomicU64,
}

#[derive(Debug)]
struct LogOutput {
    format: LogFormat,
    writer: Arc<LogWriter>,
}

/// Starts logging to stderr: errors, or what `-v` and `SWITCHYARD_LOG` ask for.
pub(crate) fn start(n_verbose: u8) -> Logging {
    let asked = override_filter(n_verbose, std::env::var("SWITCHYARD_LOG").ok());
    let errors = Targets::new().with_default(tracing::Level::ERROR);
    let secrets = Secrets::default();
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    secrets.register_environment(variables);
    let way_out = LogOutput { format: LogFormat::Text, writer: Arc::new(LogWriter::stderr()) };
    let shared = Arc::new(LoggingState {
        secrets,
        output: RwLock::new(way_out),
        n_dropped_before: AtomicU64::new(0),
    });
    let (filter, handle) = reload::Layer::new(asked.clone().unwrap_or(errors));
    let lines = LogLayer(shared.clone()).with_filter(filter);
    // A second one in the same process, in tests, has no effect.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Logging { shared, filter: handle, override_filter: asked }
}

fn override_filter(n_verbose: u8, variable: Option<String>) -> Option<Targets> {
    let level = match n_verbose {
        0 => variable.filter(|wanted| !wanted.is_empty())?,
        1 => "info".to_owned(),
        2 => "debug".to_owned(),
        _ => "trace".to_owned(),
    };
    match level.parse() {
        Ok(level) => Some(quiet_libraries(level)),
        Err(_) => level.parse().ok(),
    }
}

/// The filter for all of our own events from `level` on. Of a library that logs each step at `info`
/// only warnings are logged, unless somebody asked for more than that.
fn quiet_libraries(level: tracing::Level) -> Targets {
    let targets = Targets::new().with_default(level);
    match level <= tracing::Level::INFO {
        true => targets.with_target("rmcp", level.min(tracing::Level::WARN)),
        false => targets,
    }
}

impl Logging {
    /// The secrets that are redacted; whoever learns a secret registers it here.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Sends a command's log to a file.
    pub(crate) fn to_file(&self, path: PathBuf) -> Result<()> {
        self.daemon(&LogTable { file: Some(path), ..LogTable::default() })
    }

    /// Sends a daemon's log where it is configured to go; also after a reload.
    pub(crate) fn daemon(&self, table: &LogTable) -> Result<()> {
        let filter = match &table.level {
            Some(level) => level
                .parse::<Targets>()
                .with_context(|| format!("[log] level = \"{level}\" cannot be understood"))?,
            None => quiet_libraries(tracing::Level::INFO),
        };
        let (sink, has_colors): (Box<dyn LogSink>, _) = match &table.file {
            Some(path) => {
                let file = file::LogFile::open(path.clone(), table.rotation())
                    .with_context(|| format!("cannot log to {}", path.display()))?;
                (Box::new(file), false)
            }
            None => (Box::new(writer::Stderr), terminal::color_on_stderr()),
        };
        let (paint, format) = (Paint::when(has_colors), table.format);
        let lost = move |n| format.write(&LogLine::lost(n), Paint::when(false));
        let writer = LogWriter::behind_queue(sink, paint, lost)?;
        let way_out = LogOutput { format, writer: Arc::new(writer) };
        let before = {
            let mut current = self.shared.output.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, way_out)
        };
        // The lines that wait in the old writer are written before it goes.
        before.writer.flush(FLUSH_WITHIN);
        self.shared.n_dropped_before.fetch_add(before.writer.n_dropped(), Ordering::Relaxed);
        let filter = self.override_filter.clone().unwrap_or(filter);
        self.filter.reload(filter).context("cannot change what is logged")
    }

    fn writer(&self) -> Arc<LogWriter> {
        self.shared.output.read().unwrap_or_else(PoisonError::into_inner).writer.clone()
    }

    /// Closes the file and opens it anew, because somebody has moved it away.
    pub(crate) fn reopen(&self) {
        self.writer().reopen();
    }

    /// How many lines could not be written so far.
    pub(crate) fn n_dropped(&self) -> u64 {
        self.shared.n_dropped_before.load(Ordering::Relaxed) + self.writer().n_dropped()
    }

    /// Writes the lines that wait; called at the end of the process.
    pub(crate) fn flush(&self) {
        self.writer().flush(FLUSH_WITHIN);
    }
}

/// A disk that hangs must not keep the process from ending.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// The layer that turns events into lines.
struct LogLayer(Arc<LoggingState>);

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = LogLine::of(event, &self.0.secrets);
        let way_out = self.0.output.read().unwrap_or_else(PoisonError::into_inner);
        way_out.writer.write(way_out.format.write(&line, way_out.writer.paint));
    }
}

#[cfg(test)]
mod tests;
