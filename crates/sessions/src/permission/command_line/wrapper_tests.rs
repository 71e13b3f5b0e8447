//! Programs that run others hide nothing, and what is no command behind them is left alone.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn what_becomes_a_shell_runs_what_comes_in() {
    assert_found(
        "rm",
        &[
            "sudo -s <<< 'rm -f x'",
            "echo 'rm -f x' | sudo -i",
            "sudo -n -u root -s <<< 'rm -f x'",
            "sudo --login <<< 'rm -f x'",
            "sudo --sh <<< 'rm -f x'",
            "sudo -h host -s <<< 'rm -f x'",
            "sudo -s A=1 <<< 'rm -f x'",
            "X=rm sudo -E -s '$X' f",
            "echo 'rm -f x' | setarch x86_64",
            "setarch -R <<< 'rm -f x'",
            "setarch <<< 'rm -f x'",
            "setarch x86_64 -R --3gb <<< 'rm -f x'",
            "linux64 <<< 'rm -f x'",
            "i386 <<< 'rm -f x'",
            "echo 'rm -f x' | sg root",
            "sg root <<< 'rm -f x'",
            "sg root -c <<< 'rm -f x'",
            "newgrp -c 'rm -f x' root",
            "echo 'rm -f x' | fakeroot",
            "fakeroot <<< 'rm -f x'",
            "fakeroot -u <<< 'rm -f x'",
            "fakeroot -s f --lib l -- <<< 'rm -f x'",
            "echo 'rm -f x' | doas -s",
            "doas -u me -s <<< 'rm -f x'",
            "echo 'rm -f x' | run0",
            "run0 -u me --chdir=/ <<< 'rm -f x'",
            "pkexec --user me <<< 'rm -f x'",
            "unshare -c <<< 'rm -f x'",
            "unshare --map-user 0 <<< 'rm -f x'",
            "nsenter -t 1 --cgroup <<< 'rm -f x'",
            "chroot --groups 1 / <<< 'rm -f x'",
            "firejail --net=none <<< 'rm -f x'",
            "systemd-run -qS <<< 'rm -f x'",
            "nix-shell -p x <<< 'rm -f x'",
            "echo 'rm -f x' | nix develop .",
            "poetry shell <<< 'rm -f x'",
            "podman unshare <<< 'rm -f x'",
            "echo 'rm -f x' | capsh --",
            "capsh -- -c 'rm -f x'",
            "capsh --print -- -c 'rm -f x'",
            "capsh --shell=/bin/rm -- x",
            "capsh --\"$x\" -c 'rm -f x'",
            "capsh == -- -c 'rm -f x'",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "sudo -s ls",
            "sudo -k",
            "sudo -v",
            "sudo -l",
            "sudo -n -u root ls -s",
            "setarch x86_64 -R ls -l",
            "setarch -R ./a.out",
            "linux32 make",
            "fakeroot dpkg-deb -b x",
            "fakeroot -u -- make install",
            "sg docker -c 'docker ps'",
            "doas -u me ls",
            "run0 --user=me ls",
            "pkexec ls",
            "unshare -rn ls",
            "unshare --user --map-root-user -- ls -la",
            "nsenter -t 1 -m -- ls",
            "chroot /mnt ls",
            "firejail --net=none ls",
            "nix-shell -p x --run 'ls -l'",
            "nix develop . -c ls",
            "guix shell x -- ls",
            "podman unshare ls",
            "capsh --print",
            "capsh --print -- -c 'ls -l'",
            "systemd-run --user ls",
        ],
    );
}

#[test]
fn programs_that_run_others_in_a_way_of_their_own_hide_nothing() {
    assert_found(
        "rm",
        &[
            "strace -o '|rm x' true",
            "strace -fo '!rm x' true",
            "strace -o'|rm x' true",
            "strace --output='|rm x' true",
            "strace --output '|rm' true",
            "strace -o\"$x\" true",
            "strace --outp='|rm x' true",
            "strace -f rm x",
            "podman unshare rm x",
            "fd -x rm",
            "fd -Hx rm {} \\;",
            "fd a -X rm -f",
            "fdfind --exec rm",
            "fd --exec=rm",
            "fd --exec-batch rm",
            "fd -xrm",
            "fd -x {}",
            "fd . -x sh -c",
            "fd {-x,rm}",
            "ip netns exec x rm y",
            "ip -4 netns ex x rm y",
            "ip vrf exec x rm y",
            "ip netns exec x $y",
            "doppler run --command 'rm x'",
            "doppler run --command='ls; rm x'",
            "docker run --entrypoint=rm image x",
            "docker run --entrypoint rm image x",
            "podman run --rm --entrypoint=/bin/rm image x",
            "docker compose run --entrypoint='rm x' web",
            "docker run --entrypoint=$x image",
            "start-stop-daemon --start --startas=/bin/rm -- x",
            "start-stop-daemon --start --exec=/bin/rm -- x",
            "start-stop-daemon -Sa/bin/rm -- x",
            "start-stop-daemon -S -x /bin/rm -- x",
            "proxychains4 rm x",
            "proxychains4 -q -f f rm x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "strace -f -o log ls",
            "strace -e trace=openat ls",
            "podman ps",
            "fd rm",
            "fd -e rs -x wc -l",
            "fd -t f -- \"$x\" src",
            "ip addr show \"$dev\"",
            "ip link set dev \"$dev\" up",
            "ip netns exec x ping -c 1 y",
            "doppler run --command 'ls -l'",
            "docker run --entrypoint=ls image x",
            "start-stop-daemon --start --exec=/bin/ls --pidfile=/run/rm -- x",
            "proxychains4 curl x",
        ],
    );
}

#[test]
fn options_and_values_before_a_command_do_not_hide_it() {
    assert_found(
        "rm",
        &[
            "sudo -u root rm x",
            "sudo -uroot rm x",
            "sudo -nu root rm x",
            "sudo -g g rm x",
            "sudo -C 3 rm x",
            "sudo -h host rm x",
            "sudo -h rm x",
            "sudo -- rm x",
            "sudo A=1 rm x",
            "sudo A=1 -u root rm x",
            "sudo -- A=1 rm x",
            "sudo /a=b rm x",
            "sudo --user root rm x",
            "sudo --user=root rm x",
            "sudo --us root rm x",
            "sudo --preserve-env=A rm x",
            "sudo -u\"$x\" ls rm x",
            "sudo -u $x ls rm x",
            "sudo -u \"${a[@]}\" ls rm",
            "sudo \"$x\" ls rm x",
            "sudo \"$x\"/ls rm x",
            "sudo $x ls rm x",
            "sudo -n $x",
            "sudo -n env A=1 timeout 5 rm x",
            "doas -u me rm x",
            "env -S 'rm x'",
            "env -u A rm x",
            "env -uA rm x",
            "env -i rm x",
            "env - rm x",
            "env -C dir rm x",
            "env --chdir=d rm x",
            "env --chdir d rm x",
            "env --unse A rm x",
            "env A=1 rm x",
            "env a.b=1 rm x",
            "env -P /bin rm x",
            "env \"$x\" rm x",
            "env $x ls rm",
            "env PAGER='rm x' git log",
            "env -- A=1 rm x",
            "timeout -k 5 5 rm x",
            "timeout -s KILL 5 rm x",
            "timeout -s9 5 rm x",
            "timeout --signal KILL 5 rm x",
            "timeout -t 5 rm x",
            "timeout -s KILL rm x",
            "timeout 5 -k rm x",
            "nice -n 5 rm x",
            "nice -5 rm x",
            "nice -n5 rm x",
            "nice --adjustment 5 rm x",
            "ionice -c 3 -n 0 rm x",
            "stdbuf -oL -e 0 rm x",
            "setsid -w rm x",
            "nohup -- rm x",
            "time -p rm x",
            "time -f x rm x",
            "time -o f rm x",
            "time -l rm x",
            "time ! rm x",
            "time A=1 rm x",
            "exec -a ls rm x",
            "command -p rm x",
            "builtin command rm x",
            "poetry run rm x",
            "poetry -C run run rm x",
            "poetry run -q x rm x",
            "uv run --with x rm x",
            "uv run -- rm x",
            "npx -p x rm x",
            "npx -- rm x",
            "xargs env",
            "xargs sudo -u",
            "xargs sudo",
            "xargs timeout 5",
            "xargs env A=1",
        ],
    );
}

#[test]
fn what_a_command_behind_others_takes_is_no_command() {
    assert_left_alone(
        "{rm,curl}",
        &[
            "sudo apt-get install -y curl git",
            "sudo -n apt-get install curl",
            "sudo -E -u me apt-get install curl",
            "sudo which curl",
            "sudo docker rm x",
            "sudo A=1 ls rm",
            "doas -n pkg install curl",
            "timeout 5 apt-get install curl",
            "timeout -k 5 --signal=KILL 5m ls rm",
            "env ls curl",
            "env -i A=\"$x\" PATH=/bin ls rm",
            "env -u A --chdir=/ ls rm",
            "time ls rm",
            "time -p ls rm",
            "nice -n 5 ls rm",
            "nohup ls rm",
            "stdbuf -oL ls rm",
            "setsid ls rm",
            "exec ls rm",
            "command ls rm",
            "chroot /mnt apt-get install curl",
            "unshare -rn ls rm",
            "poetry run ls rm",
            "uv run pytest rm",
            "bundle exec rake rm",
            "npx cowsay rm",
            "uvx ruff rm",
            "ls | xargs sudo ls",
        ],
    );
}

#[test]
fn a_directory_or_nothing_is_no_program() {
    assert_left_alone(
        "rm",
        &[
            "grep -rl foo . | xargs sed -i 's/foo/bar/'",
            "ls | xargs cp -t dst/",
            "git ls-files | xargs perl -pi -e 's/a/b/'",
            "ls | xargs grep -c ''",
            "ls | xargs -I{} cp -r {} dst/{}/",
            "sudo -h host ls dst/",
        ],
    );
    assert_found(
        "rm",
        &[
            "xargs env",
            "xargs sh -c",
            "xargs -I{} {}",
            "xargs -I{} /bin/{}",
            "xargs -I/ bin/",
            "xargs -I '' ''rm",
            "xargs -R '' rm",
            "xargs -R d/ rm",
            "$x/ y",
            "x='rm '; ${x}d/",
            "find . -exec /bin/{} x ';'",
        ],
    );
}

#[test]
fn what_xargs_puts_names_for_is_seen_however_it_is_told() {
    assert_found(
        "rm",
        &[
            "echo rm | xargs -0I % % x",
            "echo rm | xargs -0I% % x",
            "echo rm | xargs -ti% % x",
            "echo rm | xargs -n 1 -rI / bin/ x",
            "echo rm | xargs -J % % x",
            "echo rm | xargs --repl=% % x",
            "echo rm | xargs --replace {} x",
            "echo rm | xargs -I \"$p\" % x",
            "echo rm | xargs -I\"$p\" % x",
            "echo rm | xargs -I $p % x",
            "echo rm | xargs \"$o\" % % x",
        ],
    );
    assert_left_alone("rm", &["ls | xargs -0I % cp % d", "ls | xargs -d '\\n' -r ls"]);
}

#[test]
fn what_a_script_of_a_project_takes_is_no_command() {
    assert_left_alone(
        "rm",
        &[
            "ls | xargs npm test --",
            "timeout 5 npm test -- --grep \"$x\"",
            "npm run build -- \"$x\"",
            "yarn test -- rm",
            "pnpm start -- \"$x\"",
        ],
    );
    assert_found(
        "rm",
        &[
            "npm exec -- rm x",
            "npm x -- rm x",
            "npm -- exec rm x",
            "npm --prefix test exec rm x",
            "npm \"$x\" -- rm x",
            "npm $x test -- rm x",
            "xargs npm exec --",
            "pnpm dlx rm x",
            "docker run -- rm x",
        ],
    );
}

#[test]
fn which_command_of_a_program_it_is_may_not_be_known() {
    assert_found(
        "rm",
        &[
            "echo exec rm x | xargs npm",
            "x=exec; npm $x rm y",
            "x=exec; npm \"$x\" rm y",
            "x='run image rm'; docker $x",
            "poetry \"$x\" rm y",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "npm run $SCRIPT",
            "docker build -t $TAG .",
            "npm \"$x\"",
            "docker logs $c",
            "yarn \"$x\" a",
        ],
    );
}

#[test]
fn what_a_command_behind_xargs_takes_is_no_command() {
    assert_left_alone(
        "rm",
        &[
            "docker ps -q | xargs docker rm",
            "ls | xargs -0 -rn 1 ls rm",
            "ls | xargs -I{} git rm {}",
            "ls | xargs --max-args=1 -P 4 git rm",
        ],
    );
    assert_found(
        "rm",
        &[
            "ls | xargs rm",
            "ls | xargs -0 -rn 1 rm",
            "ls | xargs -n1 -P4 rm",
            "ls | xargs -i rm {}",
            "ls | xargs -l rm",
            "ls | xargs -e rm",
            "ls | xargs -eE rm",
            "ls | xargs -ed -n 1 rm",
            "ls | xargs -es rm",
            "ls | xargs -0eE rm",
            "ls | xargs -lL rm",
            "ls | xargs --no-run rm",
            "ls | xargs --max-a 1 rm",
            "ls | xargs -R 1 rm",
            "ls | xargs -a f -d , -- rm",
            "ls | xargs -n $n rm",
            "ls | xargs -n\"$n\" ls rm",
            "ls | xargs sudo -u",
            "ls | xargs ls rm | xargs rm",
        ],
    );
}

#[test]
fn lines_that_are_values_of_options_are_looked_into() {
    assert_found(
        "rm",
        &[
            "npx -c 'rm x'",
            "npx -crm",
            "npx --call 'rm x'",
            "npx --package=x -c 'ls; rm x'",
            "npx -p x -c 'rm x'",
            "npm exec -c 'rm x'",
            "npm exec --call='rm x'",
            "pnpm -c exec 'rm x'",
            "pnpm --shell-mode exec 'rm x'",
            "git rebase -x'rm x' HEAD",
            "git rebase -ix'rm x' HEAD",
            "git rebase -x rm HEAD",
            "git rebase --exec rm HEAD",
            "git rebase --exec='rm x' HEAD",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "npm ci",
            "npm test --coverage",
            "npx prettier --check '*.ts'",
            "npx eslint -c rules.js src/*.js",
            "npx -p eslint eslint -c rules.js src",
            "git rebase -x 'make test' main",
        ],
    );
}

#[test]
fn commands_in_braces_behind_a_dollar_are_not_passed_over() {
    assert_found(
        "rm",
        &[
            "echo ${ rm x; }",
            "echo \"${ rm x; }\"",
            "x=${ rm x; }",
            "echo ${|rm x;}",
            "echo ${\nrm x\n}",
            "cat <<E\n${ rm x; }\nE",
        ],
    );
    assert_left_alone("rm", &["echo ${x}", "echo \"${x:-a b}\" ${#x} ${x//a/b}"]);
}
