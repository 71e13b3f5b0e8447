//! `switchyard bus`: the bus alone, from a file and a command line.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::bus::{BusArgs, BusVerb};
use crate::config::Config;
use crate::outcome::Failure;
use crate::terminal;
use crate::terminal::output::print;
use crate::terminal::paint::Paint;
use control::{BusSelector, ControlRequest};

mod check;
mod control;
mod file;
mod limits_table;
mod listener;
mod pool_table;
mod serve;
mod setup;
mod status;
mod token;
mod units;
mod ws;

/// `named` is what `--config` says, which is another way to say `-c`.
pub(crate) async fn dispatch(
    args: BusArgs,
    named: Option<PathBuf>,
    config: Config,
) -> Result<ExitCode, Failure> {
    let BusArgs { verb, file, pid, serve } = args;
    if let (Some(_), Some(flag)) = (&verb, serve.given_flag()) {
        return Err(Failure::usage(format!("{flag} is for serving, not for this command")));
    }
    let file = match (file, named) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("-c and --config are the same; give one"));
        }
        (file, named) => file.or(named),
    };
    let needed = || {
        file.clone().ok_or_else(|| {
            Failure::usage("which file? Give it with -c FILE")
                .hint("docs/bus.md has one to begin with")
        })
    };
    let which = BusSelector { file: file.clone(), pid };
    let tell = async |order: ControlRequest, done: String| {
        let answer = control::send(&config.home.run, &which, &order).await?;
        say(&done);
        status::strings(&answer["notes"]).into_iter().for_each(say);
        Ok(ExitCode::SUCCESS)
    };
    match verb {
        Some(BusVerb::Check { json }) => check::check(&needed()?, json, &config).await,
        Some(BusVerb::Status { json, prometheus }) => {
            let status = control::send(&config.home.run, &which, &ControlRequest::Status).await?;
            print(&match (json, prometheus) {
                (true, _) => format!("{status:#}\n"),
                (false, true) => status::prometheus(&status),
                (false, false) => status::text(&status, Paint::on_stdout()),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Some(BusVerb::Reload) => {
            tell(ControlRequest::Reload, "the file was read again".to_owned()).await
        }
        Some(BusVerb::Drain { pool }) => {
            let done = format!("pool `{pool}` takes no more requests and ends those it has");
            tell(ControlRequest::Drain { pool }, done).await
        }
        Some(BusVerb::Recover { pool }) => {
            let done = format!("pool `{pool}` serves again");
            tell(ControlRequest::Recover { pool }, done).await
        }
        Some(BusVerb::Restart { pool }) => {
            let done = format!("the workers of pool `{pool}` are replaced one by one");
            tell(ControlRequest::Restart { pool }, done).await
        }
        None => serve::serve(needed()?, serve, config).await,
    }
}

/// Prints a message of the bus on stderr.
fn say(text: &str) {
    terminal::say(&format!("switchyard bus: {text}"));
}
