use super::*;
use crate::config::ConfigFile;
use crate::home::Home;
use sessions::observer::Observers;
use std::collections::BTreeMap;
use std::ffi::OsStr;

const HERE: &str = "/here";

fn parse(text: &str) -> BusFile {
    BusFile::parse(text, Path::new("/conf/bus.toml"), Path::new(HERE)).unwrap()
}

fn config(dir: &Path) -> Config {
    let home =
        Home { config: dir.join("switchyard.toml"), state: dir.into(), run: dir.join("run") };
    Config { home, file: ConfigFile::default(), observers: Observers::default(), raw_tables: None }
}

async fn launched(text: &str) -> Result<Launch, Failure> {
    let dir = tempfile::tempdir().unwrap();
    launch(&parse(text).pools[0], &config(dir.path()), Path::new(HERE)).await
}

async fn prepared(text: &str) -> Result<BusSetup, (String, Option<String>)> {
    let dir = tempfile::tempdir().unwrap();
    let setup = prepare(parse(text), &config(dir.path()), Path::new(HERE)).await;
    setup.map_err(|failure| (failure.message, failure.hint))
}

fn told(text: &str) -> Vec<String> {
    let all = problems(&parse(text)).into_iter();
    all.map(|problem| match problem.hint {
        Some(hint) => format!("{}; {hint}", problem.message),
        None => problem.message,
    })
    .collect()
}

#[tokio::test]
async fn a_command_is_launched_as_it_is_written() {
    let launch = launched(
        "[[pool]]\nname = 'p'\ncommand = 'node'\nargs = ['a b', '-c']\nenv = { KEY = 'v' }",
    )
    .await
    .unwrap();
    assert_eq!(launch.program, "node");
    assert_eq!(launch.args, ["a b", "-c"]);
    assert_eq!(launch.cwd, Path::new(HERE), "where the bus is started");
    assert!(launch.env.inherit);
    assert_eq!(launch.env.set, BTreeMap::from([("KEY".into(), "v".into())]));
    assert_eq!(launch.keeper_args, [::bus::keeper::VERB]);
    assert!(launch.records_dir.is_some(), "what a crash leaves can be swept");
}

#[tokio::test]
async fn only_the_named_variables_are_handed_on() {
    // A variable that every test process has.
    let path = std::env::var_os("PATH").unwrap();
    let text = "[[pool]]\nname = 'p'\ncommand = 'x'\nenv = { A = 'b' }\n";
    let launch = launched(&format!("{text}inherit_env = ['PATH', 'NO_SUCH_VARIABLE']")).await;
    let env = launch.unwrap().env;
    assert!(!env.inherit);
    assert_eq!(env.set, BTreeMap::from([("A".into(), "b".into()), ("PATH".into(), path)]));

    let own = "[[pool]]\nname = 'p'\ncommand = 'x'\nenv = { PATH = '/b' }\ninherit_env = ['PATH']";
    let env = launched(own).await.unwrap().env;
    assert_eq!(env.set.get(OsStr::new("PATH")), Some(&"/b".into()), "what is set wins");
}

#[tokio::test]
async fn a_known_agent_is_launched_as_an_acp_worker() {
    let launch = launched("[[pool]]\nname = 'p'\nagent = 'demo'\nenv = { A = 'b' }").await.unwrap();
    assert_eq!(launch.program, std::env::current_exe().unwrap());
    assert_eq!(launch.args[0], crate::agents::demo::VERB);
    assert_eq!(launch.env.set.get(OsStr::new("A")), Some(&"b".into()));
}

#[tokio::test]
async fn an_unknown_agent_is_a_problem_of_its_pool() {
    let problem = launched("[[pool]]\nname = 'p'\nagent = 'nobody'").await.unwrap_err();
    assert_eq!(problem.message, "pool `p`: there is no agent `nobody`");
    assert!(problem.hint.unwrap().contains("switchyard agents list --all"));
}

#[tokio::test]
async fn a_file_becomes_a_setup_with_plans_that_hold() {
    let prepared = prepared(
        "token_file = 'token'\n\
         [[pool]]\nname = 'a'\ncommand = 'x'\nstop = { after_eof = '9s' }\n\
         [[pool]]\nname = 'b'\nagent = 'demo'\n\
         [limits]\nmax_clients = 7\nline_timeout = '8s'\n\
         [[listen]]\nunix = 'x.sock'\npool = 'a'\n",
    )
    .await
    .unwrap();
    assert_eq!(prepared.token_file, Some("/conf/token".into()));
    assert_eq!(prepared.listeners.len(), 1);
    let setup = prepared.setup;
    assert_eq!(setup.limits.max_clients, 7);
    assert_eq!(setup.edges.line_timeout, 8_000);
    let [a, b] = &setup.pools[..] else { panic!("there are two pools") };
    assert_eq!((&*a.plan.name, &*b.plan.name), ("a", "b"));
    assert_eq!(a.ladder.after_eof.as_secs(), 9);
    assert_eq!(a.launch.program, "x");
    assert!(setup.plan().is_ok(), "the bus will take it");
}

#[tokio::test]
async fn a_setup_fails_with_its_first_problem_and_says_that_there_are_more() {
    let (message, hint) = prepared("[[pool]]\nname = ''\ncommand = 'x'").await.unwrap_err();
    assert_eq!((message.as_str(), hint), ("pool ``: its name is empty", None));
    let (message, hint) =
        prepared("[[pool]]\nname = ''\nagent = 'nobody'\n[limits]\nmax_clients = 0")
            .await
            .unwrap_err();
    assert_eq!(message, "pool ``: its name is empty");
    assert_eq!(hint.unwrap(), "2 more: `switchyard bus check` tells all");
    let (message, hint) = prepared("").await.unwrap_err();
    assert_eq!(message, "there is no pool");
    assert_eq!(hint.unwrap(), "add a [[pool]] with `name` and `command`");
}

#[test]
fn every_problem_is_told() {
    let pool =
        |name: &str, more: &str| format!("[[pool]]\nname = '{name}'\ncommand = 'x'\n{more}\n");
    let text = [
        pool("a", "workers = 0"),
        pool("a", "min = 3\nmax = 2"),
        pool("b", "idle_stop = '0s'"),
        "[limits]\nmax_clients = 0\nmax_client_line = 100\nmax_worker_line = '1KiB'\n\
         max_unfinished = 99\nline_timeout = '0s'\nhello_timeout = '0ms'\n\
         worker_stuck_after = '0s'\nmemory_interval = '0s'\n"
            .to_owned(),
        "[[listen]]\ntcp = '127.0.0.1:1'\npool = 'c'\n".to_owned(),
        "[[listen]]\ntcp = '127.0.0.1:1'\n".to_owned(),
        format!("[[listen]]\nunix = '/{}'\n", "x".repeat(107)),
    ]
    .concat();
    let expected = [
        "pool `a`: it may have no workers; `max` must be at least 1",
        "pool `a` is there twice; give each pool a name of its own",
        "pool `a`: `min` is larger than `max`",
        "pool `b`: the idle time is zero",
        "limits: `max_clients` is zero",
        "limits: `max_client_line` is less than 4096 bytes",
        "limits: `max_worker_line` is less than 4096 bytes",
        "limits: `max_unfinished` is less than `max_client_line`",
        "limits: `line_timeout` is zero",
        "limits: `hello_timeout` is zero",
        "limits: `worker_stuck_after` is zero",
        "limits: `memory_interval` is zero",
        "tcp 127.0.0.1:1 is for pool `c`, which is not there; known: a, b",
        "tcp 127.0.0.1:1 is listened on twice",
        &format!(
            "unix /{} is too long for a socket; use a path of at most 107 bytes",
            "x".repeat(107)
        ),
    ];
    assert_eq!(told(&text), expected);
    let fits = format!("{}[[listen]]\nunix = '/{}'\n", pool("a", ""), "x".repeat(106));
    assert!(told(&fits).is_empty());
}

#[test]
fn what_may_be_a_mistake_is_warned_about() {
    let text = "[[pool]]\nname = 'p'\ncommand = 'x'\n[limits]\nmax_client_line = '1GiB'\n\
                [[listen]]\ntcp = '0.0.0.0:1'\n[[listen]]\nws = '127.0.0.1:2'\n\
                [[listen]]\nunix = '/x'\nmode = '0666'\n[[listen]]\nunix = '/y'\nmode = '0660'\n";
    let expected = [
        "limits: a line may be as long as 1GiB, but only 64MiB may wait for a worker: longer ones \
         are refused while it starts; make `worker_queue` larger",
        "tcp 0.0.0.0:1 can be reached from other machines, and nothing is encrypted: put a tunnel \
         or a proxy with TLS before it",
        "unix /x has mode 0666: anybody on this machine may connect",
    ];
    assert_eq!(warnings(&parse(text)), expected);
}
