//! `switchyard config …`: where the configuration is, what it says, and whether it can be used.

mod show;

use std::process::ExitCode;

use crate::agents::{self, native};
use crate::cli::ConfigVerb;
use crate::config::Config;
use crate::daemon::webhook;
use crate::home::Home;
use crate::outcome::Failure;
use crate::terminal::output::print;

pub(crate) fn dispatch(verb: &ConfigVerb, config: &Config) -> Result<ExitCode, Failure> {
    let text = match verb {
        ConfigVerb::Path => {
            let Home { config, state, run } = &config.home;
            format!(
                "configuration  {}\nlog            {}\nrun            {}\n",
                config.display(),
                state.join("switchyard.db").display(),
                run.display()
            )
        }
        ConfigVerb::Show => show::show(config),
        ConfigVerb::Check => {
            if let Some(file) = config.rules_file() {
                file.load().map_err(anyhow::Error::from)?;
            }
            webhook::check_table(config)?;
            agents::catalogue(config)?;
            native::check(config)?;
            match config.home.config.exists() {
                true => format!("{} is fine\n", config.home.config.display()),
                false => {
                    format!("{} does not exist; defaults apply\n", config.home.config.display())
                }
            }
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
