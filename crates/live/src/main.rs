//! `live`: drives real agents through Switchyard, and says what works.
//!
//! Exit code 0 if nothing failed, 1 if something did, 2 for wrong usage.

use clap::{Parser, Subcommand};
use live::agents::{AGENTS, Agent};
use live::drive::{Plan, drive};
use live::install::{Cache, Package};
use live::model::Server;
use live::servers::{ModelServer, SERVERS};
use live::{acpx_client, say, table};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "live", about = "Drive real agents through Switchyard, and say what works")]
struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Only these agents
    #[arg(long, value_delimiter = ',', global = true)]
    only: Vec<String>,
    /// Only these checks
    #[arg(long, value_delimiter = ',')]
    check: Vec<String>,
    /// List the agents and leave
    #[arg(long)]
    list: bool,
    /// The binary to drive; default: beside this program
    #[arg(long)]
    switchyard: Option<PathBuf>,
    /// Write down every event and every request to the model below this directory
    #[arg(long)]
    records: Option<PathBuf>,
    /// Print the table as it stands in the documentation
    #[arg(long)]
    markdown: bool,
    /// Put the table into this document, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Only fill the cache
    Install,
    /// Only run the model server, until it is ended
    Model {
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments).await {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(problem) => {
            say(&format!("live: {problem}"));
            ExitCode::from(2)
        }
    }
}

/// Whether all went well.
async fn run(arguments: Arguments) -> io::Result<bool> {
    if let Some(Verb::Model { port }) = arguments.verb {
        return serve(port).await;
    }
    let Selection { agents, servers, has_client } = chosen(&arguments.only)?;
    if arguments.list {
        let agents = agents.iter().map(|agent| (agent.id, agent.package.version));
        let servers = servers.iter().map(|server| (server.agent.id, server.package.version));
        for (id, version) in agents.chain(servers) {
            writeln!(io::stdout(), "{id:<18}{version}")?;
        }
        if has_client {
            writeln!(io::stdout(), "{:<18}drives the built-in agent", acpx_client::ID)?;
        }
        return Ok(true);
    }
    let cache = Cache::from_environment();
    say(&format!("cache: {}", cache.root().display()));
    if let Some(Verb::Install) = arguments.verb {
        let agents = agents.iter().map(|agent| (agent.id, &agent.package));
        let servers = servers.iter().map(|server| (server.agent.id, &server.package));
        return Ok(install(&cache, agents.chain(servers)));
    }
    let switchyard = match arguments.switchyard {
        Some(path) => path,
        None => std::env::current_exe()?.with_file_name("switchyard"),
    };
    let switchyard = switchyard.canonicalize().map_err(|problem| {
        io::Error::other(format!("no binary at {}: {problem}", switchyard.display()))
    })?;
    let (records, checks) = (arguments.records, arguments.check);
    let client = match has_client && checks.is_empty() {
        true => Some(acpx_client::drive(&switchyard, &cache).await?),
        false => None,
    };
    let mut rows = drive(Plan { agents, servers, switchyard, cache, records, checks }).await?;
    rows.extend(client);
    let markdown = table::markdown(&rows, &jiff::Zoned::now().date().to_string());
    match arguments.markdown {
        true => writeln!(io::stdout(), "{markdown}")?,
        false => write!(io::stdout(), "{}", table::text(&rows))?,
    }
    if let Some(document) = &arguments.write {
        write(document, &markdown)?;
    }
    Ok(!rows.iter().any(table::Row::has_failed))
}

/// Runs the model server and prints every request, until the program is ended.
async fn serve(port: u16) -> io::Result<bool> {
    let server = Server::start_on(port).await?;
    writeln!(io::stdout(), "{}", server.url())?;
    for n in 0.. {
        let entry = server.log().nth(n).await;
        let scenario = entry.scenario.as_deref().unwrap_or("-");
        say(&format!("{} {} {scenario} {}", entry.path, entry.model, entry.round));
    }
    Ok(true)
}

struct Selection {
    agents: Vec<&'static Agent>,
    servers: Vec<&'static ModelServer>,
    /// A client drives the built-in agent.
    has_client: bool,
}

fn chosen(only: &[String]) -> io::Result<Selection> {
    let mut chosen = Selection { agents: Vec::new(), servers: Vec::new(), has_client: false };
    if only.is_empty() {
        chosen.agents.extend(AGENTS.iter());
        chosen.servers.extend(SERVERS.iter());
        chosen.has_client = true;
    }
    for id in only {
        match (Agent::by_id(id), ModelServer::by_id(id)) {
            (Some(agent), _) => chosen.agents.push(agent),
            (None, Some(server)) => chosen.servers.push(server),
            (None, None) if id == acpx_client::ID => chosen.has_client = true,
            (None, None) => {
                return Err(io::Error::other(format!("no agent `{id}`; see --list")));
            }
        }
    }
    Ok(chosen)
}

fn install<'a>(cache: &Cache, packages: impl Iterator<Item = (&'static str, &'a Package)>) -> bool {
    let mut is_good = true;
    for (id, package) in packages {
        match cache.install(package) {
            Ok(installed) => say(&format!("{id:<18}{}", installed.program.display())),
            Err(problem) => {
                is_good = false;
                say(&format!("{id:<18}{problem}"));
            }
        }
    }
    is_good
}

fn write(document: &Path, part: &str) -> io::Result<()> {
    let old = std::fs::read_to_string(document)?;
    let new = table::replaced(&old, part).ok_or_else(|| {
        io::Error::other(format!("no {} in {}", table::BEGIN, document.display()))
    })?;
    std::fs::write(document, new)
}
