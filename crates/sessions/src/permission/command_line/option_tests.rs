//! The options of a shell are known ones, or what it runs cannot be told.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn long_options_of_bash_may_have_one_dash() {
    assert_found(
        "rm",
        &[
            "bash -login -c 'rm x'",
            "bash -noediting -c 'rm x'",
            "/bin/bash -noediting -ec 'rm x'",
            "bash -noprofile -login -c 'rm x'",
            "bash -noediting -noprofile -c 'rm x'",
            "bash -o posix -noediting -c 'rm x'",
            "bash -posix -c 'rm x'",
            "bash -restricted -c 'rm x'",
            "bash -verbose -debugger -c 'rm x'",
            "bash -rcfile f -c 'rm x'",
            "bash -init-file f -login -c 'rm x'",
            "bash --noediting -c 'rm x'",
            "bash -login <<< 'rm x'",
            "env bash -login -c 'rm x'",
            "nice bash -noediting -c 'rm x'",
            "find . -exec bash -noediting -c 'rm x' \\;",
        ],
    );
    assert_found("git push", &["bash -login -c 'git push'", "nice bash -norc -c 'git push'"]);
    assert_left_alone(
        "rm",
        &[
            "bash -login -c 'ls rm'",
            "bash --login -c ls",
            "bash --norc --noprofile -ec 'make; ls rm'",
            "bash -euxo pipefail -c 'make test'",
            "bash --posix -O extglob script.sh rm",
            "bash -- script.sh rm",
            "bash --version",
            "sh -eu script.sh -c rm",
            "zsh -lic 'make test'",
            "zsh -o errexit -c 'make test'",
        ],
    );
}

#[test]
fn options_of_a_shell_that_are_not_known_hide_nothing() {
    assert_found(
        "rm",
        &[
            "bash -wordexp '$(rm x)'",
            "bash --unknown -c 'ls'",
            "bash --version -c 'rm x'",
            "bash -g -c ls",
            "bash + -c 'rm x'",
            "bash -k -c A=1 'rm x'",
            "bash -o keyword -c A=1 'rm x'",
            "set -k; bash -c A=1 'rm x'",
            "set -eo keyword; bash -c A=1 'rm x'",
            "env SHELLOPTS=keyword bash -c 'sh -c A=1 \"rm x\"'",
            "env SHELL\"$y\"=keyword bash -c 'sh -c A=1 \"rm x\"'",
            "zsh -oerrexit -c 'rm x'",
            "zsh -b -c 'rm x'",
            "zsh --emulate sh -c 'rm x'",
            "ksh -R f -c 'rm x'",
            "bash -o -c 'rm x'",
        ],
    );
}

#[test]
fn what_only_the_shell_knows_hides_no_option_of_a_shell() {
    assert_found(
        "rm",
        &[
            "bash -O $nope extglob -c 'rm x'",
            "bash +O $nope extglob -c 'rm x'",
            "bash -O $(:) extglob -c 'rm x'",
            "bash -O `:` extglob -c 'rm x'",
            "bash -O \"$@\" extglob -c 'rm x'",
            "bash -O \"$y\" -c ls",
            "bash -eo $nope pipefail -c 'rm x'",
            "dash -o $nope errexit -c 'rm x'",
            "y='extglob -c'; bash -O $y 'rm x'",
            "set -- extglob -c; bash -O \"$@\" 'rm x'",
            "bash -O {extglob,-c} 'rm x'",
            "bash --rcfile $nope f -c 'rm x'",
            "bash --norc $y 'rm x'",
            "bash -$y 'rm x'",
        ],
    );
}

#[test]
fn patterns_that_may_be_no_word_hide_nothing() {
    assert_found(
        "rm",
        &[
            "bash -O nullglob -c 'sh q* -c \"rm x\"'",
            "shopt -s nullglob; bash q* -c 'rm x'",
            "shopt -s null''glob; bash q* -c 'rm x'",
            "zsh -c 'setopt NULL_GLOB; bash q* -c \"rm x\"'",
        ],
    );
    assert_found("git push", &["shopt -s nullglob; git q* push"]);
    assert_left_alone(
        "rm",
        &[
            "shopt -s nullglob; for f in *.txt; do wc -l \"$f\"; done",
            "shopt -s nullglob; ls *.rs",
            "bash tests/*.sh rm",
        ],
    );
}

#[test]
fn lines_that_say_what_comments_are_cannot_be_told() {
    assert_found(
        "rm",
        &[
            "bash -i +O interactive_comments -c 'echo a # ; rm x'",
            "bash -ci +O interactive_comments ': # ; rm x'",
            "bash -i +o interactive-comments -c 'echo a # ; rm x'",
            "bash -ic 'shopt -u interactive_comments\necho a # ; rm x'",
            "bash -ic 'shopt -u interactive_\"comments\"\necho a # ; rm x'",
            "bash -ic 'set +o interactive-\\comments\necho a # ; rm x'",
            "zsh -c 'unsetopt INTERACTIVECOMMENTS\necho a # ; rm x'",
        ],
    );
}
