//! How long round trips took, to within one percent, in fixed space.
//!
//! 128 buckets for every power of two of nanoseconds.

const BUCKETS_PER_DOUBLING: u64 = 128;
const LOG2_BUCKETS: u32 = BUCKETS_PER_DOUBLING.ilog2();

#[derive(Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    n: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let n_buckets = bucket_of(u64::MAX) + 1;
        Self { buckets: vec![0; n_buckets], n: 0, longest: 0 }
    }
}

impl Histogram {
    pub fn add(&mut self, nanos: u64) {
        if let Some(bucket) = self.buckets.get_mut(bucket_of(nanos)) {
            *bucket += 1;
        }
        self.n += 1;
        self.longest = self.longest.max(nanos);
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn longest_micros(&self) -> f64 {
        micros(self.longest)
    }

    /// The time that `percent` percent of all stay below, in microseconds.
    pub fn percentile(&self, percent: u64) -> f64 {
        let rank = u128::from(self.n) * u128::from(percent) / 100;
        let mut n_passed = 0;
        for (index, n) in self.buckets.iter().enumerate() {
            n_passed += u128::from(*n);
            if n_passed > rank {
                return micros(start_of(index));
            }
        }
        self.longest_micros()
    }
}

fn bucket_of(nanos: u64) -> usize {
    let shift = (nanos | 1).ilog2().saturating_sub(LOG2_BUCKETS);
    let bucket = if nanos < BUCKETS_PER_DOUBLING {
        nanos
    } else {
        (u64::from(shift) + 1) * BUCKETS_PER_DOUBLING + (nanos >> shift) - BUCKETS_PER_DOUBLING
    };
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

fn start_of(bucket: usize) -> u64 {
    let bucket = u64::try_from(bucket).unwrap_or(u64::MAX);
    if bucket < BUCKETS_PER_DOUBLING {
        return bucket;
    }
    let shift = bucket / BUCKETS_PER_DOUBLING - 1;
    (bucket % BUCKETS_PER_DOUBLING + BUCKETS_PER_DOUBLING) << shift
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

#[cfg(test)]
mod tests;
