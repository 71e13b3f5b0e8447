//! Messages of CLIs as they were recorded.

use super::super::CliExit;
use super::failure;
use wire::Category;

fn exit(stderr: &str) -> CliExit {
    CliExit { code: Some(1), stderr: stderr.to_owned(), ..CliExit::default() }
}

#[test]
fn the_error_is_found_among_advice_and_warnings() {
    let said = failure(&exit(
        "Warning: something else\n\
         Error: No authentication information found.\n\n\
         To authenticate, you can use any of the following methods:\n  • Run 'gh auth login'\n",
    ));
    assert_eq!(said.category, Category::Auth);
    assert_eq!(said.message, "Error: No authentication information found.");

    let said = failure(&exit("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\n"));
    assert_eq!(said.category, Category::SessionLost);
    assert_eq!(said.message, "Error: Session not found");
}

#[test]
fn a_stack_trace_is_no_part_of_the_message() {
    let said = failure(&exit("Error: it broke\n    at main (a.js:1:2)\n    at b (c.js:3:4)\n"));
    assert_eq!(said.message, "Error: it broke");
    assert_eq!(said.category, Category::ProcessExit);
}

#[test]
fn without_an_error_it_is_the_end_of_stderr() {
    let said = failure(&exit("Please log in first\n"));
    assert_eq!(said.category, Category::Auth);
    assert!(said.message.contains("exit code 1"), "{}", said.message);
    assert_eq!(failure(&exit("")).category, Category::ProcessExit);
}
