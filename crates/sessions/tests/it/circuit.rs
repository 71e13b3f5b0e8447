//! Agents that cannot be started, in whichever slot.

use sessions::host::HostError;
use sessions::open::OpenError;
use sessions::registry::RegistryError;
use sessions::settings::SessionLimits;
use wire::Fault;

use crate::pools_registry::{order, registry};
use crate::stage::{Stage, plain, quiet, replace};

/// Starts in each of which the agent fails, until none is tried.
fn n_tries() -> usize {
    SessionLimits::default().restarts + 1
}

const ENDS_AT_ONCE: &str = "echo $$ >> \"$STAGE/starts\"; echo 'no key' >&2; exit 3\n";

/// It answers `initialize`, and ends when a session is to be opened.
const ENDS_WITH_A_SESSION: &str = r#"echo $$ >> "$STAGE/starts"
read -r line
id=$(printf '%s' "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id"
read -r line
exit 3
"#;

#[tokio::test(flavor = "multi_thread")]
async fn new_sessions_do_not_start_an_agent_that_always_fails_again_and_again() {
    for (script, why) in [
        (ENDS_AT_ONCE, "it said: no key"),
        (ENDS_WITH_A_SESSION, "the agent ended while the session was being opened"),
    ] {
        let stage = Stage::new(quiet());
        replace(&stage.path("fails.sh"), script);
        let command = stage.script("work", "fails.sh", &[]);
        let registry = registry(&stage, &command);

        let mut n_refused = 0;
        for _ in 0..3 * n_tries() {
            let error = registry.create(order(&command)).await.unwrap_err();
            let said = Fault::from(&error).message;
            assert!(said.contains(why), "{said}");
            if matches!(error, RegistryError::Open(OpenError::Host(HostError::KeepsFailing(_)))) {
                assert!(said.contains("`staged` could not be started 6 times"), "{said}");
                n_refused += 1;
            }
        }

        // One may have been started ahead, beside the last that was tried.
        let n_starts = stage.starts().len();
        assert!((n_tries()..=n_tries() + 1).contains(&n_starts), "{n_starts}");
        assert!(n_refused >= 2 * n_tries(), "{n_refused}");
        registry.shut_down().await;
        stage.until_none_left().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agent_is_started_while_one_is_refused_in_every_directory() {
    let stage = Stage::new(quiet());
    replace(&stage.path("fails.sh"), ENDS_AT_ONCE);
    let fails = stage.script("work", "fails.sh", &[]);
    for dir in ["one", "two", "three"] {
        let command = stage.script(dir, "fails.sh", &[]);
        for _ in 0..n_tries() {
            let slot = stage.slot(&command, &plain(&command)).await;
            slot.host().await.unwrap_err();
        }
    }
    assert_eq!(stage.starts().len(), n_tries());
    let slot = stage.slot(&fails, &plain(&fails)).await;
    assert!(matches!(slot.host().await, Err(HostError::KeepsFailing(_))));

    let works = stage.agent("work");
    for _ in 0..2 * n_tries() {
        stage.open(&works).await.end().await;
    }

    stage.pools.shut_down().await;
    stage.until_none_left().await;
}
