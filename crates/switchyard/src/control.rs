//! Lets one Switchyard process reach a session that runs in another.
//!
//! Each process that runs sessions listens on a unix socket of its own, in a directory
//! that only its user may enter. One JSON line in, one out. The log says which process
//! has a session.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sessions::yard::Yard;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use wire::SessionId;

/// A request is one short line.
const MAX_REQUEST_BYTES: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
enum Request {
    Cancel { session: SessionId },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub(crate) enum Response {
    Done,
    NotHere,
}

/// The socket of this process; removed when dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Serves requests until the process ends.
pub(crate) fn listen(run_dir: &Path, yard: &Yard) -> Result<Listening> {
    let dir = open_dir(run_dir)?;
    let name = format!("{}.sock", std::process::id());
    let path = run_dir.join(&name);
    remove_dead_sockets(run_dir);
    // A dead process of the same pid may have left it.
    let _ = std::fs::remove_file(&path);
    // Through the directory's handle, because a socket's path has room for 107 bytes only.
    let listener = UnixListener::bind(short_path(&dir, &name))
        .with_context(|| format!("cannot listen on {}", path.display()))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    let yard = yard.clone();
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => _ = tokio::spawn(serve(stream, yard.clone())),
                // Out of file handles, most likely; trying again at once would spin.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
            }
        }
    });
    Ok(Listening { path })
}

/// Processes that were killed could not take their sockets with them.
fn remove_dead_sockets(run_dir: &Path) {
    for entry in std::fs::read_dir(run_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_suffix(".sock"));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

async fn serve(mut stream: UnixStream, yard: Yard) -> Result<()> {
    let own_uid = rustix::process::getuid().as_raw();
    if stream.peer_cred()?.uid() != own_uid {
        bail!("another user");
    }
    let (reader, mut writer) = stream.split();
    let mut line = String::new();
    BufReader::new(reader.take(MAX_REQUEST_BYTES)).read_line(&mut line).await?;
    let Request::Cancel { session } = serde_json::from_str(&line)?;
    let response = match yard.live.find(session) {
        None => Response::NotHere,
        Some(handle) => {
            let _ = handle.cancel("switchyard cancel").await;
            Response::Done
        }
    };
    let mut line = serde_json::to_string(&response)?;
    line.push('\n');
    writer.write_all(line.as_bytes()).await?;
    Ok(())
}

/// Cancels the running turn of `session`, which process `pid` has; returns when it ended.
pub(crate) async fn cancel(run_dir: &Path, pid: u32, session: SessionId) -> Result<Response> {
    /// Longer than the whole way from asking an agent to killing it.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
    tokio::time::timeout(PATIENCE, ask_to_cancel(run_dir, pid, session))
        .await
        .with_context(|| format!("process {pid} has the session, but does not answer"))?
}

async fn ask_to_cancel(run_dir: &Path, pid: u32, session: SessionId) -> Result<Response> {
    let dir = open_dir(run_dir)?;
    let mut stream = UnixStream::connect(short_path(&dir, &format!("{pid}.sock")))
        .await
        .with_context(|| format!("process {pid} has the session, but does not listen"))?;
    let mut line = serde_json::to_string(&Request::Cancel { session })?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_REQUEST_BYTES)).read_line(&mut answer).await?;
    serde_json::from_str(&answer).with_context(|| format!("process {pid} ended meanwhile"))
}

/// Opens the directory, made for us alone.
fn open_dir(dir: &Path) -> Result<std::fs::File> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(|| format!("cannot make {}", dir.display()))?;
    let file =
        std::fs::File::open(dir).with_context(|| format!("cannot open {}", dir.display()))?;
    let metadata = file.metadata()?;
    if metadata.uid() != rustix::process::getuid().as_raw() {
        bail!("{} belongs to another user", dir.display());
    }
    if metadata.mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(file)
}

fn short_path(dir: &std::fs::File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", dir.as_raw_fd()))
}
