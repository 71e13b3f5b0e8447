//! Clients that we did not write, driving the built-in agent through `switchyard acp`.
//!
//! In: acpx from npm, the binary, the model server. Out: one row of verdicts.
//! The client starts Switchyard by itself, as its users would tell it to; what it did is seen on
//! the disk, in what the model server was asked, and in the processes that are left.

use crate::agent_home::AgentHome;
use crate::agents::{Agent, AgentRecipe, AgentSurroundings, Launch, PermissionHabit};
use crate::install::{Cache, Package, Source};
use crate::model::{MODELS, Server, scenario};
use crate::table::Row;
use crate::verdict::{CheckFailure, Verdict, because};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

/// As in the table and in `--only`.
pub const ID: &str = "acpx";

// A turn with our model takes seconds; the rest is for a loaded machine.
const DEADLINE: Duration = Duration::from_mins(2);
const OLD: &str = "hello from the disk\n";
const NEW: &str = "goodbye from the disk\n";

/// The client as if it were an agent: it is installed and housed in the same way.
const ACPX: Agent = Agent {
    id: ID,
    package: Package { id: ID, version: "0.19.1", source: Source::Npm("acpx"), program: "acpx" },
    launch: Launch::Command(&[]),
    recipe: surroundings,
    asks: PermissionHabit::BeforeEdits,
    model: None,
    has_sdk_checks: false,
    quirks: &[],
};

fn surroundings(at: &AgentSurroundings) -> AgentRecipe {
    let set = |name: &'static str, value: String| (name, value);
    let variables = vec![
        set("OPENAI_BASE_URL", format!("{}/v1", at.model_url)),
        set("OPENAI_API_KEY", "live".to_owned()),
        set("OPENAI_MODEL", MODELS[0].to_owned()),
    ];
    AgentRecipe { variables, ..AgentRecipe::default() }
}

/// The task that the client gives the agent.
#[derive(Debug, Clone, Copy)]
enum Check {
    /// Read, edit and a command in one session, every question answered with yes.
    Task,
    /// The same edit, every question answered with no.
    Denied,
    /// Without the client's files and terminals.
    Alone,
}

const CHECKS: [(&str, Check); 3] =
    [("task", Check::Task), ("denied", Check::Denied), ("alone", Check::Alone)];

/// Drives the built-in agent with acpx.
pub async fn drive(switchyard: &Path, cache: &Cache) -> std::io::Result<Row> {
    let model = Server::start().await?;
    let cache = cache.clone();
    let installed = tokio::task::spawn_blocking(move || cache.install(&ACPX.package)).await;
    let row = |cells, problem| {
        let version = ACPX.package.version.to_owned();
        Row { agent: format!("{ID} native"), version, cells, problem }
    };
    let installed = match installed.map_err(std::io::Error::other)? {
        Ok(installed) => installed,
        Err(problem) => return Ok(row(Vec::new(), Some(problem.to_string()))),
    };
    let place = AgentHome::make(&ACPX, switchyard, installed, &model, None, None)?;
    let mut cells = Vec::new();
    for (name, check) in CHECKS {
        let case = Case { place: &place, switchyard, cwd: place.work(name)?, model: &model };
        let mut verdict = match case.perform(check).await {
            Ok(()) => Verdict::Pass(String::new()),
            Err(reason) => Verdict::Fail(reason.to_string()),
        };
        let left = place.left_behind(&[]).await;
        if !left.is_empty() && matches!(verdict, Verdict::Pass(_)) {
            verdict = Verdict::Fail(format!("left behind: {}", left.join("; ")));
        }
        crate::drive::told(&format!("{ID} native"), name, &verdict);
        cells.push((name.to_owned(), verdict));
    }
    Ok(row(cells, None))
}

struct Case<'a> {
    place: &'a AgentHome,
    switchyard: &'a Path,
    cwd: PathBuf,
    model: &'a Server,
}

impl Case<'_> {
    async fn perform(&self, check: Check) -> Result<(), CheckFailure> {
        let path = self.cwd.join("greeting.txt");
        std::fs::write(&path, OLD)?;
        let edit = format!("[model:edit path={}] Please be polite.", path.display());
        match check {
            Check::Task => {
                let flags = ["--approve-all", "--ttl", "1"];
                self.acpx(&flags, &["sessions", "new", "--name", "task"]).await?;
                self.acpx(&flags, &["prompt", "-s", "task", &edit]).await?;
                is_so(&std::fs::read_to_string(&path)?, NEW)?;
                let shell = "[model:shell] Please run it.";
                self.acpx(&flags, &["prompt", "-s", "task", shell]).await?;
                self.was_told(scenario::SHELL_SAYS)?;
                let recall = "[model:recall] Do you remember?";
                let said = self.acpx(&flags, &["prompt", "-s", "task", recall]).await?;
                contains(&said, "I see 3 prompts; the first was [model:edit")
            }
            Check::Denied => {
                // It ends with a code of its own when something was denied.
                self.run(&["--deny-all"], &["exec", &edit]).await?;
                is_so(&std::fs::read_to_string(&path)?, OLD)?;
                self.was_told("This call was rejected")
            }
            Check::Alone => {
                let flags = ["--approve-all", "--no-fs", "--no-terminal"];
                self.acpx(&flags, &["exec", &edit]).await?;
                is_so(&std::fs::read_to_string(&path)?, NEW)?;
                self.acpx(&flags, &["exec", "[model:shell] Please run it."]).await?;
                self.was_told(scenario::SHELL_SAYS)
            }
        }
    }

    /// What acpx printed; it must end well.
    async fn acpx(&self, flags: &[&str], words: &[&str]) -> Result<String, CheckFailure> {
        let ran = self.run(flags, words).await?;
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        match ran.status.success() {
            true => Ok(said),
            false => {
                let error = String::from_utf8_lossy(&ran.stderr);
                Err(because(format!("{} ended with {}: {said}{error}", words[0], ran.status)))
            }
        }
    }

    async fn run(&self, flags: &[&str], words: &[&str]) -> Result<Output, CheckFailure> {
        let agent = format!("{} acp", self.switchyard.display());
        let cwd = self.cwd.to_string_lossy();
        let arguments = ["--agent", &agent, "--cwd", &*cwd];
        let arguments = arguments.iter().chain(flags).chain(words).copied();
        let mut command: tokio::process::Command = self.place.program(arguments, &self.cwd).into();
        command.stdin(Stdio::null()).kill_on_drop(true);
        let ran = tokio::time::timeout(DEADLINE, command.output()).await;
        ran.map_err(|_| because(format!("{} does not end", words.join(" "))))?
            .map_err(CheckFailure::from)
    }

    /// Whether a tool gave these words to the model.
    fn was_told(&self, words: &str) -> Result<(), CheckFailure> {
        let asked = self.model.log().below(self.place.prefix());
        let last = asked.last().map(|entry| entry.body.to_string()).unwrap_or_default();
        contains(&last, words)
    }
}

fn is_so(found: &str, wanted: &str) -> Result<(), CheckFailure> {
    if found == wanted { Ok(()) } else { Err(because(format!("it is {found:?}, not {wanted:?}"))) }
}

fn contains(text: &str, wanted: &str) -> Result<(), CheckFailure> {
    const SHOWN_CHARS: usize = 400;
    let shown = || text.chars().take(SHOWN_CHARS).collect::<String>();
    if text.contains(wanted) {
        Ok(())
    } else {
        Err(because(format!("no {wanted:?} in: {}", shown())))
    }
}
