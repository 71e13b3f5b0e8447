//! `switchyard store …`: the log as files; checked, backed up, restored, repaired, compacted.
//!
//! Works on the files themselves, beside a daemon where that is safe, and refuses where it is not.

mod report;

use std::process::ExitCode;

use serde_json::{Value, json};
use sessions::mint;
use store::StoreError;
use store::maintenance::{
    self, BackupOptions, CheckOptions, CheckedPlace, OnProgress, Progress, RepairReport,
    SessionFinding,
};

use crate::cli::store::{BackupArgs, CheckArgs, RestoreArgs, StoreVerb};
use crate::config::Config;
use crate::daemon::{presence, session_context};
use crate::outcome::{DAMAGED, ERROR, Failure};
use crate::terminal::confirm::confirm;
use crate::terminal::output::print;
use crate::terminal::paint::Paint;
use crate::terminal::size::Size;
use crate::terminal::spinner::Spinner;
use crate::this_process::require_a_person;
use crate::time::file_timestamp;

pub(crate) async fn dispatch(verb: StoreVerb, config: Config) -> Result<ExitCode, Failure> {
    require_a_person("it may not use the log's files")?;
    match verb {
        StoreVerb::Check(args) => check(&args, &config),
        StoreVerb::Backup(args) => backup(&args, &config),
        StoreVerb::Restore(args) => restore(&args, &config),
        StoreVerb::Repair { json } => repair(json, &config).await,
        StoreVerb::Compact { json } => compact(json, &config),
    }
}

fn check(args: &CheckArgs, config: &Config) -> Result<ExitCode, Failure> {
    let state = &config.home.state;
    let place = match &args.file {
        Some(file) => CheckedPlace::File(file),
        None => CheckedPlace::Log(state),
    };
    let options = CheckOptions { is_full: args.full };
    let found = with_progress("checking", |told| maintenance::check(place, options, told))?;
    let is_all_lost = || found.findings.iter().all(SessionFinding::is_lost);
    let way_out = match &args.file {
        None if found.structure.is_empty() && found.wal.is_none() && is_all_lost() => LOST,
        Some(_) => "use another backup: `switchyard store restore` takes no damaged one",
        None => WAY_OUT,
    };
    show(args.json, &report::check_json(&found), || report::check_text(&found, paint(), way_out))?;
    Ok(code(found.is_sound()))
}

const LOST: &str = "`switchyard store restore FILE` goes back to a backup that has them; `switchyard \
                    sessions delete ID` forgets one";

const WAY_OUT: &str = "`switchyard daemon stop`, then `switchyard store repair` saves what can be \
                       read, or `switchyard store restore FILE` goes back to a backup";

fn backup(args: &BackupArgs, config: &Config) -> Result<ExitCode, Failure> {
    let options = BackupOptions { overwrites: args.force };
    let (state, file) = (&config.home.state, &args.file);
    let copied = with_progress("writing the backup", |told| {
        maintenance::backup(state, file, options, told)
    })?;
    let mut json = report::copy_json(&copied);
    json["file"] = json!(file);
    show(args.json, &json, || {
        let first = format!("backup of {} in {}\n", report::amount(&copied), file.display());
        first + &report::damaged(&copied.findings, paint(), WAY_OUT)
    })?;
    Ok(code(copied.findings.is_empty()))
}

fn restore(args: &RestoreArgs, config: &Config) -> Result<ExitCode, Failure> {
    require_no_daemon(config)?;
    let (state, file) = (&config.home.state, &args.file);
    let question = format!("Replace all sessions by those of {}?", file.display());
    confirm(&question, "nothing was restored", args.yes)?;
    let keep = format!("replaced-{}", file_timestamp(mint::now()));
    let (copied, kept) =
        with_progress("restoring", |told| maintenance::restore(state, file, &keep, told))?;
    let mut json = report::copy_json(&copied);
    json["keptIn"] = json!(kept.as_ref().map(|kept| &kept.dir));
    show(args.json, &json, || {
        let first = format!("restored {}\n", report::amount(&copied));
        first + &report::kept(kept.as_ref())
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn repair(as_json: bool, config: &Config) -> Result<ExitCode, Failure> {
    require_no_daemon(config)?;
    let state = &config.home.state;
    let keep = format!("damaged-{}", file_timestamp(mint::now()));
    let repaired = with_progress("repairing", |told| maintenance::repair(state, &keep, told))?;
    if repaired.kept.is_some() {
        accept_losses(&repaired, config).await?;
    }
    show(as_json, &report::repair_json(&repaired), || report::repair_text(&repaired, paint()))?;
    let is_lossless = repaired.copied.findings.is_empty();
    Ok(code(is_lossless))
}

/// Has each session that was cut say so in its log, and ends the turns that were cut off.
async fn accept_losses(repaired: &RepairReport, config: &Config) -> Result<(), Failure> {
    let context = session_context::open_unrecovered(config)?;
    let cut = repaired.copied.findings.iter().filter(|finding| finding.intact_to.is_some());
    for session in cut.filter_map(|finding| finding.session) {
        context.recover_session(session).await?;
    }
    Ok(())
}

fn compact(as_json: bool, config: &Config) -> Result<ExitCode, Failure> {
    let state = &config.home.state;
    let done = with_progress("compacting", |told| maintenance::compact(state, told))?;
    let json = json!({
        "bytesBefore": done.bytes_before,
        "bytesAfter": done.bytes_after,
        "rebuilt": done.is_rebuilt,
    });
    show(as_json, &json, || {
        format!("{}, before {}\n", Size(done.bytes_after), Size(done.bytes_before))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn code(is_sound: bool) -> ExitCode {
    if is_sound { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) }
}

fn paint() -> Paint {
    Paint::on_stdout()
}

fn show(as_json: bool, json: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if as_json { print(&format!("{json:#}\n")) } else { print(&text()) }
}

fn require_no_daemon(config: &Config) -> Result<(), Failure> {
    match presence::is_held(&config.home.run) {
        true => Err(Failure::new(ERROR, "a daemon uses the log").hint(STOP_ALL)),
        false => Ok(()),
    }
}

const STOP_ALL: &str =
    "`switchyard daemon stop` ends the daemon; end `chat`, `run`, `attach` and `acp`, too";

/// Runs long work on this thread; a person at the terminal sees how far it has come.
fn with_progress<T>(
    what: &str,
    work: impl FnOnce(OnProgress<'_>) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let spinner = Spinner::start(format!("{what} …"));
    let mut told = |Progress { done, total }: Progress| {
        let percent = done.saturating_mul(100).checked_div(total).unwrap_or_default().min(100);
        spinner.set_text(format!("{what} … {percent} %"));
    };
    tokio::task::block_in_place(|| work(&mut told)).map_err(explained)
}

fn explained(error: StoreError) -> Failure {
    let hint = match &error {
        StoreError::LogInUse { .. } => Some(STOP_ALL),
        StoreError::FileExists { .. } => Some("--force replaces it"),
        StoreError::NoRoom { .. } => {
            Some("free some space; `switchyard sessions prune` deletes old sessions")
        }
        StoreError::DamagedBackup { .. } => {
            Some("`switchyard store check --file FILE` says what is wrong; use another backup")
        }
        _ => None,
    };
    let failure = Failure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
