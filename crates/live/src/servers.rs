//! Model servers that we did not write, and the built-in agent in front of them.
//!
//! In: a server of the table. Out: it runs, on its usual port where that is free, with models
//! that need no network: `LiteLLM` with mocked answers and with our own model behind it,
//! llama.cpp with a tiny model of random weights that is made on the spot.

mod checks;
mod running;

pub use checks::{SERVER_CHECKS, ServerCheck, run};
pub use running::{RunningServer, ServerStartError};

use crate::agents::{Agent, Launch, OWN, PermissionHabit, recipes};
use crate::install::{Package, Source};

/// The text of `LiteLLM`'s mocked model.
pub const MOCKED: &str = "This is said by a mock of LiteLLM, in several pieces.";

#[derive(Debug)]
pub struct ModelServer {
    pub package: Package,
    /// The port at which discovery looks for it.
    pub port: u16,
    /// The title under which discovery lists it.
    pub title: &'static str,
    pub kind: Kind,
    /// The built-in agent with this server.
    pub agent: Agent,
    /// Whether our model is behind it, so that everything can be checked that is checked of
    /// other agents.
    pub has_our_model: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    LiteLlm,
    LlamaCpp,
}

pub const SERVERS: &[ModelServer] = &[
    ModelServer {
        package: Package {
            id: "litellm",
            version: "1.106.2",
            source: Source::Python("litellm[proxy]", 11),
            program: "litellm",
        },
        port: 4000,
        title: "LiteLLM",
        kind: Kind::LiteLlm,
        agent: Agent { id: "native+litellm", recipe: recipes::native, ..NATIVE },
        has_our_model: true,
    },
    ModelServer {
        package: Package {
            id: "llama-cpp",
            version: "0.3.36",
            source: Source::Python("llama-cpp-python[server]", 11),
            program: "python",
        },
        port: 8080,
        title: "llama.cpp",
        kind: Kind::LlamaCpp,
        agent: Agent { id: "native+llama.cpp", recipe: recipes::native_tiny, ..NATIVE },
        has_our_model: false,
    },
];

/// Makes the tiny model file.
pub const GGUF: Package = Package {
    id: "gguf",
    version: "0.19.0",
    source: Source::Python("gguf", 11),
    program: "python",
};

const NATIVE: Agent = Agent {
    id: "",
    package: OWN,
    launch: Launch::Own("native"),
    recipe: recipes::native,
    asks: PermissionHabit::BeforeEdits,
    model: Some(("live-small", "live-small")),
    has_sdk_checks: false,
    quirks: &[],
};

impl ModelServer {
    pub fn by_id(id: &str) -> Option<&'static Self> {
        SERVERS.iter().find(|server| server.agent.id == id)
    }
}
