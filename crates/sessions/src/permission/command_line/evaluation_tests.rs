//! What bash reads once more, as numbers, names of variables or prompts, hides nothing.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn backquotes_in_here_documents_hide_nothing() {
    assert_found(
        "rm",
        &[
            // To bash the quotes are letters, to dash they are quotes.
            "cat <<E\n`echo \\\"$(rm x)\\\"`\nE",
            "cat <<E\n`echo \\\"; rm x; echo \\\"`\nE",
            "cat <<E\n`echo \\\"a; rm x; \\\"`\nE",
            "cat <<E\n`echo \\'; rm x; echo \\'`\nE",
            "cat <<E\n`echo '\\\"'; rm x; echo '\\\"'`\nE",
            // The other way round.
            "cat <<E\n`echo \"\\\"; rm x; echo \\\"\"`\nE",
            "cat <<E\n${x:-`echo \\\"; rm x; echo \\\"`}\nE",
            "cat <<E\n${x:-\"`echo \\\"; rm x; echo \\\"`\"}\nE",
            "cat <<E\n$(echo `echo \\\"; rm x; echo \\\"`)\nE",
            "cat <<E\n$((1+`echo 1 \\\"; rm x; echo \\\"`))\nE",
            "echo $((1+`echo 1 \\\"; rm x; echo \\\"`))",
            "echo \"$((1+`echo 1 \\\"; rm x; echo \\\"`))\"",
            "echo ${x:-`echo \\\"; rm x; echo \\\"`}",
            "echo \"${x:-`echo \\\"; rm x; echo \\\"`}\"",
            "echo \"${x:-\"`echo \\\"; rm x; echo \\\"`\"}\"",
            "echo \"${x:-$(echo `echo \\\"; rm x; echo \\\"`)}\"",
            "x=a; echo \"${x/`echo \\\"; rm x; echo \\\"`}\"",
            "echo \"$(echo `echo \\\"; rm x; echo \\\"`)\"",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "cat <<E\n`echo \\\"a b\\\"` \\\"x; rm\\\"\nE",
            "echo \"`echo \\\"it's; rm x\\\"`\"",
            "echo \"$(echo \"`echo \\\"it's; rm x\\\"`\")\"",
        ],
    );
}

#[test]
fn sums_and_comparisons_in_brackets_hide_nothing() {
    assert_found(
        "rm",
        &[
            "x='$(rm x)'; declare \"a[$x]=1\"",
            "x='$(rm x)'; declare \"a[+ $x]=1\"",
            "x='$(rm x)'; declare \"a[1+$x]+=1\"",
            "x='$(rm x)'; declare \"a[1==$x]=1\"",
            "x='$(rm x)'; declare \"a[b[+$x]]=1\"",
            "x='$(rm x)'; typeset \"a[y=$x]=1\"",
            "x='$(rm x)'; read \"a[+ $x]\" <<<1",
            "x='$(rm x)'; printf -v \"a[+ $x]\" 1",
            "x='$(rm x)'; printf \"-va[+ $x]\" 1",
            "x='$(rm x)'; unset \"a[+ $x]\"",
        ],
    );
    assert_left_alone("rm", &["declare \"a[1+1]=1\"", "declare a[x==1]=1"]);
}

#[test]
fn numbers_out_of_texts_hide_nothing() {
    assert_found(
        "rm",
        &[
            "x=1; echo ${x:'b[ $(rm x)]'}",
            "x=1; echo ${x:0:'b[ $(rm x)]'}",
            "x=1; echo ${x:b[ \\$\\(rm\\ x\\)]}",
            "x=1; echo \"${x:b[ \\$(rm x)]}\"",
            "x=1; echo ${x:\"b[ \\$(rm x)]\"}",
            "x=1; echo ${x:$'b[ \\x24(rm x)]'}",
            "x=1; echo ${x:${y:-'b[ $(rm x)]'}}",
            "x=1; echo ${x: ${y:='b[ $(rm x)]'}}",
            "x=1; echo ${x\\\n:'b[ $(rm x)]'}",
            "x=1\ncat <<E\n${x:b[ \\$(rm x)]}\nE",
            "echo ${@:'b[ $(rm x)]'}",
            "set a b; echo ${*:1:'b[ $(rm x)]'}",
            "set a; echo ${1:'b[ $(rm x)]'}",
            "echo ${?:'b[ $(rm x)]'} ${#:'b[ $(rm x)]'}",
            "echo ${$:'b[ $(rm x)]'}",
            "a=(1); echo ${a[@]:'b[ $(rm x)]'}",
            "echo \"$[b[ \\$(rm x)]]\"",
            "cat <<E\n$[b[ \\$(rm x)]]\nE",
            "true & wait -n -p 'b[ $(rm x)]'",
            "wait -p'b[ $(rm x)]' -n",
            "declare -i n='b[ $(rm x)]'",
            "typeset -i n='b[ `rm x`]'",
            "f() { local -i n='b[ $(rm x)]'; }; f",
            "readonly n='b[ $(rm x)]'",
            "printf -v 'b[ $(rm x)]' a",
            "read 'b[ $(rm x)]' <<< a",
            "test -v 'b[ $(rm x)]'",
            "[ -v 'b[ $(rm x)]' ]",
            "b=(1); unset 'b[ $(rm x)]'",
            "let 'b[ $(rm x)]'",
            "set -- -a; getopts a 'b[ $(rm x)]'",
            "[[ 'b[ $(rm x)]' -eq 1 ]]",
            "[[ 1 -eq 2 || 'b[ $(rm x)]' -eq 1 ]]",
            "[[ ( 'b[ $(rm x)]' -eq 1 ) ]]",
            "[[ ! ( -v 'b[ $(rm x)]' ) ]]",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "echo ${x:0:7} ${x: -1} ${x:$n} ${x:n+1:m} \"${x:$((n-1))}\" ${@:2} \"${a[@]:1:2}\"",
            "echo ${x:-'$5'} ${x:='a'} ${x:?'no; rm'} ${x:+\"$y\"} ${x#'$('}",
            "awk '{print $(NF-1)}' f; echo ${x:0:7} ${a[0]} ${a[@]}",
            "wait; wait -n; wait $!",
            "[[ \"$x\" == *'rm x'* || -n $y ]]",
            "echo \"cost: 5$ [rm]\"",
        ],
    );
}

#[test]
fn numbers_out_of_variables_of_the_same_line_hide_nothing() {
    let code = "'b[ $(rm x)]'";
    let lines = [
        "n=CODE; x=abc; echo ${x:n}",
        "n=CODE; x=abc; echo ${x:$n}",
        "i=CODE; echo ${a[$i]}",
        "i=CODE; echo ${a[i]@Q}",
        "i=CODE; a[i]=1",
        "i=CODE; a=([i]=1)",
        "x=CODE; echo ${!x}",
        "set -- CODE; echo ${!1}",
        "echo ${x:=CODE} $((x))",
        "echo ${x:=\"b[ \\$(rm x)]\"} $((x))",
        "echo ${x:=b[ \\$\\(rm x\\)]} $((x))",
        "cat <<E\n$(x=CODE; ls)\nE\necho $((x))",
        "declare -i n; n=CODE",
        "declare -i n; n+=CODE",
        "builtin typeset -xi n; n=CODE",
        "f() { local -i n; n=CODE; }; f",
        "x=CODE; declare -i n=$x",
        "x=CODE; set -- -i; declare $1 n=$x",
        "declare -n r; r=CODE; echo $r",
        "declare -n r=PS4; r='$(rm x)'; set -x; :",
        "RANDOM=CODE",
        "OPTIND=CODE",
        "HISTCMD=CODE",
        "RAND\\\nOM=CODE",
        "read RANDOM <<< CODE",
        "for RANDOM in CODE; do :; done",
        "x=CODE; [[ $x -eq 1 ]]",
        "x=CODE; [[ x -lt 1 ]]",
        "x=CODE; [[ a || x -lt 1 ]]",
        "x=CODE; [[ -v $x ]]",
        "x=CODE; test -v \"$x\"",
        "x=CODE; [ -v \"$x\" ]",
        "x=CODE; read \"$x\" <<< a",
        "x=CODE; b=(1); unset \"$x\"",
        "x=CODE; printf -v \"$x\" a",
        "x=CODE; printf -v\"$x\" a",
        "x=CODE; true & wait -n -p \"$x\"",
        "x='b[ $(rm x)]=1'; declare \"$x\"",
        "x=CODE; let x",
        "x=CODE; let y=x",
    ];
    let lines = lines.map(|line| line.replace("CODE", code));
    assert_found("rm", &lines.each_ref().map(String::as_str));
    assert_left_alone(
        "rm",
        &[
            "x='$(rm y)'; echo \"$x\" ${x:0:7} ${a[0]} ${m[@]} ${!m[@]}",
            "git commit -m 'use `rm`'; [ -n \"$x\" ] && [[ $y == z ]] && export A=\"$x\"",
            "awk '{print $(NF-1)}' f | while read -r line; do printf '%s' \"$line\"; done",
            "declare -A m; declare -r x=1; declare -i n=0; echo ${x:$n} ${m[$k]} $RANDOM",
            "git commit -m 'use `rm`' && unset x && export A B=$c && wait $!",
        ],
    );
}

#[test]
fn prompts_hide_nothing() {
    assert_found(
        "rm",
        &[
            "PS4='$(rm x)'; set -x; :",
            "PS4+='$(rm x)'; set -x; :",
            "PS4[0]='$(rm x)'; set -x; :",
            "PS\\\n4='$(rm x)'; set -x; :",
            "env PS4+='$(rm x)' bash -xc :",
            "unset PS4; : ${PS4:='$(rm x)'}; set -x; :",
            "unset PS4; : ${PS4='$(rm x)'}; set -x; :",
            "read PS4 <<< '$(rm x)'; set -x; :",
            "read PS''4 <<< '$(rm x)'; set -x; :",
            "mapfile PS4 <<< '$(rm x)'; set -x; :",
            "for PS4 in '$(rm x)'; do set -x; :; done",
            "x='$(rm x)'; echo ${x@P}",
            "x='$(rm x)'; echo ${x@\\\nP}",
        ],
    );
    assert_left_alone("rm", &["echo PS4 $PS4", "set -x; ls", "git commit -m 'PS4 and PS5: + rm'"]);
}

#[test]
fn what_is_left_open_in_a_here_document_hides_nothing() {
    assert_found(
        "rm",
        &[
            "cat <<E\n$(rm x\nE",
            "cat <<E\n$(rm x)$(echo\nE",
            "cat <<E\n`rm x\nE",
            "cat <<E\n$(\nE\nrm y",
            "cat <<E\n${x:-\nE\nrm y",
            "cat <<E\n$((\nE\nrm y",
            "at now <<E\n$(rm x\nE",
        ],
    );
    assert_found(
        "rm",
        &[
            "at now <<'E'\necho $[1]; rm x\nE",
            "sudo batch <<'E'\necho $[1]; rm x\nE",
            "ssh host <<'E'\necho $[1]; rm x\nE",
            "ssh -p 22 -v host <<'E'\necho $[1]; rm x\nE",
            "parallel -j4 <<'E'\necho $[1]; rm x\nE",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "ssh host 'cat > notes' <<'E'\nit isn't there\nE",
            "parallel gzip <<'E'\nit's.txt\nE",
            "git commit -F - at <<'E'\nit isn't there\nE",
            "ssh host <<'E'\nls -l\nE",
        ],
    );
}

#[test]
fn options_that_are_several_words_hide_no_program() {
    assert_found(
        "rm",
        &[
            "set -- A rm x; env -u --\"$@\"",
            "x='me rm'; sudo -u$x y",
            "set -- 1 rm; nice -n\"$@\" x",
        ],
    );
    assert_left_alone("rm", &["env -u\"$A\" ls", "ls -$x", "nice -n\"$n\" ls"]);
}

#[test]
fn texts_that_arrays_are_declared_with_are_read_again() {
    assert_found(
        "rm",
        &[
            "y='($(rm x))'; declare -a z=\"$y\"",
            "y='([a]=$(rm x))'; declare -A z=\"$y\"",
            "y='($(rm x))'; f() { declare -ga \"q=$y\"; }; f",
            "y='($(rm x))'; typeset -a z=$y",
            "y='($(rm x))'; readonly -a z=\"$y\"",
            "y='($(rm x))'; export -a z=\"$y\"",
            "y='($(rm x))'; builtin declare -a z=\"$y\"",
            "y='($(rm x))'; declare -$o z=\"$y\"",
            "f() { local -a z=\"$1\"; }; f '($(rm x))'",
            "f() { local z=(); local z=\"$1\"; }; f '($(rm x))'",
            "f() { local z; z[0]=1; local z=\"$1\"; }; f '($(rm x))'",
            "bash -c 'declare -a z=\"$1\"' _ '($(rm x))'",
            "y='($(rm x))'; z=(); declare z=\"$y\"",
            "y='($(rm x))'; z=(); declare \"z=$y\"",
            "y='($(rm x))'; z=(); declare \"z$n=$y\"",
            "y='($(rm x))'; declare -a z; declare z+=\"$y\"",
            "y='($(rm x))'; : ${z[0]:=a}; declare z=\"$y\"",
            "y='($(rm x))'; let 'z[0]=1'; declare z=\"$y\"",
            "y='($(rm x))'; printf -v 'z[0]' a; declare z=\"$y\"",
            "y='($(rm x))'; coproc z { :; }; declare z=\"$y\"",
            "y='($(rm x))'; declare -n r=z; r=(1); declare z=\"$y\"",
            "y='($(rm x))'; read -a z <<< a; declare z=\"$y\"",
            "y='($(rm x))'; read -raz <<< a; declare z=\"$y\"",
            "y='($(rm x))'; mapfile z <<< a; declare z=\"$y\"",
            "y='($(rm x))'; declare DIRSTACK=\"$y\"",
            "y='($(rm x))'; declare \"DIR$n=$y\"",
            "f() { local BASH_ARGV=\"$1\"; }; f '($(rm x))'",
            "declare -a \"z=($(echo '$(rm x)'))\"",
            "declare -a z='(<(rm x))'",
            "q=$(printf '(\\x24(rm x))'); typeset -a z=\"$q\"",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "f() { local x=\"$1\"; echo \"$x\"; }; f a",
            "f() { local dir=$(pwd) n=${2:-3}; ls \"$dir\"; }; f",
            "declare -r x=\"$y\"",
            "declare -a files=($(ls))",
            "declare -A map=([a]=1)",
            "a=(b c); f() { local x=\"$1\"; echo \"${a[0]}\"; }; f",
            "mapfile -t files < <(ls); declare -r n=\"$1\"",
            "z=(); z=\"$y\"; export A=\"$y\"; readonly B=\"$y\"",
            "f() { local msg=\"(none)\"; echo \"$msg\"; }; f",
        ],
    );
}

#[test]
fn what_output_is_joined_to_is_read_again() {
    assert_found(
        "rm",
        &[
            "echo >&'$(rm x)'",
            "echo >&\\$\\(rm\\ x\\)",
            "echo >& '`rm x`'",
            "echo >&'<(rm x)'",
            "y='$(rm x)'; echo >&\"$y\"",
            "y='$(rm x)'; echo >& $y",
            "y='<(rm x)'; echo >&\"$y\"",
            "echo {2>&1a['$(rm x)'rm]}>f",
        ],
    );
    assert_left_alone(
        "rm",
        &["make 2>&1 | tail", "make >&2", "make >& log", "exec 3>&1 4>&-", "make &> \"$log\""],
    );
}
