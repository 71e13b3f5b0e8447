//! What the tests share: the programs, and clients that are ready.

use std::path::PathBuf;
use testkit::sdk_client::{ClientBehavior, SdkClient};
use testkit::test_home::TestHome;

pub(crate) const TAP: &str = env!("CARGO_BIN_EXE_acp-tap");

/// The example of this crate, which stands beside its binaries.
pub(crate) fn demo_agent() -> PathBuf {
    let path = PathBuf::from(TAP).with_file_name("examples").join("demo-agent");
    assert!(path.exists(), "build it first: cargo build -p testkit --examples");
    path
}

/// A fresh home; no binary is under test here but those of the tools.
pub(crate) fn home() -> TestHome {
    testkit::test_home::switchyard(TAP)
}

/// A client of the demo agent with a tap between them that writes to `tap.ndjson` in the home.
pub(crate) async fn tapped_demo(
    home: &TestHome,
    flags: &[&str],
    behavior: ClientBehavior,
) -> SdkClient {
    let agent = home.other(demo_agent(), flags);
    let command = home.tapped(home.path().join("tap.ndjson"), &agent);
    SdkClient::ready(command, behavior).await.unwrap()
}

pub(crate) async fn sdk_agent(
    home: &TestHome,
    flags: &[&str],
    behavior: ClientBehavior,
) -> SdkClient {
    SdkClient::ready(home.other(home.tool("sdk-agent"), flags), behavior).await.unwrap()
}
