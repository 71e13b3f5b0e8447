use super::*;
use crate::verbs::bus::setup::{problems, warnings};

fn report(text: &str, missing: &[&str]) -> CheckReport {
    let path = Path::new("bus.toml");
    let file = BusFile::parse(text, path, Path::new("/here")).unwrap();
    let pools = file.pools.iter().map(|pool| {
        let is_there = !missing.contains(&pool.name());
        PoolReport::new(pool, is_there.then(|| "/bin/some".into()))
    });
    CheckReport::new(path, &file, pools.collect(), warnings(&file), problems(&file))
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
    assert!(!report.is_ok());
}

#[test]
fn a_file_that_cannot_be_made_out_is_one_problem() {
    let wrong = BusFileProblem { at: Some((3, 4)), message: "no".into(), hint: Some("do".into()) };
    let report = CheckReport::of_problem(Path::new("x.toml"), wrong);
    assert!(!report.is_ok());
    let expected = "problem: line 3, column 4: no\n    fix: do\n\nx.toml has a problem\n";
    assert_eq!(report.text(Paint::none()), expected);
    assert_eq!(report.json()["form"], Value::Null);
    assert_eq!(report.json()["problems"][0]["remedy"], "do");
}
