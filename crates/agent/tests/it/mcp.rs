//! MCP servers of a session, as real processes and over real HTTP.

mod calls;
mod hostile;
mod legacy;
mod remote;
mod stage;
