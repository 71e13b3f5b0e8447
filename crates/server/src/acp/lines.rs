//! ACP as lines over TCP and unix sockets.
//!
//! The first line authenticates the client: `switchyard/hello` with a token, or an `initialize`
//! that holds it in `_meta.switchyard.token`. The daemon's own user on a unix socket needs none.

use std::sync::Arc;
use std::time::Duration;

use bus::hello::{FirstMessage, refusal};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::metered_messages::MeteredMessages;
use crate::daemon::Daemon;
use crate::limits::ByteQuota;
use crate::principal::Principal;

/// Limit of the first line. A hello is short; an `initialize` with everything a client can do is
/// not much longer.
const MAX_FIRST_LINE: usize = 256 << 10;
const FIRST_LINE_WITHIN: Duration = Duration::from_secs(10);

/// Serves a client that needs no token.
pub async fn serve_local<S>(daemon: Arc<Daemon>, principal: Principal, agent: Option<String>, io: S)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    super::serve(daemon, principal, agent, "unix", tokio::io::split(io)).await;
}

/// Serves a client that has to send its token first; `admit` checks it.
pub async fn serve_guarded<S>(
    daemon: Arc<Daemon>,
    agent: Option<String>,
    io: S,
    requests: &Arc<ByteQuota>,
    admit: impl Fn(&str) -> Option<Principal>,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (mut reader, mut writer) = tokio::io::split(io);
    let first = tokio::time::timeout(FIRST_LINE_WITHIN, first_line(&mut reader)).await;
    let Ok(Some((line, rest))) = first else { return };
    let Some(words) = FirstMessage::read(&line) else {
        let _ = writer.write_all(&refusal(b"", "its first line is no message")).await;
        return;
    };
    let Some(principal) = words.token.as_deref().and_then(admit) else {
        let _ = writer.write_all(&words.refusal("its token is wrong or missing")).await;
        let _ = writer.shutdown().await;
        return;
    };
    if let Some(answer) = &words.answer
        && writer.write_all(answer).await.is_err()
    {
        return;
    }
    let mut begin = Vec::new();
    if let Some(message) = words.message {
        begin.extend_from_slice(&message);
        begin.push(b'\n');
    }
    begin.extend_from_slice(&rest);
    let reader = MeteredMessages::lines(reader, requests.reserve(&principal.name));
    let reader = std::io::Cursor::new(begin).chain(reader);
    super::serve(daemon, principal, agent, "tcp", (reader, writer)).await;
}

/// The first line, and what came after it already. `None` if it never ends.
async fn first_line(reader: &mut (impl AsyncRead + Unpin)) -> Option<(Bytes, Bytes)> {
    let mut read = bytes::BytesMut::new();
    loop {
        if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line = read.split_to(end).freeze();
            return Some((line, read.split_off(1).freeze()));
        }
        if read.len() > MAX_FIRST_LINE || reader.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}
