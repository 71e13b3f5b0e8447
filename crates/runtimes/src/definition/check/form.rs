//! Checks of one form of a runtime definition.

use std::collections::BTreeMap;

use super::super::{ImageSupport, McpChannel, PromptChannel, ResumeStyle};
use super::{
    CheckResult, DialectName, RuntimeForm, Version, env, placeholder, plain, problem, program,
    require, text, variables,
};

const SESSION: &str = "{session}";
const PROMPT: &str = "{prompt}";
const PROMPT_FILE: &str = "{prompt_file}";
const CWD: &str = "{cwd}";

pub(super) fn check(form: &RuntimeForm, flags: &BTreeMap<String, String>) -> CheckResult {
    dialect(form)?;
    conditions(form, flags)?;
    arguments(form)?;
    prompt(form)?;
    resume(form)?;
    permissions(form)?;
    env("env", &form.env)?;
    let protocol = is_interactive(form);
    let may_show = form.images != ImageSupport::Protocol || protocol;
    require("images", may_show, "`protocol` needs a prompt by dialect or acp")?;
    let may_share = !form.shared_worker || form.is_acp();
    require("shared_worker", may_share, "needs the dialect acp")?;
    let is_acp_mcp = form.mcp == McpChannel::Acp;
    require("mcp", !is_acp_mcp || form.is_acp(), "`acp` needs the dialect acp")?;
    require("mcp", !form.is_acp() || is_acp_mcp || form.mcp == McpChannel::None, "must be `acp`")
}

fn dialect(form: &RuntimeForm) -> CheckResult {
    let is_known = form.is_acp() || DialectName::of(&form.dialect).is_some();
    let known = DialectName::ALL.map(DialectName::name).join(", ");
    require("dialect", is_known, &format!("is none of: acp, {known}"))?;
    form.bin.iter().try_for_each(|bin| program("bin", bin))?;
    match &form.min_version {
        None => Ok(()),
        Some(version) => Version::parse(version)
            .map(drop)
            .map_err(|error| problem("min_version", error.to_string())),
    }
}

fn conditions(form: &RuntimeForm, flags: &BTreeMap<String, String>) -> CheckResult {
    let known = |field: &str, feature: &String| {
        let otherwise = format!("`{feature}` is not among features.flags");
        require(field, flags.contains_key(feature), &otherwise)
    };
    form.requires.iter().try_for_each(|feature| known("requires", feature))?;
    form.when.iter().try_for_each(|when| known("when", &when.feature))?;
    for (part, feature) in &form.needs {
        known("needs", feature)?;
        let is_given = !form.argument(*part).is_empty();
        require("needs", is_given, &format!("{part:?} has no arguments that could need it"))?;
    }
    Ok(())
}

fn arguments(form: &RuntimeForm) -> CheckResult {
    let lists = [
        ("args", &form.args),
        ("prompt_args", &form.prompt_args),
        ("model", &form.model),
        ("effort", &form.effort),
        ("add_dir", &form.add_dir),
        ("system_prompt", &form.system_prompt),
        ("resume.new", &form.resume.new),
        ("resume.again", &form.resume.again),
    ];
    let whens = form.when.iter().map(|when| ("when", &when.args));
    let modes = form.permissions.modes.values().map(|args| ("permissions.modes", args));
    let resumed = form.resume.args.iter().map(|args| ("resume.args", args));
    for (field, words) in lists.into_iter().chain(whens).chain(modes).chain(resumed) {
        words.iter().try_for_each(|word| plain(field, word))?;
    }
    form.when.iter().try_for_each(|when| placeholder::require_only("when", &when.args, &[CWD]))?;
    let filled = [
        ("model", &form.model, "{model}"),
        ("effort", &form.effort, "{effort}"),
        ("add_dir", &form.add_dir, "{dir}"),
        ("system_prompt", &form.system_prompt, "{text}"),
    ];
    for (field, words, name) in filled.into_iter().filter(|(_, words, _)| !words.is_empty()) {
        placeholder::require_alone(field, words, name)?;
    }
    Ok(())
}

fn prompt(form: &RuntimeForm) -> CheckResult {
    let fits = form.is_acp() == (form.prompt == PromptChannel::Acp);
    require("prompt", fits, "`acp` belongs to the dialect acp, and nothing else does")?;
    let must_stay_open = matches!(form.dialect.as_str(), "codex-app-server" | "pi-rpc");
    let may_stay_open = must_stay_open || form.dialect == "claude-stream-json";
    let is_dialect = form.prompt == PromptChannel::Dialect;
    require("prompt", !is_dialect || may_stay_open, "this dialect does not read prompts")?;
    require("prompt", is_dialect || !must_stay_open, "this dialect reads prompts: `dialect`")?;

    let bases = form.resume.args.iter().map(|args| ("resume.args", args));
    for (field, words) in bases.chain([("args", &form.args)]) {
        if form.prompt == PromptChannel::File {
            placeholder::require_only(field, words, &[CWD, PROMPT_FILE])?;
            placeholder::require_once(field, words, PROMPT_FILE)?;
        } else {
            placeholder::require_only(field, words, &[CWD])?;
        }
    }
    if form.prompt_args.is_empty() {
        return Ok(());
    }
    require("prompt_args", form.prompt == PromptChannel::Argv, "are for prompts by argv")?;
    placeholder::require_alone("prompt_args", &form.prompt_args, PROMPT)
}

fn resume(form: &RuntimeForm) -> CheckResult {
    let resume = &form.resume;
    let is_new_empty = resume.new.is_empty();
    let says_nothing = is_new_empty && resume.again.is_empty() && resume.args.is_none();
    match resume.style {
        ResumeStyle::None => require("resume", says_nothing, "has arguments but no style"),
        ResumeStyle::Protocol => {
            let needs = "`protocol` needs a prompt by dialect or acp";
            require("resume.style", is_interactive(form), needs)?;
            require("resume", says_nothing, "`protocol` takes no arguments")
        }
        ResumeStyle::Told | ResumeStyle::Chosen => {
            require("resume.style", !form.is_acp(), "must be `protocol` or `none` for acp")?;
            placeholder::require_alone("resume.again", &resume.again, SESSION)?;
            if resume.style == ResumeStyle::Told {
                return require("resume.new", is_new_empty, "is for ids that we choose");
            }
            placeholder::require_alone("resume.new", &resume.new, SESSION)
        }
    }
}

fn permissions(form: &RuntimeForm) -> CheckResult {
    let permissions = &form.permissions;
    let modes = &permissions.modes;
    for args in modes.values() {
        placeholder::require_only("permissions.modes", args, &[CWD])?;
    }
    let may_ask = !permissions.asks || is_interactive(form);
    require("permissions.asks", may_ask, "needs prompt acp or dialect")?;
    let is_usable = permissions.asks || !modes.is_empty();
    require("permissions.modes", is_usable, "a CLI that does not ask must offer a mode")?;
    for (mode, set) in &permissions.env {
        variables("permissions.env", set)?;
        let is_offered = permissions.asks || modes.contains_key(mode);
        let otherwise = format!("`{}` is not among the modes", mode.name());
        require("permissions.env", is_offered, &otherwise)?;
    }
    let has_sessions = permissions.session_modes.is_empty() || form.is_acp();
    require("permissions.session_modes", has_sessions, "need the dialect acp")?;
    for mode in permissions.session_modes.values() {
        text("permissions.session_modes", mode)?;
    }
    for mode in &permissions.refuses {
        let is_clear = permissions.asks && !modes.contains_key(mode);
        let otherwise = format!("`{}` is offered, or never was", mode.name());
        require("permissions.refuses", is_clear, &otherwise)?;
    }
    permissions.note.iter().try_for_each(|note| text("permissions.note", note))
}

/// Whether Switchyard and the CLI exchange messages while the CLI runs.
fn is_interactive(form: &RuntimeForm) -> bool {
    matches!(form.prompt, PromptChannel::Acp | PromptChannel::Dialect)
}
