//! `switchyard serve`: the daemon as a process, from its start to its drain.
//!
//! In: the configuration and a command line. Out: one line that says where it listens and
//! how to log in; then a daemon, until a signal ends it.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use server::daemon::Daemon;
use server::guard::Guard;
use server::login::Login;
use server::metrics::{self, Metrics};
use server::principal::Principal;
use server::router::router;
use server::tokens::Tokens;
use server::webhook::{self, Webhook};
use sessions::permission::RulesFile;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::assembly::{SHUTDOWN_GRACE, assemble};
use super::backups::BackupSchedule;
use super::browser::BrowserLaunch;
use super::listeners::Listeners;
use super::presence::{DaemonLock, private_socket};
use super::session_context;
use crate::cli::serve::ServeArgs;
use crate::config::Config;
use crate::daemon::service::{DaemonService, DrainOutcome};
use crate::outcome::Failure;
use crate::terminal::output::print;
use crate::{config, terminal};

pub(crate) async fn serve(
    args: ServeArgs,
    config: Arc<Config>,
    mut service: DaemonService,
) -> Result<ExitCode, Failure> {
    if args.detached {
        // Its terminal may close; what it still says there must not stop it.
        let _ = rustix::process::setsid();
    }
    bus::raise_descriptor_limit();
    let presence = DaemonLock::take(&config.home.run)?;
    let webhook = check_webhook(&config)?;
    let wanted = config.file.serve.with(&args);
    let tokens = Tokens::open(&config.home.state)?;
    let guard = Guard::new(tokens, server::router::guarded_routes(), &wanted.guard());
    let metrics = Metrics::new(crate::agents::catalogue(&config)?.ids());
    let logging = service.logging.clone();
    metrics.dropped_lines_from(move || logging.n_dropped());
    let mut guard = guard.context("the daemon's settings are wrong")?.counting(metrics.clone());
    let inherited = std::mem::take(&mut service.inherited);
    let mut listeners =
        Listeners::open(&wanted, &private_socket(&config.home.run), inherited).await?;
    if let Some(name) = listeners.name_page(&wanted, &config.home.state)? {
        guard = guard.with_page_at(name);
    }
    let guard = Arc::new(guard);
    let login = Login::new(guard.clone());
    let elsewhere = listeners.bases_elsewhere(&wanted);
    let bases = (listeners.page_base(), elsewhere.clone());
    let (mut context, waiting) = session_context::open(&config).await?;
    context.settings.questions_wait = true;
    context.look_through_records().await?;
    let daemon = assemble(&config, &wanted, bases, context, config.policy(), true, &metrics)?;
    daemon.sweep_attachments().await;
    let open_design = &config.file.open_design;
    daemon.set_open_design(open_design.with(&args, config.file.permissions.mode));
    task::spawn(guard.tokens().clone().watch(daemon.stopping.clone()));
    // Whoever opens a link of the webhook is rarely at this machine.
    let base_url = elsewhere.first().cloned().unwrap_or_else(|| listeners.base());
    let mut announcing = WebhookTask { base_url, running: None };
    // From the first note on: turns that an earlier daemon left were ended just now.
    announcing.run(webhook, &daemon, || 0)?;
    let building = daemon.clone();
    task::spawn(async move { building.build_snapshots(&building.stopping).await });
    if let Some(schedule) = BackupSchedule::of(&config) {
        task::spawn(schedule.run(daemon.clone(), daemon.stopping.clone()));
    }
    presence.announce(&listeners, &config.home.config)?;
    let new_link = |base: &String| login.new_link(base, &Principal::local());
    let link = new_link(&listeners.page_base()).context("cannot make a login link")?;
    let way = match terminal::somebody_reads_stdout() {
        true => {
            let others = elsewhere.iter().map(new_link).collect::<Result<Vec<_>, _>>();
            let others = others.context("cannot make a login link")?;
            let line = |other: &String| format!("\nfrom other devices: {other}");
            link.clone() + &others.iter().map(line).collect::<String>()
        }
        false => "`switchyard token login` makes a link".to_owned(),
    };
    // Printed in one piece: `daemon start` reads as much as there is at once.
    print(&format!("switchyard serve: {} · log in: {way}\n", listeners.base()))
        .map_err(Failure::counting_closed_stdout)?;
    if !server::page::is_built() {
        terminal::say("this build has no web page; `make web` and building again puts it in");
    }
    let _opening = args.open.then(|| BrowserLaunch::start(&config.home.run, &link));
    let status = listeners.base();
    let router = router(&daemon, &guard, &login)
        .merge(metrics::router(&metrics))
        .layer(axum::middleware::from_fn_with_state(metrics, metrics::measure));
    let serving = listeners.serve(&daemon, &guard, router);
    service.ready(&status);
    daemon.registry.resume_waiting(waiting);
    let again = async |service: &DaemonService| {
        reload(&args, &config, &guard, &daemon, service, &mut announcing)
    };
    service.until_asked_to_end(&status, again).await;
    presence.withdraw();
    daemon.stopping.cancel();
    let ending = async {
        daemon.registry.drain(wanted.drain.0).await;
        // Whoever follows a turn has seen its end.
        daemon.ended.cancel();
        serving.end().await;
        announcing.end().await;
    };
    let longest = wanted.drain.0 + SHUTDOWN_GRACE;
    let ending = async { drop(tokio::time::timeout(longest, ending).await) };
    if service.drain("turns come to an end", ending).await == DrainOutcome::CutShort {
        // The keepers end what we leave behind.
        tracing::warn!("ended before every turn had");
    }
    drop(presence);
    Ok(ExitCode::SUCCESS)
}

/// Reloads the configuration. If it is wrong, the error is returned and nothing changes.
fn reload(
    args: &ServeArgs,
    config: &Config,
    guard: &Guard,
    daemon: &Daemon,
    service: &DaemonService,
    announcing: &mut WebhookTask,
) -> anyhow::Result<()> {
    let new = config::reload(config)?;
    let said = |failure: Failure| anyhow::anyhow!(failure.to_string());
    let (rules, webhook) = (new.rules_file(), check_webhook(&new).map_err(said)?);
    rules.as_ref().map(RulesFile::load).transpose()?;
    service.log_as(&new.file.log)?;
    guard.reload(&new.file.serve.with(args).guard())?;
    daemon.registry.context().rules.follow(rules)?;
    daemon.registry.set_policy(new.policy());
    daemon.set_open_design(new.file.open_design.with(args, new.file.permissions.mode));
    daemon.registry.pools().configure(new.file.warm.settings(config.home.shared()));
    // Asked for when the one before announces no more: what it did announce is not announced again.
    let after_note = || daemon.registry.context().notices.next_number();
    announcing.run(webhook, daemon, after_note).map_err(said)
}

/// Checks the `[webhook]` table; before anything is started for it.
pub(crate) fn check_webhook(config: &Config) -> Result<Option<Webhook>, Failure> {
    let Some(table) = &config.file.webhook else { return Ok(None) };
    let base = config.home.config.parent().unwrap_or(Path::new("/"));
    let webhook = table.check(base).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Some(webhook))
}

/// The task that announces, until it is ended or replaced.
#[derive(Debug)]
struct WebhookTask {
    /// The daemon's base URL, for links.
    base_url: String,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

impl WebhookTask {
    /// Announces what is noted after `after_note`, and questions that wait, to this webhook instead
    /// of the one before; to nobody if there is none.
    fn run(
        &mut self,
        webhook: Option<Webhook>,
        daemon: &Daemon,
        after_note: impl FnOnce() -> u64,
    ) -> Result<(), Failure> {
        if let Some((stop, _)) = self.running.take() {
            stop.cancel();
        }
        let Some(webhook) = webhook else { return Ok(()) };
        let (context, stop) = (daemon.registry.context().clone(), CancellationToken::new());
        let task = webhook::start(context, webhook, &self.base_url, after_note(), stop.clone())
            .map_err(|error| Failure::new(1, error.to_string()))?;
        self.running = Some((stop, task));
        Ok(())
    }

    /// Ends the task; to be called when no more events come.
    async fn end(self) {
        if let Some((stop, task)) = self.running {
            stop.cancel();
            let _ = task.await;
        }
    }
}
