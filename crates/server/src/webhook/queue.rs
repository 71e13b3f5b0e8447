//! The queue of announcements, and when each is tried.
//!
//! In: subjects, ends of tries, the time. Out: what to send next. No I/O and no clock.
//!
//! Always true: at most [`MAX_QUEUED`] subjects wait, at most [`MAX_AT_ONCE`] are on their
//! way, and of one session one at a time, the oldest that is due first. A subject whose try
//! failed does not hold up the others.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wire::SessionId;

use super::settings::DeliveryPace;

pub(super) const MAX_QUEUED: usize = 1024;
const MAX_AT_ONCE: usize = 4;
/// Limit of the `Retry-After` of a receiver.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(super) struct AnnouncementQueue<S> {
    pace: DeliveryPace,
    jobs: BTreeMap<u64, QueuedAnnouncement<S>>,
    last_number: u64,
}

#[derive(Debug)]
struct QueuedAnnouncement<S> {
    session: SessionId,
    subject: S,
    n_tries: u32,
    /// When it is tried; `None` at once.
    due: Option<Instant>,
    is_in_flight: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextAnnouncement<S> {
    Send {
        number: u64,
        subject: S,
        n_tries: u32,
    },
    /// Nothing before this, unless something happens.
    At(Instant),
    Nothing,
}

impl<S: Clone> AnnouncementQueue<S> {
    pub(super) fn new(pace: DeliveryPace) -> Self {
        Self { pace, jobs: BTreeMap::new(), last_number: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// False if there is no room.
    pub(super) fn push(&mut self, session: SessionId, subject: S) -> bool {
        if self.jobs.len() >= MAX_QUEUED {
            return false;
        }
        self.last_number += 1;
        let job =
            QueuedAnnouncement { session, subject, n_tries: 0, due: None, is_in_flight: false };
        self.jobs.insert(self.last_number, job);
        true
    }

    /// Forgets what is not wanted any more, unless it is on its way.
    pub(super) fn retain(&mut self, mut is_wanted: impl FnMut(&S) -> bool) {
        self.jobs.retain(|_, job| job.is_in_flight || is_wanted(&job.subject));
    }

    pub(super) fn next(&mut self, now: Instant) -> NextAnnouncement<S> {
        let busy: Vec<SessionId> =
            self.jobs.values().filter(|job| job.is_in_flight).map(|job| job.session).collect();
        if busy.len() >= MAX_AT_ONCE {
            return NextAnnouncement::Nothing;
        }
        let mut earliest: Option<Instant> = None;
        for (number, job) in &mut self.jobs {
            // When a try that is under way ends, the queue is looked at again.
            if job.is_in_flight || busy.contains(&job.session) {
                continue;
            }
            match job.due.filter(|due| *due > now) {
                Some(due) => earliest = Some(earliest.map_or(due, |earliest| earliest.min(due))),
                None => {
                    job.is_in_flight = true;
                    job.n_tries += 1;
                    let (subject, n_tries) = (job.subject.clone(), job.n_tries);
                    return NextAnnouncement::Send { number: *number, subject, n_tries };
                }
            }
        }
        earliest.map_or(NextAnnouncement::Nothing, NextAnnouncement::At)
    }

    pub(super) fn done(&mut self, number: u64) {
        self.jobs.remove(&number);
    }

    /// How long is waited before the next try; `None` if that was the last.
    pub(super) fn failed(
        &mut self,
        number: u64,
        now: Instant,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        let job = self.jobs.get_mut(&number)?;
        job.is_in_flight = false;
        if job.n_tries >= self.pace.max_tries {
            self.jobs.remove(&number);
            return None;
        }
        let asked_for = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        let wait = self.pace.wait_after(job.n_tries, spread()).max(asked_for);
        job.due = Some(now + wait);
        Some(wait)
    }
}

impl DeliveryPace {
    /// `spread` is from 0 to 1: those who failed together do not come back together.
    fn wait_after(&self, n_tries: u32, spread: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(n_tries.saturating_sub(1));
        let wait = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
        wait.mul_f64(0.75 + spread.clamp(0.0, 1.0) / 2.0)
    }
}

fn spread() -> f64 {
    // Without a random source all of them wait the same.
    getrandom::u32().map_or(0.5, |drawn| f64::from(drawn) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
