//! Opens the log and puts together what every verb that runs sessions needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use runtimes::dialect::PermissionMode;
use runtimes::scratch::Scratch;
use sessions::permission::{Mode, Policy, Rules, RulesFile};
use sessions::settings::WorkerSetup;
use sessions::yard::Yard;
use store::{EventLog, Prune, SqliteLog};
use wire::Millis;

use crate::cli::session::PermissionArgs;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::worker::require_a_person;

/// Hidden verbs under which the binary starts itself.
pub(crate) const KEEPER_VERB: &str = bus::keeper::VERB;
pub(crate) const DEMO_VERB: &str = "demo-agent";
pub(crate) const NATIVE_VERB: &str = "native-agent";
pub(crate) const ADAPTER_VERB: &str = "adapter";

fn open_log(config: &Config) -> Result<Arc<dyn EventLog>, Failure> {
    let state = &config.home.state;
    check_private(state)?;
    make_private_dir(state)?;
    let log =
        SqliteLog::open(state, config.store_options()).map_err(
            |error| match rustix::fs::access(state, rustix::fs::Access::WRITE_OK) {
                Ok(()) => error.into(),
                Err(why) => Failure::from(error).hint_at_home(std::io::Error::from(why).kind()),
            },
        )?;
    config.home.note();
    for lost in log.lost_sessions() {
        crate::terminal::say(&format!(
            "switchyard: session {} ({} events) is missing from the log; \
             `switchyard sessions delete {}` forgets it",
            lost.id, lost.head.0, lost.id
        ));
    }
    Ok(Arc::new(log))
}

/// Whoever can write there can decide what we run.
fn check_private(dir: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    // What does not exist yet will be made for us alone.
    let Ok(metadata) = dir.metadata() else { return Ok(()) };
    let own_uid = rustix::process::getuid().as_raw();
    if metadata.uid() != own_uid {
        return Err(Failure::new(1, format!("{} belongs to another user", dir.display()))
            .hint("set SWITCHYARD_HOME to a directory of your own"));
    }
    if metadata.is_dir() && metadata.mode() & 0o022 != 0 {
        return Err(Failure::new(1, format!("others may write to {}", dir.display()))
            .hint(format!("chmod go-w {}", dir.display())));
    }
    Ok(())
}

/// The log as it is, for those who run no sessions.
pub(crate) fn yard_as_it_is(config: &Config) -> Result<Yard, Failure> {
    let setup = WorkerSetup {
        keeper_exe: own_exe(),
        keeper_args: vec![KEEPER_VERB.into()],
        records_dir: Some(records_dir(config)),
        cgroups: config.file.workers.cgroups,
    };
    Ok(Yard::new(open_log(config)?, config.settings(), setup))
}

/// The log, swept of what an earlier crash left, ready to run sessions.
pub(crate) async fn open_yard(config: &Config) -> Result<Yard, Failure> {
    let yard = yard_as_it_is(config)?;
    sweep(config).await;
    yard.rules.follow(config.rules_file()).map_err(anyhow::Error::from)?;
    yard.recover().await?;
    prune(config, &yard).await?;
    Ok(yard)
}

/// Ends what an earlier crash left.
pub(crate) async fn sweep(config: &Config) {
    let (records_dir, scratch) = (records_dir(config), scratch(config));
    let swept = tokio::task::spawn_blocking(move || {
        scratch.sweep();
        bus::sweep(&records_dir)
    });
    match swept.await {
        Ok(Ok(swept)) => {
            for worker in swept.ended {
                tracing::warn!(worker = worker.id, pids = ?worker.pids, "ended a left-over worker");
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "cannot sweep"),
        Err(error) => tracing::warn!(%error, "cannot sweep"),
    }
}

/// Where notes about running workers are.
pub(crate) fn records_dir(config: &Config) -> PathBuf {
    config.home.run.join("workers")
}

async fn prune(config: &Config, yard: &Yard) -> Result<(), Failure> {
    let store = &config.file.store;
    if store.keep_days.is_none() && store.max_total_bytes.is_none() {
        return Ok(());
    }
    let before = store.keep_days.map(days_ago);
    let rule = Prune { before, max_total_bytes: store.max_total_bytes, keep: 0 };
    let removed = yard.log.prune(rule).await?;
    if !removed.is_empty() {
        tracing::info!(n_removed = removed.len(), "removed old sessions");
    }
    Ok(())
}

pub(crate) fn days_ago(days: u32) -> Millis {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    Millis(sessions::mint::now().0 - i64::from(days) * DAY_MS)
}

/// This very executable, also after an upgrade has replaced the file.
pub(crate) fn own_exe() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Where temporary files of adapters and probes are.
pub(crate) fn scratch(config: &Config) -> Scratch {
    Scratch::below(config.home.run.join("scratch"))
}

pub(crate) fn make_private_dir(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| {
        Failure::new(ERROR, format!("cannot make {}: {error}", path.display()))
            .hint_at_home(error.kind())
    })
}

/// The directory to work in, absolute and existing.
pub(crate) fn working_directory(cwd: Option<&Path>) -> Result<PathBuf, Failure> {
    let cwd = cwd.unwrap_or(Path::new("."));
    let found = std::path::absolute(cwd).and_then(|cwd| cwd.canonicalize());
    let found = found.and_then(|found| match found.is_dir() {
        true => Ok(found),
        false => Err(std::io::ErrorKind::NotADirectory.into()),
    });
    found.map_err(|error| Failure::usage(format!("cannot work in {}: {error}", cwd.display())))
}

/// A session's own rules and mode. The configuration's rules are the yard's.
pub(crate) fn policy(config: &Config, args: &PermissionArgs) -> Result<Policy, Failure> {
    let is_wide = matches!(args.mode(), Some(Mode::Auto | Mode::AcceptEdits));
    if is_wide || args.policy.is_some() {
        require_a_person("it cannot give a session wider permissions than it would get")?;
    }
    let mut rules = Rules::default();
    if let Some(path) = &args.policy {
        let more = RulesFile::new(path).load_once();
        rules = rules.and(more.map_err(|error| Failure::usage(error.to_string()))?);
    }
    if args.approve_reads {
        rules = rules.and(Rules::approve_reads());
    }
    Ok(Policy { rules, mode: args.mode().unwrap_or(config.file.permissions.mode()) })
}

/// The mode that a CLI is held to when it cannot ask.
pub(crate) fn runtime_mode(mode: Mode) -> PermissionMode {
    match mode {
        Mode::Ask => PermissionMode::Ask,
        Mode::AcceptEdits => PermissionMode::AcceptEdits,
        Mode::Auto => PermissionMode::Auto,
        Mode::ReadOnly => PermissionMode::ReadOnly,
        Mode::DenyAll => PermissionMode::DenyAll,
    }
}
