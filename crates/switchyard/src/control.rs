//! Lets one Switchyard process reach a bus that runs in another.
//!
//! Each process that runs one listens on a unix socket of its own, in a directory
//! that only its user may enter. One JSON line in, one out.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// What the name of a process's own daemon begins with, before its pid.
pub(crate) const OWN_DAEMON: &str = "sessions-";
/// A request is one short line.
const MAX_REQUEST_BYTES: u64 = 4096;
/// The state of a bus with thousands of clients is one long line.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

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

/// Answers what other processes of this user ask, on a socket named after this process. The
/// second argument says whether it is one that an agent of ours has started.
pub(crate) fn listen_at<Q, A, F>(
    run_dir: &Path,
    answer: impl Fn(Q, bool) -> F + Clone + Send + 'static,
) -> Result<Listening>
where
    Q: DeserializeOwned + Send,
    A: Serialize + Send,
    F: Future<Output = A> + Send,
{
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
    task::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let answer = answer.clone();
                    task::spawn(async move { serve(stream, answer).await });
                }
                // Out of file handles, most likely; trying again at once would spin.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    Ok(Listening { path })
}

/// Processes that were killed could not take their sockets with them.
pub(crate) fn remove_dead_sockets(run_dir: &Path) {
    for entry in std::fs::read_dir(run_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_suffix(".sock"));
        let pid = pid.map(|pid| pid.strip_prefix(OWN_DAEMON).unwrap_or(pid));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

async fn serve<Q, A, F>(mut stream: UnixStream, answer: impl Fn(Q, bool) -> F) -> Result<()>
where
    Q: DeserializeOwned,
    A: Serialize,
    F: Future<Output = A>,
{
    let own_uid = rustix::process::getuid().as_raw();
    let peer = stream.peer_cred()?;
    if peer.uid() != own_uid {
        bail!("another user");
    }
    let is_worker = peer.pid().is_none_or(bus::is_below_keeper);
    let (reader, mut writer) = stream.split();
    let mut line = String::new();
    BufReader::new(reader.take(MAX_REQUEST_BYTES)).read_line(&mut line).await?;
    let mut line = serde_json::to_string(&answer(serde_json::from_str(&line)?, is_worker).await)?;
    line.push('\n');
    writer.write_all(line.as_bytes()).await?;
    Ok(())
}

/// The sockets of processes that may still run.
pub(crate) fn sockets(run_dir: &Path) -> Vec<PathBuf> {
    remove_dead_sockets(run_dir);
    let entries = std::fs::read_dir(run_dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .filter(|path| !is_own_daemon(path))
        .collect()
}

fn is_own_daemon(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(OWN_DAEMON))
}

/// Asks the process that listens there.
pub(crate) async fn ask<A: DeserializeOwned>(
    socket: &Path,
    request: &impl Serialize,
    patience: Duration,
) -> Result<A> {
    let answer = async {
        let mut stream = connect(socket).await?;
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        stream.write_all(line.as_bytes()).await?;
        let mut answer = String::new();
        BufReader::new(stream.take(MAX_ANSWER_BYTES)).read_line(&mut answer).await?;
        serde_json::from_str(&answer).context("it ended meanwhile")
    };
    tokio::time::timeout(patience, answer).await.context("it does not answer")?
}

/// Connects to a socket, however long its path is.
async fn connect(socket: &Path) -> Result<UnixStream> {
    let (dir, name) = (socket.parent(), socket.file_name().and_then(|name| name.to_str()));
    let (dir, name) = dir.zip(name).context("this is no socket")?;
    let dir = open_dir(dir)?;
    Ok(UnixStream::connect(short_path(&dir, name)).await?)
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
