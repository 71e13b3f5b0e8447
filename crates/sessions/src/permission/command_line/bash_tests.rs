//! What a real bash or `sh` runs is found.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::tests::is_about;

/// Says in a file that it was asked to push.
const GIT: &str = r#"#!/bin/sh
while :; do case "$1" in -C|-c) shift; [ $# -gt 0 ] && shift;; -*) shift;; *) break;; esac; done
[ "$1" = push ] && : > "$PUSHED"
exit 0
"#;
/// Lines that push, to be changed.
const PUSHING: &[&str] = &[
    "git push",
    "git -C . push",
    "echo a; git push",
    "x=push; git $x",
    "sh -c 'git push'",
    "env A=1 git push",
    "echo push | xargs git",
    "echo $(git push)",
    "echo \"`git push`\"",
    "cat <<A\na\nA\ngit push",
    "cat <<A\n$(git push)\nA",
    "if true; then git push; fi",
    "case a in a) git push;; esac",
    "git {push,a}",
    "eval git push",
    "f() { git push; }; f",
    "cat <(git push)",
    "git >f push 2>&1",
    "(git push)",
    "bash -c \"git 'push'\"",
    "set a; for x do git push; done",
    "if [[ 1 ]] then git push; fi",
    "if if true; then :; fi then git push; fi",
    "a[1]=x git push",
    "echo git push | sh",
    "echo x | xargs -n1 git push",
    "{git,push}",
    "bash -c '{git,push}'",
    "echo ${a['$(git push)']}",
    "a=(['$(git push)']=1)",
    "a['`git push`']=1",
    "echo {a['$(git push)']}>f",
    "env -u A -C . B=1 git push",
    "timeout -s KILL 5 nice -n 5 git push",
    "set -- A git push; env -u \"$@\"",
    "exec -a ls git push",
    "[[ a && b ]] && git push",
    "[[ a && b ]] || git push",
    "true || [[ a && git push ]]",
    "! [[ a && git push ]]",
    "f() [[ a && git push ]]",
    "alias [[=true\n[[ a && git push ]]",
    "echo `git push) a`",
    "(( 1 # )); git push",
    "false && echo $((1 # )); git push",
    "false && echo $((')); git push #'",
    "false && echo >((1 # )); git push",
    "echo $((1 + (2) )); git push",
    "[[ a =~ (#) ]]; git push",
    "echo $(! case a in a) git push;; esac)",
    "echo $'\\c'; git push #'",
    "echo \"${x#'}\"'}\"; git push #'",
    "cat <<~A\n~A\ngit push",
    "$HOME git push",
    "g${HOME}it push",
    "for PWD in git; do $PWD push; done",
    "echo x | xargs -eE git push",
    "cat <<A\n`echo \\\"; git push; echo \\\"`\nA",
    "echo \"${x:-`echo \\\"; git push; echo \\\"`}\"",
    "echo \"$${x:-`echo \\\"; git push; echo \\\"`}\"",
    "x=1; echo ${x:'a[ $(git push)]'}",
    "n='a[ $(git push)]'; x=1; echo ${x:n}",
    "declare -i n; n='a[ $(git push)]'",
    "[[ 1 -eq 2 || 'a[ $(git push)]' -eq 1 ]]",
    "x='a[ $(git push)]'; read \"$x\" <<< a",
    "PS4+='$(git push)'; set -x; :",
    "v='1 git'; env A=$v push",
    "a=('' git); env A=\"${a[@]}\" push",
    "find . -maxdepth 0 -exec env -u + git push \\;",
    "trap '\\git push' EXIT",
    "env P''S4='$(git push)' bash -xc :",
    "x='a[ $'; x+='(git push)]'; echo $((x))",
    "read x <<'A'\na[ $(git push)]\nA\necho $((x))",
    "x='a[ $(git push)]'; eval 'echo $((x))'",
    "x='$(git push)'; declare \"a[$x]=1\"",
    "x='$(git push)'; echo $((a[$x]))",
    "y=i; declare -$y z; z='a[ $(git push)]'",
    "v=-v; z='a[ $(git push)]'; [ $v \"$z\" ]",
    "echo \"[$(git push)]\" a[$(git push)]",
    "bash -norc -c 'git push'",
    "bash -eo pipefail -login -c 'git push'",
    "bash -O $x extglob -c 'git push'",
    "set -k; bash -c A=1 'git push'",
    "shopt -s nullglob; bash q* -c 'git push'",
    "y='($(git push))'; declare -a z=\"$y\"",
    "y='($(git push))'; z[0]=1; declare z=\"$y\"",
    "y='$(git push)'; compgen -W \"$y\"",
    "mapfile -c1 -C 'git push;' a <<< 1",
    "y='-exec git push ;'; find . -maxdepth 0 $y",
    "y='$(git push)'; echo >&\"$y\"",
];
const PIECES: &[&str] = &[
    "git",
    "push",
    "'",
    "\"",
    "$",
    "$x",
    "\\",
    " ",
    "{",
    ",",
    "}",
    ">",
    ">f ",
    "<f ",
    "<",
    "2>&1",
    "(",
    ")",
    "`",
    ";",
    "|",
    "&",
    "&>f ",
    "\n",
    "eval ",
    "sh -c ",
    "env ",
    "xargs ",
    "$(",
    "${x:-",
    "<<A",
    "\nA\n",
    "# ",
    "$'",
    "..",
    "*",
    "?",
    "[",
    "]",
    "x=",
    "=",
    "<<<a ",
    "{fd}>f ",
    "((",
    "))",
    "-C ",
    "!",
    "$((1",
    "$@",
    "\t",
    "\\\n",
    "[[ ",
    " ]]",
    "case a in a) ",
    "esac",
    "function ",
    "\u{a0}",
    "\r",
    "@(",
    "x+=",
    "x=(",
    "time ",
    "command ",
    "coproc ",
    "then ",
    " do ",
    "else ",
    "for x ",
    "a[",
    "]=",
    "$[",
    "-s ",
    "-c ",
    "-o ",
    "-n 1 ",
    "&>>f ",
    "if ",
    "fi",
    "done",
    "{git,push}",
    "{a,b}",
    "['",
    "']",
    "${a[",
    "a=([",
    "\\x24",
    "timeout ",
    "5 ",
    "nice ",
    "-u ",
    "-- ",
    "A=1 ",
    "--",
    "-i ",
    "-k ",
    "-p ",
    "\"$@\" ",
    "\"${a[@]}\" ",
    "exec ",
    "ls ",
    " && ",
    " || ",
    "! ",
    "[[ a && ",
    "f() ",
    "true ",
    "#",
    "$((",
    "(",
    " )) ",
    "\\c",
    "\"${x#",
    "\"${x:-",
    "${x/",
    "~",
    "$HOME ",
    "${HOME}",
    "\"$PWD\"",
    "unset PWD;",
    "! case a in a) ",
    "time case a in a) ",
    " =~ (",
    "false && ",
    "-e",
    "${x:",
    "${!x}",
    "[ ",
    "\\\"",
    "PS4=",
    "RANDOM=",
    "-v ",
    "-eq 1 ",
    "declare -i ",
    "a[$x]",
    "+ ",
    "{} + ",
    "A=$x ",
    "read x ",
    "x=$",
    "'(",
    "\"$@\"",
    "-o ",
    "-c ",
    "declare z=",
    "z=(1) ",
    "-a ",
    ">&",
    "--",
];

fn is_pushed(shell: &str, line: &str, dir: &Path) -> bool {
    let pushed = dir.join("pushed");
    let status = Command::new("/bin/sh")
        .args(["-c", "ulimit -t 5 -f 100; exec \"$SHELL_AT\" -c \"$1\"", "sh", line])
        .env_clear()
        .env("PATH", dir.join("bin"))
        .env("SHELL_AT", dir.join("bin").join(shell))
        .env("PUSHED", &pushed)
        .env("FUNCNEST", "8")
        .current_dir(dir.join("work"))
        .stdin(Stdio::null())
        // Whatever is left in the background has it, so that it is waited for.
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    status.unwrap();
    fs::remove_file(&pushed).is_ok()
}

fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(dir.path().join("work")).unwrap();
    fs::write(bin.join("git"), GIT).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    for program in ["bash", "sh", "env", "xargs", "cat", "find", "nice", "timeout"] {
        let found = ["/bin", "/usr/bin"].map(|bin| Path::new(bin).join(program));
        let found = found.iter().find(|path| path.exists());
        symlink(found.expect(program), bin.join(program)).unwrap();
    }
    assert!(is_pushed("bash", "git push", dir.path()), "the comparison is none");
    dir
}

proptest! {
    #[test]
    fn what_a_shell_runs_is_found(
        shell in prop::sample::select(&["bash", "sh"]),
        line in prop::sample::select(PUSHING),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(PIECES), any::<bool>()), 0..6,
        ),
    ) {
        let dir = place();
        let mut line: Vec<char> = line.chars().collect();
        for (at, piece, is_in_place) in changes {
            let at = at.index(line.len() + 1);
            let until = (at + usize::from(is_in_place)).min(line.len());
            line.splice(at..until, piece.chars());
        }
        let line: String = line.into_iter().collect();
        if is_pushed(shell, &line, dir.path()) {
            prop_assert!(is_about("git push*", &line), "{:?}", line);
        }
    }

    #[test]
    fn no_line_is_too_odd_to_be_read(line in "[ -~\n\\PC]{0,200}") {
        let _ = super::commands_in(&line);
    }
}
