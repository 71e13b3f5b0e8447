//! The positional arguments of `run`: which of them is the agent, and which the prompt.

use projection::sanitize_line;
use runtimes::catalogue::{BuiltInAgent, Catalogue};

use crate::agents;
use crate::cli::run::RunArgs;
use crate::outcome::Failure;

/// The longest prompt that is shown in a hint.
const MAX_HINT_CHARS: usize = 80;

/// Takes the prompt out of `[AGENT] PROMPT`, and notes the agent where `--agent` would have put it.
/// There is no prompt among the words if prompts come on stdin.
pub(super) fn take_prompt(args: &mut RunArgs) -> Result<Option<String>, Failure> {
    if args.json {
        return Err(Failure::usage("`run` has no --json").hint("use --format json"));
    }
    let (agent, prompt) = match args.stdin {
        true => (agent_word(args)?, None),
        false => agent_and_prompt(args).map(|(agent, prompt)| (agent, Some(prompt)))?,
    };
    let (agent, prompt) = (agent.map(str::to_owned), prompt.map(str::to_owned));
    args.agent.agent = agent;
    Ok(prompt)
}

/// `[AGENT]` alone.
fn agent_word(args: &RunArgs) -> Result<Option<&str>, Failure> {
    let named = args.agent.agent.as_deref();
    let is_named = named.is_some() || args.session.is_some() || !args.command.is_empty();
    let hint = "printf 'one\\ntwo\\n' | switchyard run demo --stdin --format envelopes";
    match (&args.words[..], args.command.is_empty()) {
        ([agent], true) => Ok(Some(agent)),
        ([], _) if is_named => Ok(named),
        ([], _) => Err(Failure::usage("which agent is that for?").hint(hint)),
        _ => {
            Err(Failure::usage("with --stdin every prompt is a line on stdin, and none is a word")
                .hint(hint))
        }
    }
}

fn agent_and_prompt(args: &RunArgs) -> Result<(Option<&str>, &str), Failure> {
    let named = args.agent.agent.as_deref();
    match (&args.words[..], args.command.is_empty()) {
        ([word], true) if named.is_none() && args.session.is_none() => {
            let shipped = Catalogue::shipped().ok();
            let native = BuiltInAgent::Native.id();
            let is_agent =
                shipped.as_ref().is_some_and(|shipped| shipped.names().any(|name| name == word));
            let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            let meant = shipped.as_ref().and_then(|shipped| agents::nearest(word, shipped));
            let (agent, prompt) = match (is_agent, meant) {
                (true, _) => (word.as_str(), "say hello"),
                (false, Some(meant)) => (meant, "say hello"),
                (false, None) => (native, word.as_str()),
            };
            let message = match (is_agent, is_name) {
                (true, _) => format!("what is `{word}` to do?"),
                (false, true) => format!(
                    "`{word}` is all there is: an agent without a prompt, or a prompt \
                     without an agent"
                ),
                (false, false) => "which agent is that for?".to_owned(),
            };
            let prompt = sanitize_line(&prompt.replace('"', "\\\""), MAX_HINT_CHARS);
            let question = match meant.filter(|_| !is_agent) {
                Some(meant) => format!("did you mean `{meant}`? "),
                None => String::new(),
            };
            Err(Failure::usage(message).hint(format!(
                "{question}switchyard run AGENT PROMPT, for example: switchyard run {agent} \"{prompt}\" \
                 (`switchyard agents` lists them; {native} is built in)"
            )))
        }
        ([prompt], _) => Ok((named, prompt)),
        ([agent, prompt], true) => Ok((Some(agent), prompt)),
        ([agent, rest @ ..], true) => {
            let prompt = sanitize_line(&rest.join(" ").replace('"', "\\\""), MAX_HINT_CHARS);
            Err(Failure::usage("the prompt is one word for the shell: put it in quotes")
                .hint(format!("switchyard run {} \"{prompt}\"", sanitize_line(agent, 40))))
        }
        _ => {
            Err(Failure::usage("with a command after `--` there is one word before it: the prompt")
                .hint("switchyard run \"fix the test\" -- opencode acp"))
        }
    }
}
