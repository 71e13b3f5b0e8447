//! The promises of ARCHITECTURE.md and CONTRIBUTING.md that a machine can check.

mod circles;
mod code_paths;
mod names;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Files are one idea; beyond this they are two.
const MAX_LINES: usize = 500;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(&workspace().join("crates"), &mut found);
    assert!(found.len() > 100, "the sources were not found");
    found
}

#[test]
fn every_source_file_is_short_and_says_what_it_is() {
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        assert!(text.lines().count() <= MAX_LINES, "{} is too long", path.display());
        assert!(is_test || text.starts_with("//!"), "{} has no header", path.display());
    }
}

#[test]
fn no_file_is_named_after_nothing() {
    for path in all_sources() {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        for empty in ["util", "utils", "helper", "helpers", "common", "manager", "misc", "core"] {
            assert_ne!(stem, empty, "{}", path.display());
        }
    }
}

/// A reader who meets a name in one place knows what it is in the next.
#[test]
fn the_name_of_a_type_stands_for_three_things_at_most() {
    let crates = workspace().join("crates");
    let files = all_sources().into_iter().filter_map(|path| {
        let within = path.strip_prefix(&crates).unwrap();
        names::ships(within).then(|| (within.to_owned(), fs::read_to_string(&path).unwrap()))
    });
    let shared = names::used_too_often(files, 3);
    assert!(shared.is_empty(), "say in the name what kind of thing each is: {shared:#?}");
}

#[test]
fn the_code_that_the_map_names_is_there() {
    let map = fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let crates = workspace().join("crates");
    assert!(code_paths::named(&map, &crates).len() > 50, "the map names code");
    let missing = code_paths::missing(&map, &crates);
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:#?}");
    // A path that is cut is looked for in vain, by readers as by this test.
    assert!(!map.contains("…::"), "ARCHITECTURE.md names paths in full");
}

/// Whoever has read one of them can then read the next, and not all of them at once.
#[test]
fn no_files_of_a_crate_use_each_other_in_a_ring() {
    let mut failed = String::new();
    for entry in fs::read_dir(workspace().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let rings = circles::rings(&path.join("src"));
        if !rings.is_empty() {
            writeln!(failed, "{}:\n{}", path.display(), rings.concat()).unwrap();
        }
    }
    assert!(failed.is_empty(), "what one of a ring uses of the next belongs elsewhere\n{failed}");
}

#[test]
fn unsafe_code_lives_in_one_file() {
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        let is_the_one = path.ends_with("bus/src/process_calls.rs");
        let asks = text.contains(concat!("allow(", "unsafe_code)"));
        assert!(is_the_one || !asks, "{}", path.display());
    }
}

/// Each way around it costs the binary kilobytes a task.
#[test]
fn tasks_are_started_by_the_task_crate() {
    let is_free = |part: &std::ffi::OsStr| {
        let part = part.to_str().unwrap();
        part.starts_with("test") || ["bench", "examples", "live", "task"].contains(&part)
    };
    let root = workspace().join("crates");
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        let is_ours = !path.strip_prefix(&root).unwrap().iter().any(is_free);
        assert!(!is_ours || !text.contains("tokio::spawn("), "{}", path.display());
    }
}

/// Crates are linted with their tests alone, and what is left out there would be linted nowhere.
#[test]
fn tests_leave_no_code_out() {
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(concat!("cfg(not(", "test))")), "{}", path.display());
    }
}

/// Fuzz targets have a lock file of their own, which nothing else builds with.
#[test]
fn fuzz_targets_are_locked_with_what_our_crates_need() {
    let read = |path: &Path| fs::read_to_string(path).unwrap().parse::<toml::Table>().unwrap();
    let locked = read(&workspace().join("fuzz/Cargo.lock"));
    let ours = locked["package"].as_array().unwrap().iter().filter(|one| {
        one.get("source").is_none() && one["name"].as_str() != Some("switchyard-fuzz")
    });
    let mut n_checked = 0;
    for package in ours {
        let name = package["name"].as_str().unwrap();
        let manifest = read(&workspace().join("crates").join(name).join("Cargo.toml"));
        let needed = ["dependencies", "build-dependencies"].into_iter().flat_map(|kind| {
            manifest
                .get(kind)
                .and_then(toml::Value::as_table)
                .into_iter()
                .flat_map(toml::Table::keys)
        });
        let locked = package.get("dependencies").and_then(toml::Value::as_array);
        // Where there are two versions of one crate, its version follows the name.
        let locked = locked
            .into_iter()
            .flatten()
            .map(|one| one.as_str().unwrap().split(' ').next().unwrap().to_owned());
        assert_eq!(
            locked.collect::<BTreeSet<_>>(),
            needed.cloned().collect::<BTreeSet<_>>(),
            "fuzz/Cargo.lock is not as {name} is; `cargo metadata` in fuzz/ makes it so"
        );
        n_checked += 1;
    }
    assert!(n_checked > 2, "the crates that are fuzzed were not found");
}

/// With other features for tests than for the binary, most crates would be built twice.
#[test]
fn tests_build_what_the_binary_is_built_of() {
    let tree = |args: &[&str]| -> BTreeSet<(String, String)> {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let mut cargo = std::process::Command::new(cargo);
        cargo.current_dir(workspace()).args(["tree", "--locked", "--offline", "--prefix", "none"]);
        let listed = cargo.args(["--format", "{p}\t{f}"]).args(args).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).unwrap();
        let lines =
            listed.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'));
        lines.map(|(name, features)| (name.to_owned(), features.to_owned())).collect()
    };
    let binary = tree(&["--edges", "no-dev", "--package", "testkit", "--package", "switchyard"]);
    let names: BTreeSet<_> = binary.iter().map(|(name, _)| name.clone()).collect();
    assert!(names.len() > 100, "{names:#?}");
    let mut tests = tree(&["--workspace"]);
    tests.retain(|(name, _)| names.contains(name));
    let others: Vec<_> = binary.symmetric_difference(&tests).collect();
    assert!(others.is_empty(), "{others:#?} have other features; testkit/Cargo.toml evens it out");
}

/// What is below all of them, `task`, is left out.
#[test]
fn crates_depend_downwards_only() {
    let layers: [(&str, &[&str]); 12] = [
        ("wire", &[]),
        ("roots", &[]),
        ("bus", &["wire"]),
        ("store", &["wire"]),
        ("client", &["wire"]),
        ("projection", &["wire"]),
        ("agent", &["bus", "roots", "store", "wire"]),
        ("runtimes", &["bus", "wire"]),
        ("sessions", &["bus", "projection", "roots", "store", "wire"]),
        ("chat", &["client", "projection", "wire"]),
        ("server", &["bus", "projection", "roots", "sessions", "store", "wire"]),
        (
            "switchyard",
            &[
                "agent",
                "bus",
                "chat",
                "client",
                "projection",
                "roots",
                "runtimes",
                "server",
                "sessions",
                "store",
                "wire",
            ],
        ),
    ];
    for (name, allowed) in layers {
        let manifest = workspace().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(manifest).unwrap();
        let dependencies = text.split("[dependencies]").nth(1).unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        for (other, _) in layers {
            let depends = dependencies.lines().any(|line| {
                line.strip_prefix(other).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
            });
            assert!(!depends || allowed.contains(&other), "{name} must not know {other}");
        }
    }
}
