//! Files and terminals that Switchyard serves to the agent itself.
//!
//! Always true: of what may be large, only a few are in work, and their places are taken until
//! the answers are on their way. An agent that asks and does not read fills no memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::judge::{EDIT, Judge, READ};
use roots::{ForbiddenDirs, ResolvedPath, Roots};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::{Json, RpcError, TurnId, codes};

use crate::settings::{SessionSettings, WorkerSetup};
use crate::terminals::{Terminals, read};

/// Requests that are served at once; others wait. What a command printed is six times as long in
/// JSON when it is zeros.
const MAX_AT_ONCE: usize = 4;
/// Files that are read at once: they may be much larger.
const MAX_READING: usize = 1;
/// Largest text in an answer, as it is in JSON. A larger file can be read in parts.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Bytes of a command with its environment: more than a process can be started with.
const MAX_COMMAND_BYTES: usize = 4 << 20;
const MAX_COMMAND_VALUES: usize = 20_000;

#[derive(Debug)]
pub(super) struct Services {
    roots: Arc<Roots>,
    /// The directory of clients' attachments, which may only be read, and need not be there yet.
    own_dir: Option<PathBuf>,
    pub(super) terminals: Terminals,
    judge: Arc<Judge>,
    serving: Arc<Semaphore>,
    reading: Arc<Semaphore>,
}

#[derive(Deserialize)]
struct ReadFile {
    path: String,
    line: Option<u64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
struct WriteFile {
    path: String,
    content: String,
}

impl Services {
    pub(super) fn new(
        roots: Arc<Roots>,
        own_dir: Option<PathBuf>,
        setup: WorkerSetup,
        settings: &SessionSettings,
        judge: Arc<Judge>,
    ) -> Self {
        let terminals =
            Terminals::new(setup, settings.limits.terminals, settings.limits.terminal_output_bytes);
        let serving = Arc::new(Semaphore::new(MAX_AT_ONCE));
        let reading = Arc::new(Semaphore::new(MAX_READING));
        Self { roots, own_dir, terminals, judge, serving, reading }
    }

    pub(super) fn serves(method: &str) -> bool {
        method.starts_with("fs/") || method.starts_with("terminal/")
    }

    /// Waits for a place to serve a request in, which is held until its answer is in the outbox.
    /// None is needed for what waits for a command or ends one: that holds nothing large, and must
    /// not wait for what does.
    pub(super) async fn place(&self, method: &str) -> Option<OwnedSemaphorePermit> {
        let places = match method {
            "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => return None,
            "fs/read_text_file" => &self.reading,
            _ => &self.serving,
        };
        places.clone().acquire_owned().await.ok()
    }

    /// Answers a request that the agent made in `turn`.
    pub(super) async fn serve(
        &self,
        method: &str,
        params: &str,
        turn: Option<TurnId>,
    ) -> Result<Json, RpcError> {
        match method {
            "fs/read_text_file" => self.read(params).await,
            "fs/write_text_file" => self.write(params).await,
            "terminal/create" if is_too_long(params) => {
                Err(RpcError::invalid_params("the command is too long"))
            }
            "terminal/create" => {
                self.judge.request(method, params)?;
                self.terminals.serve(method, params, &self.roots, turn).await
            }
            _ if method.starts_with("terminal/") => {
                self.terminals.serve(method, params, &self.roots, turn).await
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    async fn read(&self, params: &str) -> Result<Json, RpcError> {
        let ReadFile { path, line, limit } = read(params)?;
        let is_own = self.own_dir.as_ref().filter(|dir| Path::new(&path).starts_with(dir));
        let roots = match is_own
            .map(|dir| Roots::open(std::slice::from_ref(dir), &ForbiddenDirs::default()))
        {
            Some(Ok(own)) => Arc::new(own),
            Some(Err(_)) | None => self.roots.clone(),
        };
        let place = located(&roots, path).await?;
        self.judge.file(READ, place.real())?;
        let read = move || {
            let text = roots.read_text(&place, line, limit).map_err(explain)?;
            match json_bytes(&text) {
                0..=MAX_ANSWER_BYTES => Ok(text),
                _ => Err(RpcError::invalid_params(format_args!(
                    "more than {MAX_ANSWER_BYTES} bytes; hint: read a part, with `line` and `limit`"
                ))),
            }
        };
        Ok(Json::of(&json!({ "content": off_the_runtime(read).await? })))
    }

    async fn write(&self, params: &str) -> Result<Json, RpcError> {
        let WriteFile { path, content } = read(params)?;
        // What is judged is what is opened: nothing is resolved a second time.
        let place = located(&self.roots, path).await?;
        self.judge.file(EDIT, place.real())?;
        let roots = self.roots.clone();
        let write = move || roots.replace(&place, content.as_bytes()).map_err(explain);
        off_the_runtime(write).await?;
        Ok(Json::trusted("{}"))
    }
}

/// How long a text is in JSON at most.
fn json_bytes(text: &str) -> usize {
    let n_bytes = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(n_bytes).sum()
}

fn is_too_long(command: &str) -> bool {
    command.len() > MAX_COMMAND_BYTES
        || wire::has_more_values(command.as_bytes(), MAX_COMMAND_VALUES)
}

async fn located(roots: &Arc<Roots>, path: String) -> Result<ResolvedPath, RpcError> {
    let roots = roots.clone();
    off_the_runtime(move || roots.resolve_absolute(&path).map_err(explain)).await
}

async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(RpcError::internal(error)))
}

fn explain(error: roots::RootsError) -> RpcError {
    use std::io::ErrorKind;
    let code = match error.io_kind() {
        Some(ErrorKind::NotFound) => codes::NOT_FOUND,
        Some(ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::FileTooLarge) => {
            codes::INVALID_PARAMS
        }
        Some(_) => codes::INTERNAL,
        None => return RpcError::invalid_params(error),
    };
    RpcError::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    //! What a rule denies is not opened, however fast a link is turned around.

    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::permission::{PermissionMode, PermissionPolicy, RuleBook, Rules};

    fn services(work: &Path) -> Services {
        let roots = Roots::open(&[work.to_owned()], &ForbiddenDirs::default()).unwrap();
        let roots = Arc::new(roots);
        let rules =
            Rules::parse("[[rules]]\naction = \"deny\"\npaths = [\"secret/**\"]\n").unwrap();
        let book = RuleBook::default();
        book.replace(rules);
        let judge = Judge {
            policy: PermissionPolicy { rules: Rules::default(), mode: PermissionMode::Auto },
            rules: book,
            agent: "an agent".into(),
            roots: roots.clone(),
        };
        let setup = WorkerSetup {
            keeper_exe: "none".into(),
            keeper_args: Vec::new(),
            records_dir: None,
            cgroups: false,
            limits: bus::WorkerLimits::default(),
            hurry: tokio_util::sync::CancellationToken::new(),
        };
        Services::new(roots, None, setup, &SessionSettings::default(), Arc::new(judge))
    }

    #[tokio::test]
    async fn a_place_is_taken_until_it_is_given_back_and_nobody_waits_for_it_to_end_something() {
        let dir = tempfile::tempdir().unwrap();
        let services = services(&dir.path().canonicalize().unwrap());
        let left = || (services.reading.available_permits(), services.serving.available_permits());
        let all = left();
        let read = services.place("fs/read_text_file").await;
        assert_eq!(left(), (0, MAX_AT_ONCE));
        let mut served = Vec::new();
        for method in ["terminal/output", "terminal/create", "fs/write_text_file", "fs/other"] {
            served.push(services.place(method).await);
        }
        assert_eq!(left(), (0, 0));
        for method in ["terminal/wait_for_exit", "terminal/kill", "terminal/release"] {
            assert!(services.place(method).await.is_none(), "{method}");
        }
        drop((read, served));
        assert_eq!(left(), all);
    }

    #[tokio::test]
    async fn a_text_is_read_as_far_as_it_fits_into_an_answer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("text");
        let services = services(path.parent().unwrap());
        let read = async |text: &str, limit: Option<u64>| {
            std::fs::write(&path, text).unwrap();
            let params = json!({ "path": path, "line": limit, "limit": limit }).to_string();
            services.serve("fs/read_text_file", &params, None).await
        };
        let fits = "x".repeat(MAX_ANSWER_BYTES);
        assert!(read(&fits, None).await.is_ok());
        let zeros = "\0".repeat(MAX_ANSWER_BYTES / 6 + 1);
        for text in [fits.clone() + "x", zeros] {
            let refusal = read(&text, None).await.unwrap_err().to_string();
            assert!(refusal.contains("read a part"), "{refusal}");
            assert!(read(&format!("short\n{text}"), Some(1)).await.is_ok());
        }
        for text in ["\"\\\n\r\t", "\u{1}\u{1f}", "\u{e9}\u{2028}a/"] {
            assert_eq!(json_bytes(text) + 2, Json::of(&text).as_str().len(), "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_command_that_is_too_long_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let services = services(&dir.path().canonicalize().unwrap());
        let long = "x".repeat(MAX_COMMAND_BYTES);
        for create in [
            json!({ "command": "true", "args": vec!["a"; MAX_COMMAND_VALUES] }),
            json!({ "command": "true", "env": [{ "name": "A", "value": long }] }),
        ] {
            let refused = services.serve("terminal/create", &create.to_string(), None).await;
            let refusal = refused.unwrap_err().to_string();
            assert!(refusal.contains("the command is too long"), "{refusal}");
        }
    }

    #[tokio::test]
    async fn a_link_that_flips_shows_nothing_that_is_denied() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().canonicalize().unwrap();
        for (name, text) in [("plain", "plain"), ("secret", "denied")] {
            std::fs::create_dir(work.join(name)).unwrap();
            std::fs::write(work.join(name).join("key"), text).unwrap();
        }
        let services = services(&work);
        let params = |method: &str, path: &Path| {
            let all = json!({ "path": path, "content": "mine" });
            (method.to_owned(), all.to_string())
        };
        let (stop, flip) = (Arc::new(AtomicBool::new(false)), work.join("flip"));
        let flipping = std::thread::spawn({
            let (stop, flip, next) = (stop.clone(), flip.clone(), work.join("next"));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    for target in ["plain", "secret"] {
                        let _ = symlink(target, &next);
                        let _ = std::fs::rename(&next, &flip);
                    }
                }
            }
        });
        let (read, read_params) = params("fs/read_text_file", &flip.join("key"));
        let (write, write_params) = params("fs/write_text_file", &flip.join("new"));
        let (mut n_read, mut n_refused) = (0, 0);
        for n in 0..soak::size(5_000, 1_000_000) {
            match services.serve(&read, &read_params, None).await {
                Ok(content) => {
                    assert!(!content.as_str().contains("denied"), "read {n}");
                    n_read += 1;
                }
                Err(_) => n_refused += 1,
            }
            if n % 10 == 0 {
                let _ = services.serve(&write, &write_params, None).await;
            }
        }
        stop.store(true, Ordering::Relaxed);
        flipping.join().unwrap();
        assert!(n_read > 0 && n_refused > 0, "{n_read} read, {n_refused} refused");
        assert!(!work.join("secret/new").exists());
    }
}
