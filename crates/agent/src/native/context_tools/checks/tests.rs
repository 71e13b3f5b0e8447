//! Which checks the files of a project suggest.

use super::*;
use crate::native::testing::TestSession;

async fn found(files: &[(&str, &str)]) -> Vec<String> {
    let stage = TestSession::new();
    for (name, text) in files {
        stage.put(name, text);
    }
    ProjectChecks::find(&stage.context).await.map(|checks| checks.0).unwrap_or_default()
}

#[tokio::test]
async fn each_kind_of_project_has_its_checks() {
    const SCRIPT: &str = "{ \"scripts\": { \"test\": \"jest\" } }";
    const NONE: &str =
        "{ \"scripts\": { \"test\": \"echo \\\"Error: no test specified\\\" && exit 1\" } }";
    const MAKEFILE: &str = "CC := gcc\nall: x\n\ttest: y\n.PHONY: test\ncheck test: all\n\tgo\n";
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: [Case; 12] = [
        (&[], &[]),
        (&[("Cargo.toml", "")], &["cargo test"]),
        (&[("go.mod", "")], &["go test ./..."]),
        (&[("package.json", SCRIPT)], &["npm test"]),
        (&[("package.json", SCRIPT), ("yarn.lock", "")], &["yarn test"]),
        (&[("package.json", NONE)], &[]),
        (&[("package.json", "{")], &[]),
        (&[("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest"]),
        (&[("pyproject.toml", "[project]")], &[]),
        (&[("Cargo.toml", ""), ("go.mod", "")], &["cargo test", "go test ./..."]),
        (&[("Makefile", MAKEFILE), ("Cargo.toml", "")], &["make test"]),
        (&[("Makefile", "test := 1\nall:\n\ttest: x\n"), ("Cargo.toml", "")], &["cargo test"]),
    ];
    for (files, expected) in cases {
        assert_eq!(found(files).await, expected, "{files:?}");
    }
}

#[tokio::test]
async fn a_file_that_leads_out_of_the_project_suggests_nothing() {
    let stage = TestSession::new();
    let outside = stage.root.parent().unwrap().join("Makefile");
    std::fs::write(&outside, "test:\n").unwrap();
    std::os::unix::fs::symlink(&outside, stage.path("Makefile")).unwrap();
    assert!(ProjectChecks::find(&stage.context).await.is_err());
}

#[test]
fn the_end_of_a_long_output_is_kept() {
    let long = format!("{}end", "é".repeat(5000));
    let kept = tail(&long);
    assert!(kept.starts_with("[… 1003 characters before …]\né"), "{kept}");
    assert!(kept.ends_with("éend"));
    assert_eq!(tail("short"), "short");
}
