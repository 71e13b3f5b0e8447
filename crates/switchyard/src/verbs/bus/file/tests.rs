use super::*;
use crate::outcome::USAGE;
use crate::verbs::bus::listener::BusAddress;
use crate::verbs::bus::pool_table::{PoolEntry, PoolProgram};
use crate::verbs::bus::setup::{problems, warnings};
use proptest::prelude::*;
use std::collections::BTreeSet;

const DOCS: &str = include_str!("../../../../../../docs/bus.md");
const MIGRATION: &str = include_str!("../../../../../../docs/bus-migration.md");

const GOOD: &str = r#"
token_file = "token"

[[pool]]
name = "demo"
command = "./agent"
workers = 2

[pool.backoff]
initial = "1s"

[[pool]]
name = "claude"
agent = "claude"
max = 4
start = "on-demand"

[limits]
max_clients = 12
client_queue = "1MiB"

[[listen]]
tcp = "127.0.0.1:9000"
pool = "demo"

[[listen]]
unix = "bus.sock"
"#;

const STDIO_BUS: &str = r#"{"pools": [{"id": "echo", "command": "./echo", "instances": 1}]}"#;

fn parse(text: &str) -> Result<BusFile, BusFileProblem> {
    BusFile::parse(text, Path::new("conf/bus.toml"), Path::new("/here"))
}

fn wrong(text: &str) -> (Option<(usize, usize)>, String) {
    let wrong = parse(text).unwrap_err();
    (wrong.at, wrong.message)
}

fn program(file: &BusFile) -> &Path {
    match &file.pools[0].work {
        PoolProgram::Command { program, .. } => program,
        PoolProgram::Agent { .. } => panic!("it is a command"),
    }
}

#[test]
fn a_file_is_read_with_paths_below_it() {
    let file = parse(GOOD).unwrap();
    assert_eq!(file.form, BusFileFormat::Toml);
    let names: Vec<&str> = file.pools.iter().map(PoolEntry::name).collect();
    assert_eq!(names, ["demo", "claude"]);
    assert_eq!(program(&file), Path::new("/here/conf/./agent"));
    assert_eq!(file.limits.max_clients, 12);
    assert_eq!(file.token_file, Some("/here/conf/token".into()));
    let addresses: Vec<&BusAddress> = file.listeners.iter().map(|listener| &listener.at).collect();
    let unix = BusAddress::Unix("/here/conf/bus.sock".into(), 0o600);
    assert_eq!(addresses, [&BusAddress::Tcp("127.0.0.1:9000".parse().unwrap()), &unix]);
    assert_eq!(problems(&file), []);
    assert!(warnings(&file).is_empty());
}

#[test]
fn a_stdio_bus_file_is_known_by_its_content_or_its_name() {
    for text in [STDIO_BUS.to_owned(), format!("\u{feff}\n  {STDIO_BUS}")] {
        let file = parse(&text).unwrap();
        assert_eq!(file.form, BusFileFormat::StdioBus);
        assert_eq!(program(&file), Path::new("/here/./echo"), "below where it is started");
    }
    let named = BusFile::parse("x = 1", Path::new("/conf/bus.json"), Path::new("/here"));
    assert_eq!(named.unwrap_err().at, Some((1, 1)), "it is read as JSON");
}

#[test]
fn an_error_says_where_it_is() {
    for (text, at, message) in [
        (
            "pool = 1\n",
            (1, 8),
            "invalid type: integer `1`, expected a list; its tables have double brackets, such as [[pool]]",
        ),
        (
            "\n[pool]\nname = 'x'\n",
            (2, 1),
            "invalid type: map, expected a list; its tables have double brackets, such as [[pool]]",
        ),
        (
            "\n\nx = 1\n",
            (3, 1),
            "unknown field `x`, expected one of `pool`, `limits`, `listen`, `token_file`",
        ),
        (
            "[[pool]]\nname = 'p'\n\n[[pool]]\nname = 'q'\n",
            (1, 1),
            "pool `p`: it has neither `command` nor `agent`, so nothing can run",
        ),
        (
            "[[pool]]\nname = 'p'\ncommand = 'x'\n\n[[pool]]\nname = 'q'\n",
            (5, 1),
            "pool `q`: it has neither `command` nor `agent`, so nothing can run",
        ),
        (
            "[[pool]]\nname = 'p'\ncommand = 'é'; x\n",
            (3, 14),
            "unexpected key or value, expected newline, `#`",
        ),
        (
            "[limits]\nline_timeout = 30\n",
            (2, 16),
            "expected a duration with its unit, such as \"500ms\", \"30s\" or \"5m\"",
        ),
        (
            "[[listen]]\ntcp = 'example.com:80'\n",
            (1, 1),
            "\"example.com:80\" is no address; write it like \"127.0.0.1:9000\" or \"[::1]:9000\"",
        ),
    ] {
        assert_eq!(wrong(text), (Some(at), message.to_owned()), "{text}");
    }
}

#[test]
fn a_file_that_is_not_there_is_a_usage_error_and_a_wrong_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bus.toml");
    let missing = read_text(&path).unwrap_err();
    assert_eq!(missing.code, USAGE);
    assert!(missing.message.starts_with(&format!("cannot read {}: No such", path.display())));

    std::fs::write(&path, "[pools]\n").unwrap();
    let wrong = BusFile::parse(&read_text(&path).unwrap(), &path, dir.path()).unwrap_err();
    let wrong = wrong.failure(&path);
    let start = format!("{}:1:2: unknown field `pools`", path.display());
    assert!(wrong.message.starts_with(&start) && wrong.code == ERROR, "{wrong}");

    std::fs::write(&path, vec![b' '; 5 << 20]).unwrap();
    let large = read_text(&path).unwrap_err();
    assert!(large.message.ends_with("it has more than 4194304 bytes"), "{large}");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(read_text(&path).unwrap_err().code, USAGE);
}

/// The fenced blocks of the docs in one language.
fn examples(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let starts = [DOCS, MIGRATION].into_iter().flat_map(|page| page.split(&fence).skip(1));
    starts.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn every_example_of_the_docs_is_fine() {
    let tomls = examples("toml");
    assert!(tomls.len() >= 3, "the examples were not found");
    for text in tomls {
        let file = parse(text).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
        assert_eq!(problems(&file), [], "{text}");
    }
    let of_stdio_bus = examples("json").into_iter().filter(|text| text.contains("\"pools\""));
    let mut n_found = 0;
    for text in of_stdio_bus {
        let file = parse(text).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
        assert_eq!((file.form, problems(&file)), (BusFileFormat::StdioBus, vec![]), "{text}");
        n_found += 1;
    }
    assert!(n_found > 0, "the stdio Bus example was not found");
}

#[test]
fn the_two_examples_for_changing_over_say_the_same() {
    let block = |language: &str| {
        let rest = MIGRATION.split(&format!("\n```{language}\n")).nth(1).unwrap();
        parse(rest.split("```").next().unwrap()).unwrap()
    };
    let (mut old, new) = (block("json"), block("toml"));
    // Their pools are below different directories.
    old.form = BusFileFormat::Toml;
    assert_eq!(old, new);
}

/// The names in backquotes.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_docs_have_every_key_and_no_other() {
    for (heading, text) in [
        ("### Pools", "[[pool]]\nx = 1\n"),
        ("### Limits", "[limits]\nx = 1\n"),
        ("### Listeners", "[[listen]]\nx = 1\n"),
    ] {
        let (_, message) = wrong(text);
        let (_, expected) = message.split_once("expected one of ").unwrap();
        let section = DOCS.split(&format!("{heading}\n")).nth(1).expect(heading);
        let section = section.split("\n#").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        // `stop.after_eof` is described in the row of its own, below `stop`.
        let keys = rows.map(|row| row.split(['`', '.']).next().unwrap());
        assert_eq!(keys.collect::<BTreeSet<_>>(), quoted(expected), "{heading}");
    }
}

#[test]
fn the_docs_have_every_counter_and_no_other() {
    let counters = serde_json::json!(bus::switch::Counters::default());
    let counters: BTreeSet<&str> =
        counters.as_object().unwrap().keys().map(String::as_str).collect();
    let table = DOCS.split("| counter | |\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = table.lines().skip(1).filter_map(|row| row.strip_prefix('|')?.split('|').next());
    assert_eq!(names.flat_map(quoted).collect::<BTreeSet<_>>(), counters);
}

/// A file with one place spoilt.
fn spoilt(good: &'static str) -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just(String::new()),
        Just("[[pool]]".to_owned()),
        Just("-1".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("\"".to_owned()),
        Just("{".to_owned()),
        Just("null".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    (0..good.len(), 0_usize..30, pieces).prop_map(move |(start, n_bytes, piece)| {
        let end = (start + n_bytes).min(good.len());
        format!("{}{piece}{}", &good[..start], &good[end..])
    })
}

fn take(text: &str) -> Result<(), TestCaseError> {
    let Ok(file) = parse(text) else { return Ok(()) };
    let _ = warnings(&file);
    if problems(&file).is_empty() {
        let pools = file.pools.iter().map(|pool| pool.plan.clone()).collect();
        let plan = bus::switch::SwitchPlan { pools, limits: file.limits };
        prop_assert_eq!(plan.check(), Ok(()), "no problem is left to the switch");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        take(&text)?;
        take(&format!("{{{text}"))?;
    }

    #[test]
    fn any_spoilt_file_is_read_or_refused(text in spoilt(GOOD)) {
        take(&text)?;
    }

    #[test]
    fn any_spoilt_stdio_bus_file_is_read_or_refused(text in spoilt(STDIO_BUS)) {
        take(&text)?;
    }
}
