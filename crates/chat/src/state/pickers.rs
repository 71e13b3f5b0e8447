//! Lists to choose from: sessions, agents, and what the agent offers.

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::json;

use super::{ChatState, Overlay};
use crate::effect::Effect;
use crate::info::{AgentInfo, OptionValue, SessionInfo};
use crate::picker::{AgentOption, Picker, PickerEntry, PickerKind};

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
    pub(super) fn choose(&mut self, option: AgentOption, wanted: &str) -> Vec<Effect> {
        let name = option.name();
        if !wanted.is_empty() {
            return vec![Effect::Change(json!({ name: wanted }))];
        }
        let offered = self.session.as_ref().and_then(|session| session.option(option));
        let Some(offered) = offered.filter(|offered| !offered.values.is_empty()) else {
            self.show_remark(format!("the agent offers no {name} to choose, or does not run yet"));
            return Vec::new();
        };
        let entry = |named: &OptionValue| {
            let is_current = offered.current.as_deref() == Some(&named.id);
            let about = if is_current { "in use" } else { "" };
            PickerEntry::new(&named.id, &named.name, about)
        };
        let mut picker = Picker::loading(PickerKind::Option(option));
        picker.fill(offered.values.iter().map(entry).collect(), true);
        self.overlay = Some(Overlay::Picker(picker));
        Vec::new()
    }

    pub(super) fn press_picker(&mut self, key: KeyEvent, is_ctrl: bool) -> Vec<Effect> {
        const PAGE: isize = 10;
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return Vec::new() };
        match (key.code, is_ctrl) {
            (KeyCode::Esc, _) => {
                self.overlay = None;
                // Without a session there is nothing behind the list.
                if self.session.is_none() {
                    return vec![Effect::Leave];
                }
            }
            (KeyCode::Char('d'), true) => return vec![Effect::Leave],
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => picker.step(-1),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => picker.step(1),
            (KeyCode::Home, _) => picker.step(isize::MIN),
            (KeyCode::End, _) => picker.step(isize::MAX),
            (KeyCode::Left, _) => picker.step(-PAGE),
            (KeyCode::Right, _) => picker.step(PAGE),
            (KeyCode::Backspace, _) => picker.narrow(|filter| _ = filter.pop()),
            (KeyCode::Char('u'), true) => picker.narrow(String::clear),
            (KeyCode::Char(letter), false) if !letter.is_control() => {
                picker.narrow(|filter| filter.push(letter));
            }
            (KeyCode::Enter, _) => {
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
            PickerKind::Option(option) => {
                vec![Effect::Change(json!({ option.name(): entry.id }))]
            }
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
