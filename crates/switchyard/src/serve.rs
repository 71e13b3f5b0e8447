//! `switchyard serve`: the place where sessions live.
//!
//! In: the configuration and a command line. Out: one line that says where it listens and
//! how to log in; then a daemon, until a signal ends it.

mod agents;
pub(crate) mod announce;
mod doors;
pub(crate) mod presence;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use server::daemon::{Daemon, Settings, router};
use server::guard::Guard;
use server::login::Login;
use server::metrics::{self, Metrics};
use server::tokens::Tokens;
use sessions::desk::Desk;
use sessions::permission::{Policy, RulesFile};

use crate::cli_serve::ServeArgs;
use crate::config::Config;
use crate::config_serve::Wanted;
use crate::outcome::Failure;
use crate::service::{Drained, Service};
use crate::{config, control, format, world};
use announce::Announcing;
use doors::Doors;
use presence::Presence;

/// After the last turn, connections and workers have this long to go.
const FAREWELL: Duration = Duration::from_secs(15);

pub(crate) async fn serve(
    args: ServeArgs,
    config: Config,
    mut service: Service,
) -> Result<ExitCode, Failure> {
    if args.detached {
        // Its terminal may close; what it still says there must not stop it.
        let _ = rustix::process::setsid();
    }
    bus::raise_descriptor_limit();
    let presence = Presence::take(&config.home.run)?;
    let config = Arc::new(config);
    let webhook = announce::checked(&config)?;
    let wanted = config.file.serve.with(&args);
    let tokens = Tokens::open(&config.home.state).context("cannot use the tokens")?;
    let guard = Guard::new(tokens, server::daemon::guarded_routes(), &wanted.guard);
    let metrics = counted(&config, &service)?;
    let guard = guard.context("the daemon's settings are wrong")?.counting(metrics.clone());
    let guard = Arc::new(guard);
    let login = Login::new(guard.clone());
    let inherited = std::mem::take(&mut service.inherited);
    let doors = Doors::open(&wanted, &config.home.run, inherited).await?;
    let daemon = assemble(&config, &wanted, doors.base(), &metrics).await?;
    let _listening = control::listen(&config.home.run, daemon.desk.yard())?;
    tokio::spawn(guard.tokens().clone().watch(daemon.stopping.clone()));
    let mut announcing = Announcing::start(webhook, &daemon, doors.base())?;
    presence.announce(&doors)?;
    let link = login.new_link(&doors.base()).context("cannot make a login link")?;
    format::print(&format!("switchyard serve: {} · log in: {link}\n", doors.base()))?;
    let status = doors.base();
    let router = router(&daemon, &guard, &login)
        .merge(metrics::router(&metrics))
        .layer(axum::middleware::from_fn_with_state(metrics, metrics::measure));
    let serving = doors.serve(&daemon, &guard, router);
    service.ready(&status);
    let again = async |service: &Service| {
        let done = reload(&args, &config, &guard, &daemon, &mut announcing, service);
        done.map_err(|failure| anyhow::anyhow!("{failure}"))
    };
    service.until_asked_to_end(&status, again).await;
    presence.withdraw();
    daemon.stopping.cancel();
    let ending = async {
        daemon.desk.shut_down(wanted.drain).await;
        serving.end().await;
        announcing.end().await;
    };
    let longest = wanted.drain + FAREWELL;
    let ending = async { drop(tokio::time::timeout(longest, ending).await) };
    if service.drain("turns come to an end", ending).await == Drained::CutShort {
        // The keepers end what we leave behind.
        tracing::warn!("ended before every turn had");
    }
    drop(presence);
    Ok(ExitCode::SUCCESS)
}

/// The daemon without its doors.
async fn assemble(
    config: &Arc<Config>,
    wanted: &Wanted,
    base: String,
    metrics: &Metrics,
) -> Result<Arc<Daemon>, Failure> {
    let mut yard = world::open_yard(config).await?;
    yard.settings.observers = yard.settings.observers.and(metrics.as_observer());
    yard.settings.questions_wait = true;
    yard.settings.worker_idle = Some(wanted.worker_idle);
    yard.settings.put_aside_after = Some(wanted.put_aside);
    // The configuration's rules are the yard's, which follows their file.
    let policy = Policy { mode: config.file.permissions.mode, ..Policy::default() };
    let desk = Desk::new(yard, Arc::new(agents::Catalogued::new(config.clone())), policy);
    let state = &config.home.state;
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
    };
    Ok(Daemon::new(desk, settings))
}

/// The daemon's counters.
fn counted(config: &Config, service: &Service) -> Result<Metrics, Failure> {
    let agents = crate::agents::catalogue(config)?;
    let names = agents.iter().map(|agent| agent.id.clone());
    let metrics = Metrics::new(names.chain([runtimes::catalogue::BUILT_IN.to_owned()]));
    let logging = service.logging.clone();
    metrics.dropped_lines_from(move || logging.n_dropped());
    Ok(metrics)
}

/// Reads the configuration again. Where something is wrong with it, nothing changes.
fn reload(
    args: &ServeArgs,
    config: &Config,
    guard: &Guard,
    daemon: &Daemon,
    announcing: &mut Announcing,
    service: &Service,
) -> Result<(), Failure> {
    let new = config::load(Some(&config.home.config), true)?;
    let (rules, webhook) = (new.rules_file(), announce::checked(&new)?);
    rules.as_ref().map(RulesFile::load).transpose().map_err(anyhow::Error::from)?;
    service.log_as(&new.file.log)?;
    guard.reload(&new.file.serve.with(args).guard).map_err(anyhow::Error::from)?;
    daemon.desk.yard().rules.follow(rules).map_err(anyhow::Error::from)?;
    let mode = new.file.permissions.mode;
    daemon.desk.set_policy(Policy { mode, ..Policy::default() });
    announcing.replace(webhook, daemon)
}
