//! Sessions that were made with a client's request id, so that a repeated request makes none.
//!
//! Always true: requests of one principal with one id make one session, also when they come at the
//! same time. Remembered are the last [`MAX_REMEMBERED`]; after a restart they are read back from
//! the sessions' own records.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sessions::details::{ClientRequest, SessionDetails};
use sessions::registry::{RegistryError, SessionRegistry};
use store::{SessionFilter, SessionRecord};
use tokio::sync::OnceCell;
use wire::SessionId;

use crate::locking::Locking as _;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::request_names::{RequestName, RequestNames};

/// Clients ask again within seconds, not after a thousand other sessions.
const MAX_REMEMBERED: usize = 1000;

#[derive(Debug, Default)]
pub(crate) struct CreatedSessions {
    names: Mutex<RequestNames<Arc<CreatedSessionEntry>, MAX_REMEMBERED>>,
    /// Principals whose request ids were read back from the log.
    read_back: tokio::sync::Mutex<HashSet<String>>,
}

/// The record of a session, if it is still there. A log that cannot be read is an error: a session
/// is not made a second time because of it.
async fn existing(
    registry: &SessionRegistry,
    id: SessionId,
) -> Result<Option<SessionRecord>, Problem> {
    match registry.record(id).await {
        Ok(record) => Ok(Some(record)),
        Err(RegistryError::NoSuchSession(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug)]
struct CreatedSessionEntry {
    digest: String,
    session: OnceCell<SessionId>,
}

impl CreatedSessions {
    /// The session of this request, made with `make` unless there is one; and whether it was
    /// made now.
    pub(crate) async fn once<F>(
        &self,
        registry: &SessionRegistry,
        principal: &Principal,
        request: &ClientRequest,
        make: impl Fn() -> F,
    ) -> Result<(SessionId, bool), Problem>
    where
        F: Future<Output = Result<SessionId, Problem>>,
    {
        self.read_back(registry, principal).await?;
        let name = (principal.name.clone(), request.id.clone());
        loop {
            let entry = self.entry(&name, &request.digest);
            if let Some(id) = entry.session.get()
                && let Some(record) = existing(registry, *id).await?
                && !principal.made(&record)
            {
                // An earlier principal of this name made it.
                self.forget(&name, &entry);
                continue;
            }
            if entry.digest != request.digest {
                return Err(Problem::other_request());
            }
            let is_new = AtomicBool::new(false);
            let making = entry.session.get_or_try_init(|| {
                is_new.store(true, Ordering::Relaxed);
                make()
            });
            let made = making.await.copied();
            let is_new = is_new.load(Ordering::Relaxed);
            match made {
                Ok(id) if is_new || existing(registry, id).await?.is_some() => {
                    return Ok((id, is_new));
                }
                // It was deleted meanwhile.
                Ok(_) => self.forget(&name, &entry),
                Err(problem) => {
                    self.forget(&name, &entry);
                    return Err(problem);
                }
            }
        }
    }

    fn entry(&self, name: &RequestName, digest: &str) -> Arc<CreatedSessionEntry> {
        let mut names = self.names.locked();
        if let Some(entry) = names.get(name) {
            return entry.clone();
        }
        let entry =
            Arc::new(CreatedSessionEntry { digest: digest.to_owned(), session: OnceCell::new() });
        names.insert(name.clone(), entry.clone());
        entry
    }

    fn forget(&self, name: &RequestName, entry: &Arc<CreatedSessionEntry>) {
        let mut names = self.names.locked();
        if names.get(name).is_some_and(|other| Arc::ptr_eq(other, entry)) {
            names.remove(name);
        }
    }

    /// Reads back the request ids of `principal` that an earlier process had taken.
    async fn read_back(
        &self,
        registry: &SessionRegistry,
        principal: &Principal,
    ) -> Result<(), Problem> {
        let mut read_back = self.read_back.lock().await;
        if read_back.contains(&principal.name) {
            return Ok(());
        }
        let made_by = Some((principal.name.clone(), principal.since));
        let filter = SessionFilter { made_by, limit: MAX_REMEMBERED, ..SessionFilter::default() };
        let records = registry.log().sessions(filter).await?;
        let mut names = self.names.locked();
        // The newest last, so that it is forgotten last.
        for record in records.iter().rev() {
            let details = SessionDetails::read(record);
            let (Some(made_by), Some(request)) = (details.made_by, details.made_for) else {
                continue;
            };
            let session = OnceCell::new_with(Some(record.id));
            let entry = Arc::new(CreatedSessionEntry { digest: request.digest, session });
            names.insert((made_by, request.id), entry);
        }
        read_back.insert(principal.name.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::{EventLog as _, NewSession, SessionOrigin};
    use wire::{Json, Millis};

    use super::*;
    use crate::events::testing::One;

    #[tokio::test]
    async fn a_name_is_known_after_a_restart_however_many_sessions_others_have_made_since() {
        let one = One::new().await;
        let id = SessionId::derived(&[b"named"]);
        let request = ClientRequest { id: "r".to_owned(), digest: "d".to_owned() };
        let details = json!({ "command": ["demo"], "madeBy": "a", "madeFor": request });
        let made_by = Some("a".to_owned());
        let new = NewSession {
            id,
            agent: "demo".to_owned(),
            cwd: "/".to_owned(),
            created: Millis(0),
            details: Json::of(&details),
            origin: Some(SessionOrigin { made_by, made_of: Json::trusted("{}") }),
        };
        one.log.create(new).await.unwrap();
        for n in 0..MAX_REMEMBERED {
            one.add_session(n, "another's").await;
        }
        let principal = Principal { name: "a".to_owned(), ..Principal::local() };

        let make = async || Ok(SessionId::derived(&[b"another"]));
        let made = CreatedSessions::default()
            .once(&one.daemon.registry, &principal, &request, make)
            .await
            .unwrap();

        assert_eq!(made, (id, false));
    }
}
