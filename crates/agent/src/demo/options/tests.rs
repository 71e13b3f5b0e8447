//! Tests of `options`.

use super::*;

fn parse(flags: &str) -> Result<DemoOptions, String> {
    let flags: Vec<OsString> = flags.split_whitespace().map(OsString::from).collect();
    DemoOptions::from_args(&flags)
}

#[test]
fn flags_and_values_are_read_in_both_forms() {
    let options = parse("--state /s --load --ids=strings --slow-start 20 --auth=a --ignore-eof");
    let options = options.unwrap();

    assert_eq!(options.state, Some(PathBuf::from("/s")));
    assert_eq!(options.offers, ["load"].into());
    assert!(options.ignores_eof);
    assert_eq!(options.ids, IdStyle::Strings);
    assert_eq!(options.slow_start, Duration::from_millis(20));
    assert_eq!(options.auth.as_deref(), Some("a"));
}

#[test]
fn every_flag_of_the_usage_is_known() {
    let words = USAGE.split_whitespace().filter(|word| word.starts_with("--"));
    for flag in words {
        let problem = parse(flag).err().unwrap_or_default();
        assert!(!problem.contains("unknown flag"), "{flag}");
    }
}

#[test]
fn mistakes_are_named() {
    for (flags, says) in [
        ("--nope", "unknown flag `--nope`"),
        ("--state", "`--state` needs a value"),
        ("--slow-start soon", "needs a number, got `soon`"),
        ("--ids random", "not `random`"),
        ("--load=yes", "`--load` takes no value"),
    ] {
        let problem = parse(flags).unwrap_err();
        assert!(problem.contains(says), "{problem}");
    }
}
