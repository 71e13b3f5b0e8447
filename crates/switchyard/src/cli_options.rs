//! Options of an agent that have no flag of their own.

use std::collections::BTreeMap;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct OptionArgs {
    /// Another option of the agent's own, e.g. tools=off (repeatable)
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse)]
    options: Vec<(String, String)>,
}

impl OptionArgs {
    /// By their ids; of one that is named twice, what was said last.
    pub(crate) fn by_id(&self) -> BTreeMap<String, String> {
        self.options.iter().cloned().collect()
    }
}

fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it like tools=off".to_owned()),
    }
}
