use wire::Category;

use super::*;

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
