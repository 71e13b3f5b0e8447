//! Programs that run others, and what stands before the others.

use crate::name_list::names;

/// Shells: they run a line that is one of their arguments, or their input.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash"];
/// Shells that read lines in ways of their own.
pub(super) const OTHER_SHELLS: &[&str] =
    &["fish", "csh", "tcsh", "nu", "pwsh", "elvish", "xonsh", "rc"];
/// Words before a command that change nothing about what it is.
pub(super) const KEYWORDS: &[&str] =
    &["!", "if", "then", "elif", "else", "while", "until", "do", "coproc"];
/// Programs that run the command behind them and their options, beside [`SUBCOMMAND_RUNNERS`].
pub(super) const WRAPPERS: &[&str] = names!(
    ", builtin bunx busybox bwrap caffeinate capsh catatonit catchsegv cgexec choom chpst chronic \
     chroot chrt command corepack cpulimit cross-env dbus-launch dbus-run-session doas dotenv \
     dumb-init eatmydata env env-cmd envchain exec fakeroot faketime fd fdfind find firejail \
     flamegraph flatpak-spawn flock gdb gosu guix heaptrack i386 ifne ionice ip jobs ld.so \
     linux32 linux64 ltrace mpiexec mpirun nice nohup npx nsenter numactl onchange parallel perf \
     pkexec pkgx pnpx prlimit proot proxychains proxychains4 reflex retry rlwrap run0 runuser sem \
     setarch setpriv setsid setuidgid srun ssh-agent start-stop-daemon stdbuf steam-run strace \
     su-exec sudo systemd-inhibit systemd-run taskset time timeout tini torify torsocks toybox \
     tsocks uname26 unbuffer unshare uvx valgrind watchexec x86_64 xargs xvfb-run"
);
/// Programs that run a line that is one of their arguments, or all of them.
pub(super) const LINE_RUNNERS: &[&str] = names!(
    "alias cargo-watch chokidar compgen complete concurrently cross-env-shell entr eval flock \
     hyperfine mapfile mispipe newgrp nix-shell nodemon parallel readarray runuser screen script \
     sem sg split ssh start-server-and-test su tmux trap watch watchexec"
);
/// Line runners with the line in an option, or for another machine or terminal.
pub(super) const LINES_IN_OPTIONS: &[&str] =
    names!("cargo-watch chokidar compgen complete mapfile nodemon readarray screen split ssh tmux");
/// Line runners that give the values of their options to a shell as they are.
pub(super) const FOR_SHELL: &[&str] =
    names!("alias compgen complete flock mapfile readarray runuser script sg split su trap");
/// Programs that run the value of an option, which they take for a line of a shell or for words.
pub(super) const VALUE_RUNNERS: &[&str] = &["rsync", "scp", "sftp", "ssh", "tar"];
/// Wrappers with a file, a directory or a number before the command.
pub(super) const WRAPPERS_WITH_OPERAND: &[&str] = &[
    "chroot", "chrt", "faketime", "flock", "ip", "runuser", "setarch", "su", "taskset", "timeout",
];
/// Programs with a subcommand that runs the command behind it.
pub(super) const SUBCOMMAND_RUNNERS: &[&str] = names!(
    "asdf aws-vault bun bundle chamber conda devbox devenv direnv distrobox docker docker-compose \
     doppler dotenvx flox fnm foreman goenv hatch incus infisical jenv jj kubectl lerna limactl \
     lxc mamba micromamba mise mix multipass nerdctl nix nodenv npm nvm nx op pdm phpenv pipenv \
     pipx pixi plenv pnpm podman poetry pyenv rbenv rr rustup rye samply toolbox tox uv volta \
     yarn"
);
/// Names of that subcommand.
pub(super) const RUN_SUBCOMMANDS: &[&str] =
    &["--", "develop", "dlx", "exe", "exec", "run", "shell", "unshare", "x"];
/// Other names of that subcommand, by program.
pub(super) const OTHER_RUN_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("bundle", &["e", "ex"]),
    ("flox", &["activate"]),
    ("mix", &["cmd"]),
    ("pixi", &["r"]),
    ("rr", &["record"]),
    ("rye", &["r"]),
    ("samply", &["record"]),
    ("tox", &["e"]),
];
/// Subcommands that have subcommands of their own.
pub(super) const GROUPS: &[&str] =
    &["alpha", "compose", "container", "env", "self", "tool", "util"];
/// The same, behind words of their own; or they have a command behind `--`.
pub(super) const LATER_GROUPS: &[&str] =
    &["create", "debug", "do", "enter", "workspace", "workspaces"];
/// Programs that GNU has as well, which are then called with a `g` before the name.
pub(super) const OF_GNU: &[&str] = &[
    "chroot", "env", "find", "nice", "nohup", "split", "stdbuf", "tar", "time", "timeout", "xargs",
];
/// Letters of options with a line behind them in the same word.
pub(super) const LINE_LETTERS: &[(&str, &[char])] = &[
    ("cargo-watch", &['s']),
    ("compgen", &['C', 'W']),
    ("complete", &['C', 'W']),
    ("hyperfine", &['c', 'C', 'p', 's', 'S']),
    ("mapfile", &['C']),
    ("nodemon", &['x']),
    ("readarray", &['C']),
];
/// Programs whose `run` runs a script of the project.
pub(super) const SCRIPT_RUNNERS: &[&str] = &["bun", "npm", "pnpm", "yarn"];
/// Commands of theirs that run a script and nothing else; those of bun may run programs, too.
pub(super) const SCRIPT_COMMANDS: &[&str] = &["run", "start", "test"];
/// Programs that run their input, somewhere or some time.
pub(super) const STDIN_RUNNERS: &[&str] = &["at", "batch", "parallel", "ssh"];
/// Programs that start a shell if they have fewer words than so many, or no line behind `-c`.
pub(super) const STARTING_SHELLS: &[(&str, Option<usize>)] = &[
    ("firejail", Some(1)),
    ("login", Some(9)),
    ("newgrp", None),
    ("runuser", None),
    ("script", None),
    ("sg", Some(2)),
    ("su", None),
];
/// Commands of a program that start a shell, if nothing says what else to run.
pub(super) const SHELL_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("guix", &["environment", "shell"]),
    ("hatch", &["shell"]),
    ("mise", &["en"]),
    ("nix", &["develop", "shell"]),
    ("pipenv", &["shell"]),
    ("pixi", &["s", "shell"]),
    ("podman", &["unshare"]),
    ("poetry", &["shell"]),
];
/// Builtins that look for code in their arguments.
pub(super) const EVALUATING_BUILTINS: &[&str] = &[
    "[", "[[", "declare", "export", "getopts", "let", "local", "printf", "read", "readonly",
    "test", "typeset", "unset", "wait",
];
/// Builtins that set variables.
pub(super) const DECLARING_BUILTINS: &[&str] =
    &["declare", "export", "local", "readonly", "typeset"];
/// Loops that set the variable that is their first word.
pub(super) const LOOPS: &[&str] = &["for", "select"];
/// Builtins that set variables whose names they are given.
pub(super) const READING_BUILTINS: &[&str] = &["getopts", "mapfile", "printf", "read", "readarray"];
/// Suffixes of variables whose value other programs run.
pub(super) const LINE_VARIABLES: &[&str] = names!(
    "ASKPASS BROWSER COMMAND EDITOR GIT_EXTERNAL_DIFF GIT_SSH LESSCLOSE LESSOPEN PAGER RSH \
     RUSTC_WORKSPACE_WRAPPER RUSTC_WRAPPER SVN_SSH VISUAL _RUNNER"
);
/// Programs that do whatever their arguments name, in any order.
pub(super) const BUILD_TOOLS: &[&str] = &["gmake", "just", "make", "ninja", "rake", "task"];
/// Builtins that run the file that they read.
pub(super) const SOURCING_BUILTINS: &[&str] = &[".", "source"];
/// Options with a value in the next word, of programs whose other options are not listed.
const VALUED_OPTIONS: &[(&[&str], &[&str])] = &[
    (
        &["docker", "docker-compose", "nerdctl", "podman"],
        names!(
            "-H -e -f -p -u -v -w --context --env --env-file --file --host --name --network \
             --profile --project-directory --project-name --user --volume --workdir"
        ),
    ),
    (&["kubectl"], &["-c", "-n", "--container", "--context", "--namespace"]),
    (
        &["uv"],
        names!("-p --directory --env-file --extra --group --package --project --python --with"),
    ),
    (&["watch"], &["-n", "--interval"]),
];
/// Options without a value, of all of these.
pub(super) const PLAIN_FLAGS: &[&str] = &["-d", "-i", "-it", "-t", "-ti", "--rm"];
/// Options that name the program to run: beginnings of the long ones, and the same as letters.
pub(super) const PROGRAM_OPTIONS: &[(&str, &[&str], &str)] = &[
    ("docker", &["--entrypoint"], ""),
    ("docker-compose", &["--entrypoint"], ""),
    ("nerdctl", &["--entrypoint"], ""),
    ("podman", &["--entrypoint"], ""),
    ("start-stop-daemon", &["--e", "--sta"], "ax"),
];
/// Options of git before its command, with a value behind them.
pub(super) const OPTIONS_OF_GIT: &[&str] = names!(
    "-C -c --attr-source --config-env --git-dir --namespace --shallow-file --super-prefix \
     --work-tree"
);
/// Options of `xargs` before its command, with a value behind them.
pub(super) const OPTIONS_OF_XARGS: &[&str] =
    names!("--arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var");
/// The same of one letter, which others may stand before.
pub(super) const LETTERS_OF_XARGS: &str = "EIJLPRSadns";
/// Actions of `find` with a command behind them.
pub(super) const FIND_ACTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Whether an option of that program has its value in the next word.
pub(super) fn has_value_behind(program: &str, option: &str) -> bool {
    let mut known = VALUED_OPTIONS.iter().filter(|(programs, _)| programs.contains(&program));
    known.any(|(_, options)| options.contains(&option))
}

/// The row of a table for a program.
pub(super) fn row<T: Copy>(table: &[(&str, T)], program: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == program).map(|(_, row)| *row)
}
