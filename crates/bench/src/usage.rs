//! CPU time and memory of processes, from `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    pub resident_kib: u64,
    pub peak_kib: u64,
}

/// CPU time that a process has used, all its living threads together.
pub fn cpu_of(pid: u32) -> Duration {
    // Nanoseconds per thread where the kernel counts them; ticks of 10 ms would be too coarse
    // for the CPU time of one short run.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanos = threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    if nanos > 0 { Duration::from_nanos(nanos) } else { ticks_of(pid) }
}

pub fn memory_of(pid: u32) -> Memory {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let read = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    };
    Memory { resident_kib: read("VmRSS:"), peak_kib: read("VmHWM:") }
}

/// The process and all that it and they have started.
pub fn family_of(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = stat_field(child, PARENT) {
            children.entry(u32::try_from(parent).unwrap_or_default()).or_default().push(child);
        }
    }
    let mut family = vec![pid];
    let mut n_seen = 0;
    while let Some(pid) = family.get(n_seen) {
        let born = children.remove(pid).unwrap_or_default();
        family.extend(born);
        n_seen += 1;
    }
    family
}

/// Time that all cores together were busy since the machine started.
pub fn busy_of_all() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, (idle, iowait,) irq, softirq
    let busy = [0, 1, 2, 5, 6].iter().filter_map(|index| ticks.get(*index)).sum();
    from_ticks(busy)
}

fn ticks_of(pid: u32) -> Duration {
    let read = |field| stat_field(pid, field).unwrap_or_default();
    from_ticks(read(USER_TICKS) + read(SYSTEM_TICKS))
}

/// Places in `/proc/PID/stat`, counted from the state, which follows the name.
const PARENT: usize = 1;
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;

fn stat_field(pid: u32, index: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, parentheses too.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(index)?.parse().ok()
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
fn from_ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests;
