//! The limits and waits of sessions, each with its default and its reason, and their
//! observers.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use bus::connection::ConnectionLimits;
use bus::{StopLadder, WorkerLimits};
use roots::ForbiddenDirs;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use wire::SessionId;

use crate::observer::Observers;
use crate::permission::PermissionMode;

#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub limits: SessionLimits,
    /// A peer that takes no byte for this long is stalled.
    pub write_stall: Duration,
    /// `npx` and `uvx` download the agent on the first start.
    pub initialize_within: Duration,
    /// For session/new, load and resume: agents index the workspace and start MCP servers.
    pub open_within: Duration,
    /// From `session/cancel` to closing the agent's stdin. All agents but two were seen to
    /// answer within a second; some finish the model call first.
    pub cancel_grace: Duration,
    pub stop: StopLadder,
    /// A question that no client answers is rejected after this.
    pub permission_within: Duration,
    /// A running turn without any message is reported after this, then after twice as long.
    pub quiet_after: Duration,
    pub restart_window: Duration,
    pub circuit_open: Duration,
    /// Each session has a directory of its own name below this, which its agent may read.
    pub own_dirs: Option<PathBuf>,
    /// The directories that no session may touch.
    pub forbidden: ForbiddenDirs,
    pub observers: Observers,
    /// Questions wait for a client also while none is attached.
    pub questions_wait: bool,
    /// Every session is held to this mode, whatever it was made with.
    pub forced_mode: Option<PermissionMode>,
    /// An idle session lets its worker go after this; the next prompt starts one.
    pub worker_idle: Option<Duration>,
    /// An idle session without worker and clients leaves memory after this.
    pub put_aside_after: Option<Duration>,
}

/// What sessions may use at most, by the names that the configuration has for it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionLimits {
    pub worker_line_bytes: usize,
    pub client_line_bytes: usize,
    pub queued_prompts: usize,
    /// Sessions of one network client, or of all agents that make some. Years of daily use, and
    /// still read by a list in a moment.
    pub sessions_per_token: NonZeroUsize,
    pub terminals: usize,
    pub terminal_output_bytes: usize,
    /// Restarts of an agent within `restart_window`.
    pub restarts: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        // Evaluated by the compiler, which would refuse a zero.
        const SESSIONS_PER_TOKEN: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
        Self {
            worker_line_bytes: wire::limits::WORKER_LINE_BYTES,
            client_line_bytes: wire::limits::CLIENT_LINE_BYTES,
            queued_prompts: 16,
            sessions_per_token: SESSIONS_PER_TOKEN,
            terminals: 16,
            terminal_output_bytes: 1 << 20,
            restarts: 5,
        }
    }
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            limits: SessionLimits::default(),
            write_stall: Duration::from_secs(30),
            initialize_within: Duration::from_secs(120),
            open_within: Duration::from_secs(120),
            cancel_grace: Duration::from_secs(10),
            stop: StopLadder::default(),
            permission_within: Duration::from_secs(600),
            quiet_after: Duration::from_secs(30),
            restart_window: Duration::from_secs(180),
            circuit_open: Duration::from_secs(60),
            own_dirs: None,
            forbidden: ForbiddenDirs::default(),
            observers: Observers::default(),
            questions_wait: false,
            forced_mode: None,
            worker_idle: None,
            put_aside_after: None,
        }
    }
}

impl SessionSettings {
    pub(crate) fn worker_connection(&self) -> ConnectionLimits {
        ConnectionLimits {
            max_line_bytes: self.limits.worker_line_bytes,
            max_values: wire::limits::WORKER_VALUES,
            outbox_bytes: bus::connection::OUTBOX_BYTES,
            write_stall: self.write_stall,
        }
    }

    pub(crate) fn client_connection(&self) -> ConnectionLimits {
        /// An editor may be stopped in a debugger, or busy; the log does not mind waiting.
        const WRITE_STALL: Duration = Duration::from_secs(600);
        /// Bytes that wait for one client: there may be many that read nothing.
        const OUTBOX: usize = 512 << 10;
        ConnectionLimits {
            max_line_bytes: self.limits.client_line_bytes,
            max_values: wire::limits::CLIENT_VALUES,
            outbox_bytes: OUTBOX,
            write_stall: WRITE_STALL,
        }
    }
}

/// How processes are started: the same for agents and for the commands they run.
#[derive(Debug, Clone)]
pub struct WorkerSetup {
    pub keeper_exe: PathBuf,
    pub keeper_args: Vec<std::ffi::OsString>,
    /// The directory in which running workers are noted, for the sweep after a crash.
    pub records_dir: Option<PathBuf>,
    pub cgroups: bool,
    pub limits: WorkerLimits,
    /// Cancelled when all that was started has to end now.
    pub hurry: CancellationToken,
}

impl WorkerSetup {
    /// The same for the workers of a session, which have limits together.
    pub(crate) fn of_session(&self, id: SessionId) -> Self {
        Self { limits: self.limits.of_session(id.as_str()), ..self.clone() }
    }

    pub(crate) fn launch(
        &self,
        program: impl Into<std::ffi::OsString>,
        cwd: impl Into<PathBuf>,
    ) -> bus::Launch {
        let mut launch = bus::Launch::new(program, cwd);
        launch.keeper_exe.clone_from(&self.keeper_exe);
        launch.keeper_args.clone_from(&self.keeper_args);
        launch.records_dir.clone_from(&self.records_dir);
        launch.cgroups = self.cgroups;
        launch.limits = self.limits.clone();
        launch.hurry = self.hurry.clone();
        launch
    }
}
