//! Where a shell reads comments, quotes and parentheses in another way, nothing is hidden.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn a_hash_among_numbers_or_in_a_test_begins_no_comment() {
    assert_found(
        "rm",
        &[
            "false && echo >((1 # )); rm x",
            "false && echo <((1 # )); rm x",
            "false && a=(<((1 # ))); rm x",
            "false && echo ${x:-<((1 # ))}; rm x",
            "(( # )); rm x",
            "(( 1 # )); rm x",
            "if (( 1 # )); then :; fi; rm x",
            "(( x=(1 # ))); rm x",
            "for ((i=0; # ;i++)); do break; done; rm x",
            "for ((i=0;i<1;i++ # )); do rm x; done",
            "false && echo $(( # )); rm x",
            "false && echo \"$((1 # ))\"; rm x",
            ": ${HOME:-$(( # ))}; rm x",
            "cat <<E\n$(( # ))\nE\nrm x",
            "false && echo $((ls) ) # )) ; rm x",
            "echo $(( rm x $(: # )\n) ))",
            "[[ a =~ (#) ]]; rm x",
            "[[ a =~ ( # ) ]]; rm x",
            "[[ ab =~ a(b|#) ]]; rm x",
            "[[ a =~ (a)#b ]]; rm x",
            "[[ a =~ ( ]] #) ]]; rm x",
            "[[ a =~ (<<b) ]]\nrm x\nb",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "(( i++ )) # rm x",
            "for ((i=0; i<3; i++)); do ls; done # rm x",
            "echo $((16#ff)) # rm x",
            "[[ -f x ]] && ls # rm x",
            "if [[ -f x ]]; then\n  # rm x\n  ls\nfi",
            "[[ a =~ ^(b|c)$ ]] # rm x",
        ],
    );
}

#[test]
fn numbers_are_no_commands() {
    assert_left_alone(
        "rm",
        &[
            "echo $(( (a + b) * 2 ))",
            "echo $((x << 2)) $((x*2)) $(( $x + 1 ))",
            "echo \"$((a > b ? a : b))\" $((1 + arr[i+1]))",
            "n=$(($(date +%s) - start)); m=$(( `nproc` / 2 ))",
            "cat <<E\n$((x << 2))\nE\nls",
        ],
    );
    assert_found(
        "rm",
        &[
            "echo $(( $(rm x) ))",
            "echo $(( `rm x` + 1 ))",
            "echo $((${x:-$(rm x)}))",
            "echo $((1)); rm x",
            "cat <<E $((1 +\nE\n2))\nrm x\nE",
            "echo $((ls); rm x)",
            "echo $((ls) | (rm x))",
            "echo $(( (1) + (2) )); rm x",
            // Read twice, as a subscript is.
            "x='$(rm x)'; echo $((1 + a[$x]))",
            "x='$(rm x)'; echo $((a[$x]))",
            "x='a['; y='$(rm x)]'; echo $(( $x$y ))",
            "x='a['; x+='$(rm x)]'; echo $((x))",
            "x='a[''$(rm x)]'; echo $((x))",
            "x=a[\\$\\(rm\\ x\\)]; echo $((x))",
        ],
    );
}

#[test]
fn quotes_among_numbers_hide_nothing() {
    assert_found(
        "rm",
        &[
            "false && echo $((')); rm x #'",
            "false && echo $((\")); rm x #\"",
            "false && echo \"$((')); rm x #'\"",
            "false && echo $((${x:-\"})); rm x #\"}))",
            "false && echo $((\\)); rm x #))",
        ],
    );
}

#[test]
fn a_case_behind_another_word_ends_at_no_parenthesis_of_its_own() {
    let lines = [
        "! case x in x) rm y;; esac",
        "time case x in x) rm y;; esac",
        "time -p case x in x) rm y;; esac",
        "coproc case x in x) rm y;; esac",
        "coproc A case x in x) rm y;; esac",
        "function f case x in x) rm y;; esac; f",
        "! case x in y) ls;; x) rm y;; esac",
        "if [[ 1 ]] then case x in x) rm y;; esac; fi",
        "if [[ 1 ]] then ! case x in x) rm y;; esac; fi",
    ];
    for line in lines {
        let shown = [
            format!("echo $({line})"),
            format!("echo \"$({line})\""),
            format!("x=$({line}); ls"),
            format!("cat <({line})"),
            format!("({line})"),
            format!("echo `{line}`"),
        ];
        assert_found("rm", &shown.each_ref().map(String::as_str));
    }
    assert_left_alone(
        "rm",
        &["echo $(grep -n case f)", "(git log --grep case)", "! case x in x) ls;; esac"],
    );
}

#[test]
fn a_quote_that_ends_something_to_one_shell_alone_hides_nothing() {
    assert_found(
        "rm",
        &[
            "echo $'\\c' ; rm x #'",
            "echo $'\\c'; rm x; echo '",
            "echo $'\\c\\'; rm x #'",
            "echo $'\\c\\\\'; rm x #'",
            "echo \"${x#'}\"'}\"; rm x #'",
            "echo \"${x##'}\"'}\"; rm x #'",
            "echo \"${x%'}\"'}\"; rm x #'",
            "echo \"${x/'}\"'}\"; rm x #'",
            "echo \"${x^'}\"'}\"; rm x #'",
            "echo \"${x,'}\"'}\"; rm x #'",
            "echo \"${x:-'}\"'}\"; rm x #'",
            "cat <<E\n${x#'}\nE\nrm x\n'}\nE",
        ],
    );
    assert_left_alone("rm", &["echo $'\\cx' \"${m['key']} ${x//\\'/}\" ${x:-'}'}"]);
}

#[test]
fn a_tilde_in_what_ends_a_here_document_is_one() {
    assert_found(
        "rm",
        &[
            "cat <<~E\n~E\nrm x\n",
            "cat <<~\n~\nrm x\n",
            "cat <<:~\n:~\nrm x",
            "cat <<E=~\nE=~\nrm x",
            "cat <<'~E'\n~E\nrm x",
        ],
    );
}

#[test]
fn a_home_that_is_none_hides_nothing() {
    assert_found(
        "rm",
        &[
            "unset HOME; r${HOME}m x",
            "unset HOME; r\"$HOME\"m x",
            "unset HOME; \"$HOME\"rm x",
            "unset HOME; $HOME rm x",
            "unset HOME PWD; r${PWD}m x",
            "unset ${x:-HOME}; r${HOME}m x",
            "unset HOME; env $HOME rm x",
            "unset HOME; nice -n 5 $HOME rm x",
            "env -u HOME bash -c '$HOME rm x'",
            "env -u HOME sh -c 'r${HOME}m x'",
            "env -i sh -c '$HOME /bin/rm x'",
            "env - bash -c '$HOME /bin/rm x'",
            "exec -c sh -c '$HOME /bin/rm x'",
            "exec -c sh -c 'nice $HOME /bin/rm x'",
            "f() { local HOME; $HOME rm x; }; f",
            "f() { typeset HOME; r${HOME}m x; }; f",
            "f() { declare HOME; nice -n $HOME rm x; }; f",
            "for\tHOME in rm; do $HOME x; done",
            "for\\\n HOME in rm; do $HOME x; done",
            "for\tHOME in rm; do nice -n 5 $HOME x; done",
            "select HOME in rm; do $HOME x; break; done <<< 1",
            "eval 'fo''r HOME in rm; do nice -n 5 $HOME x; done'",
            "export -n HOME; bash -c 'r${HOME}m x'",
            "wait -p HOME; $HOME rm x",
            "coproc HOME { :; }; $HOME rm x",
            "xargs $HOME rm",
            "sh -c \"r$HOME''m x\"",
            "sh -c \"$HOME rm x\"",
            "sh -c \"rm'$HOME' x\"",
            "eval r${HOME}m x",
            "watch $HOME rm x",
            "docker run -w $PWD image rm x",
        ],
    );
    assert_found("git push*", &["unset HOME; git $HOME push", "exec -c sh -c 'git $HOME push'"]);
    assert_left_alone(
        "rm",
        &[
            "$HOME/bin/x && \"$HOME/bin/x\" && \"$HOME\"/bin/x && ${PWD}/x && \"${HOME}/x\"",
            "cd $HOME && ls \"$PWD\" -I$HOME/include",
            "sudo chown me $HOME/x $HOME",
            "timeout 5 $PWD/run.sh $HOME",
            "docker run -v $PWD:$PWD -w $PWD image ls",
            "docker run -v \"$PWD\":/w -v $HOME/.cache:/c image ls",
            "find $HOME -name x",
            "bash $HOME/x.sh",
            "bash -lc \"cd $HOME && ls $PWD/x\"",
            "watch ls $HOME",
        ],
    );
    assert_left_alone("git push*", &["git -C $HOME status", "git -C $HOME/x status"]);
}
