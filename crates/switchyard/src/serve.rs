//! `switchyard serve`: the place where sessions live.
//!
//! In: the configuration and a command line. Out: one line that says where it listens and
//! how to log in; then a daemon, until a signal ends it.

mod agents;
pub(crate) mod announce;
mod doors;
pub(crate) mod presence;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use server::daemon::{Daemon, Settings, router};
use server::guard::Guard;
use server::login::Login;
use server::tokens::Tokens;
use sessions::desk::Desk;
use sessions::permission::{Policy, RulesFile};
use sessions::pools::Pools;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli_serve::ServeArgs;
use crate::config::Config;
use crate::config_serve::Wanted;
use crate::outcome::Failure;
use crate::{config, control, format, world};
use announce::Announcing;
use doors::Doors;
use presence::Presence;

/// After the last turn, connections and workers have this long to go.
const FAREWELL: Duration = Duration::from_secs(15);

pub(crate) async fn serve(args: ServeArgs, config: Config) -> Result<ExitCode, Failure> {
    if args.detached {
        // Its terminal may close; what it still says there must not stop it.
        let _ = rustix::process::setsid();
    }
    let mut signals = Signals::listen()?;
    bus::raise_descriptor_limit();
    let presence = Presence::take(&config.home.run)?;
    let config = Arc::new(config);
    let webhook = announce::checked(&config)?;
    let wanted = config.file.serve.with(&args);
    let tokens = Tokens::open(&config.home.state).context("cannot use the tokens")?;
    let guard = Guard::new(tokens, server::daemon::guarded_routes(), &wanted.guard);
    let guard = Arc::new(guard.context("the daemon's settings are wrong")?);
    let login = Login::new(guard.clone());
    let doors = Doors::open(&wanted, &config.home.run).await?;
    let daemon = assemble(&config, &wanted, doors.base()).await?;
    let _listening = control::listen(&config.home.run, daemon.desk.yard())?;
    tokio::spawn(guard.tokens().clone().watch(daemon.stopping.clone()));
    let mut announcing = Announcing::start(webhook, &daemon, doors.base())?;
    presence.announce(&doors)?;
    let link = login.new_link(&doors.base()).context("cannot make a login link")?;
    format::print(&format!("switchyard serve: {} · log in: {link}\n", doors.base()))?;
    let serving = doors.serve(&daemon, &guard, router(&daemon, &guard, &login));
    loop {
        match signals.next().await {
            Wish::End => break,
            Wish::Reload => reload(&args, &config, &guard, &daemon, &mut announcing),
        }
    }
    presence.withdraw();
    daemon.stopping.cancel();
    let ending = async {
        daemon.desk.shut_down(wanted.drain).await;
        serving.end().await;
        announcing.end().await;
    };
    let longest = wanted.drain + FAREWELL;
    tokio::select! {
        _ = tokio::time::timeout(longest, ending) => {}
        // Asked twice: the keepers end what we leave behind.
        _ = signals.end.recv() => {}
    }
    drop(presence);
    Ok(ExitCode::SUCCESS)
}

/// The daemon without its doors.
async fn assemble(
    config: &Arc<Config>,
    wanted: &Wanted,
    base: String,
) -> Result<Arc<Daemon>, Failure> {
    let mut yard = world::open_yard(config).await?;
    yard.settings.questions_wait = true;
    yard.settings.worker_idle = Some(wanted.worker_idle);
    yard.settings.put_aside_after = Some(wanted.put_aside);
    // The configuration's rules are the yard's, which follows their file.
    let policy = Policy { mode: config.file.permissions.mode, ..Policy::default() };
    let state = &config.home.state;
    let shared_cwd = shared_cwd(config);
    let made = world::make_private_dir(&shared_cwd);
    made.with_context(|| format!("cannot make {}", shared_cwd.display()))?;
    let warm = config.file.warm.settings(shared_cwd);
    let pools = Pools::new(yard.setup.clone(), yard.settings.clone(), warm);
    let agents = Arc::new(agents::Catalogued::new(config.clone()));
    let desk = Desk::with_pools(yard, agents, policy, Some(pools));
    let projects_dir = wanted.projects.clone().unwrap_or_else(|| state.join("projects"));
    let sessions_dir = state.join("sessions");
    for dir in [&projects_dir, &sessions_dir] {
        let made = world::make_private_dir(dir);
        made.with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let settings = Settings {
        base,
        default_agent: wanted.agent.clone(),
        roots: wanted.roots.clone(),
        sessions_dir,
        projects_dir,
        pace: config.pace(),
    };
    let daemon = Daemon::new(desk, settings);
    daemon.sweep_attachments().await;
    Ok(daemon)
}

/// Where workers are started that several sessions use.
fn shared_cwd(config: &Config) -> PathBuf {
    config.home.run.join("shared")
}

/// Reads the configuration again. What is wrong with it is told, and nothing changes.
fn reload(
    args: &ServeArgs,
    config: &Config,
    guard: &Guard,
    daemon: &Daemon,
    announcing: &mut Announcing,
) {
    let mut read = || -> Result<(), Failure> {
        let new = config::load(Some(&config.home.config), true)?;
        let (rules, webhook) = (new.rules_file(), announce::checked(&new)?);
        rules.as_ref().map(RulesFile::load).transpose().map_err(anyhow::Error::from)?;
        guard.reload(&new.file.serve.with(args).guard).map_err(anyhow::Error::from)?;
        daemon.desk.yard().rules.follow(rules).map_err(anyhow::Error::from)?;
        let mode = new.file.permissions.mode;
        daemon.desk.set_policy(Policy { mode, ..Policy::default() });
        if let Some(pools) = daemon.desk.pools() {
            pools.configure(new.file.warm.settings(shared_cwd(config)));
        }
        announcing.replace(webhook, daemon)
    };
    match read() {
        Ok(()) => tracing::info!("configuration read again"),
        Err(failure) => tracing::error!(error = %failure, "configuration not used"),
    }
}

enum Wish {
    End,
    Reload,
}

struct Signals {
    end: tokio::sync::mpsc::Receiver<()>,
    hangup: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let (sender, end) = tokio::sync::mpsc::channel(4);
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let (mut signals, sender) = (signal(kind)?, sender.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() && sender.send(()).await.is_ok() {}
            });
        }
        Ok(Self { end, hangup: signal(SignalKind::hangup())? })
    }

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.end.recv() => Wish::End,
            _ = self.hangup.recv() => Wish::Reload,
        }
    }
}
