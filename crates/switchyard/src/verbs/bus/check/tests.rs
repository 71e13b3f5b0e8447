use super::*;
use std::os::unix::fs::PermissionsExt as _;

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_program_that_cannot_run_is_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    write(&plain, "", 0o644);
    let told = |program: &Path, cwd: &Path| {
        let problem = find_program("p", &Launch::new(program, cwd)).unwrap_err();
        (problem.message, problem.hint.unwrap_or_default())
    };
    let (message, hint) = told(&plain, dir.path());
    assert!(message.ends_with("cannot be executed: Permission denied (os error 13)"), "{message}");
    assert_eq!(hint, format!("chmod +x {}", plain.display()));
    let (message, hint) = told(Path::new("no-such-program-anywhere"), dir.path());
    assert_eq!(message, "pool `p`: `no-such-program-anywhere` was not found");
    assert_eq!(hint, "install it, or give its whole path as `command`");
    let (_, hint) = told(&dir.path().join("gone"), dir.path());
    assert_eq!(hint, "correct the path in `command`");
    let (message, hint) = told(Path::new("sh"), &dir.path().join("gone"));
    assert!(message.contains("cannot work in"), "{message}");
    assert!(hint.contains("mkdir -p"), "{hint}");
    let found = find_program("p", &Launch::new("sh", dir.path())).unwrap();
    assert!(found.is_absolute() && found.ends_with("sh"));
}

fn report(text: &str, missing: &[&str]) -> CheckReport {
    let path = Path::new("bus.toml");
    let file = BusFile::parse(text, path, Path::new("/here")).unwrap();
    let programs = file.pools.iter().map(|pool| {
        let is_there = !missing.contains(&pool.name());
        is_there.then(|| "/bin/some".into())
    });
    CheckReport {
        path: path.to_owned(),
        programs: programs.collect(),
        warnings: warnings(&file),
        problems: problems(&file),
        file: Some(file),
    }
}

const MUCH: &str = "
token_file = 'token'
[[pool]]
name = 'demo'
command = 'switchyard'
args = ['demo-agent']
workers = 2
[[pool]]
name = \"a-long-name\\u001b[31m\"
agent = 'claude'
min = 0
max = 12
start = 'on-demand'
restart = 'on-failure'
[limits]
max_clients = 12
slow_client_after = 'never'
[[listen]]
tcp = '0.0.0.0:9000'
pool = 'nope'
[[listen]]
unix = 'x.sock'
[[listen]]
unix = 'y.sock'
mode = '0660'
";

#[test]
fn a_report_in_words() {
    insta::assert_snapshot!("much", report(MUCH, &["demo"]).text(Paint::none()));
    let small = "[[pool]]\nname = 'p'\ncommand = 'x'";
    insta::assert_snapshot!("small", report(small, &[]).text(Paint::none()));
    let json = "{\"pools\":[{\"id\":\"p\",\"command\":\"x\",\"instances\":1,\"env\":{}}]}";
    insta::assert_snapshot!("stdio_bus", report(json, &[]).text(Paint::none()));
}

#[test]
fn a_report_as_json() {
    let report = report(MUCH, &["demo"]);
    insta::assert_snapshot!("much_json", format!("{:#}", report.json()));
    assert!(!report.problems.is_empty());
}

#[test]
fn a_file_that_cannot_be_made_out_is_one_problem() {
    let wrong = BusFileProblem { at: Some((3, 4)), message: "no".into(), hint: Some("do".into()) };
    let report = CheckReport::of_problem(Path::new("x.toml"), wrong);
    assert!(!report.problems.is_empty());
    let expected = "problem: line 3, column 4: no\n    fix: do\n\nx.toml has a problem\n";
    assert_eq!(report.text(Paint::none()), expected);
    assert_eq!(report.json()["form"], Value::Null);
    assert_eq!(report.json()["problems"][0]["remedy"], "do");
}
