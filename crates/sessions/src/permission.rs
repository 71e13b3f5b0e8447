//! Decides whether an agent may do what it asks for.
//!
//! In: a question ([`PolicyQuestion`]), the rules and the mode. Out: allow, deny or ask, and who
//! said so. Then the option is chosen that grants or refuses exactly once: an `…_always`
//! option is never picked for a person who did not choose it.
//!
//! This is a convenience, not a boundary: it sees what the agent says it will do. What the
//! agent's process can really do is up to the user it runs as.

mod book;
mod command_glob;
mod command_line;
mod member_names;
mod question;
mod rules;
pub(crate) mod summary;
mod tool_facts;

pub use book::{RuleBook, RulesFile};
pub(crate) use member_names::{miscased_in_question, miscased_name};
pub(crate) use question::resolved;
pub use question::{PermissionOption, PolicyQuestion};
pub use rules::{Rule, RuleError, Rules};
pub use tool_facts::ToolFacts;
pub(crate) use tool_facts::{TurnToolCalls, call_id};

use serde::Serialize;
pub use wire::PermissionMode;
pub use wire::event::{DecidedBy, Decider, RulePlace};

/// Rules and mode of one session.
#[derive(Debug, Clone, Default)]
pub struct PermissionPolicy {
    /// The session's own rules, beside those that all sessions share.
    pub rules: Rules,
    pub mode: PermissionMode,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyVerdict {
    Allow(Decider),
    Deny(Decider),
    /// A person has to decide.
    Ask,
}

impl PermissionPolicy {
    /// Judges by the rules that all sessions share and the session's own, as if they stood
    /// in one file.
    pub fn judge_with(&self, shared: &Rules, question: &PolicyQuestion) -> PolicyVerdict {
        if self.mode == PermissionMode::DenyAll {
            return self.judge_by_mode(question);
        }
        let by_rules = self.judge_by_rules(shared, question);
        let is_unsure = || rules::is_unsure(shared.all().iter().chain(self.rules.all()), question);
        // The model's own question to the user comes in the same message, with several
        // answers that all "allow". Only a person can choose between them; but what is denied is
        // not asked for by calling it a question.
        if question.is_multiple_choice() || question.facts.is_for_a_person {
            let does_something = question.is_act() || question.facts.kind == "fetch";
            let names_something =
                does_something || question.facts.is_cut || !question.paths.is_empty();
            return match by_rules {
                Some(denied @ PolicyVerdict::Deny(_)) if names_something => denied,
                None if does_something && !self.mode.allows_changes() => {
                    self.judge_by_mode(question)
                }
                _ => PolicyVerdict::Ask,
            };
        }
        match by_rules {
            // Whoever may change nothing is not asked whether to do what nobody can see.
            Some(PolicyVerdict::Ask) if !self.mode.allows_changes() && is_unsure() => {
                self.judge_by_mode(question)
            }
            Some(verdict) => verdict,
            None => self.judge_by_mode(question),
        }
    }

    /// The verdict of the rules, if any applies.
    pub(crate) fn judge_by_rules(
        &self,
        shared: &Rules,
        question: &PolicyQuestion,
    ) -> Option<PolicyVerdict> {
        // No rule, mode or person opens Switchyard's own files to a session; and of more paths than
        // are looked at, the rest may be anything.
        let closed = match (question.is_forbidden, question.facts.is_cut) {
            (true, _) => "Switchyard's own files are closed to every session",
            (false, true) => "it names more paths than are looked at",
            (false, false) => "",
        };
        if !closed.is_empty() {
            return Some(PolicyVerdict::Deny(Decider::detailed(DecidedBy::Switchyard, closed)));
        }
        rules::judge(shared.all().iter().chain(self.rules.all()), question)
    }

    fn judge_by_mode(&self, question: &PolicyQuestion) -> PolicyVerdict {
        let by_mode = |name: &str| Decider::detailed(DecidedBy::Mode, name);
        match self.mode {
            PermissionMode::Ask => PolicyVerdict::Ask,
            PermissionMode::Auto => PolicyVerdict::Allow(by_mode("auto")),
            PermissionMode::DenyAll => PolicyVerdict::Deny(by_mode("deny-all")),
            PermissionMode::ReadOnly if question.only_reads() => {
                PolicyVerdict::Allow(by_mode("read-only"))
            }
            PermissionMode::ReadOnly => PolicyVerdict::Deny(by_mode("read-only")),
            PermissionMode::AcceptEdits
                if question.only_reads() || question.only_edits_inside_roots() =>
            {
                PolicyVerdict::Allow(by_mode("accept-edits"))
            }
            PermissionMode::AcceptEdits => PolicyVerdict::Ask,
        }
    }
}

/// The answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum PermissionOutcome {
    Selected {
        #[serde(rename = "optionId")]
        option_id: String,
    },
    Cancelled,
}

impl PermissionOutcome {
    /// The option that allows this once and nothing more, if the agent offers it; of several the
    /// first.
    pub fn allow_once(question: &PolicyQuestion) -> Option<Self> {
        Self::of_kind(question, question::ALLOW_ONCE)
    }

    /// The option that refuses this once; where none is offered, no option at all.
    pub fn reject(question: &PolicyQuestion) -> Self {
        Self::of_kind(question, "reject_once").unwrap_or(Self::Cancelled)
    }

    fn of_kind(question: &PolicyQuestion, kind: &str) -> Option<Self> {
        let option = question.options.iter().find(|option| option.kind == kind)?;
        // An id that stands for several options could be read as another of them.
        let is_unique = question.options.iter().filter(|other| other.id == option.id).count() == 1;
        if !is_unique {
            return None;
        }
        Some(Self::Selected { option_id: option.id.clone() })
    }
}

#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod tests;
