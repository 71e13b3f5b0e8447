//! An agent that writes down what it hears and what it is given.

use std::path::{Path, PathBuf};

use testkit::test_executables;
use testkit::test_home::switchyard;

use crate::serve_rest::{Api, EXE};

/// What it has written.
pub(super) struct Spy {
    /// The messages.
    pub(super) heard: PathBuf,
    /// Its environment.
    pub(super) given: PathBuf,
}

impl Spy {
    /// The program `name` in `dir`, which answers as the official CLI of that name does when it
    /// is asked what it can do. It says `says` in every turn.
    pub(super) fn at(dir: &Path, name: &str, says: &str) -> Self {
        std::fs::create_dir_all(dir).unwrap();
        let spy = Self { heard: dir.join("heard"), given: dir.join("given") };
        let script = format!(
            r#"#!/bin/sh
case "$*" in
*--version*) echo 0.30.0; exit;;
*--help*) echo '--acp --approval-mode --include-directories'; exit;;
esac
env > '{given}'.$$ && mv '{given}'.$$ '{given}'
while read -r line; do
printf '%s\n' "$line" >> '{heard}'
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
case "$line" in
*'"initialize"'*) answer '{{"protocolVersion":1,"agentCapabilities":{{"loadSession":true}}}}';;
*'"session/new"'*) answer '{{"sessionId":"one","modes":{modes}}}';;
*'"session/prompt"'*) printf '%s\n' '{says}'; answer '{{"stopReason":"end_turn"}}';;
*'"id":'*) answer '{{}}';;
esac
done
"#,
            modes =
                r#"{"currentModeId":"default","availableModes":[{"id":"default","name":"Ask"}]}"#,
            given = spy.given.display(),
            heard = spy.heard.display()
        );
        test_executables::write(&dir.join(name), &script);
        spy
    }
}

/// An agent of the user's own that is this program.
pub(super) fn definition(program: &Path) -> String {
    format!("[agents.spy]\ncommand = \"{}\"\n", program.display())
}

/// A daemon that has it.
pub(super) async fn served() -> (Api, Spy) {
    let home = switchyard(EXE);
    let dir = home.work().join("spy");
    let spy = Spy::at(&dir, "spy", "");
    std::fs::write(home.path().join("switchyard.toml"), definition(&dir.join("spy"))).unwrap();
    (Api::start_in(home).await, spy)
}
