//! `refine`: a sub-agent works on an instruction until the project's checks pass.
//!
//! Always true: there are at most so many rounds as were allowed; what the sub-agent does asks
//! for permission like everything else.

use std::sync::Arc;

use serde::Deserialize;

use super::checks::ProjectChecks;
use super::context_editor::{checked_text, first_words, text_output};
use crate::native::display_text;
use crate::native::session::NativeSession;
use crate::native::sub_agent::SubAgent;
use crate::native::tool::arguments::{self as given, integer, string};
use crate::native::tool::{
    CallContent, CallDescription, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};
use crate::native::turn_bounds::TurnBounds;

const ROUNDS: usize = 3;
/// Upper limit of rounds: a sub-agent that has not come nearer by then will not.
const MAX_ROUNDS: usize = 10;

#[derive(Debug, Deserialize)]
struct RefineArguments {
    instruction: String,
    #[serde(default, deserialize_with = "given::number")]
    rounds: Option<usize>,
}

pub(super) fn tool(session: Arc<NativeSession>, bounds: TurnBounds) -> Arc<Tool> {
    let description = "Lets a sub-agent work on an instruction, runs the project's checks, and \
        lets it go on with what failed, until they pass or the rounds are used up. The \
        sub-agent sees nothing of this conversation: the instruction must say everything.";
    let rounds = format!("At most so many (default {ROUNDS}, at most {MAX_ROUNDS})");
    let arguments =
        [string("instruction", "What is to be done").required(), integer("rounds", &rounds)];
    let prepare = move |asked, context: ToolContext| {
        let sub_agent = SubAgent::new(session.clone(), bounds.clone(), context.clone());
        prepare(asked, sub_agent, context)
    };
    Tool::new("refine", ToolKind::Execute, description, arguments, prepare)
}

async fn prepare(
    asked: RefineArguments,
    sub_agent: SubAgent,
    context: ToolContext,
) -> Result<PreparedCall, ToolError> {
    let RefineArguments { instruction, rounds } = asked;
    let instruction = checked_text("instruction", &instruction)?;
    let rounds = rounds.unwrap_or(ROUNDS).clamp(1, MAX_ROUNDS);
    let checks = ProjectChecks::find(&context).await?;
    let asked = format!(
        "{}\n\nThen, after each of up to {rounds} rounds:\n{}",
        display_text::asked(&instruction),
        checks.shown()
    );
    let shown = CallDescription {
        title: format!("Refine: {}", display_text::title(&first_words(&instruction, 100))),
        content: vec![CallContent::Text(asked)],
        ..CallDescription::default()
    };
    let need = checks.need();
    let work = async move { refine(sub_agent, &context, &checks, instruction, rounds).await };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

async fn refine(
    mut sub_agent: SubAgent,
    context: &ToolContext,
    checks: &ProjectChecks,
    instruction: String,
    rounds: usize,
) -> Result<ToolOutput, ToolError> {
    let mut prompt = instruction;
    let mut round = 1;
    loop {
        let words = sub_agent.work_on(prompt).await?;
        let outcome = checks.run(context).await?;
        if outcome.has_passed {
            let text = format!(
                "Verified after {round} of {rounds} rounds.\n\n{words}\n\n{}",
                outcome.text
            );
            let title = format!("Verified after {round} of {rounds} rounds");
            return Ok(ToolOutput { title: Some(title), ..text_output(text) });
        }
        if round >= rounds {
            return Err(ToolError(format!(
                "The checks still fail after {rounds} rounds. What the sub-agent said last: \
                 {words}\n\n{}",
                outcome.text
            )));
        }
        let left = rounds - round;
        prompt = format!(
            "The checks fail. Find out why and mend it; {left} more rounds are left.\n\n{}",
            outcome.text
        );
        round += 1;
    }
}
