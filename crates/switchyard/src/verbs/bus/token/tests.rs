use super::*;
use crate::config::ConfigFile;
use crate::home::Home;
use sessions::observer::Observers;
use std::os::unix::fs::PermissionsExt as _;

const TOKEN: &str = "0123456789abcdef";

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn config(dir: &Path) -> Config {
    let home = Home {
        config: dir.join("switchyard.toml"),
        state: dir.join("state"),
        run: dir.join("run"),
    };
    Config { home, file: ConfigFile::default(), observers: Observers::default(), raw_tables: None }
}

#[test]
fn a_token_is_made_once_and_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let made = open(None, &config).unwrap();
    let path = own_path(&config);
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(made.is(text.trim_end()));
    assert!(open(None, &config).unwrap().is(text.trim_end()), "the same at the next start");

    let other = tempfile::tempdir().unwrap();
    let other = open(None, &self::config(other.path())).unwrap();
    assert!(!other.is(text.trim_end()));
}

#[test]
fn a_token_of_ones_own_may_end_with_a_newline() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    write(&path, &format!("{TOKEN}\r\n"), 0o600);
    assert!(open(Some(&path), &config(dir.path())).unwrap().is(TOKEN));
    assert_eq!(problem(&path), None);
}

#[test]
fn a_token_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let told = || {
        let problem = problem(&path).unwrap();
        let refused = open(Some(&path), &config(dir.path())).unwrap_err();
        assert_eq!(refused, problem, "serving says the same");
        problem.message
    };
    assert!(told().contains("No such file"), "one that is named is not made: {}", told());
    write(&path, TOKEN, 0o640);
    assert!(told().ends_with("others can read it; `chmod 600` it"), "{}", told());
    for text in ["", "secret\n"] {
        write(&path, text, 0o600);
        assert!(told().ends_with("has less than 16 characters"), "{}", told());
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(told().starts_with("the token file "), "{}", told());
}
