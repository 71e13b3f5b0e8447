//! How large the large tests are.
//!
//! Some claims hold at any size: kills at random points, floods, guesses. They are tried small
//! with every change (`make test`) and large when somebody has the time (`make test-soak`, which
//! sets `SOAK=full`). One function, so that a size is always a pair and both stand at the test.

/// `small` in `make test`, `full` in `make test-soak`.
pub fn size<T>(small: T, full: T) -> T {
    if std::env::var_os("SOAK").is_some_and(|value| value == "full") { full } else { small }
}
