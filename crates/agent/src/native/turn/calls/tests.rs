use super::*;

#[test]
fn what_was_printed_in_a_terminal_stays_with_the_call() {
    let mut output = Output::text("Exit code 0.\n\nshell-42");
    assert_eq!(raw_output(&output), None);

    output.content = vec![Content::Terminal("term_1".to_owned())];

    assert_eq!(raw_output(&output), Some(json!("Exit code 0.\n\nshell-42")));
}
