//! Names of tools that models accept.
//!
//! In: a server's name and a tool's, whatever they are. Out: `mcp__server__tool` in letters,
//! digits, `_` and `-`, at most 64 long. The same pair has the same name in every session, and
//! two pairs do not share one: where something had to be changed, a digest of both is added.

/// What the strictest endpoints take.
const MAX_BYTES: usize = 64;
/// `_` and eight digits.
const DIGEST_BYTES: usize = 9;

pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let plain = format!("mcp__{}__{}", sanitised(server), sanitised(tool));
    // A server that held the separator, or ended in half of it, could be read in two ways.
    let is_ambiguous = server.contains("__") || server.ends_with('_') || server.is_empty();
    let is_changed = sanitised(server) != server || sanitised(tool) != tool;
    if !is_ambiguous && !is_changed && plain.len() <= MAX_BYTES {
        return plain;
    }
    let kept: String = plain.chars().take(MAX_BYTES - DIGEST_BYTES).collect();
    format!("{kept}_{:08x}", digest(server, tool))
}

fn sanitised(text: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().map(|c| if is_fine(c) { c } else { '_' }).collect()
}

/// FNV-1a: it has to be the same tomorrow, not hard to find.
fn digest(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests;
