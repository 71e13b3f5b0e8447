use super::*;

fn ran(code: i32, stdout: &str, stderr: &str) -> ProbeOutput {
    ProbeOutput {
        code: Some(code),
        exit: format!("exit code {code}"),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

#[test]
fn a_flag_is_not_seen_in_a_longer_one() {
    let help = "Options:\n  --acp           speak ACP\n  --no-color\n  -c, --config=FILE, [exec]";

    for flag in ["--acp", "--config", "exec", "-c"] {
        assert!(has_flag(help, flag), "{flag}");
    }
    for flag in ["--ac", "--color", "--no", "color", "--acp-extra"] {
        assert!(!has_flag(help, flag), "{flag}");
    }
}

#[test]
fn a_version_is_read_from_stdout_first() {
    let of = |ran: &ProbeOutput| version_of(ran);

    assert_eq!(
        of(&ran(0, "cli 1.2.3", "Node 20.0.0 is old")),
        VersionFact::Version("1.2.3".into())
    );
    assert_eq!(of(&ran(0, "", "cli 1.2.3")), VersionFact::Version("1.2.3".into()));
    assert!(matches!(of(&ran(1, "", "needs Node 22.0.0")), VersionFact::Failed(_)));
    assert!(matches!(of(&ran(126, "", "")), VersionFact::NotExecutable(_)));
    assert!(matches!(of(&ran(127, "9.9.9", "")), VersionFact::ShimBroken(_)));
}

#[test]
fn no_is_heard_before_yes() {
    let probe = AuthProbe {
        args: vec!["status".into()],
        yes: vec!["logged in".into()],
        no: vec!["Not logged in".into()],
    };

    assert_eq!(login_status(&probe, &ran(0, "Not logged in", "")), LoginStatus::Missing);
    assert_eq!(login_status(&probe, &ran(1, "", "You are logged in")), LoginStatus::Ok);
    assert_eq!(login_status(&probe, &ran(0, "?", "")), LoginStatus::Unknown);
}

#[test]
fn last_words_are_short_and_clean() {
    let words = last_output(&ran(1, "out", &format!("first\n\u{1b}[31m{}\n\n", "x".repeat(999))));

    assert!(words.starts_with("exit code 1: [31mxxx") && words.len() < 250, "{words}");
    assert_eq!(last_output(&ran(3, "", "")), "exit code 3");
}
