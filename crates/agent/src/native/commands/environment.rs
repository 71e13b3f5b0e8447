//! The environment of a command: variables that are removed, and those that are added.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::native::settings::CommandSettings;

/// Variables without which a command may wait for somebody to press a key.
const UNATTENDED: [(&str, &str); 3] =
    [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];
/// The number of settings that git finds in the variables that follow.
const GIT_SETTINGS: &str = "GIT_CONFIG_COUNT";
/// Shorter values are no keys: other variables may have them, too.
const MIN_SECRET_BYTES: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandVariables {
    pub(super) strip: BTreeSet<OsString>,
    pub(super) set: Vec<(String, String)>,
}

/// The changes to our environment for a command, which would otherwise inherit all of it.
pub(super) fn variables(settings: &CommandSettings) -> CommandVariables {
    of(settings, std::env::vars_os().collect())
}

fn of(settings: &CommandSettings, ours: Vec<(OsString, OsString)>) -> CommandVariables {
    let mut set: Vec<(String, String)> =
        UNATTENDED.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    set.extend(no_bare_repositories(&ours));
    // A key under another name is a key.
    let is_key = |value: &OsString| {
        value.len() >= MIN_SECRET_BYTES
            && ours.iter().any(|(name, key)| settings.secrets.contains(name) && key == value)
    };
    let strip = ours
        .iter()
        .filter(|(name, value)| settings.secrets.contains(name) || is_key(value))
        .map(|(name, _)| name.clone())
        .collect();
    CommandVariables { strip, set }
}

/// Settings that keep git out of bare repositories: a directory of ordinary files can be made to
/// look like one whose configuration names programs, and a harmless `git status` in it would run
/// them.
fn no_bare_repositories(ours: &[(OsString, OsString)]) -> [(String, String); 3] {
    let n_before = ours.iter().find(|(name, _)| name == GIT_SETTINGS);
    let n_before = n_before.and_then(|(_, n)| n.to_str()?.parse::<u32>().ok()).unwrap_or_default();
    [
        (GIT_SETTINGS.into(), n_before.saturating_add(1).to_string()),
        (format!("GIT_CONFIG_KEY_{n_before}"), "safe.bareRepository".into()),
        (format!("GIT_CONFIG_VALUE_{n_before}"), "explicit".into()),
    ]
}

#[cfg(test)]
mod tests {
    //! Which variables are secret, and what is added.

    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use super::{CommandSettings, of};

    #[test]
    fn a_key_under_another_name_is_a_key() {
        let secrets = BTreeSet::from(["OUR_KEY", "EMPTY", "UNSET"].map(OsString::from));
        let settings = CommandSettings { secrets, ..CommandSettings::default() };
        let ours = [
            ("OUR_KEY", "sk-12345678"),
            ("COPY", "sk-12345678"),
            ("EMPTY", ""),
            ("HOME", "/root"),
            ("ALSO_EMPTY", ""),
        ];
        let ours = ours.map(|(name, value)| (name.into(), value.into())).into();
        assert_eq!(
            of(&settings, ours).strip,
            ["COPY", "EMPTY", "OUR_KEY"].map(OsString::from).into()
        );
    }

    #[test]
    fn settings_of_git_that_somebody_gave_stay() {
        let ours = vec![("GIT_CONFIG_COUNT".into(), "2".into())];
        let set = of(&CommandSettings::default(), ours).set;
        for (name, value) in [
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_2", "safe.bareRepository"),
            ("GIT_CONFIG_VALUE_2", "explicit"),
        ] {
            assert!(set.contains(&(name.into(), value.into())), "{set:?}");
        }
    }
}
