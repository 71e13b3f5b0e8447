use std::fs;
use std::path::Path;

use super::*;
use crate::dialect::PermissionMode;

#[test]
fn well_known_directories_that_exist_are_listed_newest_node_first() {
    let home = tempfile::tempdir().unwrap();
    for dir in [
        ".local/bin",
        ".nvm/versions/node/v9.11.2/bin",
        ".nvm/versions/node/v22.1.0/bin",
        ".nvm/versions/node/v18.20.4/bin",
        ".local/share/fnm/node-versions/v24.0.0/installation/bin",
        "own-npm/bin",
    ] {
        fs::create_dir_all(home.path().join(dir)).unwrap();
    }
    let prefix = home.path().join("own-npm");

    let dirs = well_known_dirs::well_known(Some(home.path()), |name| match name {
        "NPM_CONFIG_PREFIX" => Some(prefix.clone().into()),
        // Relative ones would depend on where we stand.
        "PNPM_HOME" => Some("relative".into()),
        _ => None,
    });

    let ours: Vec<_> = dirs.iter().filter_map(|dir| dir.strip_prefix(home.path()).ok()).collect();
    let expected = [
        "own-npm/bin",
        ".local/bin",
        ".nvm/versions/node/v22.1.0/bin",
        ".nvm/versions/node/v18.20.4/bin",
        ".nvm/versions/node/v9.11.2/bin",
        ".local/share/fnm/node-versions/v24.0.0/installation/bin",
    ];
    assert_eq!(ours, expected.map(Path::new));
}

fn environment(id: &str, form: usize, mode: PermissionMode, machine: &Machine) -> bus::Environment {
    let all = crate::catalogue::shipped().unwrap();
    let definition = all.iter().find(|one| one.id == id).unwrap();
    machine.environment(definition, definition.forms.get(form), mode, Path::new("/opt/x/agent"))
}

#[test]
fn a_cli_finds_what_stands_beside_it_and_what_is_well_known() {
    let machine = Machine {
        path: vec!["/usr/bin".into()],
        well_known: vec!["/usr/bin".into(), "/wk".into()],
        ..Machine::default()
    };

    let env = environment("claude", 0, PermissionMode::Ask, &machine);

    assert_eq!(env.set[std::ffi::OsStr::new("PATH")], "/opt/x:/usr/bin:/wk");
}

#[test]
fn nesting_variables_are_taken_away_and_modes_have_theirs() {
    let machine = Machine::default();

    let claude = environment("claude", 0, PermissionMode::Ask, &machine);
    assert!(claude.strip.contains(std::ffi::OsStr::new("CLAUDECODE")));

    let name = std::ffi::OsStr::new("OPENCODE_PERMISSION");
    let asks = environment("opencode", 0, PermissionMode::Ask, &machine);
    assert_eq!(asks.set[name], r#"{"edit":"ask","bash":"ask"}"#);
    let auto = environment("opencode", 0, PermissionMode::Auto, &machine);
    assert!(!auto.set.contains_key(name));
}

#[test]
fn a_pattern_takes_away_every_variable_that_begins_like_it() {
    let mut machine = Machine::default();
    for name in ["SOME_A", "SOME_B", "OTHER"] {
        machine.variables.insert(name.into(), "1".into());
    }
    let mut definition = crate::catalogue::shipped().unwrap()[0].clone();
    definition.env.strip = vec!["SOME_*".into(), "GONE".into()];

    let env = machine.environment(&definition, None, PermissionMode::Ask, Path::new("/x"));

    let stripped: Vec<_> = env.strip.iter().map(|name| name.to_string_lossy()).collect();
    assert_eq!(stripped, ["GONE", "SOME_A", "SOME_B"]);
}

#[tokio::test]
async fn a_keeper_that_cannot_be_started_is_told() {
    let mut launch = bus::Launch::new("", "/");
    launch.keeper_exe = "/no/such/keeper".into();
    let mut options = DetectOptions::new(launch);
    options.machine = Machine { path: vec!["/bin".into()], ..Machine::default() };
    let definition = RuntimeDefinition::parse(
        "id = 'sh'\nname = 'sh'\nbins = ['sh']\ninstall = 'x'\n\
         forms = [{ dialect = 'plain', args = [], permissions = { modes = { auto = [] } } }]",
    )
    .unwrap();

    let found = detect_one(&definition, &options).await;

    // Nothing can be started, and that is what is said.
    assert_eq!(found.diagnoses[0].reason, DiagnosisReason::VersionProbeFailed);
    assert!(found.diagnoses[0].message.contains("keeper"), "{found:?}");
}
