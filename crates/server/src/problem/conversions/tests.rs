use sessions::host::{HostError, StartError};
use wire::Category;

use super::*;

#[test]
fn too_many_open_files_are_told_as_such_whatever_could_not_be_opened() {
    // EMFILE, as the system says it.
    let full = || std::io::Error::from_raw_os_error(24);
    let root = roots::RootsError::Open { path: "/work".into(), source: full() };
    let claim = StoreError::TooManyOpenFiles { action: "open", path: "claims/x".into() };
    let pipes = HostError::from(StartError::Spawn(bus::SpawnError::Pipes(full())));
    for error in [OpenError::from(root), claim.clone().into(), pipes.into()] {
        let problem = Problem::from(RegistryError::from(error));
        assert_eq!(
            (problem.kind, problem.status),
            ("urn:switchyard:problem:too-many-open-files", 503)
        );
        assert!(problem.remedy.is_some_and(|remedy| remedy.contains("ulimit -n")));
    }
    assert_eq!(Problem::from(claim).status, 503);
}

#[test]
fn an_agent_that_cannot_be_had_is_unavailable_for_open_design_whatever_it_is_asked_for() {
    for (category, code) in [
        (Category::Rejected, "AGENT_UNAVAILABLE"),
        (Category::Interrupted, "AGENT_UNAVAILABLE"),
        (Category::AgentNotFound, "AGENT_UNAVAILABLE"),
        (Category::Auth, "AGENT_AUTH_REQUIRED"),
        (Category::BadInput, "BAD_REQUEST"),
    ] {
        let problem = Problem::from(ChooseError::NotLinked(Fault::new(category, "why")));
        assert_eq!(problem.open_design, code, "{category:?}");
    }
}
