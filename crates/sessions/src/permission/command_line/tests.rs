//! Commands are found however they are written, and others are left alone.

use super::super::command_glob::CommandGlob;
use super::commands_in;

/// Whether a rule about `glob` is about the line.
pub(super) fn is_about(glob: &str, line: &str) -> bool {
    let glob = CommandGlob::new(glob).unwrap();
    commands_in(line).is_none_or(|found| found.iter().any(|one| glob.may_match(one)))
}

pub(super) fn assert_found(glob: &str, lines: &[&str]) {
    for line in lines {
        assert!(is_about(glob, line), "{line}: {:?}", commands_in(line));
    }
}

pub(super) fn assert_left_alone(glob: &str, lines: &[&str]) {
    let found: Vec<_> = lines.iter().filter(|line| is_about(glob, line)).collect();
    let read: Vec<_> = found.iter().map(|line| commands_in(line)).collect();
    assert!(found.is_empty(), "{found:#?}: {read:#?}");
}

#[test]
fn programs_around_a_command_do_not_hide_it() {
    assert_found(
        "rm -f x*",
        &[
            "rm -f x",
            "/bin/rm -f x",
            "bash -c rm -f x",
            "bash -c 'rm -f x'",
            "bash -c -o pipefail 'rm -f x'",
            "bash -eo pipefail -c 'rm -f x'",
            "sh -lc \"rm -f x\"",
            "/usr/bin/env rm -f x",
            "env -i A=1 rm -f x",
            "A=1 B=2 rm -f x",
            "sudo -u me rm -f x",
            "timeout 5 rm -f x",
            "nice -n 5 /bin/rm -f x",
            "eval 'rm -f x'",
            "eval rm '-f x'",
            "bash -c \"sh -c 'rm -f x'\"",
            "busybox rm -f x",
            "find . -exec rm -f x",
            "find a b c d e f g h i j k l m n o p q r s t -exec rm -f x",
            "env a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 rm -f x",
            "time -p rm -f x",
            "a+=b rm -f x",
            "a[0]=1 rm -f x",
            "bash -c -- 'rm -f x'",
            "sh -c -e 'rm -f x'",
            "bash --norc -c 'rm -f x'",
            "bash --rcfile f -c 'rm -f x'",
            "rbash -c 'rm -f x'",
            "trap 'rm -f x' EXIT",
            "flock f rm -f x",
            "flock f -c 'rm -f x'",
            "fakeroot rm -f x",
            "x86_64 rm -f x",
            "ssh-agent rm -f x",
            "compgen -C 'rm -f x'",
            "split --filter='rm -f x' f",
            "watch 'rm -f x'",
            "su -c 'rm -f x' me",
            "su -c'rm -f x'",
            "script -qc'rm -f x' /dev/null",
            "mapfile -C'rm -f x' -c1 <<< x",
            "sg root -c 'rm -f x'",
            "choom -n 0 -- rm -f x",
            "bash -eoc pipefail 'rm -f x'",
            "bash -oO errexit extglob -c 'rm -f x'",
            "git bisect run rm -f x",
            "git rebase -x 'rm -f x' main",
            "git submodule foreach 'rm -f x'",
            "git submodule foreach --recursive rm -f x",
            "git -c core.pager='rm -f x' log",
            "GIT_EDITOR='rm -f x' git commit",
            "docker run --rm -it -v a:b image rm -f x",
            "uv run rm -f x",
            "tmux new-session -d 'rm -f x'",
            "/lib64/ld-linux-x86-64.so.2 /bin/rm -f x",
        ],
    );
    assert_left_alone(
        "rm*",
        &[
            "echo rm",
            "ls rm -f x",
            "git rm x",
            "grep -c rm x",
            "",
            "echo 'a; rm -f x'",
            "echo a#b # rm x",
            "cargo test -- 'a && rm b'",
        ],
    );
}

#[test]
fn a_command_is_found_wherever_it_stands_in_a_line() {
    assert_found(
        "rm -f x*",
        &[
            "true && rm -f x",
            "true & rm -f x",
            "a | rm -f x",
            "a\nrm -f x",
            "echo $(rm -f x)",
            "echo \"a $(rm -f x) b\"",
            "echo `rm -f x`",
            "echo \"`rm -f x`\"",
            "echo `a \\`rm -f x\\``",
            "echo ${a:-$(rm -f x)}",
            "echo $(( $(rm -f x) ))",
            "cat <(rm -f x)",
            "a 2> >(rm -f x)",
            "(a; (rm -f x))",
            "if true; then rm -f x; fi",
            "for i in a; do rm -f x; done",
            "case a in a) rm -f x;; esac",
            "echo $(case a in a) rm -f x;; esac)",
            "f() { rm -f x; }; f",
            "function f { rm -f x; }",
            "{ rm -f x; }",
            "! rm -f x",
            "set a; for x do rm -f x; done",
            "select x do rm -f x; done",
            "if [[ 1 ]] then rm -f x; fi",
            "while [[ 1 ]] do rm -f x; break; done",
            "if if true; then :; fi then rm -f x; fi",
            "if false; then for x in a; do :; done else rm -f x; fi",
            "function f if rm -f x; then :; fi",
            "case $(rm -f x) in *) a;; esac",
            "case a in *|b) rm -f x;; esac",
            "echo a &>/dev/null rm -f x",
            "echo $'\\'; rm -f x #'",
            "a[ 1 ]=x rm -f x",
            "a['x y']=1 rm -f x",
            "a[1;]=x rm -f x",
            "a=$[1 & 1] rm -f x",
            "cat <<A\n'\nA\nrm -f x",
            "cat <<-A\n'\n\tA\nrm -f x",
            "cat <<'A B'\n'\nA B\nrm -f x",
            "cat <<A <<B\n'\nA\n'\nB\nrm -f x",
            "bash <<A\nrm -f x\nA",
            "echo $(cat <<A\n)'\nA\n); rm -f x",
            "cat <<A\nit's $(rm -f x)\nA",
            "ssh h <<A\nit's\nrm -f x\nA",
            "at now <<A\nrm -f x\nA",
            "echo '((' <<b\n'\nb\nrm -f x",
            "((a<<b))\nx='\nb))\n'; rm -f x",
            "# it's\nrm -f x",
            "echo \u{a0}#'\n' ; rm -f x; # '",
            "echo a\r#'\n' ; rm -f x; # '",
            "#\\\nrm -f x",
        ],
    );
    assert_left_alone(
        "rm*",
        &["cat <<A\nremove it's\nA\nls", "echo $((1+2))", "a=$(ls) && echo \"it's $a\""],
    );
}

#[test]
fn spelling_does_not_hide_a_command() {
    assert_found(
        "rm -f x*",
        &["'rm' -f x", "r\\m -f x", "r''m \"-f\" x", "rm \\\n-f x", "r\\\nm -f x", "$\"rm\" -f x"],
    );
    assert_found(
        "git push*",
        &[
            "git p$''ush",
            "git p$\"\"ush",
            "git pus{h..h}",
            "git pus{h,}",
            "git {push,origin}",
            "git {\"push\",'a b'}",
            "git {$(echo push),x}",
            "{git,push}",
            "{git,-C,.,push}",
            "g{i,i}t push",
            "git pus?",
            "git pus[h]",
            "gi* push",
            "$x push",
            "$x git push",
            "\"$x\" push",
            "git $x push",
            "git $x",
            "git \"$x\"",
            "git${IFS}push",
            "git $(echo push)",
            "git `echo push`",
            "x=push; git $x",
            "f() { git \"$@\"; }; f push",
            "HOME='git push '; $HOME/x",
            "$X/bin/git push",
            "sudo $x",
            "sudo -u me $x",
            "timeout 5 $x",
            "flock f $x",
            "uv run $x",
            "env A=1 \"$x\"",
            "git -j$x",
        ],
    );
    assert_left_alone(
        "git push*",
        &[
            "$HOME/.cargo/bin/cargo test",
            "\"$X\"/bin/cargo push",
            "echo $x",
            "cargo test $x",
            "git commit -m \"$x\"",
            "git status *.rs",
            "mkdir -p a/{b,c}",
            "git stash show stash@{0}",
            "ls ${x%.*}",
            "sudo ls *",
            "timeout 5 cat *.txt",
            "npx prettier --check *.ts",
            "docker build -t $TAG .",
            "make -j$(nproc)",
            "source \"$VENV/bin/activate\"",
            "bash \"$DIR/x.sh\"",
            "for f in *.rs; do echo $f; done",
            "while read -r x; do echo \"$x\"; done < f",
            "[ -n \"$x\" ] && ls",
            "export PATH=$HOME/bin:$PATH",
            "cd \"$dir\" && git status",
            "mapfile -t x < <(ls $y)",
            "ssh \"$host\" ls",
        ],
    );
}

#[test]
fn what_stands_between_the_words_of_a_command_does_not_hide_it() {
    assert_found(
        "git push*",
        &[
            "git >/dev/null push",
            "git 2>/dev/null push",
            "git 2>&1 push",
            "git &>/dev/null push",
            "git &>>o push",
            "git <<<x push",
            "git <<< 'a b' push",
            "git <<<\"a\"\\ \"b\" push",
            "git </dev/null push",
            "git >'a b' push",
            "git >|o >>p push",
            "git 2>&- push",
            "git&>/dev/null push",
            "git >/dev/null\\ x push",
            "git {x}<f push",
            "git {x}>&- push",
            "git {push,a}>f",
            "git 2> >(cat) push",
            "git > >(cat) push",
            "git >$(echo f) push",
            "git <>f push",
            ">/dev/null git push",
            "2>&1 git push",
            "< f git push",
            "a=1 >o b=2 git push",
            "A=$PWD git push",
            "git -C \"$PWD\" push",
            "git -C $(pwd) push",
            "env A=$HOME git push",
            "git -C . >/dev/null push",
            "sh -c 'git >/dev/null push'",
            "jobs -x git push",
        ],
    );
    assert_left_alone(
        "git push*",
        &["echo 'a > b'", "awk '{print $1}' f", "ls > out", "cat <<EOF\ntext\nEOF", "a 2>&1 | b"],
    );
}

#[test]
fn options_before_a_command_of_a_program_do_not_hide_it() {
    assert_found(
        "git push*",
        &[
            "git push",
            "git -C . push",
            "git -C. push",
            "git -c a.b=c --no-pager push origin",
            "git --git-dir x --work-tree y push",
            "git --git-dir=x push",
            "sudo git -C / push",
            "/usr/lib/git-core/git-push origin",
            "git -C $x origin",
            "git -c alias.p=push p",
            "git --config-env=alias.p=X p",
            "git --shallow-file x push",
        ],
    );
    assert_left_alone(
        "git push*",
        &[
            "git log push",
            "git log --grep push",
            "git add -- push",
            "git -C push status",
            "git -C \"$x\" status",
            "git -C \"$PWD\" status",
        ],
    );
    assert_found("aws s3 rm*", &["aws s3 --profile p rm x"]);
    assert_found("gh pr merge", &["gh pr -R a/b merge 1"]);
    assert_found("cargo publish*", &["cargo +nightly publish"]);
    assert_found("make deploy*", &["make A=b deploy", "make x deploy"]);
    assert_found("docker rm*", &["docker -H x rm y", "docker --debug rm y"]);
    assert_found("docker rm*", &[&format!("docker {} rm y", "-D ".repeat(100))]);
}

#[test]
fn names_that_a_program_reads_may_be_the_command() {
    assert_found(
        "git push*",
        &[
            "echo push | xargs git",
            "xargs -I{} git {} < f",
            "xargs -I% % push",
            "xargs -I % git %",
            "echo git | xargs -I{} {} push",
            "parallel git ::: push",
            "find . -exec git {} ';'",
            "find . -ok {} push ';'",
            "find . -exec xargs git ';'",
            "echo x | xargs -rn 1 git push",
            "echo x | xargs -0I % git push %",
            "echo x | xargs --delim , git push",
            "xargs --replace=x git pxsh",
            "xargs -i0 git p0sh",
        ],
    );
    assert_left_alone(
        "git push*",
        &[
            "ls | xargs grep push",
            "find . -exec cat {} +",
            "ls | xargs -I{} cp {} d",
            "xargs -n 1 ls",
        ],
    );
}

#[test]
fn what_cannot_be_told_is_not_passed_over() {
    let long = ["env ".repeat(10_000), "bash -c ".repeat(10_000), "sudo ".repeat(9) + "rm x"];
    for line in long.iter().map(String::as_str).chain([
        "$'\\x72m' x",
        "echo 'rm x' | sh",
        "echo 'rm x' | sh -x",
        "bash < f",
        "bash /dev/stdin <<< 'rm x'",
        "echo rm x | bash -s -- x",
        "echo rm x | bash /proc/self/fd/0",
        "bash //dev/stdin",
        "cd /dev; bash stdin",
        "cd /dev/fd; . ./0",
        "script -q /dev/null <<< 'rm x'",
        "newgrp root <<< 'rm x'",
        "su <<< 'rm x'",
        "bash --init-file <(echo rm x) -ic true",
        "bash --rcfile /dev/stdin -i -c true",
        "bash -os errexit x <<< 'rm x'",
        "[[ -v 'a[$(rm x)]' ]]",
        "declare -a 'a=($(rm x))'",
        "x='a[$(rm x)]'; echo $((x))",
        "echo \"${x@P}\"",
        "BASH_ENV=/dev/stdin bash -c true",
        "ENV=x sh -ic true",
        "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
        "hash -p /bin/rm g; g x",
        "BASH_CMDS[g]=/bin/rm; g x",
        "set -H -o history\necho rm\n!!",
        "history -s rm x\nfc -s rm",
        ". <(echo rm x)",
        "source /dev/stdin",
        "sh -c \"a $x\"",
        "eval \"a $x\"",
        "sh -c '\"$@\"' -- rm x",
        "env -S'rm x'",
        "env -iS'rm x'",
        "env -S 'rm\\_x'",
        "env --split-string='rm x'",
        "fish -c 'a (b)'",
        "bash -O extglob -c 'a @(b)'",
        "=rm x",
        "echo 'a",
        "echo \"a",
        "echo ${a",
        "echo `a",
        "cat <<$x\nx",
    ]) {
        assert!(is_about("rm x", line), "{}: {:?}", line.len(), commands_in(line));
    }
    for deep in ["$(", "\"$(", "${a:-", "("] {
        assert!(is_about("rm x", &deep.repeat(100_000)), "{deep}");
    }
    assert!(commands_in("[ -f x ] && [[ -f y ]]").is_some());
    assert_eq!(commands_in(&"a;".repeat(100_000)).unwrap().len(), 100_000);
}

#[test]
fn what_agents_run_all_day_is_left_alone() {
    assert_left_alone(
        "git push*",
        &[
            "git commit -m \"$(cat <<'EOF'\nFix: don't break (again)\n\nIt's `odd`, $5.\nEOF\n)\"",
            "cat > f.py <<'EOF'\nprint('it''s')\nif x: (y\nEOF\npython3 f.py",
            "cat > f <<EOF\nit's $VAR and $(date)\nEOF",
            "python3 - <<'PY'\nimport os\nprint(\"a\", 'b')\nPY",
            "python3 -c \"import x; print('a')\"",
            "node -e 'console.log(`${1 + 1}`)'",
            "awk '{print $1}' f | sort | uniq -c | sort -rn | head -5",
            "sed -n '1,5p' f && sed -i 's/a b/c|d/g' f",
            "grep -rnE \"a|b\" --include='*.rs' src | head -20",
            "rg -n 'foo\\(' src -g '!*.lock'",
            "find . -name '*.rs' -not -path './target/*' -exec grep -l foo {} +",
            "find . -type f | xargs wc -l | tail -1",
            "timeout 60 cargo test -- --nocapture 2>&1 | tail -20",
            "cargo test -p a --lib -- \"$NAME\"",
            "(cd web && npm run build) && ls -la dist/",
            "npm run test -- --run src/a.test.ts",
            "docker compose up -d && docker compose logs -f --tail=100 web",
            "kubectl get pods -n \"$NS\" -o json | jq '.items[] | {a: .b}'",
            "curl -s -X POST localhost:3000/a -H 'Content-Type: application/json' -d '{\"a\": [1]}'",
            "curl -fsS \"http://localhost:$PORT/health\" || echo down",
            "sleep 2; kill %1 2>/dev/null; wait",
            "set -euo pipefail; x=$(mktemp -d); trap 'rm -rf \"$x\"' EXIT; ls \"$x\"",
            "for f in a b; do [[ -f $f ]] || { echo \"no $f\" >&2; exit 1; }; done",
            "printf '%s\\n' \"${a[@]}\" | sort -u",
            "if ! command -v jq >/dev/null; then echo missing; fi",
            "tar czf - x | ssh host 'tar xzf -'",
            "A=1 RUST_LOG=debug,x=trace cargo run -- --flag=\"$x\"",
            "git log --oneline -5 && git diff HEAD~1 -- 'src/*.rs' | cat",
            "git show HEAD:src/a.rs > /tmp/a.rs",
            "git stash && git checkout -b \"fix/$name\"",
            "git status --short | awk '{print $2}' | xargs git add",
            "test -f x || exit 1",
            "echo $((1 + 2)) ${#x} $? $$ $!",
            "export PATH=\"$HOME/.cargo/bin:$PATH\" && cargo --version",
            "diff <(sort a) <(sort b)",
            "while IFS= read -r line; do echo \"$line\"; done < <(ls)",
            "ps aux | grep '[s]erver' | awk '{print $2}' | xargs -r kill",
            "make -j\"$(nproc)\" test",
            "time ./run.sh --all > out.log 2>&1 &",
            "sudo apt-get install -y jq",
            "echo 'don'\\''t'",
            "case $x in a) echo b;; *.c|*) echo c;; esac",
            "IFS=$'\\n' read -r x",
            "sort -t$'\\t' f",
            "git stash list | xargs",
            "git commit -F - <<'EOF'\nnot `git push` yet\ngit push later\nEOF",
            "python3 - <<'EOF'\nprint(\"git push\")\nEOF",
            ". \"$NVM_DIR/nvm.sh\"",
            "bash scripts/$x.sh a",
            "bash -c 'echo $1' _ x",
            "sudo -u postgres psql -c 'select 1'",
            "bash -lc 'cd /x && ls -la'",
            "/bin/bash -lc \"rg -n 'a b' src | head\"",
        ],
    );
}
