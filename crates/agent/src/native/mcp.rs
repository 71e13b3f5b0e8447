//! Tools of MCP servers.
//!
//! In: the servers that a client or the configuration names. Out: their tools, namespaced, and
//! what went wrong. Each session has servers of its own. Always true: a server that does not
//! start, answers nonsense or ends never fails the session; whatever a server sends is bounded;
//! with the session all its servers end, with everything they started.

mod connection;
mod http;
mod message_filter;
mod offered_tools;
mod server;
mod spec;
mod sse;
mod stdio;
mod tool;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::server::McpServer;
use super::settings::KeeperSettings;
use super::tool::Tool;

pub use self::spec::{
    McpConfig, SecretValues, ServerSpec, ServerTransport, TransportName, from_acp,
};

/// Settings that the servers of a session share.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Working directory of servers that are commands.
    pub cwd: PathBuf,
    pub keeper: KeeperSettings,
}

/// A problem with a server, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFault {
    pub server: String,
    pub message: String,
}

impl ServerFault {
    fn new(server: &str, message: impl std::fmt::Display) -> Self {
        Self { server: server.to_owned(), message: message.to_string() }
    }
}

/// The servers of one session. Dropping it ends them.
#[derive(Debug)]
pub struct McpServers {
    all: Vec<Arc<McpServer>>,
    refused: Vec<ServerFault>,
    tasks: TaskTracker,
    is_over: CancellationToken,
    _over_with_us: DropGuard,
}

impl McpServers {
    /// Starts them all, and waits for none. Of two with the same name the first counts.
    pub fn start(specs: impl IntoIterator<Item = ServerSpec>, settings: McpSettings) -> Self {
        let is_over = CancellationToken::new();
        let mut servers = Self {
            all: Vec::new(),
            refused: Vec::new(),
            tasks: TaskTracker::new(),
            _over_with_us: is_over.clone().drop_guard(),
            is_over,
        };
        let settings = Arc::new(settings);
        for spec in specs {
            if servers.all.iter().any(|other| other.spec.name == spec.name) {
                let message = "another server of the same name is used instead";
                servers.refused.push(ServerFault::new(&spec.name, message));
            } else {
                let server = McpServer::new(spec, Arc::clone(&settings), servers.is_over.clone());
                servers.tasks.spawn(task::boxed(Arc::clone(&server).run()));
                servers.all.push(server);
            }
        }
        servers
    }

    /// Waits until each has answered or failed, but not longer than this. Returns whether all
    /// have.
    pub async fn ready(&self, within: Duration) -> bool {
        let settled = self.all.iter().map(|server| server.settled());
        timeout(within, join_all(settled)).await.is_ok()
    }

    /// The tools of those that have answered, as they are now.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        let mut taken = BTreeSet::new();
        let mut tools = Vec::new();
        for server in &self.all {
            for offer in server.offers().iter() {
                let name = tool::tool_name(&server.spec.name, &offer.name);
                if !taken.insert(name.clone()) {
                    tracing::debug!(name, "two MCP tools have one name; the second is left out");
                    continue;
                }
                tools.push(Arc::new(tool::tool(name, offer, server)));
            }
        }
        tools
    }

    /// The problems that there are now.
    pub fn faults(&self) -> Vec<ServerFault> {
        let of_servers = self.all.iter().filter_map(|server| {
            let message = server.fault()?;
            Some(ServerFault::new(&server.spec.name, message))
        });
        self.refused.iter().cloned().chain(of_servers).collect()
    }

    /// Ends all of them, and returns when nothing of them is left.
    pub async fn shut_down(&self) {
        self.is_over.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
