//! `switchyard daemon …`: the daemon in the background.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cli::daemon::DaemonVerb;
use crate::command_daemon::RunningDaemon;
use crate::config::Config;
use crate::daemon::presence;
use crate::home::make_private_dir;
use crate::outcome::{ERROR, Failure, NOT_FOUND};
use crate::terminal;
use crate::terminal::output::print;
use crate::terminal::size::Size;
use crate::terminal::spinner::Spinner;
use crate::this_process::own_exe;
use crate::this_process::require_a_person;

/// How long a start may take: a daemon may have to recover many sessions, but not for ever.
const START_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) async fn dispatch(verb: DaemonVerb, config: Config) -> Result<ExitCode, Failure> {
    match verb {
        DaemonVerb::Start(_) => start(&config).await,
        DaemonVerb::Stop { now } => stop(&config, now).await,
        DaemonVerb::Status { json } => status(&config, json).await,
        DaemonVerb::Log { follow, lines } => log(&config, follow, lines).await,
    }
}

async fn start(config: &Config) -> Result<ExitCode, Failure> {
    // Everything after `daemon start` is for `serve`, as it was typed.
    let words: Vec<_> = std::env::args_os().skip_while(|word| word != "daemon").skip(2).collect();
    if let Some(running) = presence::find(&config.home.run) {
        if !words.is_empty() {
            let message =
                format!("a daemon runs already at {}, without these options", running.http);
            return Err(Failure::new(ERROR, message).hint("`switchyard daemon stop` ends it first"));
        }
        print(&format!("switchyard daemon: runs already at {}\n", running.http))?;
        return Ok(ExitCode::SUCCESS);
    }
    make_private_dir(&config.home.state)?;
    let path = log_path(config);
    let log = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let begin = log.metadata().map_or(0, |about| about.len());
    // `--config FILE` and `-v`, which stand before the verb.
    let global_words = std::env::args_os().skip(1).take_while(|word| word != "daemon");
    let mut child = Command::new(own_exe())
        .args(without_config(global_words))
        .args(config.to_args())
        .arg("serve")
        .args(without_config(words))
        .arg("--detached")
        .args(own_log(config, &path))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .current_dir("/")
        .spawn()
        .context("cannot start the daemon")?;
    let stdout = child.stdout.take().context("the daemon has no stdout")?;
    let first = tokio::task::spawn_blocking(move || {
        let (mut reader, mut line) = (std::io::BufReader::new(stdout), String::new());
        // When it is ready it prints a line, and in the same breath further links if there are any;
        // nothing when it ends before.
        reader.read_line(&mut line)?;
        line.push_str(&String::from_utf8_lossy(reader.buffer()));
        std::io::Result::Ok(line)
    });
    let spinner = Spinner::start("starting the daemon …");
    let line = tokio::time::timeout(START_WITHIN, first).await;
    drop(spinner);
    match line {
        Ok(Ok(Ok(line))) if !line.is_empty() => {
            print(&line)?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            let said = last_lines(&path, begin, 5);
            Err(Failure::new(ERROR, format!("the daemon did not start:\n{said}"))
                .hint(format!("{} tells more", path.display())))
        }
    }
}

/// The words without `--config`: the daemon runs in another directory, and gets the absolute path.
fn without_config(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut is_value = false;
    let mut rest: Vec<_> = words.into_iter().collect();
    rest.retain(|word| {
        let is_flag = !is_value && word == "--config";
        let is_both = word.as_encoded_bytes().starts_with(b"--config=");
        !(std::mem::replace(&mut is_value, is_flag) || is_flag || is_both)
    });
    rest
}

async fn stop(config: &Config, now: bool) -> Result<ExitCode, Failure> {
    require_a_person("it may not stop the daemon")?;
    let Some(running) = presence::find(&config.home.run) else {
        terminal::say("no daemon runs");
        return Ok(ExitCode::SUCCESS);
    };
    let pid = i32::try_from(running.pid).ok().and_then(Pid::from_raw);
    let pid = pid.context("the daemon has no process id")?;
    let signal = || kill_process(pid, Signal::TERM).context("cannot signal the daemon");
    signal()?;
    let spinner = Spinner::start("the daemon ends …");
    let mut n_looks = 0_u32;
    loop {
        if !presence::is_held(&config.home.run) {
            drop(spinner);
            print("switchyard daemon: has ended\n")?;
            return Ok(ExitCode::SUCCESS);
        }
        n_looks += 1;
        // The second signal means at once; the first must have been heard before.
        if now && n_looks == 2 {
            signal()?;
        }
        if n_looks == 20 {
            spinner.set_text("waiting for turns to end; `switchyard daemon stop --now` does not");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn status(config: &Config, as_json: bool) -> Result<ExitCode, Failure> {
    let Some(daemon) = RunningDaemon::find(config) else {
        match as_json {
            true => print("{\"running\": false}\n")?,
            false => terminal::say("no daemon runs; `switchyard daemon start` starts one"),
        }
        return Ok(ExitCode::from(NOT_FOUND));
    };
    let health = daemon.client.health().await?;
    let at = &daemon.info;
    if as_json {
        let all = json!({ "running": true, "daemon": at, "health": health });
        print(&format!("{all:#}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Writing to a String cannot fail.
    let mut text = format!("http      {}\n", at.http);
    for address in &at.tcp {
        _ = writeln!(text, "acp       tcp {address}");
    }
    for path in &at.unix {
        _ = writeln!(text, "acp       unix {}", path.display());
    }
    _ = writeln!(text, "process   {}\nversion   {}", at.pid, at.version);
    text.push_str(&state(&health));
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The daemon's health, in lines.
fn state(health: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    let up = Duration::from_secs(count(&health["uptimeSeconds"]));
    let mut text = format!("status    {}\nup        {}\n", word(&health["status"]), shown_time(up));
    let sessions = &health["sessions"];
    let total = sessions["total"].as_u64().map(|total| format!(" of {total}")).unwrap_or_default();
    // Writing to a String cannot fail.
    _ = writeln!(text, "sessions  {}{total} in memory", count(&sessions["live"]));
    let store = &health["store"];
    let troubles = store["troubles"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(bytes) = store["bytesOnDisk"].as_u64() {
        _ = writeln!(text, "log       {} on disk", Size(bytes));
    }
    for trouble in troubles {
        let lasts = shown_time(since(count(&trouble["since"])));
        _ = writeln!(text, "trouble   {} (for {lasts})", word(&trouble["detail"]));
    }
    if let (Some(error), true) = (store["error"].as_str(), troubles.is_empty()) {
        _ = writeln!(text, "trouble   {error}");
    }
    let backup = &store["lastBackup"];
    if let Some(at) = backup["at"].as_u64() {
        let outcome = backup["error"].as_str().map_or("made", |_| "failed");
        let why = backup["error"].as_str().map(|error| format!(": {error}")).unwrap_or_default();
        _ = writeln!(text, "backup    {outcome} {} ago{why}", shown_time(since(at)));
    }
    let n_halted = count(&store["haltedSessions"]);
    if n_halted > 0 {
        _ = writeln!(
            text,
            "halted    {n_halted} sessions could not go on; they do when the log can"
        );
    }
    for missing in health["missingLimits"].as_array().into_iter().flatten() {
        let (limit, why) = (word(&missing["limit"]), word(&missing["reason"]));
        _ = writeln!(text, "limits    {limit} of workers is not in force: {why}");
    }
    for lost in store["lostSessions"].as_array().into_iter().flatten() {
        let id = word(lost);
        _ = writeln!(
            text,
            "lost      session {id} is missing from the log; restore a backup, or forget it: \
             switchyard sessions delete {id}"
        );
    }
    text
}

/// The time that has passed since then.
fn since(millis: u64) -> Duration {
    let now = u64::try_from(sessions::mint::now().0).unwrap_or_default();
    Duration::from_millis(now.saturating_sub(millis))
}

/// The two largest units that say something.
fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, m, s) => format!("{m} min {s} s"),
        (0, h, m, _) => format!("{h} h {m} min"),
        (d, h, _, _) => format!("{d} d {h} h"),
    }
}

async fn log(config: &Config, is_followed: bool, n_lines: usize) -> Result<ExitCode, Failure> {
    let path = log_path(config);
    let mut file = File::open(&path).map_err(|error| {
        Failure::new(NOT_FOUND, format!("cannot read {}: {error}", path.display()))
            .hint("the daemon in the background writes it; `switchyard daemon start` starts one")
    })?;
    let shown = last_lines(&path, 0, n_lines);
    if !shown.is_empty() {
        print(&format!("{shown}\n"))?;
    }
    let mut at = file.seek(SeekFrom::End(0)).context("cannot read the log")?;
    if !is_followed {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        tokio::time::sleep(LOOK_EVERY * 4).await;
        let length = path.metadata().map(|about| about.len()).unwrap_or_default();
        if length < at {
            // Another file has taken its place.
            file = File::open(&path).context("cannot read the log")?;
            at = 0;
        }
        let mut news = String::new();
        file.read_to_string(&mut news).context("cannot read the log")?;
        at += news.len() as u64;
        print(&news)?;
    }
}

fn log_path(config: &Config) -> PathBuf {
    let configured = config.file.log.file.clone();
    configured.unwrap_or_else(|| config.home.state.join("daemon.log"))
}

/// The argument by which the daemon itself writes its log, and rotates it; none where the log is
/// configured to go elsewhere.
fn own_log(config: &Config, path: &Path) -> Vec<OsString> {
    use std::os::unix::ffi::OsStrExt as _;
    let is_named = std::env::args_os().any(|word| word.as_bytes().starts_with(b"--log-file"));
    match is_named || config.file.log.file.is_some() {
        true => Vec::new(),
        false => vec!["--log-file".into(), path.into()],
    }
}

/// The last lines of a file that came after its first `begin` bytes, from no more than its last
/// 256 KiB.
fn last_lines(path: &Path, begin: u64, n: usize) -> String {
    const MAX_BYTES: u64 = 256 << 10;
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES).max(begin)))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(n)).copied().collect::<Vec<_>>().join("\n")
}
