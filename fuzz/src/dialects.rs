//! A dialect between a process that prints anything, in any pieces, and a session that prompts,
//! answers, interrupts and changes settings at any time.

use runtimes::dialect::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, DialectName, DialectOutput,
    DialectReader, OptionChange, Outputs, PermissionAnswer, PermissionMode, PermissionRequest,
};

use super::invariants::{check_over, text_of};
use super::script::Script;

/// More than what the reader keeps of a line that is too long: then it is the same wherever the
/// bytes are cut.
const SHORT_LINES: usize = 5000;
const LONG_LINES: usize = 1 << 20;

pub fn speak(name: DialectName, data: &[u8]) {
    let script = Script::read(data);
    if script.setting & 1 == 0 { overhear(name, &script) } else { drive(name, &script) }
}

/// A process that was started by somebody else: only what it prints is known.
fn overhear(name: DialectName, script: &Script) {
    let exit = exit(script.setting);
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut dialect, mut reader) =
            (name.start(), DialectReader::new(name, limit(script.setting)));
        let mut out = Outputs::default();
        for piece in pieces {
            reader.feed(piece, &mut *dialect, &mut out);
        }
        reader.finish(&exit, &mut *dialect, &mut out);
        out
    };
    let at_once = read(&mut [script.bytes].into_iter());
    let in_pieces = read(&mut script.pieces().map(|(piece, _)| piece));
    check_over(name, &at_once);
    if name == DialectName::Plain {
        assert_eq!(text_of(&in_pieces), text_of(&at_once), "it matters where it is cut");
    } else {
        // One by one, so that only what differs is shown.
        for (in_pieces, at_once) in in_pieces.iter().zip(at_once.iter()) {
            assert_eq!(in_pieces, at_once, "it matters where it is cut");
        }
        assert_eq!(in_pieces.len(), at_once.len(), "it matters where it is cut");
    }
}

/// A process of our own, spoken to as the adapter does.
fn drive(name: DialectName, script: &Script) {
    let (mut session, mut out) = (Session::new(name), Outputs::default());
    let resume = (script.setting & 2 != 0).then(|| "s1".to_owned());
    let opening =
        ConversationOptions { resume, cwd: "/w".into(), ..ConversationOptions::default() };
    session.dialect.open(&opening, &mut out);
    session.hear(&mut out);
    session.prompt();
    let mut reader = DialectReader::new(name, limit(script.setting));
    for (piece, step) in script.pieces() {
        reader.feed(piece, &mut *session.dialect, &mut out);
        session.hear(&mut out);
        if let Some(step) = step {
            session.act(step.action);
        }
    }
    let exit = CliExit { is_stopped_by_us: session.is_cancelling, ..exit(script.setting) };
    reader.finish(&exit, &mut *session.dialect, &mut out);
    session.hear(&mut out);
    assert!(!session.is_running, "a turn that was begun did not end");
    check_over(name, &session.heard);
}

/// The adapter's side of a conversation.
struct Session {
    name: DialectName,
    dialect: Box<dyn Dialect>,
    heard: Outputs,
    /// A turn was begun and has not ended.
    is_running: bool,
    is_cancelling: bool,
    /// Questions without an answer.
    asks: Vec<PermissionRequest>,
}

impl Session {
    fn new(name: DialectName) -> Self {
        Self {
            name,
            dialect: name.start(),
            heard: Outputs::default(),
            is_running: false,
            is_cancelling: false,
            asks: Vec::new(),
        }
    }

    /// Whether one process takes prompt after prompt.
    fn lives_on(&self) -> bool {
        use DialectName::{ClaudeStreamJson, CodexAppServer, PiRpc};
        matches!(self.name, ClaudeStreamJson | CodexAppServer | PiRpc)
    }

    fn prompt(&mut self) {
        if self.is_running {
            return;
        }
        (self.is_running, self.is_cancelling) = (true, false);
        let mut out = Outputs::default();
        self.dialect
            .prompt(&ComposedPrompt { text: "go".to_owned(), images: Vec::new() }, &mut out);
        self.hear(&mut out);
    }

    /// Something that a user does, or an editor.
    fn act(&mut self, action: u8) {
        let n = usize::from(action / 8);
        match action % 8 {
            1 if self.lives_on() => self.prompt(),
            2 | 3 if !self.asks.is_empty() => {
                let ask = self.asks.remove(n % self.asks.len());
                let chosen = ask.options.get(n % (ask.options.len() + 1));
                // An id that was not offered may come, too.
                let chosen = chosen.map_or("?", |option| &option.option_id).to_owned();
                self.answer(&ask, &PermissionAnswer::Chosen(chosen));
            }
            4 if self.is_running => self.cancel(),
            5 => {
                let setting = match n % 3 {
                    0 => OptionChange::Model("m2".to_owned()),
                    1 => OptionChange::Effort("high".to_owned()),
                    _ => OptionChange::Permissions(
                        PermissionMode::ALL[n % PermissionMode::ALL.len()],
                    ),
                };
                let mut out = Outputs::default();
                self.dialect.set(&setting, &mut out);
                self.hear(&mut out);
            }
            _ => {}
        }
    }

    fn cancel(&mut self) {
        if std::mem::replace(&mut self.is_cancelling, true) {
            return;
        }
        for ask in std::mem::take(&mut self.asks) {
            self.answer(&ask, &PermissionAnswer::Cancelled);
        }
        let mut out = Outputs::default();
        self.dialect.interrupt(&mut out);
        self.hear(&mut out);
    }

    fn answer(&mut self, ask: &PermissionRequest, answer: &PermissionAnswer) {
        let mut out = Outputs::default();
        self.dialect.answer(&ask.id, answer, &mut out);
        // The CLI waits for it, unless there is more to ask; Codex asks all of it at once.
        let goes_on = out.iter().any(|said| {
            matches!(said, DialectOutput::StdinLine(_) | DialectOutput::PermissionRequest(_))
        });
        let is_codex = self.name == DialectName::CodexAppServer;
        assert!(goes_on || is_codex, "nothing was written for the answer to {}", ask.id);
        self.hear(&mut out);
    }

    fn hear(&mut self, out: &mut Vec<DialectOutput>) {
        for said in std::mem::take(out) {
            match &said {
                DialectOutput::PermissionRequest(ask) => self.asks.push(ask.clone()),
                DialectOutput::RequestWithdrawn(id) => {
                    let at = self.asks.iter().position(|ask| ask.id == *id);
                    at.map(|at| self.asks.remove(at));
                }
                DialectOutput::TurnEnded(_) => {
                    // Codex begins turns by itself.
                    let is_ours = self.is_running || self.name == DialectName::CodexAppServer;
                    assert!(is_ours, "a turn ended that was not begun");
                    self.is_running = false;
                    self.asks.clear();
                }
                _ => {}
            }
            self.heard.push(said);
        }
        // Nobody is there to be asked.
        if !self.is_running || self.is_cancelling {
            for ask in std::mem::take(&mut self.asks) {
                self.answer(&ask, &PermissionAnswer::Cancelled);
            }
        }
    }
}

fn limit(setting: u8) -> usize {
    if setting & 4 == 0 { LONG_LINES } else { SHORT_LINES }
}

fn exit(setting: u8) -> CliExit {
    let ended = CliExit::default();
    match setting >> 3 & 3 {
        0 => CliExit { code: Some(0), ..ended },
        1 => CliExit { code: Some(1), stderr: "Error: 429 slow down\n".to_owned(), ..ended },
        2 => CliExit { signal: Some(9), ..ended },
        _ => CliExit { is_stopped_by_us: true, signal: Some(15), ..ended },
    }
}
