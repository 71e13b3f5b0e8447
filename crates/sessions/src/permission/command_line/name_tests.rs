//! Names of variables and options that are put together hide nothing, and texts beside numbers are
//! no code unless they may be.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn quotes_in_a_name_hide_nothing() {
    assert_found(
        "rm",
        &[
            "env \"BASH_F\"\"UNC_ls%%=() { rm x; }\" bash -c ls",
            "declare \"BASH_CM\"\"DS[ls]=$(command -v rm)\"; ls x",
            "declare BASH_CM\\DS[ls]=/bin/r?; ls x",
            "read \"BASH_CM\"\"DS[ls]\" <<< /bin/rm; ls x",
            "printf -v \"BASH_CM\"\"DS[ls]\" /bin/rm; ls x",
            "printf -v'BASH_CM''DS[ls]' /bin/rm; ls x",
            "declare 'BASH_AL''IASES[ls]=rm'",
            "env BASH_E'NV'=f bash -c ls",
            "set -o history -o histex\"\"pand\n: Xm x\n^: X^r^",
            "set -o histexp\\and",
            "shopt -so history hist\"\"expand",
            "bash -o hist''expand -c ls",
            "read RAND\\OM <<< 'b[ $(rm x)]'",
            "read OPT\\IND <<< 'b[ $(rm x)]'",
            "read HISTC\\MD <<< 'b[ $(rm x)]'",
            "printf -v LINE''NO %s 'b[ $(rm x)]'",
            "env P\"\"S4='$(rm x)' bash -xc :",
            "env P\\S4='$(rm x)' bash -xc :",
            "w='$(rm x)'; export P''S4=\"$w\"; set -x; :",
        ],
    );
    assert_left_alone(
        "rm",
        &["echo PS4 BASH", "set -o pipefail", "shopt -s globstar nullglob", "read -r A B <<< 'c'"],
    );
}

#[test]
fn names_that_are_put_together_hide_nothing() {
    assert_found(
        "rm",
        &[
            "x=BASH_; declare \"${x}CMDS[ls]=/bin/rm\"; ls x",
            "x=CMDS; declare \"BASH_$x[ls]=/bin/rm\"; ls x",
            "x=S; declare B{A,}$x\"H_CMDS[ls]=/bin/rm\"; ls x",
            "x=BASH_; x+=CMDS[ls]=/bin/rm; declare \"$x\"; ls x",
            "x=BASH_; x+=CMDS[ls]; read -r \"$x\" <<< /bin/rm; ls x",
            "x=BASH_; x+=CMDS[ls]; printf -v \"$x\" /bin/rm; ls x",
            "x=BASH_; mapfile \"${x}CMDS\" < f; ls x",
            "x=$(echo BASH_FU); env \"${x}NC_ls%%=() { rm x; }\" bash -c ls",
            "x=S; w='$(rm x)'; env P\"$x\"4=\"$w\" bash -xc :",
            "x=PS; w='$(rm x)'; export \"${x}4=$w\"; set -x; :",
            "x=P; x+=S4; w='$(rm x)'; export \"$x=$w\"; set -x; :",
            "x=expand; set -o history -o hist$x",
            "x=H; set -o history -$x",
            "x=-H; set -o history $x",
            "x=histexpand; shopt -so history \"$x\"",
            "x=BASH; declare -n r=\"${x}_CMDS\"; r[ls]=/bin/rm; ls x",
            "x=BASH_CMD; x+=S; declare -n r=\"$x\"; r[ls]=/bin/rm; ls x",
            "x=BASH_CMD; x+=S; typeset -n r; r=$x; r[ls]=/bin/rm; ls x",
            "p=p; hash -$p /bin/rm ls; ls x",
            "o=-p; hash $o /bin/rm ls; ls x",
            "x=OM; read \"RAND$x\" <<< 'b[ $(rm x)]'",
            "x=PS; : ${x:=4}; y=$x; y+=4; : ${!y:='$(rm x)'}; set -x; :",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "export $(cat .env | xargs)",
            "export \"$x\"",
            "set -- \"$@\"",
            "set -- $x a",
            "set -euo pipefail; echo $x",
            "set a $x",
            "read -rp \"$prompt\" answer",
            "read -r -t \"$n\" line",
            "read -r -d \"$d\" -a parts",
            "local x=\"$1\" y=$2; declare -r A=\"$B\"",
            "printf \"$fmt\" \"$x\" $y",
            "declare -n r=foo; hash -r",
            "P[$i]=1; B[$i]=$x; echo P$x B*",
            "make P$x",
        ],
    );
}

#[test]
fn options_that_are_put_together_hide_nothing() {
    let lines = [
        "y=i; declare -$y z; z=CODE",
        "declare -$'\\x69' z; z=CODE",
        "declare -{i,x} z; z=CODE",
        "y=i; typeset -x$y z; z=CODE",
        "y=-i; declare $y z; z=CODE",
        "y=n; declare -$y r=RANDOM; r=CODE",
        "sleep 0 & z=CODE; wait -np \"$z\"",
        "sleep 0 & z=CODE; wait -fp \"$z\" -n",
        "sleep 0 & z=CODE; wait -nfp\"$z\"",
        "sleep 0 & w=-p; z=CODE; wait $w \"$z\" $!",
        "z=CODE; v=-v; [ $v \"$z\" ]",
        "z=CODE; v=-v; [ \"$v\" \"$z\" ]",
        "z=CODE; v=-v; test $v \"$z\"",
        "z='-v b[$(rm)]'; [ $z ]",
        "z='-v b[$(rm)]'; test $z",
        "z=CODE; v=v; printf -$v \"$z\" 1",
        "z=CODE; v=-v; printf $v \"$z\" 1",
        "z=CODE; read \"b[$z]\" <<< 1",
        "z=CODE; declare \"b[$z]=1\"",
        "z='$(rm x)'; read \"b[$z]\" <<< 1",
        "z='$(rm x)'; declare \"b[$z]=1\"",
        "z='$(rm x)'; printf -v \"b[$z]\" 1",
        "z='$(rm x)'; unset \"b[$z]\"",
        "z='$(rm x)'; unset b[$z]",
        "z='$(rm x)'; let b[$z]=1",
        "z='$(rm x)'; x=a; echo ${x:b[$z]}",
        "z='$(rm x)'; echo ${a[b[$z]]}",
        "z='$(rm x)'; (( b[$z] ))",
    ];
    let lines = lines.map(|line| line.replace("CODE", "'b[ $(rm x)]'"));
    assert_found("rm", &lines.each_ref().map(String::as_str));
}

#[test]
fn code_that_is_put_together_hides_nothing() {
    assert_found(
        "rm",
        &[
            "z='b[ $'; z+='(rm x)]'; echo $((z))",
            "z='b['; z+='$(rm x)]'; echo $((z))",
            "z=b$(echo [)' $(rm x)]'; echo $((z))",
            "y='$'; z=\"b[ $y(rm x)]\"; echo $((z))",
            "printf -v z 'b[ %s(rm x)]' '$'; echo $((z))",
            "read z <<'E'\nb[ $(rm x)]\nE\necho $((z))",
            "read z <<E\nb[ \\$(rm x)]\nE\necho $((z))",
            "bash -c 'read q; echo $((q))' <<'E'\nb[ $(rm x)]\nE",
            "bash -c 'q=$(cat); echo $((q))' <<'E'\nb[ $(rm x)]\nE",
            "printf 'b[ $%s' '(rm x)]' | { read q; echo $((q)); }",
            "z=$(cat <<'E'\nb[ $(rm x)]\nE\n); echo $((z))",
            "z='b[ $(rm x)]'; eval 'echo $((z))'",
            "export z='b[ $(rm x)]'; bash -c 'echo $((z))'",
            "z='b[ $(rm x)]' bash -c 'echo $((z))'",
            "z='b[ $(rm x)]'; trap 'echo $((z))' EXIT",
            "z='b[ $(rm x)]'; echo `echo $\\((z))`",
            "z='$(rm x)'; y=a[$z]; echo $((y))",
            "z='$(rm x)'; for y in a[$z]; do echo $((y)); done",
            "z='$(rm x)'; printf -v y 'a\\x5b%s]' \"$z\"; echo $((y))",
            "z='$(rm x)'; y=a$(printf '\\133')$z]; echo $((y))",
            "z='$(rm x)'; y=a$(awk 'BEGIN {printf \"%c\", 91}')$z]; echo $((y))",
            "PS0='$(rm x)' bash -ic :",
            "env PS''0='$(rm x)' bash -ic :",
            "alias r='rm x'; eval r",
            "alias ls='\\rm'; eval ls",
            "shopt -s expand_aliases; alias -- r=rm\nr x",
            "echo \"[$(rm x)]\"",
            "echo \"a[`rm x`]\"",
            "echo [$(rm x)]",
            "echo ${a[$(rm x)]}",
            "a[$(rm x)]=1",
        ],
    );
}

#[test]
fn texts_that_are_no_code_may_stand_beside_numbers() {
    assert_left_alone(
        "rm",
        &[
            "echo \"[$(date)] starting\" >> log",
            "log() { echo \"[$(date +%T)] $*\"; }",
            "echo \"a[$(date)]\"",
            "echo \"[`date`] $((n+1))\"",
            "echo \"${arr[$((i+1))]}\"",
            "for i in 1 2; do n=$((n+i)); echo \"[$(date)] $n\"; done",
            "echo 'use `foo` here' > README.md; n=$((n+1))",
            "awk '{print $(NF-1)}' f; echo $((x+1))",
            "[ -n \"$x\" ] && awk '{print $(NF-1)}' f; echo $((x+1))",
            "if [[ -n $x ]]; then awk '{print $(NF-1)}' f; echo $((x+1)); fi",
            "bash -lc 'if [ -n \"$x\" ]; then echo \"[$(date)] $((x+1))\"; fi'",
            "bash -lc 'for f in \"${a[@]}\"; do echo $((i+1)) $(date); done'",
            "alias ll='ls -la' gs='git status'; alias",
            "ls [a-z]*; awk '{print $(NF-1)}' f; echo $((x+1))",
            "grep 'a$' f; grep '[0-9]$' f; echo $((x+1))",
            "cat > f.sh <<'E'\necho \"[$(date)]\"\nE\nn=$((n+1))",
        ],
    );
}

#[test]
fn programs_in_directories_of_users_are_left_alone() {
    assert_left_alone(
        "rm",
        &[
            "~/.local/bin/uv sync",
            "~/.local/bin/poetry run pytest",
            "$HOME/.local/bin/uv sync",
            "\"$HOME/.local/bin/uv\" sync --locked",
            "~/.local/bin/uv sync && echo hi",
            "A=1 ~/bin/foo --read=x",
            "A=1 \"$HOME/bin/foo\"",
            "~/src/export/run.sh",
            "~/read/x",
            "$HOME/src/read-only/for/run.sh",
            "cd ~/.local/bin && ./foo",
            "for f in a b; do ~/bin/foo \"$f\"; done",
        ],
    );
    assert_found(
        "rm",
        &[
            "HOME=/usr/bin; ~/rm x",
            "HOME=/usr/bin/rm; ~ x",
            "~/.local/bin/rm x",
            "$HOME/.local/bin/rm x",
            "HOME='rm x'; $HOME/.local/bin/uv",
            "read HOME <<< 'rm x'; $HOME/y",
            "r\"ead\" HOME <<< 'rm x'; $HOME/y",
            "r\\ead -r HOME <<< 'rm x'; $HOME/y",
            "# /\\\nread HOME <<< 'rm x'; $HOME/y",
            "r'ead'array -t HOME <<< 'rm x'; $HOME/y",
            "$DIR/test/run.sh",
        ],
    );
}
