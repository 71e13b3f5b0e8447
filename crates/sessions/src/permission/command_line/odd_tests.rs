//! What shells read in a way of their own hides nothing.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn lines_that_are_joined_hide_nothing() {
    assert_found(
        "git push*",
        &[
            "echo \"$\\\n(git push)\"",
            "echo ${x:-$\\\n(git push)}",
            "git 2\\\n>/dev/null push",
            "git 2>\\\n&1 push",
            "git >\\\n|/dev/null push",
            "cat <<\\\n-E\nx\nE\ngit push",
            "cat <<E\\\n\n$(git push)\nE",
            "cat <<EOF\nEO\\\nF\ngit push\nEOF",
            "$\\\n'git' push",
            "git &\\\n>/dev/null push",
            "function f {\\\n git push; }; f",
            "gi\\\nt pu\\\nsh",
            "git $x\\\ny",
        ],
    );
}

#[test]
fn where_a_here_document_ends_is_not_guessed() {
    assert_found(
        "git push*",
        &[
            "cat <<*\n*\ngit push",
            "cat <<{a,b}\n{a,b}\ngit push",
            "x=$(cat <<E\nfoo\nE); git push",
            "echo $(cat <<E)\ngit push\nE",
            "cat <<'a\nb'\na\nb\ngit push",
            "cat <<-'\tE'\n\tE\ngit push",
        ],
    );
}

#[test]
fn what_only_the_shell_knows_may_be_an_option_or_a_home() {
    assert_found(
        "git push*",
        &[
            "echo ${x:-<(git push)}",
            "HOME=git; ~ push",
            "HOME=push; git ~",
            "HOME=push sh -c 'git ~'",
            "OLDPWD=git; ~- push",
            "bash $u-c 'git push'",
            "bash \"$u\"-c 'git push'",
            "bash ?c 'git push'",
            "x=-exec; find . $x git push ';'",
            "find . ${u}-exec git push ';'",
            "bash -rcfile x -c 'git push'",
            "a=(1)# ; git push",
            "a=(1)x git push",
            "a=($(git push))",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
            "git -c foo.z=. for-each-repo --config=foo.z push",
        ],
    );
    assert_left_alone(
        "git push*",
        &[
            "arr=(\"$x\"); arr+=($(ls)); files=(*.rs)",
            "declare -A m=([a]=1 [b]=2)",
            "npm run $SCRIPT",
            "${PWD}/build/app ~/x",
            "find \"$dir\" -name x",
        ],
    );
    assert_left_alone("rm", &["docker rm x", "npm rm x", "docker compose rm"]);
    assert_found("rm", &["docker run image rm x", "uv run rm x", "npx rm x"]);
}
