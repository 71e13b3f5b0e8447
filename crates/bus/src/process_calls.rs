//! Calls of this process to its operating system and its C library that Rust cannot check.
//!
//! The only `unsafe` of the project is here.
#![allow(unsafe_code)]

use std::fs;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

/// Closes everything above stderr. What Switchyard itself was started with may include
/// descriptors without close-on-exec, and a keeper must neither hold them open nor pass them on.
///
/// Only for the first lines of a keeper's `main`, before anything is opened.
pub(crate) fn close_stray_fds() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    for fd in open {
        // The listing saw its own descriptor, which is closed by now.
        if fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok() {
            // SAFETY: the descriptor is open, as just checked, and nobody owns it: this process
            // was executed a moment ago, has one thread, and has opened nothing so far.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
}

/// Has the C library hand memory of large messages back to the system as soon as it is free.
///
/// Left to itself it learns to keep blocks of up to 32 MiB for the next ones, and twice as much in
/// each of its arenas: an agent with a few large messages would take hundreds of megabytes from a
/// daemon that holds none of them any more.
///
/// Only for the first lines of `main`, before there are threads.
pub fn give_large_memory_back() {
    #[cfg(target_env = "gnu")]
    for (what, bytes) in
        [(libc::M_MMAP_THRESHOLD, LARGE_BYTES), (libc::M_TRIM_THRESHOLD, KEPT_BYTES)]
    {
        // SAFETY: it takes two numbers and changes nothing but the allocator's settings, while no
        // other thread allocates.
        unsafe { libc::mallopt(what, bytes) };
    }
}

/// Has the C library hand back what is free between blocks that are in use. Takes some
/// milliseconds, for which others that allocate may have to wait.
pub fn give_free_memory_back() {
    // SAFETY: it takes a number, and may be called by any thread at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Blocks of this size are mapped one by one.
#[cfg(target_env = "gnu")]
const LARGE_BYTES: libc::c_int = 256 << 10;
/// Bytes that each arena may keep at its end.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 2 << 20;
