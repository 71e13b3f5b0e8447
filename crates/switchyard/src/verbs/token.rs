//! `switchyard token …`: the tokens of the daemon's clients. Works also where no daemon runs.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::json;
use server::principal::Role;
use server::tokens::{NewToken, Tokens};

use crate::cli::daemon::{NewTokenArgs, RoleName, TokenVerb};
use crate::command_daemon::RunningDaemon;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::terminal;
use crate::terminal::output::print;
use crate::this_process::require_a_person;

/// How long a running daemon may take to reload tokens; one that is not stuck is far quicker.
const LOOKS_WITHIN: Duration = Duration::from_secs(5);

pub(crate) async fn dispatch(verb: TokenVerb, config: Config) -> Result<ExitCode, Failure> {
    require_a_person("it may neither see nor change tokens")?;
    if matches!(verb, TokenVerb::Login) {
        return log_in(&config).await;
    }
    let tokens = Tokens::open(&config.home.state)?;
    // There is a home now, if there was none.
    config.home.register();
    let bad = |error: server::tokens::TokensError| Failure::usage(error.to_string());
    match verb {
        TokenVerb::Show => {
            let token = tokens.admin_token().context("cannot read the token")?;
            print(&format!("{token}\n"))?;
        }
        TokenVerb::Add(args) => {
            let token = tokens.add(new_token(&args)?).map_err(bad)?;
            print_once(&token)?;
            if terminal::can_ask() {
                terminal::say("this is the only time that it is shown");
            }
        }
        TokenVerb::List { json: true } => {
            print(&format!("{:#}\n", json!(tokens.list())))?;
        }
        TokenVerb::List { json: false } => {
            let mut text = String::new();
            for token in tokens.list() {
                let until = match token.expires {
                    _ if token.is_expired => "expired".to_owned(),
                    Some(expires) => format!("until {expires}"),
                    None => String::new(),
                };
                let own = if token.own_sessions { "own sessions" } else { "" };
                let line = format!("{:<24} {:<9} {own:<13} {until}", token.name, token.role);
                text.push_str(line.trim_end());
                text.push('\n');
            }
            print(&text)?;
        }
        TokenVerb::Revoke { name } => {
            tokens.revoke(&name).map_err(bad)?;
            refresh_daemon_tokens(&config).await;
        }
        TokenVerb::Rotate { name } => {
            let token = tokens.rotate(&name).map_err(bad)?;
            refresh_daemon_tokens(&config).await;
            print_once(&token)?;
        }
        TokenVerb::Login => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a new token. A closed stdout is an error: a token that nobody has read is of no use.
fn print_once(token: &str) -> Result<(), Failure> {
    print(&format!("{token}\n")).map_err(Failure::counting_closed_stdout)
}

/// Has a running daemon reload the tokens before we are done, so that what was revoked is of no
/// use from then on. One that does not answer reloads them by itself within the second.
async fn refresh_daemon_tokens(config: &Config) {
    if let Some(daemon) = RunningDaemon::find(config) {
        let looking = daemon.client.get::<serde_json::Value>("/v1/tokens");
        let _ = tokio::time::timeout(LOOKS_WITHIN, looking).await;
    }
}

fn new_token(args: &NewTokenArgs) -> Result<NewToken, Failure> {
    let expires = args.expires.map(|life| jiff::Timestamp::now().checked_add(life));
    let expires = expires.transpose().map_err(|error| Failure::usage(error.to_string()))?;
    let role = match args.role {
        RoleName::Observer => Role::Observer,
        RoleName::Operator => Role::Operator,
        RoleName::Admin => Role::Admin,
    };
    Ok(NewToken { name: args.name.clone(), role, expires, own_sessions: args.own_sessions })
}

async fn log_in(config: &Config) -> Result<ExitCode, Failure> {
    #[derive(Deserialize)]
    struct LoginLinkAnswer {
        link: String,
        // An older daemon tells none.
        #[serde(default)]
        elsewhere: Vec<String>,
    }
    let Some(daemon) = RunningDaemon::find(config) else {
        return Err(
            Failure::new(ERROR, "no daemon runs").hint("`switchyard daemon start` starts one")
        );
    };
    let link: LoginLinkAnswer = daemon.client.post("/v1/login-link", &json!({})).await?;
    print(&format!("{}\n", link.link))?;
    for other in &link.elsewhere {
        print(&format!("from other devices: {other}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
