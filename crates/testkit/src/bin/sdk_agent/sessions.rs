//! The agent's sessions: working directory, history, running turn.
//!
//! In: calls of the handlers. Out: answers at once; nothing here waits.
//! With a state directory, what was said is on disk when the turn's answer is sent.

use agent_client_protocol::v1::schema::{
    ClientCapabilities, SessionId, SessionInfo, SessionMode, SessionModeId, SessionModeState,
    SessionUpdate,
};
use agent_client_protocol::{Error, ErrorCode, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use tokio::sync::watch;

pub(crate) struct Sessions {
    state: Option<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    client: ClientCapabilities,
    by_id: BTreeMap<String, Session>,
}

#[derive(Serialize, Deserialize)]
struct Session {
    cwd: PathBuf,
    mode: SessionModeId,
    history: Vec<SessionUpdate>,
    /// The cancel signal of the running turn.
    #[serde(skip)]
    cancel: Option<watch::Sender<bool>>,
}

impl Sessions {
    pub(crate) fn new(state: Option<PathBuf>) -> Self {
        let by_id = state.as_deref().map(read_all).unwrap_or_default();
        Self { state, inner: Mutex::new(Inner { by_id, ..Inner::default() }) }
    }

    pub(crate) fn meet(&self, client: ClientCapabilities) {
        self.inner().client = client;
    }

    pub(crate) fn client(&self) -> ClientCapabilities {
        self.inner().client.clone()
    }

    pub(crate) fn create(&self, cwd: PathBuf) -> (SessionId, SessionModeState) {
        let mut inner = self.inner();
        let id = format!("sdk-{}-{}", std::process::id(), inner.by_id.len() + 1);
        let mode = SessionModeId::new("ask");
        let modes = modes(mode.clone());
        let session = Session { cwd, mode, history: Vec::new(), cancel: None };
        self.save(&id, &session);
        inner.by_id.insert(id.clone(), session);
        (SessionId::new(id), modes)
    }

    pub(crate) fn open(&self, id: &SessionId) -> Result<(SessionModeState, Vec<SessionUpdate>)> {
        self.with(id, |session| (modes(session.mode.clone()), session.history.clone()))
    }

    pub(crate) fn list(&self, cwd: Option<&Path>) -> Vec<SessionInfo> {
        let inner = self.inner();
        let wanted =
            inner.by_id.iter().filter(|(_, session)| cwd.is_none_or(|cwd| cwd == session.cwd));
        wanted.map(|(id, session)| SessionInfo::new(id.clone(), session.cwd.clone())).collect()
    }

    pub(crate) fn close(&self, id: &SessionId) {
        self.cancel(id);
    }

    pub(crate) fn delete(&self, id: &SessionId) {
        self.cancel(id);
        self.inner().by_id.remove(&*id.0);
        if let Some(path) = self.path(&id.0) {
            let _ = std::fs::remove_file(path);
        }
    }

    pub(crate) fn set_mode(&self, id: &SessionId, mode: SessionModeId) -> Result<()> {
        if !modes(mode.clone()).available_modes.iter().any(|known| known.id == mode) {
            return Err(Error::invalid_params());
        }
        self.with(id, |session| session.mode = mode)
    }

    pub(crate) fn cancel(&self, id: &SessionId) {
        // There may be no such session or no turn; a notification has no answer.
        let _ = self.with(id, |session| session.cancel.as_ref().map(|cancel| cancel.send(true)));
    }

    /// Begins a turn: gives the working directory and the cancel signal.
    pub(crate) fn begin_turn(&self, id: &SessionId) -> Result<(PathBuf, watch::Receiver<bool>)> {
        let (cancel, cancelled) = watch::channel(false);
        self.with(id, |session| {
            if session.cancel.is_some() {
                return Err(Error::new(ErrorCode::INVALID_REQUEST, "a turn is running"));
            }
            session.cancel = Some(cancel);
            Ok((session.cwd.clone(), cancelled))
        })?
    }

    pub(crate) fn remember(&self, id: &SessionId, update: SessionUpdate) {
        // A deleted session has no memory.
        let _ = self.with(id, |session| session.history.push(update));
    }

    pub(crate) fn end_turn(&self, id: &SessionId) {
        let _ = self.with(id, |session| {
            session.cancel = None;
            self.save(&id.0, session);
        });
    }

    fn with<T>(&self, id: &SessionId, act: impl FnOnce(&mut Session) -> T) -> Result<T> {
        self.inner()
            .by_id
            .get_mut(&*id.0)
            .map(act)
            .ok_or_else(|| Error::new(ErrorCode::RESOURCE_NOT_FOUND, format!("no session `{id}`")))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        self.state.as_ref().map(|state| state.join(format!("{id}.json")))
    }

    fn save(&self, id: &str, session: &Session) {
        if let (Some(path), Ok(bytes)) = (self.path(id), serde_json::to_vec(session)) {
            let _ = std::fs::write(path, bytes);
        }
    }
}

fn modes(current: SessionModeId) -> SessionModeState {
    let offered = vec![SessionMode::new("ask", "Ask"), SessionMode::new("code", "Code")];
    SessionModeState::new(current, offered)
}

fn read_all(state: &Path) -> BTreeMap<String, Session> {
    let _ = std::fs::create_dir_all(state);
    let Ok(entries) = std::fs::read_dir(state) else { return BTreeMap::new() };
    let read = |path: PathBuf| {
        let id = path.file_stem()?.to_str()?.to_owned();
        Some((id, serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?))
    };
    entries.flatten().filter_map(|entry| read(entry.path())).collect()
}
