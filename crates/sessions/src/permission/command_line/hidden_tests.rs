//! What programs that run others take apart, or read once more, hides nothing.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn variables_behind_a_program_may_be_several_words() {
    assert_found(
        "rm",
        &[
            "env A=$(echo 1 rm) x",
            "env A=`echo 1 rm` x",
            "v='1 rm'; env A=$v x",
            "v='1 rm'; env -i B=1 A=$v x",
            "v='1 rm'; env -u A=$v x",
            "v='1 rm'; env A+=$v x",
            "set -- '' rm; env A=\"$@\" x",
            "a=('' rm); env A=\"${a[@]}\" x",
            "v='1 rm'; nice env A=$v x",
            "v='1 rm'; exec env A=$v x",
            "v='1 rm'; echo y | xargs env A=$v x",
            "v='1 rm'; find . -exec env A=$v x \\;",
            "v='1 rm'; sudo A=$v x",
            "v='1 rm'; A=1 env B=$v x",
            "v='1 rm'; timeout 5 env A=$v x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "env FOO=\"$x\" make",
            "env FOO=\"$(date)\" BAR=\"a${b}c\" make",
            "FOO=$x make",
            "FOO=$(date) BAR=$* make CC=$CC",
            "env FOO=1 make CC=$CC",
            "nice make CC=$CC",
            "export FOO=$x; make",
            "sudo make PREFIX=$x install",
        ],
    );
}

#[test]
fn a_plus_ends_no_command_of_find_unless_names_stand_before_it() {
    assert_found(
        "rm",
        &[
            "find . -maxdepth 0 -exec env -u + rm x \\;",
            "find . -maxdepth 0 -exec env -u + rm {} +",
            "find . -maxdepth 0 -exec nice -n {}+ rm x \\;",
            "find . -exec ls {} + -exec rm {} +",
            "find . -ok bwrap --setenv {} + rm x \\;",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "find . -name x -exec ls {} + -o -name rm",
            "find . -exec sudo ls {} + -name rm",
            "find . -exec grep -l a {} \\; -exec ls + \\; -name rm",
        ],
    );
    assert_found("ls +", &["find . -exec ls + \\;"]);
    assert_found("git push", &["find . -maxdepth 0 -exec git push \\;"]);
}

#[test]
fn quotes_in_a_line_of_one_word_hide_nothing() {
    assert_found(
        "rm",
        &[
            "trap '\\rm' EXIT",
            "trap '/bin/r?' EXIT",
            "trap -- '/bin/r*' EXIT",
            "flock x -c '\\rm'",
            "flock x -c '/bin/[r]m'",
            "script -qc '\\rm' /dev/null",
            "script -qc'\\rm' /dev/null",
            "script --command='\\rm' /dev/null",
            "su root -c '\\rm'",
            "su root -c '/bin/r?'",
            "split --filter '\\rm' f",
            "split --filter='/bin/r?' f",
            "mapfile -c1 -C '\\rm' <<<a",
            "compgen -C 'r\"\"m' x",
            "compgen -C \"r''m\" x",
            "tmux new -d r\\\\m",
            "watch '\\rm'",
            "eval '\\rm' x",
            "eval \"'r'm\" x",
            "GIT_EDITOR='\\rm' git commit",
            "GIT_EDITOR='/bin/r?' git commit",
            "export GIT_EDITOR='\\rm'; git commit",
            "git -c core.editor='\\rm' commit",
            "ssh -o ProxyCommand='\\rm' h",
            "ssh h '\\rm'",
            "git submodule foreach '\\rm'",
            "git filter-branch --tree-filter '\\rm' HEAD",
            "git rebase -x '\\rm'",
            "git rebase --exec='\\rm'",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "ssh host ls '/var/log/*.log'",
            "ssh host grep 'a\\.b' f",
            "watch ls '*.c'",
            "flock x ls '*.c'",
            "git -c safe.directory='*' status",
            "git submodule foreach 'git status'",
            "parallel -d '\\n' gzip < f",
            "tmux send-keys -t x 'ls' Enter",
            "trap - EXIT",
            "trap cleanup EXIT INT",
            "EDITOR=vim git commit",
        ],
    );
}

#[test]
fn letters_before_a_line_hide_nothing() {
    assert_found(
        "rm",
        &[
            "compgen -W'$(rm x)'",
            "compgen -cW'$(rm x)'",
            "compgen -cC'rm x' y",
            "compgen -bcdefgjksuvC'rm x'",
            "complete -cC'rm x' y",
            "mapfile -c1 -C'rm x' <<<a",
            "mapfile -tc1 -C 'rm x' <<<a",
            "readarray -c1 -C'rm x' <<<a",
            "su -sc'rm x'",
        ],
    );
    assert_left_alone("rm", &["compgen -c git", "mapfile -t lines < f", "compgen -A function"]);
}

#[test]
fn variables_that_name_programs_hide_none() {
    assert_found(
        "rm",
        &[
            "GIT_EXTERNAL_DIFF=rm git diff --no-index a b",
            "GIT_SSH=rm git ls-remote ssh://h/x",
            "GIT_SSH_COMMAND=rm git fetch",
            "GIT_ASKPASS=rm git fetch",
            "SSH_ASKPASS=rm ssh h",
            "GIT_PROXY_COMMAND=rm git fetch",
            "GIT_SEQUENCE_EDITOR='rm x' git rebase -i",
            "VISUAL='rm x' git commit",
            "export VISUAL='rm x'; git commit",
            "env VISUAL='rm x' git commit",
            "BROWSER='rm x' gh browse",
            "BROWSER=firefox:rm gh browse",
            "LESSOPEN='|rm %s' less f",
            "LESSOPEN='||-rm %s' less f",
            "LESSCLOSE='rm %s %s' less f",
            "MANPAGER=rm man ls",
            "GIT_EXEC_PATH=d git x",
            "read -r VISUAL <<< 'rm x'; git commit",
            "RSYNC_RSH='rm x' rsync a h:b",
            "CVS_RSH=rm cvs x",
            "SVN_SSH='rm x' svn ls svn+ssh://h",
            "RUSTC_WRAPPER=rm cargo build",
            "RUSTC_WORKSPACE_WRAPPER=rm cargo build",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=rm cargo run",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "VISUAL=vim git commit",
            "BROWSER=none npm start",
            "GIT_SSH_COMMAND='ssh -i k' git fetch",
            "LESSOPEN='|/usr/bin/lesspipe %s' less f",
            "RUSTC_WRAPPER=sccache cargo build",
            "GIT_PAGER=cat GIT_EDITOR=true git rebase --continue",
            "GIT_DIR=x/.git git log",
        ],
    );
}

#[test]
fn names_for_a_command_of_parallel_are_no_commands() {
    assert_found(
        "rm",
        &[
            "parallel ::: 'rm x' ls",
            "parallel -j 4 ::: 'rm x' ls",
            "parallel -j4 ::: 'rm x' ls",
            "parallel --tag ::: 'rm x' ls",
            "parallel --dry-run --jobs 4 ::: 'rm x'",
            "parallel ::: $x",
            "parallel -j4 ::: *",
            "parallel {} ::: rm",
            "parallel sh -c ::: 'rm x'",
            "parallel eval ::: 'rm x'",
            "parallel \"$x\" ::: 'rm x'",
            "parallel -j4 rm ::: *.txt",
            "parallel 'cd {}; rm x' ::: *",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "parallel -j4 gzip ::: *.txt",
            "parallel gzip -9 ::: \"$x\" *.c",
            "parallel --jobs=4 gzip ::: *.txt",
            "parallel -j 4 gzip -9 ::: *.txt",
        ],
    );
    assert_found("rm", &["docker-compose run --entrypoint=rm web x"]);
}

#[test]
fn lines_of_a_here_document_may_be_joined_where_it_does_not_end() {
    assert_found(
        "rm",
        &[
            "cat <<E\na\\\nE\nrm x\nE",
            "cat <<E\n\\\nE\nrm x\nE",
            "cat <<EOF\nE\\\nOF\nrm x\nEOF",
            "cat <<EOF\nE\\\nO\\\nF\nrm x\nEOF",
            "cat <<-EOF\n\ta\\\n\tEOF\nrm x\nEOF",
            "cat <<-EOF\n\tEO\\\nF\nrm x\nEOF",
            "cat <<E\na\\\n$(rm x)\nE",
            "cat <<E\na$\\\n(rm x)\nE",
            "cat <<E\na\\\nb\nE\nrm x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "cat > f <<EOF\ndocker run \\\n  -it \\\n  image rm x\nEOF",
            "cat <<-EOF\n\tcurl \\\n\t\turl\n\tEOF",
        ],
    );
}
