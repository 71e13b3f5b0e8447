//! What a client says to the bus itself and to no worker: a hello, and its token.
//!
//! The token stands in the hello, or in `params._meta.switchyard.token` of any other message;
//! there it is blanked before the line goes on.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::Envelope;

/// What a client may say first, to show its token and to choose its pool.
pub(crate) const HELLO: &str = "switchyard/hello";

pub(crate) fn is_hello(line: &[u8], envelope: &Envelope) -> bool {
    // Hardly any method begins like this, so that the rest is hardly ever looked at.
    envelope.method.of(line).starts_with(b"\"switchyard")
        && envelope.method.text(line).is_some_and(|method| method == HELLO)
}

/// The answer to a hello that asked for one.
pub(crate) fn welcome(raw_id: &[u8]) -> Bytes {
    Bytes::from([br#"{"jsonrpc":"2.0","id":"#, raw_id, br#","result":{}}"#, b"\n"].concat())
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    switchyard: Option<Own<'a>>,
}

#[derive(Deserialize)]
struct Own<'a> {
    #[serde(borrow)]
    token: Option<&'a RawValue>,
}

/// The token in a raw `_meta`, as it stands there.
pub(crate) fn token_in(meta: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice::<Meta<'_>>(meta).ok()?.switchyard?.token
}

/// The line without the token that its `_meta` holds; nothing if there is none.
pub(crate) fn blanked(line: &[u8], meta: &[u8]) -> Option<Vec<u8>> {
    const BLANK: &str = "\"\"";
    let token = token_in(meta).map(RawValue::get).filter(|token| *token != BLANK)?;
    // It is a part of the line, so its place is known.
    let at = (token.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
    let (before, rest) = line.split_at_checked(at)?;
    let after = rest.get(token.len()..)?;
    Some([before, BLANK.as_bytes(), after].concat())
}
