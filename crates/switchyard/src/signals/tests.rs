use rustix::process::{Signal as Kill, getpid, kill_process};

use super::*;

/// One test, because signals reach the whole process.
#[tokio::test]
async fn a_daemon_drains_first_and_ends_when_asked_again() {
    let mut signals = DaemonSignals::listen().unwrap();
    for (signal, wanted) in [
        (Kill::HUP, SignalAction::Reload),
        (Kill::USR1, SignalAction::ReopenLog),
        (Kill::TERM, SignalAction::Drain),
        (Kill::HUP, SignalAction::Reload),
        (Kill::INT, SignalAction::EndNow),
        (Kill::TERM, SignalAction::EndNow),
    ] {
        kill_process(getpid(), signal).unwrap();
        assert_eq!(signals.next().await, wanted);
    }
}
