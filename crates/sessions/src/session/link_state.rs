//! The link to a session's agent: none, being made, or made; and the requests that wait for it.
//!
//! In: who wants the agent, how starting it came out, and its options. Out: whether it is to be
//! started, what is to be done for those who waited, and the text before the next prompt when it is
//! given the session again. No I/O and no clock.
//!
//! Always true: starting is begun by one alone; who waits is given back once, in order; what an
//! agent offers is known only while it runs.

use wire::event::SessionResumed;
use wire::{Fault, Json};

use super::{ForwardedRequest, ReplySender};
use crate::host::MemoryShare;

/// Requests of clients that may wait for an agent that is being started.
const MAX_WAITING: usize = 64;
/// An agent's offer is kept for as long as its session is awake, and read by whoever looks at it;
/// none that is of any use is as long as this.
const MAX_OFFER_BYTES: usize = 1 << 20;
/// Longest name of a mode.
const MAX_MODE_BYTES: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct LinkState<A> {
    state: LinkStage<A>,
    waiting: LinkWaiters,
    /// The id by which the agent knows the session, also while it rests.
    agent_session: Option<String>,
    /// Why the agent is given the session as a new one.
    forgot: Option<String>,
    /// Differences to add to the next report of a resume.
    changed: Vec<String>,
    /// Text that is sent before the next prompt.
    text_before_prompt: Option<String>,
}

#[derive(Debug)]
enum LinkStage<A> {
    Unlinked,
    Linking,
    Linked { agent: A, offer: CurrentOffer },
}

/// Replies and requests that wait for the agent.
#[derive(Debug, Default)]
pub(super) struct LinkWaiters {
    /// Replies that wait for its options.
    pub(super) links: Vec<ReplySender<Result<Json, Fault>>>,
    /// Requests that clients make of it.
    pub(super) passes: Vec<ForwardedRequest>,
}

/// An agent's answer to session/new, load or resume, kept up to date.
#[derive(Debug)]
pub(super) struct CurrentOffer {
    answer: Json,
    /// The share of the memory that the sessions of its process may keep.
    share: MemoryShare,
}

impl CurrentOffer {
    pub(super) fn new(answer: Json, share: MemoryShare) -> Self {
        let n_bytes = answer.as_str().len();
        let mut offered = Self { answer: Json::trusted("{}"), share };
        if !offered.keep(answer) {
            tracing::warn!(
                n_bytes,
                "the agent offers more than is kept; its options are not shown"
            );
        }
        offered
    }

    /// Keeps an answer; false if there is no room for it, and the one before stays.
    fn keep(&mut self, answer: Json) -> bool {
        let n_bytes = answer.as_str().len();
        let is_kept = n_bytes <= MAX_OFFER_BYTES && self.share.resize(n_bytes);
        if is_kept {
            self.answer = answer;
        }
        is_kept
    }
}

impl<A> LinkState<A> {
    pub(super) fn new(agent_session: Option<String>, changed: Vec<String>) -> Self {
        Self {
            state: LinkStage::Unlinked,
            waiting: LinkWaiters::default(),
            agent_session,
            forgot: None,
            changed,
            text_before_prompt: None,
        }
    }

    pub(super) fn current(&self) -> Option<&A> {
        let LinkStage::Linked { agent, .. } = &self.state else { return None };
        Some(agent)
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut A> {
        let LinkStage::Linked { agent, .. } = &mut self.state else { return None };
        Some(agent)
    }

    pub(super) fn is_unlinked(&self) -> bool {
        matches!(self.state, LinkStage::Unlinked)
    }

    /// Whether the agent is to be started now: it does not run, and nobody has begun to start it.
    #[must_use]
    pub(super) fn begin(&mut self) -> bool {
        let is_first = self.is_unlinked();
        if is_first {
            self.state = LinkStage::Linking;
        }
        is_first
    }

    /// The agent has the session under that id. Gives back who has waited.
    pub(super) fn linked(
        &mut self,
        agent: A,
        agent_session: String,
        offer: CurrentOffer,
    ) -> LinkWaiters {
        self.state = LinkStage::Linked { agent, offer };
        (self.agent_session, self.forgot) = (Some(agent_session), None);
        std::mem::take(&mut self.waiting)
    }

    /// The agent could not be started. Gives back who has waited.
    pub(super) fn failed(&mut self) -> LinkWaiters {
        self.state = LinkStage::Unlinked;
        std::mem::take(&mut self.waiting)
    }

    /// Lets go of the agent.
    pub(super) fn release(&mut self) -> Option<A> {
        match std::mem::replace(&mut self.state, LinkStage::Unlinked) {
            LinkStage::Linked { agent, .. } => Some(agent),
            LinkStage::Linking | LinkStage::Unlinked => None,
        }
    }

    /// The id that a later process resumes by.
    pub(super) fn resume_by(&mut self, agent_session: String) {
        self.agent_session = Some(agent_session);
    }

    pub(super) fn agent_session(&self) -> Option<&String> {
        self.agent_session.as_ref()
    }

    /// The agent says that it has forgotten the session.
    pub(super) fn forget(&mut self, why: String) {
        (self.agent_session, self.forgot) = (None, Some(why));
    }

    pub(super) fn forgot(&self) -> Option<&String> {
        self.forgot.as_ref()
    }

    /// Adds to a report what else has changed since the session was last opened.
    pub(super) fn complete(&mut self, report: &mut SessionResumed) {
        report.changed.append(&mut self.changed);
    }

    /// Sets the text before the next prompt. `preface` is the text that the session's agents are
    /// sent once, and `recap` the conversation so far, for one that has forgotten it.
    pub(super) fn set_text_before_prompt(
        &mut self,
        preface: Option<String>,
        recap: Option<String>,
        is_told: bool,
    ) {
        self.text_before_prompt = match (preface, recap) {
            // It has forgotten the preface, too.
            (Some(preface), Some(recap)) => Some(format!("{preface}\n{recap}")),
            (preface, None) => preface.filter(|_| !is_told),
            (None, recap) => recap,
        };
    }

    pub(super) fn take_text_before_prompt(&mut self) -> Option<String> {
        self.text_before_prompt.take()
    }

    /// The agent's answer with its options, while it runs.
    pub(super) fn offer(&self) -> Option<&Json> {
        let LinkStage::Linked { offer, .. } = &self.state else { return None };
        Some(&offer.answer)
    }

    /// Changes a part of the agent's options; gives the whole, if there was room for it.
    pub(super) fn set_offer_part(&mut self, path: &[&str], value: &Json) -> Option<&Json> {
        let LinkStage::Linked { offer, .. } = &mut self.state else { return None };
        let fits = value.as_str().len() <= MAX_OFFER_BYTES;
        let answer = wire::set_member(&offer.answer, path, value).ok().filter(|_| fits)?;
        offer.keep(answer).then_some(&offer.answer)
    }

    /// As [`set_offer_part`](Self::set_offer_part), if `value` is the name of something.
    pub(super) fn set_offer_name(
        &mut self,
        path: &[&str],
        value: &serde_json::Value,
    ) -> Option<&Json> {
        value.as_str().filter(|name| name.len() <= MAX_MODE_BYTES)?;
        self.set_offer_part(path, &Json::of(value))
    }

    /// Gives the offer, or has `reply` wait for it.
    pub(super) fn await_offer(&mut self, reply: ReplySender<Result<Json, Fault>>) {
        match self.offer() {
            Some(offer) => drop(reply.send(Ok(offer.clone()))),
            None => {
                self.waiting.links.retain(|waiting| !waiting.is_closed());
                self.waiting.links.push(reply);
            }
        }
    }

    /// Has a request wait for the agent; gives it back if too many do.
    pub(super) fn await_agent(&mut self, pass: ForwardedRequest) -> Result<(), ForwardedRequest> {
        let waiting = &mut self.waiting.passes;
        waiting.retain(|waiting| !waiting.reply.is_closed());
        if waiting.len() >= MAX_WAITING {
            return Err(pass);
        }
        waiting.push(pass);
        Ok(())
    }

    /// Whether a request of a client waits.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.passes.is_empty()
    }
}

#[cfg(test)]
mod tests;
