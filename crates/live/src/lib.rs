//! Real agents, driven through the real binary, against a model of our own.
//!
//! In: the `switchyard` binary and a cache of pinned agents. Out: a table of what works.
//! Everything is offline once the cache is filled: the model is ours, on loopback.
//!
//! | module | owns |
//! |---|---|
//! | [`model`] | a scripted model server with four vendors' wires; of use to other tests too |
//! | [`install`] | pinned agents in a cache |
//! | [`agents`] | the table of agents and how each is set up |
//! | [`agent_home`] | a private home for one agent, and its processes |
//! | [`turn`] | one `switchyard run` |
//! | [`check`], [`verdict`] | the checks by name; how one has ended |
//! | [`checks`] | what each agent is put through |
//! | [`servers`] | model servers of others, and the built-in agent in front of them |
//! | [`sdk_checks`] | the same by the official SDK's client through `switchyard acp` |
//! | [`acpx_client`] | a client of somebody else's, driving the built-in agent |
//! | `open_design` | a run as the front end of Open Design asks for it, through `/api` |
//! | [`drive`] | all of it, a few agents at a time |
//! | [`table`] | the results |

pub mod acpx_client;
pub mod agent_home;
pub mod agents;
pub mod check;
pub mod checks;
pub mod drive;
pub mod install;
pub mod model;
mod open_design;
pub mod sdk_checks;
pub mod servers;
pub mod table;
pub mod turn;
pub mod verdict;

use std::io::Write as _;

/// A line about what is going on.
pub fn say(line: &str) {
    // An error means that stderr is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}
