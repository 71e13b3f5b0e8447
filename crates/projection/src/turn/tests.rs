use super::*;

#[test]
fn an_error_that_was_the_answer_is_known_again_in_what_stands_around_it() {
    let answer = "API Error: 500 internal server error.";
    let fault = format!("{}Internal error: {answer} (-32603)", wire::fault::AGENT_ERROR_PREFIX);
    assert!(is_in_answer(answer, &fault));
    assert!(is_in_answer("Error: 401 invalid key", "Agent error: 401 invalid key (-32603)"));
    assert!(is_in_answer("short", "short"));
    // Words that stand in many errors, and an answer that says something else.
    assert!(!is_in_answer("error", &fault));
    assert!(!is_in_answer("", &fault));
    assert!(!is_in_answer("I have written the file.", &fault));
    // A part of it, behind which the rest would be hidden.
    let fault = "nothing was saved, all files were lost";
    assert!(
        !is_in_answer("nothing was saved,", fault) && !is_in_answer("all files were lost", fault)
    );
    assert!(is_in_answer(fault, fault));
    let fault = "the agent ended during the turn; process exited with code 0";
    assert!(!is_in_answer("the agent ended during the turn", fault));
}
