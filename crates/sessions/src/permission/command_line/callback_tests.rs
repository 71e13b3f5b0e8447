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

#[test]
fn lines_in_options_for_other_machines_and_archives_are_looked_into() {
    assert_found(
        "rm",
        &[
            "ssh -o 'ProxyCommand rm x' h",
            "ssh -o 'ProxyCommand=\"rm x\"' h",
            "ssh -vo proxycommand='rm x' h",
            "ssh -oProxyCommand='ls; rm x' h",
            "ssh h -o LocalCommand='rm x' ls",
            "ssh -o 'Match exec \"rm x\"' h",
            "ssh -o ProxyCommand=\"$y\" h",
            "ssh -F <(echo 'ProxyCommand rm x') h",
            "y='ProxyCommand=rm x'; ssh -o \"$y\" h",
            "scp -o ProxyCommand='rm x' a h:b",
            "scp -S rm a h:b",
            "sftp -o ProxyCommand='rm x' h",
            "sftp -qD 'rm x'",
            "rsync -e 'rm x' a h:b",
            "rsync -ave rm a h:b",
            "rsync --rsh='rm x' a h:b",
            "tar -cf /dev/null x --checkpoint=1 --checkpoint-action=exec='rm x'",
            "tar --use-compress-program=rm -cf y x",
            "tar --use-c rm -cf y x",
            "tar -I rm -cf y x",
            "tar -xf a.tar --to-command='rm x'",
            "y='alias.x=!rm x'; git -c \"$y\" x",
            "git -c Alias.x='!rm x' x",
            "git -c credential.helper='!rm x' credential fill",
            "git --config-env=core.pager=Y log",
            "git clone -c core.sshCommand='rm x' h:a",
            "git clone --config core.sshCommand='rm x' h:a",
            "git clone --upload-pack 'rm x' . y",
            "git clone -u 'rm x' . y",
            "git fetch --upl='rm x' .",
            "git ls-remote --exec='rm x' .",
            "git -c protocol.ext.allow=always ls-remote \"$url\"",
            "git ls-remote 'ext::rm x'",
            "git grep -Orm a",
            "git grep --open-files-in-pager=rm a",
            "git difftool -y -x rm a b",
            "git config alias.x '!rm x'; git x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "ssh -o StrictHostKeyChecking=no -o ConnectTimeout=5 host uptime \"$x\"",
            "ssh -i \"$key\" -p 22 user@host uptime",
            "ssh host grep -o \"$x\" file",
            "ssh -o ProxyCommand='nc -X 5 %h %p' h uptime",
            "ssh -F ~/.ssh/config h uptime",
            "scp -o StrictHostKeyChecking=no -P 22 \"$f\" host:rm",
            "rsync -avz -e 'ssh -p 22' --exclude=rm a/ h:b/",
            "rsync -avz -e \"ssh -p $port\" a/ h:b/",
            "tar -czf a.tgz --exclude=rm \"$dir\"",
            "tar -xf a.tar -C \"$dir\" rm",
            "tar -I zstd -cf a.tar.zst dir",
            "git -c protocol.version=2 fetch origin",
            "git -c core.pager=cat -c color.ui=never log",
            "git clone --depth 1 -b \"$tag\" \"$url\" dir",
            "git config user.name \"$name\"",
            "git config alias.co checkout",
            "git grep -n rm",
            "git fetch --prune origin \"$branch\"",
        ],
    );
}

#[test]
fn words_that_only_the_shell_knows_are_commands_of_a_program_that_run_others() {
    assert_found(
        "rm",
        &[
            "y='run image rm'; docker -D $y",
            "y=exec; docker -D \"$y\" web rm x",
            "y=exec; docker compose \"$y\" web rm x",
            "y='exec web rm'; docker compose $y x",
            "y='f exec web rm'; docker compose -f $y x",
            "y='a exec pod -- rm x'; kubectl -n $y",
            "y='-- rm x'; kubectl debug pod $y",
            "y='run rm'; uv tool $y x",
            "y='exec rm'; yarn workspace a $y",
            "y='netns exec a rm x'; ip $y",
            "y='exec a rm x'; ip net $y",
            "y='-- rm x'; onchange src $y",
            "y=': rm x'; mpirun ls $y",
            "y='; rm x'; sem ls \"$y\"",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "docker logs -f $C",
            "docker stop $(docker ps -q)",
            "docker compose -f \"$f\" up -d",
            "docker compose -f \"$f\" -p \"$p\" exec -T web ls",
            "docker compose --profile \"$p\" logs -f \"$service\"",
            "docker --context \"$c\" ps",
            "docker compose logs -f $service",
            "docker container inspect $id",
            "uv tool install $package",
            "kubectl -n \"$ns\" get pods",
            "kubectl get pods -n $ns",
            "kubectl -n \"$ns\" logs \"$pod\"",
            "npm install $package",
            "npm --prefix \"$d\" run build",
            "yarn --cwd \"$d\" build",
            "uv add $package",
            "ip addr show dev $interface",
            "mpirun -n 4 ./a \"$x\"",
        ],
    );
}

#[test]
fn what_is_told_to_git_may_begin_with_an_unknown_word() {
    assert_found(
        "rm",
        &[
            "git $F -c alias.q='!rm x' q",
            "git ${DIR:+-C \"$DIR\"} -c alias.q='!rm x' q",
            "y=-c; git \"$y\" alias.q='!rm x' q",
            "y=c; git -$y alias.q='!rm x' q",
            "git {-c,alias.q=!rm,q} x",
            "y='-c alias.q=!rm q'; git $y x",
            "y='. -c alias.q=!rm q'; git -C $y x",
            "y='a -c alias.q=!rm q'; git --git-dir=$y x",
            "git $(echo -c alias.q=!rm q) x",
            "f(){ git \"$@\"; }; f -c alias.q='!rm x' q",
            "a=(-c alias.q='!rm x' q); git \"${a[@]}\"",
            "git $nope config alias.q '!rm x'; git q",
            "y='!rm x'; git config alias.q \"$y\"; git q",
            "k=alias.q; y='!rm x'; git config --global \"$k\" \"$y\"; git q",
            "y='alias.q !rm'; git config $y; git q",
            "tar Icf rm a.tar x",
            "tar cIf 'rm x' a.tar x",
            "tar cfI a.tar rm x",
            "docker exec c \"$@\"",
            "docker exec c $y",
            "docker exec c \"$y\" x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "git \"$command\"",
            "git -C \"$dir\" status",
            "git --git-dir=\"$dir/.git\" log",
            "git -c user.name=\"$name\" -c user.email=\"$email\" commit -m \"$text\"",
            "git config user.email \"$email\"",
            "git config --get \"$key\"",
            "git checkout \"$branch\"",
            "git checkout $branch",
            "git add $files",
            "tar xzf a.tar.gz -C \"$dir\"",
            "tar cf \"$name\" Images",
        ],
    );
}
