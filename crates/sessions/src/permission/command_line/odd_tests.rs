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
    assert_left_alone(
        "rm",
        &[
            "command -v rm",
            "command -V rm",
            "command -pv rm || echo none",
            "history | tail",
            "history 20",
            "HISTTIMEFORMAT= history | grep cargo",
        ],
    );
    assert_found("rm", &["command -p rm x", "command -- rm -v", "history -s rm x", "history $x"]);
    assert_left_alone("rm", &["docker rm x", "npm rm x", "docker compose rm"]);
    assert_found("rm", &["docker run image rm x", "uv run rm x", "npx rm x"]);
}

#[test]
fn reserved_words_among_others_hide_nothing() {
    assert_found(
        "git push*",
        &[
            "git -C do push",
            "git -C { push",
            "env -u then -C . B=1 git push",
            "sudo -u if git -C } push",
            "git -C then -C do push",
            "{ ls; } then git push",
            "for x do git push; done",
        ],
    );
    assert_left_alone("git push*", &["echo if git log then", "git log then -- push"]);
    let many = format!("a {} rm", "then ".repeat(1_000_000));
    assert_found("git push*", &[&many, &many.replace("then", "&>f")]);
}

#[test]
fn a_parenthesis_too_many_in_backquotes_hides_nothing() {
    assert_found(
        "git push*",
        &[
            "echo `git push)`",
            "echo \"`git push)) x`\"",
            "echo `ls; git push) x`",
            "echo `case a in a) ls;; esac; git push)`",
        ],
    );
    assert_left_alone("git push*", &["echo `ls $(pwd)` `(ls)`"]);
}

#[test]
fn what_one_test_of_bash_joins_is_no_command() {
    assert_left_alone(
        "rm",
        &[
            "[[ -n \"$a\" && \"$b\" != c ]]",
            "[[ $a -gt 3 && $b -lt 4 ]]",
            "[[ -n $a && -n $b && $c == d ]] && ls",
            "[[ a && rm ]]",
            "if [[ -f x && \"$b\" == c ]]; then ls; elif [[ a && $b ]]; then :; fi",
            "for x in a b; do [[ -n \"$x\" && \"$x\" != c ]] && echo \"$x\"; done",
            "while [[ $n -lt 3 && $m -lt 4 ]]\ndo ls\ndone",
            "ls\n[[ a && $b ]] || exit 1",
            "ls && [[ a && $b ]]",
            "f() { [[ a && $b ]]; }",
            "x=$([[ a && $b ]] && echo c)",
            "true || { [[ a && $b ]]; }",
            "(cd x; ls); [[ a && $b ]]",
        ],
    );
    let joined = [
        // To dash there is no `[[`, and what it runs next rests on that.
        "! [[ a && CODE ]]",
        "true || [[ a && CODE ]]",
        "true ||\n[[ a && CODE ]]",
        "true || # x\n\n[[ a && CODE ]]",
        "! true | [[ a && CODE ]]",
        "! true |\n[[ a && CODE ]]",
        "f() [[ a && CODE ]]",
        "f()\n[[ a && CODE ]]",
        "echo then [[ a && CODE ]]",
        "echo x { [[ a && CODE ]]",
        "true || echo do [[ a && CODE ]]",
        "[[ a &>f && CODE ]]",
        "[[ a & true && CODE ]]",
        "[[ a || true && CODE ]]",
        "[[ a || CODE ]]",
        "[[ a | true && CODE ]]",
        "[[ a; true && CODE ]]",
        "[[ a\ntrue && CODE ]]",
        "alias [[=true\n[[ a && CODE ]]",
        "al''ias [[=true\n[[ a && CODE ]]",
        "alias [[=true\ncat <<A\n$([[ a && CODE ]])\nA",
        "time [[ a && CODE ]]",
        "x=1 [[ a && CODE ]]",
        ">f [[ a && CODE ]]",
        "'[[' a && CODE ]]",
        // To bash it is over.
        "[[ a ]] && CODE",
        "[[ a ]]&&CODE",
        "[[ a ]\\\n] && CODE",
        "[[ a && b ]] && CODE",
        "[[ a && b ]] || CODE",
        "[[ a && b ]]; CODE",
        "[[ a && $(CODE) ]]",
        "[[ a && `CODE` ]]",
        "[[ a && -n \"$(CODE)\" ]]",
        "[[ a && b == <(CODE) ]]",
        "[[ a && (b || CODE) ]]",
        "[[ a && -v 'x[$(CODE)]' ]]",
    ];
    for code in ["rm x", "$y x", "\"$y\" == x"] {
        let lines = joined.map(|line| line.replace("CODE", code));
        assert_found("rm", &lines.each_ref().map(String::as_str));
    }
}

#[test]
fn quotes_around_several_words_do_not_make_one_of_them() {
    assert_found(
        "git push*",
        &[
            "a=(. push); git -C \"${a[@]}\"",
            "x='a[@]'; git -C \"${!x}\"",
            "set -- . push; git -C \"${x:-$@}\"",
            "set -- . push; git -C \"${x:-${@}}\"",
        ],
    );
    assert_left_alone(
        "git push*",
        &["ls \"${a[@]}\"", "git commit \"${a[@]}\"", "git -C \"${a[0]}\" status"],
    );
}

#[test]
fn braces_that_make_several_words_hide_none() {
    let lines = [
        "{touch,m/16}",
        "{/usr/bin/touch,F}",
        "/usr/bin/{touch,F}",
        "{\"touch\",F}",
        "{touch,'F'}",
        "{touch,{F,}}",
        "{touch,F,}",
        "{env,touch,F}",
        "{env,-i,touch,F}",
        "{nice,-n,5,touch,F}",
        "{exec,touch,F}",
        "{command,touch,F}",
        "touc{h..h}",
    ];
    for line in lines {
        let quoted = line.replace('\'', "'\\''");
        let shown = [
            line.to_owned(),
            format!("bash -c '{quoted}'"),
            format!("sh -c '{quoted}' x"),
            format!("GIT_PAGER='{quoted}' git log"),
            format!("git -c core.pager='{quoted}' log"),
            format!("eval '{quoted}'"),
            format!("su -c '{quoted}'"),
            format!("trap '{quoted}' EXIT"),
        ];
        assert_found("touch", &shown.each_ref().map(String::as_str));
    }
    assert_found(
        "touch",
        &[
            "find . -maxdepth 0 {-exec,touch,F,\\;}",
            "find . -maxdepth 0 {\"-exec\",touch,F,\\;}",
            "find . -maxdepth 0 {'',-e{xec,},touch,F,\\;}",
            "find . -maxdepth 0 {$x,touch,F,\\;}",
            "find . -maxdepth 0 -ex{e..e}c touch F \\;",
            "find . -maxdepth 0 -e$x touch F \\;",
        ],
    );
    assert_found("git push", &["bash -c '{git,push,ab}'", "{git,push,ab}"]);
    assert_left_alone(
        "touch",
        &[
            "cp a.{txt,bak}",
            "mkdir -p src/{a,b}",
            "ls *.{rs,toml}",
            "bash -c 'cp a.{txt,bak}'",
            "bash -lc 'mkdir -p src/{a,b} && ls *.{rs,toml}'",
            "find {src,my-tests}/{a,b} -name '*.rs'",
            "find src/{a,b} -type f -exec cat {} +",
            "ssh host ls '/var/log/*.log'",
            "git -c safe.directory='*' status",
            "ls | xargs -I{} cp {} {}.bak",
            "git stash show 'stash@{0}'",
            "bash -c ls",
            "bash -c 'a.sh' x",
        ],
    );
}

#[test]
fn what_a_shell_takes_off_a_word_alone_hides_nothing() {
    assert_found(
        "touch",
        &["bash -c 't\\ouch'", "bash -c \"t'ou'ch\"", "sh -c '/bin/touc?'", "sh -c '[t]ouch'"],
    );
    assert_found("git push", &["git $'pu\\x73h'", "git $'pu\\163h'", "git $'pu\\u0073h'"]);
    assert_left_alone("git push", &["printf $'\\033[1m'", "echo $'\\x27' $'\\cx'"]);
}

#[test]
fn quotes_in_a_subscript_hide_nothing() {
    assert_found(
        "touch F",
        &[
            "echo ${a['$(touch F)']}",
            "echo ${a['`touch F`']}",
            "echo ${a[$'\\x24(touch F)']}",
            "echo ${a['$(touch F)']:-x}",
            "echo ${a['$(touch F)']#x}",
            "echo ${#a['$(touch F)']}",
            "echo ${!a['$(touch F)']}",
            "echo ${a[b[0]+'$(touch F)']}",
            "echo ${a[${x:-'$(touch F)'}]}",
            "echo \"${a['$(touch F)']}\"",
            "echo ${x:-${a['$(touch F)']}}",
            "[[ ${a['$(touch F)']} ]]",
            "cat <<< ${a['$(touch F)']}",
            "echo > ${a['$(touch F)']}",
            "echo {a['$(touch F)']}>/dev/null",
            "echo {a['`touch${IFS}F`']}>/dev/null",
            "a['`touch${IFS}F`']=1",
            "a['$(touch F)']=1",
            "a=(['$(touch F)']=1)",
            "a=(b ['$(touch F)']=1)",
            "a=([ '$(touch F)' ]=1)",
            "a+=(['$(touch F)']=1)",
            "declare -a a=(['$(touch F)']=1)",
            "a=([\"\\$(touch F)\"]=1)",
            "a=([\\$\\(touch\\ F\\)]=1)",
            "a=([$'\\044\\050touch F\\051']=1)",
            "a=([ab]#x); touch F\n)",
            "echo a[[x] ; touch F ; echo ]",
            "test -v a['$(touch F)']",
            "echo $(($'a[\\x24(touch F)]'))",
            "echo $(($'a[\\444(touch F)]'))",
        ],
    );
    assert_left_alone(
        "touch",
        &[
            "echo ${m['key']} \"${m[\"$k\"]}\" ${m[\"a b\"]}",
            "echo ${a[${#a[@]}-1]} ${a[i+1]} ${!m[@]} ${#a[*]}",
            "declare -A m=([\"a b\"]=1 ['c']='$5' [d]=\"$x\")",
            "echo ${x//[\\'\\\"]/} ${x#[\\']}",
            "a[$i]=$(ls); a[0]='$x'",
            "pip install foo[bar] 'foo[bar]'",
            "python3 -c \"print(x['a'])\"",
            "awk '{a[\"x\"]++} END {print a[\"x\"]}' f",
        ],
    );
}

#[test]
fn what_the_built_in_agent_sets_for_git_changes_nothing() {
    let set = "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.bareRepository GIT_CONFIG_VALUE_0=explicit";
    assert_left_alone("touch", &[&format!("{set} bash -c ls")]);
    assert_found("touch", &[&format!("{set} bash -c 'touch F'")]);
    for (from, to) in [
        ("safe.bareRepository", "core.sshCommand"),
        ("safe.bareRepository", "alias.x"),
        ("safe.bareRepository", "$x"),
        ("explicit", "all"),
        ("COUNT", "PARAMETERS"),
        ("COUNT=1", "GLOBAL=f"),
        ("KEY_0", "KEY_0_1"),
    ] {
        let line = format!("{} git x", set.replace(from, to));
        assert_found("touch", &[&line, &format!("export {line}"), &format!("env {line}")]);
    }
}

#[test]
fn what_a_loop_puts_into_variables_of_others_is_not_passed_over() {
    assert_found(
        "touch",
        &[
            "set -a; for GIT_CONFIG_PARAMETERS in \"'alias.x=!touch x'\"; do git x; done",
            "for GIT_CONFIG_COUNT in 1; do git x; done",
            "for PAGER in 'touch x'; do git log; done",
            "select EDITOR in 'touch x'; do git commit; done",
            "time for GIT_EDITOR in 'touch x'; do git commit; done",
            "for ENV in f; do sh -i; done",
            "for npm_config_script_shell in touch; do npm test; done",
            "read -r PAGER <<< 'touch x'; git log",
            "printf -v GIT_EDITOR 'touch x'; git commit",
            "printf -vGIT_EDITOR 'touch x'; git commit",
        ],
    );
    assert_left_alone(
        "touch",
        &["for f in PAGER EDITOR; do echo $f; done", "read -r x; printf '%s' \"$PAGER\""],
    );
}

#[test]
fn braces_behind_a_wrapper_hide_nothing() {
    assert_found(
        "git push*",
        &[
            "xargs -rn 1 {git,push}",
            "nice -n 5 {git,push}",
            "sudo -u me {git,push}",
            "timeout 5 {git,push}",
            "env A=1 {git,push,x}",
            "stdbuf -oL {git,push}",
            "xargs -I{} {git,push}",
        ],
    );
}

#[test]
fn what_comes_before_a_case_is_run_and_its_patterns_are_not() {
    assert_found(
        "rm",
        &[
            "rm x | case x in x) ls;; esac",
            "true && rm x || case x in x) ls;; esac",
            "timeout 5 rm x | case x in x) ls;; esac",
            "sh -c 'rm x | case x in x) ls;; esac'",
            "case x in x) rm x;; esac",
            "case x in y) ls;; x) rm x | cat;; esac",
            // Some put a line in parentheses of their own.
            "rm x) ; (ls",
            "rm x | ls ) ; ( ls",
            "case x in x) ls;; esac; rm x) ; (ls",
            "git submodule foreach 'rm\tx'",
            "git filter-branch --tree-filter 'rm\t-f\tx' HEAD",
            "git filter-branch --tree-filter rm HEAD",
            "npm exe rm x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "case $1 in -*) ls;; *) cat;; esac",
            "case $1 in\na|b) ls ;;\n(c) case $2 in d) cat;; esac;;\n\"$3\") pwd;;\nesac | sort",
            "git filter-branch --tree-filter 'ls' HEAD",
        ],
    );
}
