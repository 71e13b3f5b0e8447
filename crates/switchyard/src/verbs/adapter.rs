//! `switchyard adapter`: one CLI as an ACP agent on stdin and stdout, without a log.
//!
//! Started by Switchyard itself as the worker of agents that do not speak ACP; what was
//! found out about the CLI comes by argument, so that nothing is probed twice.

use std::process::ExitCode;

use anyhow::Context as _;
use runtimes::adapter::{self, AdapterRuntime};
use runtimes::detect::Machine;
use runtimes::dialect::DialectName;
use runtimes::scratch::Scratch;

use crate::agents::{self, ResolvedAgent};
use crate::cli::hidden::AdapterArgs;
use crate::config::Config;
use crate::outcome::Failure;
use crate::stdio;

pub(crate) async fn serve(args: AdapterArgs, config: Config) -> Result<ExitCode, Failure> {
    let speaks_acp = || Failure::usage(format!("`{}` speaks ACP itself", args.agent));
    let ResolvedAgent::Defined(definition) = agents::find(&args.agent, &config)? else {
        return Err(speaks_acp());
    };
    let form = definition.forms.get(args.form).cloned();
    let form = form.with_context(|| format!("`{}` has no form {}", args.agent, args.form))?;
    let dialect = DialectName::of(&form.dialect).ok_or_else(speaks_acp)?;
    let mut launch = bus::Launch::new(&args.program, "/");
    launch.records_dir = args.records;
    // The adapter is in the worker's cgroup already.
    launch.cgroups = false;
    let env =
        Machine::here().environment(&definition, Some(&form), args.permissions, &args.program);
    let runtime = AdapterRuntime {
        dialect,
        program: args.program,
        version: args.cli_version,
        features: args.features.into_iter().collect(),
        permissions: args.permissions,
        env,
        launch,
        scratch: args.scratch.map(Scratch::below).unwrap_or_default(),
        max_line_bytes: config.file.limits.worker_line_bytes,
        definition: *definition,
        form,
    };
    let (reader, writer) = stdio::open();
    adapter::serve(reader, writer, runtime).await;
    Ok(ExitCode::SUCCESS)
}
