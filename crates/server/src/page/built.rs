//! The files of the page, as `build.rs` found them.

/// A file, and its compressed copies where they are smaller.
#[derive(Debug)]
pub(super) struct File {
    /// Below the page's root, without a slash in front: `assets/index-Dk3v0a1b.js`.
    pub(super) path: &'static str,
    /// Changes with the content.
    pub(super) digest: &'static str,
    pub(super) plain: &'static [u8],
    pub(super) brotli: Option<&'static [u8]>,
    pub(super) gzip: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));
