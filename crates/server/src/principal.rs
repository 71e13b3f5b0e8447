//! Who is on the other end of a connection, and what that one may do.

use tokio_util::sync::CancellationToken;

/// What a token allows. Each role may do all that the ones before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads.
    Observer,
    /// Also creates sessions, prompts, cancels and answers questions.
    Operator,
    /// Also deletes, makes and revokes tokens, and reads the audit.
    Admin,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Observer => "observer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        })
    }
}

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The token's name, as it is written into logs and decisions.
    pub name: String,
    pub role: Role,
    /// Sees only the sessions that it made itself.
    pub own_sessions: bool,
    /// The daemon's own user, on the private socket: may name commands.
    pub is_local: bool,
    /// Cancelled when the token is revoked; every open stream ends then.
    pub revoked: CancellationToken,
}

impl Principal {
    /// The daemon's own user, who needs no token.
    pub fn local() -> Self {
        Self {
            name: "local".to_owned(),
            role: Role::Admin,
            own_sessions: false,
            is_local: true,
            revoked: CancellationToken::new(),
        }
    }

    pub fn may(&self, role: Role) -> bool {
        self.role >= role
    }

    /// How decisions of this one are recorded: `token:phone http`, `local unix`. Give it to
    /// [`sessions::permission::Decider::client`].
    pub fn client(&self, way: &str) -> String {
        match self.is_local {
            true => format!("{} {way}", self.name),
            false => format!("token:{} {way}", self.name),
        }
    }
}
