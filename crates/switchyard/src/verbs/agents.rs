//! `switchyard agents`: the agents of this machine, and what is wrong with them.

use std::fmt::Write as _;
use std::process::ExitCode;

use projection::sanitize;
use runtimes::catalogue::BuiltInAgent;
use runtimes::detect::{
    DetectOptions, DetectedAgent, DiagnosisReason, LaunchPlan, LoginStatus, detect, detect_one,
};
use runtimes::dialect::Model;
use serde_json::{Map, Value, json};

use crate::agents::{self, ResolvedAgent};
use crate::cli::agents::{AgentsArgs, AgentsVerb};
use crate::config::Config;
use crate::outcome::{ERROR, Failure, NOT_FOUND};
use crate::signals::Signals;
use crate::terminal::format::word;
use crate::terminal::output::print;
use crate::terminal::paint::Paint;
use crate::terminal::spinner::Spinner;
use runtimes::scratch::Scratch;

pub(crate) async fn dispatch(args: AgentsArgs, config: Config) -> Result<ExitCode, Failure> {
    let look = AgentsCommand { args: &args, config: &config };
    let looking = async {
        match args.verb.as_ref().unwrap_or(&AgentsVerb::List { all: false }) {
            AgentsVerb::List { all } => look.list(*all).await,
            AgentsVerb::Show { agent } => look.show(agent).await,
            AgentsVerb::Doctor => look.doctor().await,
        }
    };
    let mut signals = Signals::listen()?;
    tokio::select! {
        looked = looking => looked,
        code = signals.next() => {
            // Their keepers end the probes when we are gone.
            Scratch::below(config.home.scratch()).clear();
            Ok(ExitCode::from(code))
        }
    }
}

struct AgentsCommand<'a> {
    args: &'a AgentsArgs,
    config: &'a Config,
}

impl AgentsCommand<'_> {
    /// Detects all agents: hands each result to `each` as it comes, and returns all in the
    /// catalogue's order.
    async fn all(
        &self,
        mut each: impl FnMut(&DetectedAgent) -> Result<(), Failure>,
    ) -> Result<Vec<DetectedAgent>, Failure> {
        let catalogue = agents::catalogue(self.config)?;
        let mut found = Vec::new();
        for inside in BuiltInAgent::ALL {
            found.push(agents::detect_inside(inside, self.config, false).await);
        }
        found.iter().try_for_each(&mut each)?;
        let n_agents = catalogue.iter().count();
        let mut results = detect(&catalogue, self.options());
        let spinner = Spinner::start(format!("asking agents … 0/{n_agents}"));
        for n_found in 1.. {
            let Some(next) = results.recv().await else { break };
            spinner.aside(|| each(&next))?;
            found.push(next);
            spinner.set_text(format!("asking agents … {n_found}/{n_agents}"));
        }
        drop(spinner);
        found.sort_by_key(|one| catalogue.ids().position(|id| id == one.id));
        Ok(found)
    }

    fn options(&self) -> DetectOptions {
        DetectOptions { refresh: self.args.refresh, ..agents::options(self.config) }
    }

    async fn list(&self, all: bool) -> Result<ExitCode, Failure> {
        if self.args.json {
            let found = self.all(|_| Ok(())).await?;
            print(&format!("{:#}\n", json!(found)))?;
            return Ok(ExitCode::SUCCESS);
        }
        let paint = Paint::on_stdout();
        print(&header(paint))?;
        let found = self
            .all(|found| match all || found.is_installed() || is_problem(found) {
                true => print(&row(found, paint)),
                false => Ok(()),
            })
            .await?;
        let missing: Vec<&str> = found
            .iter()
            .filter(|one| !one.is_installed() && !is_problem(one))
            .map(|one| one.id.as_str())
            .collect();
        if !all && !missing.is_empty() {
            print(&format!(
                "\nnot installed: {}\n`switchyard agents list --all` says how to install them\n",
                missing.join(", ")
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn doctor(&self) -> Result<ExitCode, Failure> {
        let has_trouble =
            |found: &DetectedAgent| !found.diagnoses.is_empty() || !found.unfinished.is_empty();
        let mut found = self.all(|_| Ok(())).await?;
        found.retain(|one| (one.is_installed() || is_problem(one)) && has_trouble(one));
        // Installed agents first: they are more often what is meant.
        found.sort_by_key(|one| one.is_built_in);
        if self.args.json {
            print(&format!("{:#}\n", json!(found)))?;
        } else if found.is_empty() {
            print("nothing is wrong\n")?;
        } else {
            let paint = Paint::on_stdout();
            print(&found.iter().map(|one| problems_text(one, paint)).collect::<String>())?;
        }
        let is_serious = found.iter().any(|one| !one.is_usable);
        Ok(if is_serious { ExitCode::from(ERROR) } else { ExitCode::SUCCESS })
    }

    async fn show(&self, name: &str) -> Result<ExitCode, Failure> {
        let found = match agents::find(name, self.config)? {
            ResolvedAgent::Inside(inside) => {
                agents::detect_inside(inside, self.config, false).await
            }
            // One agent alone may take its time.
            ResolvedAgent::Defined(definition) => {
                detect_one(&definition, &self.options().patient()).await
            }
        };
        match self.args.json {
            true => print(&format!("{:#}\n", json!(found)))?,
            false => print(&about(&found, Paint::on_stdout()))?,
        }
        Ok(match found.is_installed() || is_problem(&found) {
            _ if found.is_usable => ExitCode::SUCCESS,
            true => ExitCode::from(ERROR),
            false => ExitCode::from(NOT_FOUND),
        })
    }
}

/// Whether an absent agent is a problem: if somebody has configured it, or if it is not merely not
/// installed.
fn is_problem(found: &DetectedAgent) -> bool {
    let is_absent = found.diagnoses.iter().all(|one| one.reason == DiagnosisReason::NotOnPath);
    !found.is_installed() && (found.is_own || !is_absent)
}

fn header(paint: Paint) -> String {
    let line = columns(["agent", "version", "dialect", "login", "models"]);
    format!("{}\n", paint.strong(line.trim_end()))
}

fn columns([agent, version, dialect, login, models]: [&str; 5]) -> String {
    format!("{agent:<14} {version:<12} {dialect:<19} {login:<8} {models:<7} ")
}

fn row(found: &DetectedAgent, paint: Paint) -> String {
    let dialect = found.run.as_ref().map_or("-", |run| run.dialect.as_str());
    let models = match found.models.len() {
        0 => "-".to_owned(),
        n => n.to_string(),
    };
    let version = sanitize(found.version.as_deref().unwrap_or("-"));
    let login = if found.is_installed() { word(&found.auth.state) } else { "-".to_owned() };
    let line = columns([&found.id, &version, dialect, &login, &models]);
    let line = match (found.is_usable, found.diagnoses.is_empty()) {
        (true, true) => paint.good(&line),
        (true, false) => paint.doubtful(&line),
        (false, _) => paint.bad(&line),
    };
    let mut text = line.trim_end().to_owned();
    text.push('\n');
    for diagnosis in &found.diagnoses {
        // An unknown login is the rule for some; `doctor` tells.
        if found.is_usable && diagnosis.reason == DiagnosisReason::AuthUnknown {
            continue;
        }
        let remedy = match diagnosis.remedy.is_empty() {
            true => String::new(),
            false => format!("; {}", sanitize(&diagnosis.remedy)),
        };
        let (reason, message) = (diagnosis.reason.name(), sanitize(&diagnosis.message));
        let _ = writeln!(text, "{:15}{reason}: {message}{remedy}", "");
    }
    for what in &found.unfinished {
        let _ = writeln!(text, "{:15}not known: {}", "", sanitize(what));
    }
    text
}

fn title(found: &DetectedAgent, paint: Paint) -> String {
    let name = sanitize(&found.name);
    // The names of custom agents begin with their id already.
    match name.strip_prefix(&found.id) {
        Some(rest) => format!("{}{rest}\n", paint.strong(&found.id)),
        None => format!("{} ({name})\n", paint.strong(&found.id)),
    }
}

fn problems_text(found: &DetectedAgent, paint: Paint) -> String {
    let mut text = title(found, paint);
    for diagnosis in &found.diagnoses {
        let reason = diagnosis.reason.name();
        let reason = if found.is_usable { paint.doubtful(reason) } else { paint.bad(reason) };
        let _ = writeln!(text, "  {reason}: {}", sanitize(&diagnosis.message));
        if !diagnosis.remedy.is_empty() {
            let _ = writeln!(text, "    fix: {}", sanitize(&diagnosis.remedy));
        }
    }
    for what in &found.unfinished {
        let _ = writeln!(text, "  not known: {}", sanitize(what));
    }
    text
}

/// Models that are named in text.
const MAX_MODELS: usize = 24;

/// Everything about one agent.
fn about(found: &DetectedAgent, paint: Paint) -> String {
    let mut text = title(found, paint);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {name:<11} {}", sanitize(value));
        }
    };
    line("path", &found.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default());
    line("version", found.version.as_deref().unwrap_or_default());
    match &*found.live_versions {
        _ if found.is_own || found.is_built_in => {}
        [] => line("checked", "never in the project's live tests"),
        versions => {
            line("checked", &format!("{} in the project's live tests", versions.join(", ")));
        }
    }
    let by = found.auth.by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
    let login = match found.auth.state {
        LoginStatus::Unknown => "unknown".to_owned(),
        state => format!("{}{by}", word(&state)),
    };
    if found.is_installed() {
        line("login", &login);
    }
    line("features", &found.features.join(", "));
    if let Some(run) = &found.run {
        describe_run(run, &mut line);
    }
    let named = |model: &Model| match model.context {
        Some(context) => format!("{} ({context} tokens)", model.id),
        None => model.id.clone(),
    };
    let models: Vec<String> = found.models.iter().map(named).collect();
    let shown = models.get(..MAX_MODELS).unwrap_or(&models).join(", ");
    match models.len().checked_sub(MAX_MODELS) {
        Some(n_more @ 1..) => line("models", &format!("{shown} and {n_more} more (see --json)")),
        _ => line("models", &shown),
    }
    line("default", found.default_model.as_deref().unwrap_or_default());
    line("efforts", &found.efforts.join(", "));
    describe_more(&found.more, &mut line);
    let chosen = found.run.as_ref().map(|run| run.dialect.as_str());
    for other in found.passed_over.iter().filter(|other| Some(&*other.dialect) != chosen) {
        line("not spoken", &format!("{}: {}", other.dialect, other.why));
    }
    line("install", &found.install);
    line("docs", found.docs.as_deref().unwrap_or_default());
    for note in &found.notes {
        line("note", note);
    }
    if !found.diagnoses.is_empty() || !found.unfinished.is_empty() {
        text.push('\n');
        text.push_str(problems_text(found, paint).split_once('\n').map_or("", |(_, rest)| rest));
    }
    text
}

fn describe_run(run: &LaunchPlan, line: &mut impl FnMut(&str, &str)) {
    line("dialect", &run.dialect);
    line("command", &run.argv.join(" "));
    if let Some(again) = &run.resume_argv {
        line("resumed", &again.join(" "));
    }
    for (part, args) in &run.optional_args {
        line(part, &args.join(" "));
    }
    line("prompt", &format!("by {}", word(&run.prompt_by)));
    line("resume", &word(&run.resume));
    let modes: Vec<&str> = run.modes.iter().map(|mode| mode.name()).collect();
    let asks = match run.asks {
        true => "asks, and waits for the answer",
        false => "cannot ask; it is restricted to a mode by its own flags",
    };
    line("permissions", &format!("{asks}; modes: {}", modes.join(", ")));
    line("", run.permissions_note.as_deref().unwrap_or_default());
    let takes = [(run.takes_mcp, "MCP servers"), (run.takes_images, "images")];
    let takes: Vec<&str> = takes.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    line("takes", &takes.join(", "));
    let env: Vec<String> = run.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    line("sets", &env.join(" "));
    line("strips", &run.env_stripped.join(" "));
}

/// Details that only agents inside this binary have.
fn describe_more(more: &Map<String, Value>, line: &mut impl FnMut(&str, &str)) {
    let all = |name: &str| more.get(name).and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let words = |name: &str| all(name).map(text).collect::<Vec<_>>().join(", ");
    for endpoint in all("endpoints") {
        let is_set = if endpoint["isKeySet"] == true { "set" } else { "not set" };
        line("endpoint", &format!("{} ({})", text(&endpoint["base"]), text(&endpoint["name"])));
        line("key", &format!("{} ({is_set})", text(&endpoint["key"])));
    }
    line("can do", &words("tools"));
    line("context", &words("contextTools"));
    let modes: Vec<String> = all("modes").map(|mode| text(&mode["id"])).collect();
    line("modes", &modes.join(", "));
    line("sandbox", &more.get("sandbox").map(text).unwrap_or_default());
    for server in all("mcpServers") {
        let problem = server["problem"].as_str().map_or_else(String::new, |p| format!(": {p}"));
        line("MCP server", &format!("{}{problem}", text(&server["name"])));
    }
}
