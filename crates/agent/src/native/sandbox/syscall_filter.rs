//! System calls that a command in the sandbox is refused, where Landlock is the enforcer.
//!
//! Landlock knows files and TCP ports; this is about the other ways out: sockets of any other
//! kind, services behind sockets in the file system, and the calls by which root leaves anything.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Flag of the same calls in the third calling convention of x86-64, where the kernel has it.
const X32: i64 = 0x4000_0000;

#[derive(Debug, thiserror::Error)]
pub(super) enum FilterError {
    #[error("seccomp knows no such machine: {0}")]
    Architecture(BackendError),
    #[error("seccomp rules: {0}")]
    Rules(#[from] BackendError),
    #[error("seccomp: {0}")]
    Install(#[from] seccompiler::Error),
}

/// Groups of calls that are refused besides those that always are.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusedCalls {
    /// Refuses all sockets but those of this machine.
    pub(super) network: bool,
    /// Refuses to connect at all: to a socket in the file system is a way to have somebody outside
    /// do something, and only newer kernels tell which socket it is.
    pub(super) connecting: bool,
    /// Refuses sockets of this machine, where connecting to others must go on: pairs can be made,
    /// but for datagrams.
    pub(super) local: bool,
}

/// Refuses the calls to this process and all that come from it.
pub(super) fn install(closed: RefusedCalls) -> Result<(), FilterError> {
    Ok(seccompiler::apply_filter(&program(closed)?)?)
}

pub(super) fn program(closed: RefusedCalls) -> Result<BpfProgram, FilterError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(FilterError::Architecture)?;
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    // An empty list of rules refuses a call whatever its arguments.
    let mut always = vec![
        // With io_uring a process does what is filtered here without a system call.
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_ptrace,
        libc::SYS_process_vm_writev,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
    ];
    if closed.connecting {
        always.push(libc::SYS_connect);
    }
    rules.extend(always.into_iter().map(|call| (call, Vec::new())));
    let mut pairs = Vec::new();
    if closed.network {
        pairs.push(of_family(SeccompCmpOp::Ne)?);
    }
    if closed.connecting || closed.local {
        pairs.extend(local_datagrams()?);
    }
    let mut sockets = pairs.clone();
    if closed.local {
        sockets.push(of_family(SeccompCmpOp::Eq)?);
    }
    for (call, refused) in [(libc::SYS_socket, sockets), (libc::SYS_socketpair, pairs)] {
        if !refused.is_empty() {
            rules.insert(call, refused);
        }
    }
    if arch == TargetArch::x86_64 {
        let doubled: Vec<_> =
            rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(doubled);
    }
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?;
    Ok(filter.try_into()?)
}

/// A datagram names where it goes, so that it takes no connecting, and goes there from one of a
/// pair too. Of this machine's sockets the raw ones are for datagrams.
fn local_datagrams() -> Result<Vec<SeccompRule>, BackendError> {
    const KINDS: u64 = 0xf;
    let of_kind = |kind: libc::c_int| {
        let compared = SeccompCmpOp::MaskedEq(KINDS);
        let kind = u64::from(kind.unsigned_abs());
        let is_kind = SeccompCondition::new(1, SeccompCmpArgLen::Dword, compared, kind)?;
        SeccompRule::new(vec![family(SeccompCmpOp::Eq)?, is_kind])
    };
    [libc::SOCK_DGRAM, libc::SOCK_RAW].into_iter().map(of_kind).collect()
}

/// A rule for sockets of this machine, or for all others.
fn of_family(compared: SeccompCmpOp) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![family(compared)?])
}

fn family(compared: SeccompCmpOp) -> Result<SeccompCondition, BackendError> {
    let local = u64::from(libc::AF_UNIX.unsigned_abs());
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, compared, local)
}
