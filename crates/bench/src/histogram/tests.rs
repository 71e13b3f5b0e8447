//! Buckets are narrow, adjoin, and keep the order.

use super::*;

#[test]
fn every_bucket_starts_where_the_one_before_it_ends() {
    let last = bucket_of(u64::MAX);
    for bucket in 1..=last {
        let start = start_of(bucket);
        assert_eq!(bucket_of(start), bucket);
        assert_eq!(bucket_of(start - 1), bucket - 1);
    }
}

#[test]
fn percentiles_are_within_one_percent() {
    let mut histogram = Histogram::default();
    for micros in 1..=1000 {
        histogram.add(micros * 1000);
    }

    for (percent, expected) in [(50, 501.0), (99, 991.0)] {
        let found = histogram.percentile(percent);
        assert!((found / expected - 1.0).abs() < 0.01, "p{percent} is {found}");
    }
    assert_eq!(histogram.n(), 1000);
    assert!((histogram.longest_micros() - 1000.0).abs() < f64::EPSILON);
}
