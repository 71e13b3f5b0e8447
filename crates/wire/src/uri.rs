//! Percent-encoding: bytes where only some letters may stand, in addresses and headers.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Letters, digits and `plain` as they are, everything else as `%2F`.
pub fn percent_encoded(bytes: &[u8], plain: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte.is_ascii_alphanumeric() || plain.contains(byte) {
            true => out.push(char::from(*byte)),
            // Writing to a string cannot fail.
            false => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// The `file:` URI of a path, as agents and pages name it.
pub fn file_uri(path: &Path) -> String {
    format!("file://{}", percent_encoded(path.as_os_str().as_bytes(), b"/.-_~"))
}
