//! What programs run that stands in a variable is any command.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn values_that_builtins_and_programs_run_are_told_or_denied() {
    assert_found(
        "rm",
        &[
            "y='rm x'; compgen -C \"$y\"",
            "compgen -C \"$(echo rm x)\"",
            "y='$(rm x)'; compgen -W \"$y\"",
            "y='-C rm'; compgen $y x",
            "y='-Crm'; compgen \"$y\" x",
            "bash -c 'compgen -C \"$1\"' _ 'rm x'",
            "y=rm; complete -C \"$y\" a",
            "bind -x '\"a\":rm x'",
            "y='\"a\":rm x'; bind -x \"$y\"",
            "y=-x; bind \"$y\" '\"a\":rm x'",
            "y=rm; mapfile -c1 -C \"$y\" a <<< a",
            "y=rm; readarray -c1 -C $y a <<< a",
            "y=rm; mapfile -c1 -C\"$y\" a <<< a",
            "y=; mapfile -d\"$y\" -t -C rm -c1 a <<< a",
            "y=-Crm; mapfile \"$y\" -c1 a <<< a",
            "y='a -Crm'; mapfile -d $y -c1 a <<< a",
            "mapfile -t -C \"${y:-rm}\" -c 1 a <<< 1",
            "y='rm x'; split --filter \"$y\" /etc/hostname",
            "y='rm x'; split --filt=\"$y\" /etc/hostname",
            "y='--filter=rm x'; split \"$y\" f",
            "split $(echo --filter=rm) /etc/hostname",
            "y='1 --filter=rm'; split -l $y /etc/hostname",
            "y=; split -l\"$y\" 1 --filter=rm /etc/hostname",
            "y='rm x'; tmux -L q new -d \"$y\"",
            "y='#(rm x)'; tmux new -d -s \"$y\"",
            "tmux display -p '#(rm x)'",
            "y='q new rm'; tmux -L $y",
            "y='rm x'; screen -dm \"$y\"",
            "y='--exec=rm x'; nodemon \"$y\"",
            "y='rm x'; cargo watch -s \"$y\"",
            "y=-xrm; fd \"$y\"",
            "y='-x rm'; fd a $y",
            "y='-x rm'; git rebase $y",
            "y='-xrm x'; git rebase \"$y\"",
            "y='main -x rm'; git rebase origin/$y",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "compgen -c | sort | head",
            "complete -F _f tool",
            "mapfile -t files < <(git ls-files)",
            "mapfile -d $'\\0' -t files < <(ls)",
            "mapfile -t -n \"$n\" lines < file",
            "split -l 1000 -d file part_",
            "split -l \"$n\" --additional-suffix=.txt -- \"$file\" part_",
            "tmux new-session -d -s dev 'npm run dev'",
            "tmux send-keys -t \"$s\" C-c",
            "tmux -L \"$s\" kill-server",
            "screen -S \"$s\" -X quit",
            "fd -e rs -- \"$x\"",
            "fd --type=\"$t\" name src",
            "git rebase main",
            "git rebase \"origin/$base\"",
        ],
    );
}

#[test]
fn words_that_only_the_shell_knows_are_actions_of_find() {
    assert_found(
        "rm",
        &[
            "y='-exec rm x ;'; find . -maxdepth 0 $y",
            "y='-exec rm x ;'; find . -maxdepth 0 ${y}",
            "y='d -maxdepth 0 -exec rm x'; find . -type $y \\;",
            "y='src -exec rm x ;'; find ./$y",
            "find . -maxdepth 0 $(echo '-exec rm x ;')",
            "find . -maxdepth 0 `echo '-exec rm x ;'`",
            "set -- d -exec rm; find . -maxdepth 0 -type \"$@\" x \\;",
            "a=(. -maxdepth 0 -exec rm x \\;); find \"${a[@]}\"",
            "touch -- -exec rm x ';'; find *",
            "touch -- -exec rm x ';'; find . -maxdepth 0 -e*c",
            "touch -- -exec rm x ';'; find . {*,a}",
            "y=-exec; find . \"$y\" rm x \\;",
            "nice find $y",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "find \"$dir\" -name '*.rs'",
            "find \"$dir/src\" -name \"$pat\" -type f",
            "find . -name *.rs",
            "find src/* tests/*/x -name rm",
            "find {src,tests} -name rm",
            "find $HOME/src $PWD -maxdepth 1",
            "find . -type f -exec wc -l {} +",
        ],
    );
}
