//! What the real binary writes about itself, and what it does not.

use std::os::unix::fs::PermissionsExt as _;

use crate::front::home;

fn text(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_command_logs_to_a_file_and_leaves_stderr_alone() {
    let home = home();
    let path = home.path().join("own.log");
    let mut command = home.command(["run", "demo", "echo hi", "--format", "quiet", "--log-file"]);
    let output = command.arg(&path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hi\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let log = text(&path);
    assert!(
        log.contains(" INFO  sessions::session::task::prompting turn started session="),
        "{log}"
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_key_of_the_environment_does_not_get_into_the_log() {
    let home = home();
    let key = "c0ffee-not-to-be-seen-1234";
    // The command line of an agent is logged, and this one holds the key.
    let mut command = home.command(["-vv", "run", "echo hi", "--"]);
    command.arg(home.exe()).args(["demo-agent", "--unknown", key]);
    command.env("SOME_API_KEY", key);
    let output = command.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("starting an agent"), "{log}");
    assert!(log.contains("[redacted]"), "{log}");
    let logged: Vec<&str> = log.lines().filter(|line| line.contains("DEBUG")).collect();
    assert!(!logged.is_empty() && logged.iter().all(|line| !line.contains(key)), "{logged:?}");
}

#[test]
fn a_log_file_that_cannot_be_is_an_error_that_says_so() {
    let home = home();
    let mut command = home.command(["run", "demo", "echo hi", "--log-file", "/dev/null"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("cannot log to /dev/null: it is not a regular file"), "{error}");
}
