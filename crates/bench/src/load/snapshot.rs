//! CPU time and memory of the client, the bus and the whole machine during a measurement.

use std::time::{Duration, Instant};

use crate::report::BusUsage;
use crate::usage::{Memory, busy_of_all, cpu_of, family_of, memory_of};

pub(super) struct Snapshot {
    bus: Option<u32>,
    /// The client, the bus and all their children. Listed once, before the measurement: it
    /// takes a look at every process of the machine.
    ours: Vec<u32>,
    at: Instant,
    client_cpu: Duration,
    bus_cpu: Duration,
    our_cpu: Duration,
    busy: Duration,
}

pub(super) struct UsageDelta {
    pub(super) seconds: f64,
    pub(super) client_cpu: f64,
    bus_cpu: f64,
    our_cpu: f64,
    busy: f64,
    bus_memory: Memory,
}

impl Snapshot {
    pub(super) fn take(bus: Option<u32>) -> Self {
        let mut ours = family_of(std::process::id());
        if let Some(bus) = bus {
            ours.extend(family_of(bus));
        }
        let none = Duration::ZERO;
        let (client_cpu, bus_cpu, our_cpu, busy) = (none, none, none, none);
        Self { bus, ours, at: Instant::now(), client_cpu, bus_cpu, our_cpu, busy }
    }

    /// Starts the measurement anew.
    pub(super) fn renew(&mut self) {
        self.client_cpu = cpu_of(std::process::id());
        self.bus_cpu = self.bus.map(cpu_of).unwrap_or_default();
        self.our_cpu = self.ours.iter().map(|pid| cpu_of(*pid)).sum();
        self.busy = busy_of_all();
        self.at = Instant::now();
    }

    pub(super) fn passed(&self) -> UsageDelta {
        let seconds = self.at.elapsed().as_secs_f64();
        let bus_cpu = self.bus.map(cpu_of).unwrap_or_default();
        let our_cpu: Duration = self.ours.iter().map(|pid| cpu_of(*pid)).sum();
        let since = |now: Duration, then| now.saturating_sub(then).as_secs_f64();
        UsageDelta {
            seconds,
            client_cpu: since(cpu_of(std::process::id()), self.client_cpu),
            bus_cpu: since(bus_cpu, self.bus_cpu),
            our_cpu: since(our_cpu, self.our_cpu),
            busy: since(busy_of_all(), self.busy),
            bus_memory: self.bus.map(memory_of).unwrap_or_default(),
        }
    }
}

impl UsageDelta {
    pub(super) fn bus(&self, n_answers: f64) -> BusUsage {
        let Memory { resident_kib, peak_kib } = self.bus_memory;
        let cpu_us_per_answer = self.bus_cpu * 1e6 / n_answers.max(1.0);
        BusUsage { cpu_us_per_answer, resident_kib, peak_kib }
    }

    pub(super) fn other_cores(&self) -> f64 {
        ((self.busy - self.our_cpu) / self.seconds).max(0.0)
    }
}
