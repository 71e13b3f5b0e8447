//! All agents, a few at a time.
//!
//! In: which agents, the binary, the cache. Out: one row for each, in the order of the table.
//! An agent that cannot be installed or set up is a row that says so, and stops nobody.

use crate::agent_home::AgentHome;
use crate::agents::Agent;
use crate::check::CHECKS;
use crate::checks;
use crate::install::{Cache, InstalledPackage};
use crate::model::Server;
use crate::say;
use crate::sdk_checks::{self, SDK_CHECKS};
use crate::servers::{self, ModelServer, SERVER_CHECKS};
use crate::table::Row;
use crate::verdict::Verdict;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

// Agents are large; more of them at once only get in each other's way.
const AT_ONCE: usize = 2;

#[derive(Debug, Clone)]
pub struct Plan {
    pub agents: Vec<&'static Agent>,
    pub servers: Vec<&'static ModelServer>,
    pub switchyard: PathBuf,
    pub cache: Cache,
    /// Where to write down every event and every request to the model.
    pub records: Option<PathBuf>,
    /// Only checks with these names; all if empty.
    pub checks: Vec<String>,
}

impl Plan {
    fn has(&self, check: &str) -> bool {
        self.checks.is_empty() || self.checks.iter().any(|name| name == check)
    }
}

pub async fn drive(plan: Plan) -> std::io::Result<Vec<Row>> {
    let model = Arc::new(Server::start().await?);
    let plan = Arc::new(plan);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for (n, agent) in plan.agents.iter().copied().enumerate() {
        let (plan, model, places) = (Arc::clone(&plan), Arc::clone(&model), Arc::clone(&places));
        tasks.spawn(async move {
            // Never closed, so there is always a permit in the end.
            let _permit = places.acquire().await;
            (n, one(agent, &plan, &model).await)
        });
    }
    let mut rows: Vec<(usize, Vec<Row>)> = Vec::new();
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(done) => rows.push(done),
            Err(panic) => return Err(std::io::Error::other(panic)),
        }
    }
    rows.sort_by_key(|(n, _)| *n);
    let mut rows: Vec<Row> = rows.into_iter().flat_map(|(_, rows)| rows).collect();
    // One after the other: whoever looks for a server finds only one.
    for server in &plan.servers {
        rows.extend(with_server(server, &plan, &model).await);
    }
    Ok(rows)
}

/// The built-in agent with a server that is not ours.
async fn with_server(server: &'static ModelServer, plan: &Plan, model: &Server) -> Vec<Row> {
    let agent = &server.agent;
    let our_model = format!("{}/{}", model.url(), agent.id);
    let failed = |problem: String| {
        say(&format!("{}: {problem}", agent.id));
        vec![server_row(server, Vec::new(), Some(problem))]
    };
    let running = match servers::RunningServer::start(server, &plan.cache, &our_model).await {
        Ok(running) => running,
        Err(problem) => return failed(problem.to_string()),
    };
    let place = match plan.cache.install(&agent.package) {
        Ok(installed) => place(agent, plan, installed, model, Some(running.url())),
        Err(problem) => Err(problem.to_string()),
    };
    let place = match place {
        Ok(place) => place,
        Err(problem) => return failed(problem),
    };
    let mut cells = Vec::new();
    for check in SERVER_CHECKS.into_iter().filter(|check| plan.has(&check.to_string())) {
        let verdict = servers::run(check, server, &place, &running).await;
        told(agent.id, &check.to_string(), &verdict);
        cells.push((check.to_string(), verdict));
    }
    let mut rows = vec![server_row(server, cells, None)];
    if server.has_our_model {
        rows.push(server_row(server, usual_checks(&place, plan, model).await, None));
    }
    running.end().await;
    rows
}

fn server_row(server: &ModelServer, cells: Vec<(String, Verdict)>, problem: Option<String>) -> Row {
    let version = server.package.version.to_owned();
    Row { agent: server.agent.id.to_owned(), version, cells, problem }
}

async fn usual_checks(place: &AgentHome, plan: &Plan, model: &Server) -> Vec<(String, Verdict)> {
    let mut cells = Vec::new();
    for check in CHECKS.into_iter().filter(|check| plan.has(&check.to_string())) {
        let verdict = checks::run(check, place, model).await;
        told(place.agent.id, &check.to_string(), &verdict);
        cells.push((check.to_string(), verdict));
    }
    cells
}

async fn one(agent: &'static Agent, plan: &Plan, model: &Server) -> Vec<Row> {
    let cache = plan.cache.clone();
    let installed = tokio::task::spawn_blocking(move || cache.install(&agent.package)).await;
    let place = match installed {
        Ok(Ok(installed)) => place(agent, plan, installed, model, None),
        Ok(Err(problem)) => Err(problem.to_string()),
        Err(panic) => Err(panic.to_string()),
    };
    let place = match place {
        Ok(place) => Arc::new(place),
        Err(problem) => {
            say(&format!("{}: {problem}", agent.id));
            return vec![row(agent, agent.id.to_owned(), Vec::new(), Some(problem))];
        }
    };
    let asked = Arc::clone(&place);
    let version = tokio::task::spawn_blocking(move || asked.version_that_runs()).await;
    let version = version.ok().flatten();
    let cells = usual_checks(&place, plan, model).await;
    let ran = |name, cells| Row {
        version: version.clone().unwrap_or_else(|| agent.package.version.to_owned()),
        ..row(agent, name, cells, None)
    };
    let mut rows = vec![ran(agent.id.to_owned(), cells)];
    if agent.has_sdk_checks {
        let name = format!("acp {}", agent.id);
        let mut cells = Vec::new();
        for check in SDK_CHECKS.into_iter().filter(|check| plan.has(&check.to_string())) {
            let verdict = sdk_checks::run(check, Arc::clone(&place)).await;
            told(&name, &check.to_string(), &verdict);
            cells.push((check.to_string(), verdict));
        }
        rows.push(ran(name, cells));
    }
    rows
}

fn place(
    agent: &'static Agent,
    plan: &Plan,
    installed: InstalledPackage,
    model: &Server,
    model_url: Option<String>,
) -> Result<AgentHome, String> {
    AgentHome::make(agent, &plan.switchyard, installed, model, model_url, plan.records.as_deref())
        .map_err(|problem| format!("cannot be set up: {problem}"))
}

fn row(agent: &Agent, name: String, cells: Vec<(String, Verdict)>, problem: Option<String>) -> Row {
    Row { agent: name, version: agent.package.version.to_owned(), cells, problem }
}

pub(crate) fn told(agent: &str, check: &str, verdict: &Verdict) {
    let (word, note) = match verdict {
        Verdict::Pass(note) => ("pass", note),
        Verdict::Fail(note) => ("FAIL", note),
        Verdict::NotApplicable(note) => ("n.a.", note),
    };
    say(&format!("{agent:<18}{check:<10}{word}  {note}"));
}
