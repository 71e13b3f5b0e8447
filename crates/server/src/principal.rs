//! The principal of a request: who was authenticated, and what it may do.

use sessions::details::is_made_by;
use sessions::options::InitialOptions;
use sessions::order::Maker;
use store::SessionRecord;
use tokio_util::sync::CancellationToken;
use wire::Millis;

use crate::problem::Problem;

/// The role of a token. Each one may do all that the ones before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May read.
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

/// An authenticated client.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The token's name, as it is written into logs and decisions.
    pub name: String,
    pub role: Role,
    /// Sees only the sessions that it made itself.
    pub own_sessions: bool,
    /// Since when it has its name: another may have had it before.
    pub since: Millis,
    /// The daemon's own user, on the private socket: may name commands.
    pub is_local: bool,
    /// Not a person, but something that an agent of ours has started.
    pub is_worker: bool,
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
            since: Millis(0),
            is_local: true,
            is_worker: false,
            revoked: CancellationToken::new(),
        }
    }

    /// A process that an agent of ours started, on the private socket. It may have sessions made
    /// and prompt those, as whoever it works for might; it is no person, so it answers nothing,
    /// names no command and lets nobody in.
    pub fn worker() -> Self {
        Self {
            name: "worker".to_owned(),
            role: Role::Operator,
            own_sessions: true,
            is_local: false,
            is_worker: true,
            ..Self::local()
        }
    }

    /// The only client of a daemon that runs inside the client's process. An agent that runs one
    /// may do there as it likes; the record says that it is no person.
    pub fn in_process(is_worker: bool) -> Self {
        match is_worker {
            true => Self { name: Self::worker().name, ..Self::local() },
            false => Self::local(),
        }
    }

    /// Refuses agents, where only a person may do something.
    pub(crate) fn require_person(&self) -> Result<(), Problem> {
        match self.is_worker {
            true => Err(Problem::forbidden("an agent cannot answer what a person is asked")),
            false => Ok(()),
        }
    }

    /// Refuses a mode that may allow more, if an agent asks for it.
    pub(crate) fn check_options(&self, initial_options: &InitialOptions) -> Result<(), Problem> {
        match self.is_worker && !initial_options.are_restrictive() {
            true => Err(Problem::forbidden("an agent cannot choose a mode that may allow more")),
            false => Ok(()),
        }
    }

    /// Whether it sees a session.
    pub(crate) fn sees(&self, record: &SessionRecord) -> bool {
        !self.own_sessions || self.made(record)
    }

    pub(crate) fn made(&self, record: &SessionRecord) -> bool {
        is_made_by(record, &self.name, self.since)
    }

    /// This principal as the maker of a session.
    pub(crate) fn maker(&self) -> Maker {
        Maker {
            name: self.name.clone(),
            since: self.since,
            is_limited: !self.is_local,
            revoked: self.revoked.clone(),
        }
    }

    /// The filter for lists of sessions: the owner whose sessions it sees, if not everybody's.
    pub(crate) fn owner_filter(&self) -> Option<(String, Millis)> {
        self.own_sessions.then(|| (self.name.clone(), self.since))
    }

    /// The namespace of ids that it chooses: an earlier principal of the same name had another.
    pub(crate) fn namespace(&self) -> String {
        match self.since {
            Millis(0) => self.name.clone(),
            Millis(since) => format!("{}~{since}", self.name),
        }
    }

    pub fn may(&self, role: Role) -> bool {
        self.role >= role
    }

    /// How decisions of this one are recorded: `token:phone http`, `local unix`. Give it to
    /// [`sessions::permission::Decider::client`].
    pub fn client(&self, way: &str) -> String {
        match self.is_local || self.is_worker {
            true => format!("{} {way}", self.name),
            false => format!("token:{} {way}", self.name),
        }
    }
}
