//! Reads an event into a conversation.

use wire::event::{PermissionRequested, TurnEnded};
use wire::{Event, OwnEvent};

use super::{Change, Conversation};
use crate::calls::{CallKey, ReportKind, ToolCall};
use crate::content::{ContentBlock, blocks, chunk_text, parent_call, update_of};
use crate::json::{JsonNode, JsonObject};
use crate::notice::Notice;
use crate::plan;
use crate::question::PermissionQuestion;
use crate::turn::{ActiveTurn, TurnEnd, is_in_answer};

impl Conversation {
    /// Applies the next event of the log and returns the changes it makes.
    pub fn apply<'e>(&mut self, event: &'e Event) -> Vec<Change<'e>> {
        // Ended calls lose their contents only now: projections still read them when they end.
        self.calls.free_ended();
        (self.seq, self.at, self.event_turn) = (event.seq, event.at, event.turn);
        let mut changes: Vec<_> =
            self.prompts.project(event).into_iter().map(Change::Prompt).collect();
        let added = self.repeat_filter.new_text(event);
        match event.kind.update_name() {
            Some(name) => self.update(name, &update_of(event), added, &mut changes),
            None => {
                if let Some(own) = event.own() {
                    self.own_event(own, &mut changes);
                }
            }
        }
        changes
    }

    fn update<'e>(
        &mut self,
        name: &'e str,
        update: &JsonObject<'e>,
        added: Option<String>,
        changes: &mut Vec<Change<'e>>,
    ) {
        match name {
            "agent_message_chunk" => self.answer(update, added, changes),
            "agent_thought_chunk" => {
                let text = chunk_text(update);
                if !text.is_empty() {
                    let parent = self.speaker(update, changes);
                    changes.push(Change::Thought { text, parent });
                }
            }
            "user_message_chunk" => {}
            "tool_call" => _ = self.see_call(update, ReportKind::Call, changes),
            "tool_call_update" => _ = self.see_call(update, ReportKind::Update, changes),
            "plan" | "plan_update" => self.planned(update, changes),
            name => {
                if name == "usage_update" {
                    self.context.usage.update(update);
                    self.begin_waiting_calls(changes);
                }
                let notice = Notice::of_update(name, update);
                changes.push(Change::Update(name, update.clone(), notice));
            }
        }
    }

    /// `added` is the part of its text that was not shown before.
    fn answer<'e>(
        &mut self,
        update: &JsonObject<'e>,
        mut added: Option<String>,
        changes: &mut Vec<Change<'e>>,
    ) {
        for block in blocks(update.get("content")) {
            match block.text() {
                Some(_) => {
                    let Some(text) = added.take().filter(|text| !text.is_empty()) else { continue };
                    let parent = self.speaker(update, changes);
                    self.last_answer_piece.clone_from(&text);
                    changes.push(Change::Answer { text, parent });
                }
                None if block.has_content() => {
                    let parent = self.speaker(update, changes);
                    changes.push(Change::AnswerBlock { block, parent });
                }
                None => {}
            }
        }
    }

    /// The tool call whose sub-agent sends this, if one does. Calls that were held back begin
    /// first.
    fn speaker(&mut self, said: &JsonObject<'_>, changes: &mut Vec<Change<'_>>) -> Option<String> {
        self.begin_waiting_calls(changes);
        parent_call(said)
    }

    fn see_call<'e>(
        &mut self,
        fields: &JsonObject<'e>,
        sighting: ReportKind,
        changes: &mut Vec<Change<'e>>,
    ) -> CallKey {
        let turn = self.event_turn();
        let key = self.calls.merge(turn, fields, sighting, self.at);
        let ToolCall { turn, parent, .. } = self.calls.get(key);
        let parent = parent.as_deref().and_then(|parent| self.calls.find(*turn, parent));
        if let Some(parent) = parent {
            self.begin_call(parent, false, changes);
        }
        changes.push(Change::CallSeen { call: key, fields: fields.clone() });
        let call = self.calls.get(key);
        let is_ended = call.is_ended();
        let is_asked = sighting == ReportKind::Question;
        let media = tool_blocks(fields).filter(|block| block.media().is_some());
        let media: Vec<_> = media.collect();
        if is_asked || is_ended || call.has_enough_to_show() || !media.is_empty() {
            self.begin_call(key, is_asked, changes);
        }
        let media = self.calls.new_media(key, media);
        changes.extend(media.into_iter().map(|block| Change::CallMedia(key, block)));
        if is_ended && self.calls.end(key) {
            changes.push(Change::CallEnded(key));
        }
        key
    }

    fn planned(&mut self, update: &JsonObject<'_>, changes: &mut Vec<Change<'_>>) {
        let entries = plan::entries(update);
        if entries == self.plan {
            return;
        }
        self.begin_waiting_calls(changes);
        changes.push(Change::Planned { steps: plan::steps(&self.plan, &entries) });
        self.plan = entries;
    }

    fn own_event<'e>(&mut self, own: OwnEvent<'e>, changes: &mut Vec<Change<'e>>) {
        self.terminals.apply(&own);
        match own {
            OwnEvent::TurnStarted(_) => return self.start_turn(changes),
            OwnEvent::TurnEnded(ended) => return self.turn_ended(&ended, changes),
            OwnEvent::Error(fault) => return self.fail(&fault, None, changes),
            OwnEvent::PermissionRequested(asked) => return self.asked(&asked, changes),
            OwnEvent::PermissionResolved(resolved) => {
                let decision = self.questions.decide(resolved);
                return changes.push(Change::Decided(Box::new(decision)));
            }
            OwnEvent::SessionCreated(ref created) => {
                self.cwd = Some(created.cwd.clone()).filter(|cwd| !cwd.is_empty());
            }
            OwnEvent::ElicitationRequested(_)
            | OwnEvent::AgentQuiet(_)
            | OwnEvent::LimitReached(_) => {
                self.begin_waiting_calls(changes);
            }
            _ => {}
        }
        let dropped = match &own {
            OwnEvent::PromptDropped(dropped) if self.turn.is_none() => Some(dropped.reason),
            _ => None,
        };
        // An agent that waits for an answer is quiet for a reason, which the question shows.
        let is_asked = matches!(own, OwnEvent::AgentQuiet(_)) && !self.questions.is_empty();
        let notice = Notice::of_own(&own, self.turn.is_some()).filter(|_| !is_asked);
        changes.push(Change::Own(Box::new(own), notice));
        // A client that waits for the prompt's turn gets one that starts and ends at once.
        if let Some(reason) = dropped {
            self.start_turn(changes);
            if let Some(turn) = &self.turn {
                let end = TurnEnd::dropped(turn, reason);
                self.close_turn(end, changes);
            }
        }
    }

    fn asked<'e>(&mut self, asked: &PermissionRequested<'e>, changes: &mut Vec<Change<'e>>) {
        let request = JsonNode::of(asked.request).object();
        let call = request.object("toolCall");
        let mut key = None;
        // A question of Switchyard itself is about no tool call.
        if asked.limit.is_some() || call.is_empty() {
            self.begin_waiting_calls(changes);
        } else {
            key = Some(self.see_call(&call, ReportKind::Question, changes));
        }
        let question = PermissionQuestion::read(asked, &request, key);
        self.questions.ask(&question);
        changes.push(Change::Asked(Box::new(question)));
    }

    fn turn_ended(&mut self, ended: &TurnEnded<'_>, changes: &mut Vec<Change<'_>>) {
        let id = self.event_turn;
        let is_its = |turn: &&ActiveTurn| id.is_none() || turn.id.is_none() || turn.id == id;
        let turn = self.turn.as_ref().filter(is_its);
        if turn.is_none() && id.is_some() && id == self.last_ended {
            return;
        }
        let mut end = TurnEnd::of(ended, turn, id, self.at);
        end.cost_usd = end.cost_usd.or_else(|| self.context.turn_cost_usd());
        let message = end.fault.as_ref().map(|fault| fault.message.as_str());
        end.is_in_answer =
            message.is_some_and(|message| is_in_answer(&self.last_answer_piece, message));
        self.close_turn(end, changes);
    }
}

/// The content blocks of a tool's output.
fn tool_blocks<'e>(fields: &JsonObject<'e>) -> impl Iterator<Item = ContentBlock<'e>> {
    // Some agents leave the wrapper out and send the block itself.
    fields.items("content").into_iter().flat_map(|node| match node.object().get("content") {
        Some(wrapped) => blocks(Some(wrapped)),
        None => vec![ContentBlock::of(node)],
    })
}
