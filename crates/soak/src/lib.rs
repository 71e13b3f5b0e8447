//! How large the large tests are, and how patient all of them.
//!
//! Some claims hold at any size: kills at random points, floods, guesses. They are tried small
//! with every change (`make test`) and large when somebody has the time (`make test-soak`, which
//! sets `SOAK=full`). One function, so that a size is always a pair and both stand at the test.

use std::time::Duration;

/// How long a test waits for what must come: far above what anything takes, also beside eight
/// others that want the processor. Reached only by a test that fails.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// `small` in `make test`, `full` in `make test-soak`.
pub fn size<T>(small: T, full: T) -> T {
    if std::env::var_os("SOAK").is_some_and(|value| value == "full") { full } else { small }
}
