//! From a request to a run that is in the log.
//!
//! In: what a client asks for. Out: the run. Everything that can be wrong with a request is refused
//! before anything is made; faults of the agent are reported by the run.
//!
//! Always true: one request makes one run, however often and however parallel it is sent,
//! and a conversation has one run at a time.

use std::path::PathBuf;

use serde_json::{Value, json};
use sessions::budget::BudgetLimits;
use sessions::details::CreationParams;
use sessions::details::{ClientRequest, SessionDetails};
use sessions::fair_limiter::FairPermit;
use sessions::order::SessionOrder;
use sessions::permission::PermissionMode;
use sessions::session::{PromptAcceptance, SessionHandle};
use store::SessionRecord;
use wire::{Category, SessionId, TurnId};

use super::Runs;
use super::conversation::{Conversation, ConversationNote, RunNote, run_id};
use super::files::RunFiles;
use super::repeated_requests::other_request;
use super::resources::Resources;
use super::run_options::CheckedOptions;
use super::run_request::NewRun;
use crate::principal::{Principal, Role};
use crate::problem::{Problem, kinds};

/// A run that is in the log.
#[derive(Debug)]
pub(super) struct StartedRun {
    pub(super) run: TurnId,
    pub(super) session: SessionId,
    pub(super) conversation: String,
    pub(super) is_reused: bool,
}

impl Runs {
    pub(super) async fn begin(
        &self,
        principal: &Principal,
        new: &NewRun,
    ) -> Result<StartedRun, Problem> {
        principal.require(Role::Operator)?;
        let request_id = new.client_request_id.as_deref();
        // Two requests with the same are the same request, sent again.
        let digest = crate::request_names::digest(new);
        let asking = self.request_digests.enter(&principal.namespace(), request_id, &digest)?;
        let conversation = self.conversation(new, principal).await?;
        let _place = self.conversation_locks.enter(conversation.main.as_str()).await;
        let (session, record) = self.session_of(&conversation, new.agent_id.as_deref()).await?;
        let run = run_id(session, request_id.map(|id| (principal, id)));
        let begun = |is_reused| StartedRun {
            run,
            session,
            conversation: conversation.id.clone(),
            is_reused,
        };
        let details = record.as_ref().map(SessionDetails::read);
        if let Some(taken) = details.as_ref().and_then(|details| details.request(run)) {
            return match taken.digest == digest {
                true => Ok(begun(true)),
                false => Err(other_request()),
            };
        }
        if let Some(other) = self.busy(&conversation, session).await? {
            let running = Problem::of(kinds::RUN_IN_PROGRESS);
            return Err(running.details(json!({ "runId": other })));
        }
        let mut work =
            self.prepare(principal, new, &conversation, session, record.as_ref()).await?;
        let note = RunNote {
            conversation_id: conversation.id.clone(),
            project_id: work.note.project_id.clone(),
            client_request_id: new.client_request_id.clone(),
            user_message_id: new.user_message_id.clone(),
            assistant_message_id: new.assistant_message_id.clone(),
            model: new.model.clone(),
            reasoning: new.reasoning.clone(),
            session_mode: new.session_mode.clone(),
            permissions: work.permissions.or_else(|| details.as_ref()?.permissions),
            warnings: std::mem::take(&mut work.resources.warnings),
        };
        let (blocks, _in_memory) =
            self.open(principal, new, session, record.as_ref(), work).await?;
        let params = wire::Json::of(&json!({ "prompt": blocks, "_meta": note.to_meta() }));
        // Every run has a name, so that the session's record knows it.
        let id = request_id.map_or_else(|| run.to_string(), str::to_owned);
        let request = ClientRequest { id, digest };
        self.sides.add(&self.daemon.registry, conversation.main, session);
        let (params, by, request) = (&params, &principal.name, &request);
        let prompting = |session: SessionHandle| async move {
            session.prompt_once(run, params.clone(), by.clone(), request.clone()).await
        };
        let received = self.daemon.registry.with(session, prompting).await?;
        asking.keep();
        Ok(begun(received == PromptAcceptance::Known))
    }

    /// Checks all that can be checked before anything is made.
    async fn prepare(
        &self,
        principal: &Principal,
        new: &NewRun,
        conversation: &Conversation,
        session: SessionId,
        record: Option<&SessionRecord>,
    ) -> Result<PreparedRun, Problem> {
        let begun_in = record.and_then(ConversationNote::read).and_then(|note| note.project_id);
        if let (Some(record), Some(wanted)) = (record, &new.project_id)
            && begun_in.as_ref() != Some(wanted)
        {
            let why = format!("this conversation began in another directory: {}", record.cwd);
            return Err(Problem::of(kinds::OTHER_DIRECTORY).detail(why));
        }
        // A conversation without a project has a directory of its own.
        let own = || format!("conversation-{}", conversation.main);
        let project_id = begun_in.or_else(|| new.project_id.clone());
        let name = project_id.clone().unwrap_or_else(own);
        let project = self.projects.open(principal, &name).await?;
        let path = project.path.clone();
        let agent = match record {
            Some(record) => record.agent.clone(),
            None => self.agent(new.agent_id.as_deref()).await?,
        };
        let (model, reasoning) = (new.model.as_deref(), new.reasoning.as_deref());
        let options = self.check_options(&agent, model, reasoning).await?;
        let enclosed =
            self.enclosed(principal, project, session, new.files(), new.pictures()).await?;
        // An agent cannot give a session wider permissions than it would get.
        let own = (!principal.is_worker).then(|| self.daemon.open_design().permissions);
        // A further agent of a conversation may do no more than the first.
        let main = self.daemon.registry.log().session(conversation.main).await?;
        let of_main = main.and_then(|main| SessionDetails::read(&main).permissions);
        let begun = record.map(|record| SessionDetails::read(record).permissions);
        let permissions = match begun {
            Some(_) => None,
            None => new.permissions.or(of_main).or(own),
        };
        let mode = begun.unwrap_or(permissions);
        let mut resources = self.resources(principal, new, mode).await?;
        if let (Some(Some(begun)), Some(wanted)) = (begun, new.permissions)
            && begun != wanted
        {
            resources.warnings.push(format!(
                "`permissions` has no effect: the conversation began with `{}`",
                begun.name()
            ));
        }
        let note = ConversationNote { conversation_id: conversation.id.clone(), project_id };
        let project = name;
        Ok(PreparedRun { project, path, agent, permissions, options, resources, enclosed, note })
    }

    /// Makes the session or sets its options, and returns the blocks of the prompt; with the permit
    /// for their memory, held until the prompt is in the log.
    async fn open(
        &self,
        principal: &Principal,
        new: &NewRun,
        session: SessionId,
        record: Option<&SessionRecord>,
        mut work: PreparedRun,
    ) -> Result<(Vec<Value>, Option<FairPermit>), Problem> {
        let Resources { instructions, directories, .. } = work.resources;
        let CheckedOptions { initial_options, is_unsure } = work.options;
        match record {
            Some(record) => self.apply_options(record, &initial_options).await?,
            None => {
                let roots = [std::slice::from_ref(&self.projects.root), &directories].concat();
                let inactive = self.daemon.open_design().inactivity;
                let order = SessionOrder {
                    id: Some(session),
                    agent: Some(work.agent),
                    cwd: work.path,
                    additional_directories: directories,
                    note: Some(work.note.to_note()),
                    system_prompt: instructions.clone(),
                    tells_directory: true,
                    initial_options,
                    permissions: work.permissions,
                    limits: BudgetLimits { inactive, ..BudgetLimits::default() },
                    maker: Some(principal.maker()),
                    has_own_worker: principal.own_sessions,
                    starts_later: true,
                    ..SessionOrder::default()
                };
                let order = self.daemon.checked_in(&roots, order, principal)?;
                self.daemon.registry.create(order).await?;
            }
        }
        self.take_over(&mut work.enclosed, principal, session).await?;
        let mut takes_images = false;
        if work.enclosed.has_pictures() || (is_unsure && record.is_none()) {
            match self.daemon.capabilities(session).await? {
                Ok(takes) => takes_images = takes.image,
                // It does not offer the requested option: no run, and no session either.
                Err(fault) if fault.category == Category::BadInput && record.is_none() => {
                    self.daemon.registry.delete(session).await?;
                    return Err(fault.into());
                }
                // The run will report the fault.
                Err(_) => {}
            }
        }
        let earlier = match record {
            Some(record) => {
                let made_of = CreationParams::read(&**self.daemon.registry.log(), record).await?;
                Some((SessionDetails::read(record), made_of))
            }
            None => None,
        };
        let (files, place) = match work.enclosed.has_pictures() && takes_images {
            false => (work.enclosed.links(), None),
            true => {
                let place = self.daemon.attachments.in_memory.enter(&principal.name).await;
                let project = self.projects.open(principal, &work.project).await?;
                let files = self.with_images(work.enclosed, principal, project, session).await?;
                (files, Some(place))
            }
        };
        Ok((blocks(new, instructions.as_deref(), earlier.as_ref(), files), place))
    }
}

/// The checked parts of a request for a run.
struct PreparedRun {
    /// The project's name, and where it is.
    project: String,
    path: PathBuf,
    agent: String,
    /// The permission mode of a new session.
    permissions: Option<PermissionMode>,
    options: CheckedOptions,
    resources: Resources,
    enclosed: RunFiles,
    note: ConversationNote,
}

/// The blocks of the prompt. `earlier` is of a session which exists already.
pub(super) fn blocks(
    new: &NewRun,
    instructions: Option<&str>,
    earlier: Option<&(SessionDetails, CreationParams)>,
    enclosed: Vec<Value>,
) -> Vec<Value> {
    let remembers = earlier.is_some_and(|(details, _)| details.last_prompt.is_some());
    // An agent that remembers need not be told again what was said.
    let (first, second) = match remembers {
        true => (&new.current_prompt, &new.message),
        false => (&new.message, &new.current_prompt),
    };
    let mut text = first.as_ref().or(second.as_ref()).cloned().unwrap_or_default();
    if let (Some((_, made_of)), Some(now)) = (earlier, instructions)
        && earlier_instructions(made_of).as_deref() != Some(now)
    {
        // The agent has others from when the conversation began.
        text = format!("# Instructions\n\n{}\n\n# Request\n\n{text}", now.trim());
    }
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    blocks.extend(enclosed);
    blocks
}

/// The instructions that the session was made with.
fn earlier_instructions(made_of: &CreationParams) -> Option<String> {
    let params: Value = made_of.new_params.read().ok()?;
    params["_meta"]["systemPrompt"]["append"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
