//! The token that a client may put into its `initialize`: `params._meta.switchyard.token`.
//!
//! It is for the bus alone. Whoever reads a line blanks it before the line goes on.

use serde::Deserialize;
use serde_json::value::RawValue;

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
