//! Resolves the name of an agent to the command that starts it as an ACP agent.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use anyhow::Context as _;
use runtimes::argv::{self, ArgumentValues};
use runtimes::definition::{OptionalArgument, RuntimeDefinition};
use runtimes::detect::Machine;
use runtimes::dialect::{ConversationOptions, DialectName};
use sessions::host::{AgentCommand, AgentQuirks, SystemPromptSupport};
use sessions::order::SessionOrder;
use sessions::permission::PermissionMode;

use crate::agents::native;
use crate::agents::{self, ResolvedAgent};
use crate::config::Config;
use crate::outcome::Failure;

/// The verb by which the binary starts itself as the adapter of a CLI.
pub(crate) const ADAPTER_VERB: &str = "adapter";

/// The command line of the agent of an order, by name or as given, in a session of that mode. It
/// gets our own environment.
pub(crate) async fn agent_command(
    config: &Config,
    order: &SessionOrder,
    mode: PermissionMode,
) -> Result<AgentCommand, Failure> {
    if let Some((program, args)) = order.command.split_first() {
        let name = order.agent.clone().unwrap_or_else(|| name_of(&order.command));
        return Ok(command(order, &name, program.clone(), args.to_vec()));
    }
    let Some(name) = &order.agent else {
        return Err(Failure::usage("which agent?")
            .hint("name one (`switchyard agents` lists them), or give a command after `--`"));
    };
    match agents::find(name, config)? {
        ResolvedAgent::Inside(inside) => {
            Ok(command(order, name, own_program()?, agents::args_of_inside(inside, config)?))
        }
        ResolvedAgent::Defined(definition) => named(config, order, mode, &definition).await,
    }
}

/// An agent's command, without anything that a definition would add.
fn command(
    order: &SessionOrder,
    name: &str,
    program: OsString,
    args: Vec<OsString>,
) -> AgentCommand {
    AgentCommand {
        name: name.to_owned(),
        program,
        args,
        cwd: order.cwd.clone(),
        env: bus::Environment::default(),
        is_named: order.command.is_empty(),
        quirks: AgentQuirks::default(),
    }
}

/// An agent of the catalogue: itself if it speaks ACP, else its adapter.
async fn named(
    config: &Config,
    order: &SessionOrder,
    mode: PermissionMode,
    definition: &RuntimeDefinition,
) -> Result<AgentCommand, Failure> {
    let (run, found) = agents::ready(config, definition).await?;
    let features: BTreeSet<String> = found.features.into_iter().collect();
    let hidden = hidden_keys(config, definition);
    let form = definition.forms.get(run.form).context("a form that its definition lacks")?;
    let bad = |error: argv::ArgvError| {
        let failure = Failure::usage(format!("{}: {error}", definition.name));
        match error {
            argv::ArgvError::ModeNotOffered { .. } => failure
                .hint("choose one with --permissions MODE; --approve-all is --permissions auto"),
            _ => failure,
        }
    };
    // An adapter knows its definition, and uses the default by itself.
    let default_model = definition.models.default.clone().filter(|_| form.is_acp());
    let options = ConversationOptions {
        permissions: mode,
        directories: order.additional_directories.clone(),
        cwd: order.cwd.clone(),
        model: order.initial_options.model.clone().or_else(|| default_model.clone()),
        ..ConversationOptions::default()
    };
    let values =
        ArgumentValues { features: features.clone(), options, ..ArgumentValues::default() };
    // For an adapter, too: an option that its CLI lacks is refused before anything starts.
    let args = argv::arguments(form, &values).map_err(bad)?;
    if form.is_acp() {
        let mut env = Machine::here().environment(definition, Some(form), mode, &run.program);
        env.strip.extend(hidden);
        let all = definition.prefix_args.iter().chain(&args).map(OsString::from).collect();
        return Ok(AgentCommand {
            env,
            quirks: AgentQuirks {
                session_mode: form.permissions.session_modes.get(&mode).cloned(),
                no_client_reads: form.quirks.no_client_reads,
                failure_words: form.quirks.failure_words.clone(),
                silence_is_failure: form.quirks.silence_is_failure,
                model_is_set: values.options.model.is_some()
                    && form.has_argument(OptionalArgument::Model, &features),
                default_model,
                system_prompt: SystemPromptSupport::Unknown,
                shares_worker: form.shared_worker,
                login: Some(definition.login_hint()),
                edit_tools: form.quirks.edit_tools.clone(),
                stays_at_eof: form.quirks.stays_at_eof,
                token_scope: form.quirks.usage,
            },
            ..command(order, &definition.id, run.program.into(), all)
        });
    }
    let system_prompt = match DialectName::of(&form.dialect) {
        Some(dialect) if form.supports(OptionalArgument::SystemPrompt, dialect, &features) => {
            SystemPromptSupport::Taken
        }
        _ => SystemPromptSupport::NotTaken,
    };
    let mut args: Vec<OsString> = vec![
        ADAPTER_VERB.into(),
        definition.id.clone().into(),
        "--program".into(),
        run.program.into(),
        "--form".into(),
        run.form.to_string().into(),
        "--permissions".into(),
        mode.name().into(),
        "--records".into(),
        config.home.workers().into(),
        "--scratch".into(),
        config.home.scratch().into(),
    ];
    args.extend(config.to_args());
    if let Some(version) = &found.version {
        args.extend(["--cli-version".into(), version.into()]);
    }
    for feature in &features {
        args.extend(["--feature".into(), feature.into()]);
    }
    Ok(AgentCommand {
        env: bus::Environment { strip: hidden, ..bus::Environment::default() },
        quirks: AgentQuirks { system_prompt, ..AgentQuirks::default() },
        ..command(order, &definition.id, own_program()?, args)
    })
}

/// Keys of the built-in agent's endpoints that this agent has no use for. Whoever may look into
/// its processes, such as a command of another session, would find them there.
fn hidden_keys(config: &Config, definition: &RuntimeDefinition) -> BTreeSet<OsString> {
    let is_its_own = |name: &String| {
        definition.auth.any_provider
            || definition.auth.env.contains(name)
            || definition.env.set.contains_key(name)
    };
    let names = native::key_names(config).into_iter();
    names.filter(|name| !is_its_own(name)).map(OsString::from).collect()
}

fn own_program() -> Result<OsString, Failure> {
    let program = std::env::current_exe().context("cannot find Switchyard's own executable")?;
    Ok(program.into())
}

/// The name of an agent that is given as a command: its program, or what a launcher is to
/// launch.
pub(crate) fn name_of(command: &[OsString]) -> String {
    const LAUNCHERS: [&str; 10] =
        ["node", "npx", "bunx", "bun", "deno", "uvx", "python", "python3", "sh", "env"];
    let base = |word: &OsString| {
        let name = Path::new(word).file_name().unwrap_or(word).to_string_lossy().into_owned();
        name.split('@').find(|part| !part.is_empty()).unwrap_or(&name).to_owned()
    };
    let Some((program, args)) = command.split_first() else { return String::new() };
    let launched = args.iter().find(|arg| !arg.to_string_lossy().starts_with('-'));
    match launched.filter(|_| LAUNCHERS.contains(&&*base(program))) {
        Some(launched) => base(launched),
        None => base(program),
    }
}
