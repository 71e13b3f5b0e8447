//! Lists to choose from: sessions, agents, and what the agent offers.

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::json;

use super::{ChatState, Overlay};
use crate::effect::Effect;
use crate::info::{AgentInfo, SessionInfo, SettableOption};
use crate::picker::{Picker, PickerEntry, PickerKind};

impl ChatState {
    pub(super) fn pick_session(&mut self) -> Vec<Effect> {
        self.overlay = Some(Overlay::Picker(Picker::loading(PickerKind::Session)));
        vec![Effect::Sessions]
    }

    pub(super) fn pick_agent(&mut self) -> Vec<Effect> {
        self.overlay = Some(Overlay::Picker(Picker::loading(PickerKind::Agent)));
        vec![Effect::Agents]
    }

    /// Sets one of the agent's options, or shows the values there are.
    pub(super) fn choose(&mut self, picks: PickerKind, wanted: &str) -> Vec<Effect> {
        let Some(name) = member(picks) else { return Vec::new() };
        if !wanted.is_empty() {
            return vec![Effect::Change(json!({ name: wanted }))];
        }
        let offered = match self.offered(picks) {
            Some(offered) if !offered.values.is_empty() => offered,
            _ => {
                self.show_remark(format!(
                    "the agent offers no {name} to choose, or does not run yet"
                ));
                return Vec::new();
            }
        };
        let entry = |named: &crate::info::OptionValue| {
            let is_current = offered.current.as_deref() == Some(&named.id);
            let about = if is_current { "in use" } else { "" };
            PickerEntry::new(&named.id, &named.name, about)
        };
        let entries = offered.values.iter().map(entry).collect();
        let mut picker = Picker::loading(picks);
        picker.fill(entries, true);
        self.overlay = Some(Overlay::Picker(picker));
        Vec::new()
    }

    fn offered(&self, picks: PickerKind) -> Option<&SettableOption> {
        let options = self.session.as_ref()?.options.as_ref()?;
        match picks {
            PickerKind::Model => options.model.as_ref(),
            PickerKind::Mode => options.mode.as_ref(),
            PickerKind::Effort => options.effort.as_ref(),
            PickerKind::Session | PickerKind::Agent => None,
        }
    }

    pub(super) fn press_picker(&mut self, key: KeyEvent, is_ctrl: bool) -> Vec<Effect> {
        const PAGE: isize = 10;
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return Vec::new() };
        match key.code {
            KeyCode::Esc => {
                self.overlay = None;
                // Without a session there is nothing behind the list.
                if self.session.is_none() {
                    return vec![Effect::Leave];
                }
            }
            KeyCode::Char('d') if is_ctrl => return vec![Effect::Leave],
            KeyCode::Up => picker.step(-1),
            KeyCode::Down => picker.step(1),
            KeyCode::Char('p') if is_ctrl => picker.step(-1),
            KeyCode::Char('n') if is_ctrl => picker.step(1),
            KeyCode::Home => picker.step(isize::MIN),
            KeyCode::End => picker.step(isize::MAX),
            KeyCode::Left => picker.step(-PAGE),
            KeyCode::Right => picker.step(PAGE),
            KeyCode::Backspace => picker.narrow(|filter| _ = filter.pop()),
            KeyCode::Char('u') if is_ctrl => picker.narrow(String::clear),
            KeyCode::Char(letter) if !is_ctrl && !letter.is_control() => {
                picker.narrow(|filter| filter.push(letter));
            }
            KeyCode::Enter => {
                let (picks, chosen) = (picker.kind, picker.chosen().cloned());
                let Some(chosen) = chosen else { return Vec::new() };
                if chosen.is_blocked {
                    self.show_remark(format!("{}: {}", chosen.id, chosen.about));
                    return Vec::new();
                }
                self.overlay = None;
                return self.chosen(picks, chosen);
            }
            _ => {}
        }
        Vec::new()
    }

    fn chosen(&mut self, picks: PickerKind, entry: PickerEntry) -> Vec<Effect> {
        match picks {
            PickerKind::Session => {
                let is_here = self.session.as_ref().is_some_and(|session| session.id == entry.id);
                if is_here { Vec::new() } else { vec![Effect::Attach(entry.id)] }
            }
            PickerKind::Agent => {
                self.agent = Some(entry.id.clone());
                self.show_remark(format!("starting {} …", entry.name));
                vec![Effect::Create { agent: Some(entry.id) }]
            }
            PickerKind::Model | PickerKind::Mode | PickerKind::Effort => match member(picks) {
                Some(name) => vec![Effect::Change(json!({ name: entry.id }))],
                None => Vec::new(),
            },
        }
    }

    pub(super) fn sessions_found(&mut self, sessions: &[SessionInfo]) {
        let entries = sessions.iter().map(|session| {
            let about = format!("{} · {} · {}", session.status_words(), session.agent, session.cwd);
            PickerEntry::new(&session.id, &session.display_name(), &about)
        });
        let entries = entries.collect();
        if let Some(Overlay::Picker(picker)) = &mut self.overlay
            && picker.kind == PickerKind::Session
        {
            picker.fill(entries, true);
        }
    }

    /// With one agent that is ready there is nothing to choose.
    pub(super) fn agents_found(&mut self, found: &[AgentInfo], is_complete: bool) -> Vec<Effect> {
        let ready: Vec<&AgentInfo> = found.iter().filter(|agent| agent.is_usable).collect();
        let entry = |agent: &&AgentInfo| {
            let name = agent.name.as_deref().unwrap_or(&agent.id);
            let version = agent.version.as_deref().unwrap_or_default();
            PickerEntry::new(&agent.id, &format!("{}  {name}", agent.id), version)
        };
        // A built-in agent is always there; where it cannot be used, its entry says why.
        let blocked = found.iter().filter(|agent| agent.is_built_in).filter_map(|agent| {
            let about = agent.obstacle()?;
            Some(PickerEntry { is_blocked: true, about, ..entry(&agent) })
        });
        let entries: Vec<PickerEntry> = ready.iter().map(entry).chain(blocked).collect();
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return Vec::new() };
        if picker.kind != PickerKind::Agent {
            return Vec::new();
        }
        picker.fill(entries, is_complete);
        match ready.as_slice() {
            [only] if is_complete && self.session.is_none() => {
                let agent = Some(only.id.clone());
                self.agent.clone_from(&agent);
                self.overlay = None;
                vec![Effect::Create { agent }]
            }
            _ => Vec::new(),
        }
    }
}

/// The member of the API that sets it.
fn member(picks: PickerKind) -> Option<&'static str> {
    match picks {
        PickerKind::Model => Some("model"),
        PickerKind::Mode => Some("mode"),
        PickerKind::Effort => Some("effort"),
        PickerKind::Session | PickerKind::Agent => None,
    }
}
