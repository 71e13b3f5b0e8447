//! How much of the daemon one connection may take.
//!
//! Heads, bodies, connections, streams and silences all end somewhere; what happens there is
//! an answer where one can still be given, and a closed connection where not.

mod body;
mod stall_guard;
mod stall_timeout;

use std::time::Duration;

use axum::body::Bytes;

pub use body::WaitBudget;
pub use body::{BodyFault, BodyLimits, MeteredBody};
pub use bus::quota::{ByteQuota, QuotaReservation};
pub use stall_guard::{LastWords, LastWordsGuard, StallGuard};
pub(crate) use stall_timeout::with_stall_timeout;

/// One client may have a quarter of a listener's connections, if others want some.
pub(crate) const CLIENT_SHARE_DIVISOR: usize = 4;

/// `Retry-After` of answers that say that there is no room, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 5;

/// `bytes` with something that is released when the last slice of them is dropped.
pub(crate) fn holding<T: Send + 'static>(bytes: Bytes, held: T) -> Bytes {
    struct Holding<T> {
        bytes: Bytes,
        _held: T,
    }
    impl<T> AsRef<[u8]> for Holding<T> {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }
    Bytes::from_owner(Holding { bytes, _held: held })
}

/// The limits of a listener.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// Connections at a time; the ones beyond are told to come back.
    pub max_connections: usize,
    /// The head of a connection's first request, and a TLS handshake, must be complete by then.
    pub head_timeout: Duration,
    pub max_head_bytes: usize,
    pub max_head_fields: usize,
    pub max_body_bytes: u64,
    /// How long a body may keep us waiting; bytes that come earn more time.
    pub body_timeout: Duration,
    /// How long a peer may take not one byte while data waits for it.
    pub stall_timeout: Duration,
    /// How long a connection may be open without another request.
    pub idle_timeout: Duration,
    /// HTTP/2 requests at a time on one connection. Event streams count, so this is more
    /// than a browser's window full of sessions.
    pub max_streams: u32,
    /// After a stop, requests have this long to finish.
    pub drain: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            head_timeout: Duration::from_secs(10),
            max_head_bytes: 64 << 10,
            max_head_fields: 100,
            max_body_bytes: 16 << 20,
            body_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(90),
            max_streams: 128,
            drain: Duration::from_secs(10),
        }
    }
}
