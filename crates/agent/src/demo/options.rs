//! The command line of the demo agent.
//!
//! In: the arguments after `demo-agent`. Out: [`DemoOptions`], or one sentence that says what is
//! wrong. The default is an honest, minimal agent: every lie and every capability has to be asked
//! for.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The optional `session/*` methods.
const SESSION_METHODS: [&str; 5] = ["load", "resume", "list", "close", "delete"];

/// How the demo agent behaves on one connection.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, not a state")]
pub struct DemoOptions {
    /// Keep each session as a file of JSON lines here, so that another process can go on with it.
    /// What was not used for long is removed at the next start.
    pub state: Option<PathBuf>,
    /// Which of the optional `session/*` methods are advertised and served.
    pub offers: BTreeSet<&'static str>,
    /// Claim success when asked to load or resume a session that is not there.
    pub lies_on_resume: bool,
    /// Answer every load and resume with "not found".
    pub forgets: bool,
    /// Offer neither modes nor config options.
    pub has_no_config: bool,
    /// Refuse sessions until `authenticate` was called with this method id.
    pub auth: Option<String>,
    /// Send a `session/update` before the answer to `session/new`.
    pub has_early_updates: bool,
    /// Answer `initialize` with this protocol version instead of 1.
    pub version_answer: Option<u64>,
    /// The shape of the ids of the agent's own requests.
    pub ids: IdStyle,
    /// Wait this long before reading anything.
    pub slow_start: Duration,
    /// Wait this long before answering `session/new`.
    pub slow_new: Duration,
    /// Write this many bytes to stderr before reading anything.
    pub stderr_flood_bytes: u64,
    /// Stay alive when stdin ends.
    pub ignores_eof: bool,
    /// Stay alive on SIGTERM.
    pub ignores_term: bool,
}

/// The ids of the requests which the agent sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IdStyle {
    /// 0, 1, 2 …: on purpose the same numbers that clients use.
    #[default]
    FromZero,
    /// `"demo-0"`, `"demo-1"` …
    Strings,
}

/// One line per flag, for the usage text of the binary.
pub const USAGE: &str = "\
--state DIR          keep sessions in DIR, each as a file of JSON lines
--load --resume --list --close --delete
                     advertise and serve these session methods
--all-sessions       all five of them
--lie-on-resume      claim success for sessions that are not there
--forget             load and resume always answer `not found`
--no-config          no modes and no config options
--auth METHOD        need `authenticate` with METHOD before a session
--early-updates      send an update before the answer to session/new
--version-answer N   answer initialize with protocol version N
--ids from-zero|strings
                     ids of the agent's own requests
--slow-start MS      wait before reading anything
--slow-new MS        wait before answering session/new
--stderr-flood BYTES write BYTES to stderr before reading anything
--ignore-eof         stay alive when stdin ends
--ignore-term        stay alive on SIGTERM
";

impl DemoOptions {
    /// Reads the arguments that follow `demo-agent`. Both `--flag VALUE` and `--flag=VALUE` work.
    pub fn from_args(arguments: &[OsString]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut left = arguments.iter();
        while let Some(argument) = left.next() {
            let flag =
                argument.to_str().ok_or_else(|| format!("unknown flag {}", argument.display()))?;
            let (flag, mut inline) = match flag.split_once('=') {
                Some((flag, value)) => (flag, Some(OsString::from(value))),
                None => (flag, None),
            };
            options.apply(flag, || inline.take().or_else(|| left.next().cloned()))?;
            if inline.is_some() {
                return Err(format!("`{flag}` takes no value"));
            }
        }
        Ok(options)
    }

    fn apply(
        &mut self,
        flag: &str,
        mut next: impl FnMut() -> Option<OsString>,
    ) -> Result<(), String> {
        let mut value = || next().ok_or(format!("`{flag}` needs a value"));
        let mut text = || {
            let text = value()?.into_string();
            text.map_err(|_| format!("the value of `{flag}` is not UTF-8"))
        };
        let mut number = || {
            let text = text()?;
            text.parse().map_err(|_| format!("`{flag}` needs a number, got `{text}`"))
        };
        match flag {
            "--state" => self.state = Some(PathBuf::from(value()?)),
            "--all-sessions" => self.offers.extend(SESSION_METHODS),
            "--lie-on-resume" => self.lies_on_resume = true,
            "--forget" => self.forgets = true,
            "--no-config" => self.has_no_config = true,
            "--auth" => self.auth = Some(text()?),
            "--early-updates" => self.has_early_updates = true,
            "--version-answer" => self.version_answer = Some(number()?),
            "--ids" => {
                self.ids = match text()?.as_str() {
                    "from-zero" => IdStyle::FromZero,
                    "strings" => IdStyle::Strings,
                    other => {
                        return Err(format!("`{flag}` is `from-zero` or `strings`, not `{other}`"));
                    }
                };
            }
            "--slow-start" => self.slow_start = Duration::from_millis(number()?),
            "--slow-new" => self.slow_new = Duration::from_millis(number()?),
            "--stderr-flood" => self.stderr_flood_bytes = number()?,
            "--ignore-eof" => self.ignores_eof = true,
            "--ignore-term" => self.ignores_term = true,
            _ => {
                let offered = SESSION_METHODS.into_iter();
                let mut offered = offered.filter(|name| flag.strip_prefix("--") == Some(*name));
                let unknown = || format!("unknown flag `{flag}`; the flags are:\n{USAGE}");
                self.offers.insert(offered.next().ok_or_else(unknown)?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
