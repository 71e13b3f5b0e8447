//! The daemon's state, which every handler shares. It knows no handler: what one of them keeps
//! between requests is a file of its own here.

pub(crate) mod agents;
pub mod backup_status;
mod created_sessions;
pub(crate) mod load;
pub(crate) mod session_snapshots;
mod snapshot_builder;
pub(crate) mod vocabulary_snapshots;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sessions::fair_limiter::FairLimiter;
use sessions::host::AgentCapabilities;
use sessions::open::OpenError;
use sessions::order::SessionOrder;
use sessions::permission::PermissionMode;
use sessions::registry::{RegistryError, SessionRegistry};
use sessions::session::SessionHandle;
use store::{SessionRecord, StoreError};
use tokio_util::sync::CancellationToken;
use wire::{Fault, SessionId};

use crate::attachments::Attachments;
use crate::locking::Locking as _;
use crate::metrics::Metrics;
use crate::open_design::settings::OpenDesignSettings;
use crate::principal::Principal;
use crate::problem::{Problem, shown};
use agents::KnownAgents;
use backup_status::BackupStatus;
use created_sessions::CreatedSessions;
use load::Load;
use session_snapshots::SessionSnapshots;
use vocabulary_snapshots::VocabularySnapshots;

/// Searches for files at a time, and listings of directories. Everyone who types asks again and
/// again; the disk shall have time for the agents.
const MAX_SEARCHES: usize = 2;

/// The daemon's settings: its limits and directories.
#[derive(Debug, Clone, Default)]
pub struct DaemonSettings {
    /// Where the page is, for links: `http://k3v9qw72hpxm.localhost:7433`.
    pub page_base: String,
    /// The page's addresses for other devices.
    pub other_bases: Vec<String>,
    /// The agent of sessions that name none.
    pub default_agent: Option<String>,
    /// Where sessions of network clients may work; anywhere if there are none.
    pub roots: Vec<PathBuf>,
    /// The home directory of the daemon's user, if there is one.
    pub home: Option<PathBuf>,
    /// The sessions' own directories, with their attachments.
    pub sessions_dir: PathBuf,
    /// Directories of projects are made below this.
    pub projects_dir: PathBuf,
    /// Timeouts of event streams.
    pub pace: StreamPace,
}

/// Timeouts of event streams: for slow readers, and between heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPace {
    /// A reader that took less than a chunk for so long is warned.
    pub warn_after: Duration,
    /// And one that took less for so long loses its connection.
    pub evict_after: Duration,
    /// Interval of heartbeats on a silent stream, which keep proxies from closing it.
    pub heartbeat: Duration,
}

impl Default for StreamPace {
    fn default() -> Self {
        Self {
            warn_after: Duration::from_secs(10),
            evict_after: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// The daemon, as its handlers know it.
#[derive(Debug)]
pub struct Daemon {
    pub registry: Arc<SessionRegistry>,
    pub settings: DaemonSettings,
    pub metrics: Metrics,
    /// Cancelled when the daemon begins to stop: nothing new is begun.
    pub stopping: CancellationToken,
    /// Cancelled when every turn has ended: so do streams and connections.
    pub ended: CancellationToken,
    /// How the last scheduled backup of the log went.
    pub backups: BackupStatus,
    pub(crate) started: Instant,
    pub(crate) agents: KnownAgents,
    pub(crate) created_sessions: CreatedSessions,
    pub(crate) attachments: Attachments,
    pub(crate) searches: FairLimiter,
    pub(crate) listings: FairLimiter,
    pub(crate) load: Load,
    pub(crate) session_snapshots: SessionSnapshots,
    pub(crate) vocabulary_snapshots: VocabularySnapshots,
    open_design: Mutex<OpenDesignSettings>,
}

impl Daemon {
    pub fn new(
        registry: Arc<SessionRegistry>,
        settings: DaemonSettings,
        metrics: Metrics,
    ) -> Arc<Self> {
        Arc::new(Self {
            metrics,
            stopping: CancellationToken::new(),
            ended: CancellationToken::new(),
            backups: BackupStatus::default(),
            started: Instant::now(),
            agents: KnownAgents::default(),
            created_sessions: CreatedSessions::default(),
            attachments: Attachments::below(settings.sessions_dir.clone()),
            searches: FairLimiter::new(MAX_SEARCHES),
            listings: FairLimiter::new(MAX_SEARCHES),
            load: Load::default(),
            session_snapshots: SessionSnapshots::default(),
            vocabulary_snapshots: VocabularySnapshots::below(
                settings.sessions_dir.clone(),
                registry.log().clone(),
            ),
            registry,
            open_design: Mutex::default(),
            settings,
        })
    }

    /// The settings of runs under `/api`.
    pub(crate) fn open_design(&self) -> OpenDesignSettings {
        self.open_design.locked().clone()
    }

    /// Replaces the settings of runs under `/api`; runs that have begun keep theirs.
    pub fn set_open_design(&self, settings: OpenDesignSettings) {
        *self.open_design.locked() = settings;
    }

    /// Removes the files of sessions that are no longer in the log.
    pub async fn sweep_attachments(&self) {
        let Ok(sessions) = self.attachments.sessions().await else { return };
        for id in sessions {
            if let Ok(None) = self.registry.log().session(id).await
                && let Err(error) = self.attachments.remove_all(id).await
            {
                tracing::warn!(session = %id, %error, "cannot remove its attachments");
            }
        }
    }

    /// A session by its id, if there is one that `principal` may see.
    pub(crate) async fn visible(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<SessionRecord, Problem> {
        let missing = || Problem::not_found(format!("there is no session `{}`", shown(id)));
        let parsed = SessionId::parse(id).map_err(|_| missing())?;
        let record = match self.registry.record(parsed).await {
            // Every id is denied in the same words, whether it is of somebody else's session or none.
            Err(RegistryError::NoSuchSession(_)) => return Err(missing()),
            // Whose it was, nobody knows any more.
            Err(RegistryError::Open(OpenError::Store(StoreError::SessionLost { .. })))
                if principal.own_sessions =>
            {
                return Err(missing());
            }
            // A session that cannot be read exists; its client must not forget it.
            record => record?,
        };
        match principal.sees(&record) {
            true => Ok(record),
            false => Err(missing()),
        }
    }

    /// The capabilities of a session's agent, which is started if need be.
    pub(crate) async fn capabilities(
        &self,
        session: SessionId,
    ) -> Result<Result<AgentCapabilities, Fault>, RegistryError> {
        let linking = async |session: SessionHandle| {
            if let Err(fault) = session.link().await? {
                return Ok(Err(fault));
            }
            Ok(Ok(session.offer().await?.map(|offer| offer.capabilities).unwrap_or_default()))
        };
        self.registry.with(session, linking).await
    }

    /// Checks that `principal` may give this order, and resolves its directories.
    pub(crate) fn checked(
        &self,
        order: SessionOrder,
        principal: &Principal,
    ) -> Result<SessionOrder, Problem> {
        self.checked_in(self.roots_of(principal), order, principal)
    }

    /// Directories in which sessions of `principal` may work; anywhere if there are none.
    pub(crate) fn roots_of(&self, principal: &Principal) -> &[PathBuf] {
        match principal.is_local {
            true => &[],
            false => &self.settings.roots,
        }
    }

    /// A directory as a person names it: `~` is the home of the daemon's user.
    pub(crate) fn whole_path(&self, path: PathBuf) -> Result<PathBuf, Problem> {
        let Ok(below) = path.strip_prefix("~") else { return Ok(path) };
        match &self.settings.home {
            Some(home) => Ok(home.join(below)),
            None => {
                Err(Problem::bad_request("the daemon has no home directory; name the whole path"))
            }
        }
    }

    /// As [`checked`](Self::checked), with the directories in which the session may work.
    pub(crate) fn checked_in(
        &self,
        roots: &[PathBuf],
        order: SessionOrder,
        principal: &Principal,
    ) -> Result<SessionOrder, Problem> {
        let is_wide =
            matches!(order.permissions, Some(PermissionMode::Auto | PermissionMode::AcceptEdits));
        if principal.is_worker && is_wide {
            let why = "an agent cannot give a session wider permissions than it would get";
            return Err(Problem::forbidden(why));
        }
        principal.check_options(&order.initial_options)?;
        let order = match principal.is_local {
            true => order,
            false => order.without_commands().map_err(RegistryError::from)?,
        };
        let placed = order.in_real_dirs(roots, &self.registry.forbidden());
        Ok(placed.map_err(RegistryError::from)?)
    }
}
