//! The command line of the demo agent.
//!
//! In: the arguments after `demo-agent`. Out: [`DemoOptions`], or one sentence that says what is
//! wrong. The default is an honest, minimal agent: every lie and every capability has to be asked
//! for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How the demo agent behaves on one connection.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, not a state")]
pub struct DemoOptions {
    /// Keep each session as a JSON file here, so that another process can go on with it.
    pub state: Option<PathBuf>,
    /// Which of the optional `session/*` methods are advertised and served.
    pub offers: OfferedMethods,
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

/// The optional session methods.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "five independent switches, not a state")]
pub struct OfferedMethods {
    pub load: bool,
    pub resume: bool,
    pub list: bool,
    pub close: bool,
    pub delete: bool,
}

impl OfferedMethods {
    /// All of them.
    pub const ALL: Self = Self { load: true, resume: true, list: true, close: true, delete: true };
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
--state DIR          keep sessions as JSON files in DIR
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
        let mut rest = FlagReader { left: arguments, inline: None };
        while let Some(flag) = rest.next_flag()? {
            options.apply(&flag, &mut rest)?;
            if rest.inline.is_some() {
                return Err(format!("`{flag}` takes no value"));
            }
        }
        Ok(options)
    }

    fn apply(&mut self, flag: &str, rest: &mut FlagReader<'_>) -> Result<(), String> {
        match flag {
            "--state" => self.state = Some(PathBuf::from(rest.value(flag)?)),
            "--load" => self.offers.load = true,
            "--resume" => self.offers.resume = true,
            "--list" => self.offers.list = true,
            "--close" => self.offers.close = true,
            "--delete" => self.offers.delete = true,
            "--all-sessions" => self.offers = OfferedMethods::ALL,
            "--lie-on-resume" => self.lies_on_resume = true,
            "--forget" => self.forgets = true,
            "--no-config" => self.has_no_config = true,
            "--auth" => self.auth = Some(rest.text(flag)?),
            "--early-updates" => self.has_early_updates = true,
            "--version-answer" => self.version_answer = Some(rest.number(flag)?),
            "--ids" => self.ids = rest.id_style(flag)?,
            "--slow-start" => self.slow_start = Duration::from_millis(rest.number(flag)?),
            "--slow-new" => self.slow_new = Duration::from_millis(rest.number(flag)?),
            "--stderr-flood" => self.stderr_flood_bytes = rest.number(flag)?,
            "--ignore-eof" => self.ignores_eof = true,
            "--ignore-term" => self.ignores_term = true,
            _ => return Err(format!("unknown flag `{flag}`; the flags are:\n{USAGE}")),
        }
        Ok(())
    }
}

struct FlagReader<'a> {
    left: &'a [OsString],
    /// The part after `=` of the flag that was just read.
    inline: Option<String>,
}

impl FlagReader<'_> {
    fn next_flag(&mut self) -> Result<Option<String>, String> {
        let Some((first, left)) = self.left.split_first() else { return Ok(None) };
        self.left = left;
        let flag = first.to_str().ok_or_else(|| format!("unknown flag {}", first.display()))?;
        Ok(Some(match flag.split_once('=') {
            Some((name, value)) => {
                self.inline = Some(value.to_owned());
                name.to_owned()
            }
            None => flag.to_owned(),
        }))
    }

    fn value(&mut self, flag: &str) -> Result<OsString, String> {
        if let Some(value) = self.inline.take() {
            return Ok(value.into());
        }
        let (first, left) = self.left.split_first().ok_or(format!("`{flag}` needs a value"))?;
        self.left = left;
        Ok(first.clone())
    }

    fn text(&mut self, flag: &str) -> Result<String, String> {
        self.value(flag)?.into_string().map_err(|_| format!("the value of `{flag}` is not UTF-8"))
    }

    fn number(&mut self, flag: &str) -> Result<u64, String> {
        let text = self.text(flag)?;
        text.parse().map_err(|_| format!("`{flag}` needs a number, got `{text}`"))
    }

    fn id_style(&mut self, flag: &str) -> Result<IdStyle, String> {
        match self.text(flag)?.as_str() {
            "from-zero" => Ok(IdStyle::FromZero),
            "strings" => Ok(IdStyle::Strings),
            other => Err(format!("`{flag}` is `from-zero` or `strings`, not `{other}`")),
        }
    }
}

#[cfg(test)]
mod tests;
