//! Random ids for conversations.

/// A random UUID (version 4), as CLIs want the ids that we choose for them.
pub fn uuid() -> String {
    let mut bytes = [0u8; 16];
    // Without entropy the ids would be equal; the CLI would refuse the second one.
    if getrandom::fill(&mut bytes).is_err() {
        let nanos = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_nanos());
        bytes = nanos.to_be_bytes();
    }
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let n = u128::from_be_bytes(bytes);
    let (start, end) = (n >> 96, n & 0xffff_ffff_ffff);
    let [second, third, fourth] = [80, 64, 48].map(|shift: u32| (n >> shift) & 0xffff);
    format!("{start:08x}-{second:04x}-{third:04x}-{fourth:04x}-{end:012x}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn uuids_look_like_uuids_and_differ() {
        let (a, b) = (super::uuid(), super::uuid());
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&a.as_bytes()[19]));
    }
}
