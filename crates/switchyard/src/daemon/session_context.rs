//! Opens the session context of this process: its log, swept of what an earlier process left.

use std::path::Path;
use std::sync::Arc;

use bus::WorkerLimits;
use runtimes::scratch::Scratch;
use sessions::context::SessionContext;
use sessions::settings::WorkerSetup;
use store::{EventLog, PruneRule, SqliteLog};
use wire::SessionId;

use crate::config::Config;
use crate::home::make_private_dir;
use crate::outcome::Failure;
use crate::this_process::own_exe;
use crate::time::days_ago;

/// A session context with the log as it is, for commands that run no sessions.
pub(crate) fn open_unrecovered(config: &Config) -> Result<SessionContext, Failure> {
    let setup = WorkerSetup {
        keeper_exe: own_exe(),
        keeper_args: vec![bus::keeper::VERB.into()],
        records_dir: Some(config.home.workers()),
        cgroups: config.file.workers.cgroups,
        limits: WorkerLimits::default(),
        hurry: tokio_util::sync::CancellationToken::new(),
    };
    Ok(SessionContext::new(open_log(config)?, config.settings(), setup))
}

/// A session context that is ready to run sessions, swept of what an earlier crash left; and the
/// sessions in which prompts of an earlier process wait.
pub(crate) async fn open(config: &Config) -> Result<(SessionContext, Vec<SessionId>), Failure> {
    let mut context = open_unrecovered(config)?;
    context.setup.limits = config.file.workers.prepare_limits();
    sweep(config).await;
    context.rules.follow(config.rules_file()).map_err(anyhow::Error::from)?;
    let waiting = context.recover().await?;
    prune(config, &context).await?;
    Ok((context, waiting))
}

/// Ends workers and removes temporary files that an earlier crash left.
pub(crate) async fn sweep(config: &Config) {
    let (workers, scratch) = (config.home.workers(), Scratch::below(config.home.scratch()));
    let swept = tokio::task::spawn_blocking(move || {
        scratch.sweep();
        bus::sweep(&workers)
    });
    match swept.await {
        Ok(Ok(swept)) => {
            for worker in swept.ended {
                tracing::warn!(worker = worker.id, pids = ?worker.pids, "ended a left-over worker");
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "cannot clean up after an earlier process"),
        Err(error) => tracing::warn!(%error, "cannot clean up after an earlier process"),
    }
}

async fn prune(config: &Config, context: &SessionContext) -> Result<(), Failure> {
    let store = &config.file.store;
    if store.keep_days.is_none() && store.max_total_bytes.is_none() {
        return Ok(());
    }
    let before = store.keep_days.map(days_ago);
    let rule = PruneRule { before, max_total_bytes: store.max_total_bytes, keep: 0 };
    let removed = context.log.prune(rule).await?;
    if !removed.is_empty() {
        tracing::info!(n_removed = removed.len(), "removed old sessions");
    }
    Ok(())
}

fn open_log(config: &Config) -> Result<Arc<dyn EventLog>, Failure> {
    let state = &config.home.state;
    check_private(state)?;
    make_private_dir(state)?;
    let log =
        SqliteLog::open(state, config.store_options()).map_err(
            |error| match rustix::fs::access(state, rustix::fs::Access::WRITE_OK) {
                Ok(()) => error.into(),
                Err(why) => Failure::from(error).hint_about_home(std::io::Error::from(why).kind()),
            },
        )?;
    config.home.register();
    for lost in log.lost_sessions() {
        crate::terminal::say(&format!(
            "switchyard: session {} ({} events) is missing from the log; \
             `switchyard sessions delete {}` forgets it",
            lost.id, lost.head.0, lost.id
        ));
    }
    Ok(Arc::new(log))
}

/// Refuses a directory that others can write to: they could decide what we run.
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
