//! The checks of each agent by `switchyard run`.
//!
//! In: an agent in its place. Out: pass, fail or not applicable, each with a few words.
//! A check looks at what Switchyard logged, at the disk, at what the model server was asked and
//! at the processes that are left, never at what an agent claims.

use crate::agent_home::AgentHome;
use crate::agents::{Launch, PermissionHabit, Quirk};
use crate::check::Check;
use crate::model::log::RequestLogEntry;
use crate::model::{Server, scenario};
use crate::open_design;
use crate::turn::{RunningTurn, Turn};
use crate::verdict::{CheckFailure, Verdict, because};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use testkit::proc;

type CheckResult = Result<String, CheckFailure>;

// Agents try again a few times before they say that something is wrong …
const TOO_LONG: &str = "120s";
// … and some do not stop for minutes: this is enough to see that they are such.
const LONG_ENOUGH: &str = "30s";
const ALLOW: &str = "[[rules]]\nname = \"live\"\naction = \"allow\"\n";
/// Not reading: the built-in agent asks nobody about what it may not even read.
const DENY: &str = "[[rules]]\nname = \"live\"\naction = \"deny\"\n\
    kinds = [\"edit\", \"delete\", \"move\", \"execute\", \"other\"]\n";

/// One check from its beginning to its end; nothing of it lives afterwards.
pub async fn run(check: Check, place: &AgentHome, model: &Server) -> Verdict {
    if let Some(Quirk::NotApplicable(reason)) = place.agent.quirk(check) {
        return Verdict::NotApplicable(reason.to_owned());
    }
    if let (Check::OpenDesign, Launch::Command(_)) = (check, place.agent.launch) {
        return Verdict::NotApplicable("it is given as a command here".to_owned());
    }
    if let (Check::Allowed | Check::Denied, PermissionHabit::Never(reason)) =
        (check, place.agent.asks)
    {
        return Verdict::NotApplicable(reason.to_owned());
    }
    if check == Check::Model && place.agent.model.is_none() {
        return Verdict::NotApplicable(
            "no choice of model with a provider of one's own".to_owned(),
        );
    }
    let mut checked = perform(check, place, model).await;
    let left = place.left_behind(&[]).await;
    if checked.is_ok() && !left.is_empty() {
        checked = Err(because(format!("left behind: {}", left.join("; "))));
    }
    match checked {
        Ok(note) => Verdict::Pass(note),
        Err(reason) => Verdict::Fail(reason.to_string()),
    }
}

async fn perform(check: Check, place: &AgentHome, model: &Server) -> CheckResult {
    let name = check.to_string();
    let cwd = place.work(&name)?;
    let case = Case { place, model, cwd: &cwd, name: &name };
    let n_before = model.log().below(place.prefix()).len();
    let checked = dispatch(check, &case).await;
    let asked = model.log().below(place.prefix()).into_iter().skip(n_before);
    let asked: Vec<Value> = asked
        .map(|entry| json!({ "path": entry.path, "scenario": entry.scenario, "body": entry.body }))
        .collect();
    place.record(&format!("{name}.requests.jsonl"), &asked)?;
    checked
}

async fn dispatch(check: Check, case: &Case<'_>) -> CheckResult {
    match check {
        Check::Text => case.text().await,
        Check::Thinking => case.thinking().await,
        Check::Allowed => case.permission(true).await,
        Check::Denied => case.permission(false).await,
        Check::Shell => case.shell().await,
        Check::Cancel => case.cancel().await,
        Check::Http401 => case.provider_error(check, 401, "auth").await,
        Check::Http429 => case.provider_error(check, 429, "rate_limit").await,
        Check::Http500 => case.provider_error(check, 500, "upstream_unavailable").await,
        Check::Resume => case.resume().await,
        Check::Model => case.model().await,
        Check::Crash => case.crash().await,
        Check::OpenDesign => case.open_design().await,
    }
}

struct Case<'a> {
    place: &'a AgentHome,
    model: &'a Server,
    cwd: &'a Path,
    name: &'a str,
}

impl Case<'_> {
    async fn turn(&self, prompt: &str, flags: &[&str]) -> Result<Turn, CheckFailure> {
        self.end(self.start(prompt, flags)?).await
    }

    async fn end(&self, running: RunningTurn) -> Result<Turn, CheckFailure> {
        let turn = running.finish().await?;
        let name = format!("{}.jsonl", self.name);
        self.place.record(&name, &turn.events)?;
        self.place.record(&name, &[Value::String(turn.stderr.clone())])?;
        Ok(turn)
    }

    fn start(&self, prompt: &str, flags: &[&str]) -> Result<RunningTurn, CheckFailure> {
        Ok(RunningTurn::start(self.place, self.cwd, prompt, flags)?)
    }

    async fn text(&self) -> CheckResult {
        let turn = self.turn("[model:text] Please say hello.", &[]).await?;
        greeted(&turn)?;
        Ok(String::new())
    }

    async fn thinking(&self) -> CheckResult {
        let turn = self.turn("[model:think] Please think.", &[]).await?;
        ended(&turn, "end_turn")?;
        holds(turn.text().contains("The answer is 42."), "no answer", &turn)?;
        holds(turn.thoughts().contains("consider the question"), "no thought", &turn)?;
        Ok(String::new())
    }

    async fn permission(&self, is_allowed: bool) -> CheckResult {
        let path = self.cwd.join("note.txt");
        let scenario = match self.place.agent.asks {
            PermissionHabit::BeforeCommands => "shell-write",
            _ => "write",
        };
        let policy = self.policy(is_allowed)?;
        let prompt = format!("[model:{scenario} path={}] Please write a note.", path.display());
        let mut flags = vec!["--policy", policy.as_str()];
        if let PermissionHabit::InMode(mode) = self.place.agent.asks {
            flags.extend(["--mode", mode]);
        }
        let turn = self.turn(&prompt, &flags).await?;
        let is_there = path.exists();
        let (is_asked, is_given) = turn.permission();
        holds(is_asked, "nobody was asked", &turn)?;
        holds(is_given == is_allowed, "the wrong answer was given", &turn)?;
        holds(is_there == is_allowed, &format!("is the file there: {is_there}"), &turn)?;
        if is_allowed {
            ended(&turn, "end_turn")?;
            let content = std::fs::read_to_string(&path)?;
            holds(content.trim() == scenario::CONTENT.trim(), "the file is not right", &turn)?;
        } else {
            holds(turn.stop_reason() != "error", "a refusal is no error", &turn)?;
        }
        Ok(match self.place.agent.asks {
            PermissionHabit::BeforeCommands => "asks before commands only".to_owned(),
            PermissionHabit::InMode(mode) => format!("in its mode `{mode}`"),
            _ => String::new(),
        })
    }

    async fn shell(&self) -> CheckResult {
        let policy = self.policy(true)?;
        let flags = ["--policy", policy.as_str()];
        let turn = self.turn("[model:shell] Please run it.", &flags).await?;
        ended(&turn, "end_turn")?;
        // Some agents begin with the question, and only then tell of the call.
        let kinds = ["tool_call", "tool_call_update"];
        let is_called = kinds.iter().any(|kind| turn.of(kind).next().is_some());
        holds(is_called, "no tool call", &turn)?;
        let said = |payload: &Value| payload.to_string().contains(scenario::SHELL_SAYS);
        let is_heard = turn.of("tool_call_update").any(said);
        let asked = self.model.log().below(self.place.prefix());
        let is_told = asked.iter().any(|entry| said(&entry.body));
        holds(is_told, "the command did not run", &turn)?;
        let note = if is_heard { "" } else { "its output is not shown" };
        Ok(note.to_owned())
    }

    async fn cancel(&self) -> CheckResult {
        let mut running = self.start("[model:slow] Please count.", &[])?;
        running.until("a piece of text", is_text).await?;
        let processes = self.place.agent_processes(running.pid());
        running.interrupt()?;
        let turn = self.end(running).await?;
        ended(&turn, "cancelled")?;
        holds(turn.code == Some(130), "the exit code is not 130", &turn)?;
        let left = self.place.left_behind(&processes).await;
        holds(left.is_empty(), &format!("left behind: {}", left.join("; ")), &turn)?;
        Ok(String::new())
    }

    async fn provider_error(&self, check: Check, code: u16, category: &'static str) -> CheckResult {
        let prompt = format!("[model:http{code} retry=1] Please fail.");
        let quirk = self.place.agent.quirk(check);
        let timeout = match quirk {
            Some(Quirk::KeepsTrying) => LONG_ENOUGH,
            _ => TOO_LONG,
        };
        let turn = self.turn(&prompt, &["--timeout", timeout]).await?;
        match quirk {
            Some(Quirk::ErrorAsText(words)) => {
                ended(&turn, "end_turn")?;
                let is_said = turn.text().contains(words);
                holds(is_said, "the error is not in the text", &turn)?;
                Ok("reported in the agent's words".to_owned())
            }
            Some(Quirk::Hides) => {
                ended(&turn, "error")?;
                holds(turn.text().is_empty(), "it said something", &turn)?;
                Ok(format!("the agent does not say why; reported as `{}`", turn.error().0))
            }
            Some(Quirk::KeepsTrying) => {
                ended(&turn, "cancelled")?;
                let tried = self.requests(&format!("http{code}")).len();
                holds(tried > 1, "it did not try again", &turn)?;
                Ok(format!("still tries again after {LONG_ENOUGH}"))
            }
            _ => {
                ended(&turn, "error")?;
                let found = turn.error().0;
                holds(found == category, &format!("{found} instead of {category}"), &turn)?;
                Ok(String::new())
            }
        }
    }

    async fn resume(&self) -> CheckResult {
        let first = self.turn("[model:text] Please say hello.", &[]).await?;
        greeted(&first)?;
        let again = self.turn("[model:recall] Do you remember?", &["-s", "last"]).await?;
        ended(&again, "end_turn")?;
        let text = again.text();
        let is_recalled = text.contains("I see 2 prompts; the first was [model:text]");
        holds(is_recalled, &format!("it said: {text}"), &again)?;
        let third = self.turn("[model:text] Please say hello again.", &["-s", "last"]).await?;
        greeted(&third)?;
        self.logged_once(&third)?;
        let how = again.of("session_resumed").last().map(|how| {
            let word = |key: &str| how[key].as_str().unwrap_or("?").to_owned();
            format!("{} ({})", word("how"), word("verified"))
        });
        Ok(how.unwrap_or_default())
    }

    /// What was said in a session of three turns, two of them greetings, stands in its log once:
    /// an agent may tell an earlier turn again when it is given the session back.
    fn logged_once(&self, last: &Turn) -> Result<(), CheckFailure> {
        let export = ["sessions", "export", "last", "--format", "json"];
        let output = self.place.switchyard(&export, self.cwd).output()?;
        let log = String::from_utf8_lossy(&output.stdout);
        let events: Vec<Value> =
            log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        self.place.record(&format!("{}.log.jsonl", self.name), &events)?;
        let said: String = events
            .iter()
            .filter(|event| is_text(event))
            .filter_map(|event| event["payload"]["update"]["content"]["text"].as_str())
            .collect();
        let n_greetings = said.matches(&scenario::GREETING.concat()).count();
        let n_recalls = said.matches("I see 2 prompts").count();
        let is_once = (n_greetings, n_recalls) == (2, 1);
        let otherwise = format!("the log has {n_greetings} greetings and {n_recalls} recalls");
        holds(is_once, &otherwise, last)?;
        let n_prompts = events.iter().filter(|event| event["kind"] == "prompt_received").count();
        holds(n_prompts == 3, &format!("the log has {n_prompts} prompts"), last)
    }

    async fn model(&self) -> CheckResult {
        let (wanted, seen) = self.place.agent.model.unwrap_or_default();
        let n_before = self.requests("text").len();
        let turn = self.turn("[model:text] Please say hello.", &["--model", wanted]).await?;
        greeted(&turn)?;
        let models: Vec<String> =
            self.requests("text").into_iter().skip(n_before).map(|entry| entry.model).collect();
        let is_used = models.iter().any(|model| model.starts_with(seen));
        holds(is_used, &format!("the server saw {models:?}"), &turn)?;
        Ok(String::new())
    }

    async fn crash(&self) -> CheckResult {
        let mut running = self.start("[model:slow] Please count.", &[])?;
        running.until("a piece of text", is_text).await?;
        for pid in self.place.agent_processes(running.pid()) {
            proc::kill9(pid);
        }
        let turn = self.end(running).await?;
        ended(&turn, "error")?;
        let category = turn.error().0;
        holds(category == "process_exit", &format!("category {category}"), &turn)?;
        let next = self.turn("[model:text] Please go on.", &["-s", "last"]).await?;
        greeted(&next)?;
        Ok(String::new())
    }

    /// As Open Design's front end asks: what it is asked for is done, and nobody was.
    async fn open_design(&self) -> CheckResult {
        let (Launch::Name { name, .. } | Launch::Own(name)) = self.place.agent.launch else {
            return Err(because("it has no name".to_owned()));
        };
        let scenario = match self.place.agent.asks {
            PermissionHabit::BeforeCommands => "shell-write",
            _ => "write",
        };
        let path = |project: &Path| project.join("note.txt");
        let prompt = |project: &Path| {
            format!("[model:{scenario} path={}] Please write a note.", path(project).display())
        };
        let frames = open_design::run(self.place, self.cwd, name, prompt).await?;
        self.place.record(&format!("{}.frames.jsonl", self.name), &frames)?;
        let end = frames.last().map(|frame| frame["data"].clone()).unwrap_or_default();
        let told = || format!("{end}; {}", frames.iter().map(Value::to_string).collect::<String>());
        if end["status"] != "succeeded" {
            return Err(because(format!("the run ended otherwise: {}", told())));
        }
        let said = frames.iter().any(|frame| frame["data"]["type"] == "text_delta");
        let written = std::fs::read_to_string(path(&open_design::project(self.place)));
        let is_right = written.is_ok_and(|text| text.trim() == scenario::CONTENT.trim());
        match said && is_right {
            true => Ok(String::new()),
            false => Err(because(format!("answered: {said}, written: {is_right}: {}", told()))),
        }
    }

    fn policy(&self, is_allowed: bool) -> io::Result<String> {
        let (name, rules) = if is_allowed { ("allow.toml", ALLOW) } else { ("deny.toml", DENY) };
        Ok(self.place.file(name, rules)?.to_string_lossy().into_owned())
    }

    fn requests(&self, scenario: &str) -> Vec<RequestLogEntry> {
        let mut all = self.model.log().below(self.place.prefix());
        all.retain(|entry| entry.scenario.as_deref() == Some(scenario));
        all
    }
}

pub(crate) fn is_text(event: &Value) -> bool {
    event["kind"] == "agent_message_chunk"
}

fn greeted(turn: &Turn) -> Result<(), CheckFailure> {
    ended(turn, "end_turn")?;
    let greeting = scenario::GREETING.concat();
    let text = turn.text();
    let n_times = text.matches(&greeting).count();
    holds(n_times == 1, &format!("it said: {text}"), turn)
}

pub(crate) fn ended(turn: &Turn, reason: &str) -> Result<(), CheckFailure> {
    let found = turn.stop_reason();
    holds(found == reason, &format!("ended with {found} instead of {reason}"), turn)
}

pub(crate) fn holds(is_so: bool, otherwise: &str, turn: &Turn) -> Result<(), CheckFailure> {
    if is_so { Ok(()) } else { Err(because(format!("{otherwise} ({})", turn.summary()))) }
}
