//! `switchyard translate`: the output of a CLI, in another vocabulary. No process, no log.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use runtimes::dialect::{CliExit, DialectName, DialectOutput, DialectReader, Outputs, TurnOutcome};
use serde_json::{Value, json};
use sessions::mint;
use wire::event::{AgentNotification, PermissionRequested, TurnEnded, TurnStarted};
use wire::{CallId, Event, Fault, Json, Kind, Message, MessageKind, OwnEvent, RpcId, Seq, TurnId};

use crate::cli::format::OutputFormat;
use crate::cli::translate::{TranslateArgs, Vocabulary};
use crate::outcome::{ERROR, Failure};
use crate::terminal::format::{Formatter, style};
use crate::terminal::output::print;

const ACP: &str = "acp";
const READ_BYTES: usize = 64 << 10;
/// The session id in ACP's messages.
const SESSION: &str = "translated";

pub(crate) fn translate(args: &TranslateArgs) -> Result<ExitCode, Failure> {
    let mut writer = TranslateWriter::new(args.to);
    let mut stdin = std::io::stdin().lock();
    let mut chunk = vec![0; READ_BYTES];
    let mut input = TranslateInput::new(&args.dialect)?;
    loop {
        let n = stdin.read(&mut chunk).context("cannot read stdin")?;
        input.take(chunk.get(..n).unwrap_or_default(), &mut writer);
        writer.print()?;
        if n == 0 {
            break;
        }
    }
    Ok(if writer.has_failed { ExitCode::from(ERROR) } else { ExitCode::SUCCESS })
}

/// The stdout of a CLI, or of an ACP agent.
enum TranslateInput {
    Dialect { dialect: Box<dyn runtimes::dialect::Dialect>, reader: DialectReader, exit: CliExit },
    Acp(wire::LineSplitter),
}

impl TranslateInput {
    fn new(name: &str) -> Result<Self, Failure> {
        let max = wire::limits::WORKER_LINE_BYTES;
        if name == ACP {
            return Ok(Self::Acp(wire::LineSplitter::new(max)));
        }
        let Some(name) = DialectName::of(name) else {
            let known: Vec<&str> =
                DialectName::ALL.iter().map(|dialect| dialect.name()).chain([ACP]).collect();
            return Err(Failure::usage(format!("there is no dialect `{name}`"))
                .hint(format!("known: {}", known.join(", "))));
        };
        // How the process ended is not known. An answer that is only printed has no other end than
        // that, and it is all here.
        let code = (name == DialectName::Plain).then_some(0);
        let exit = CliExit { code, ..CliExit::default() };
        Ok(Self::Dialect { dialect: name.start(), reader: DialectReader::new(name, max), exit })
    }

    /// Takes the next bytes; none when there are no more.
    fn take(&mut self, bytes: &[u8], writer: &mut TranslateWriter) {
        match self {
            Self::Dialect { dialect, reader, exit } => {
                let mut outputs = Outputs::default();
                match bytes {
                    [] => reader.finish(exit, &mut **dialect, &mut outputs),
                    bytes => reader.feed(bytes, &mut **dialect, &mut outputs),
                }
                for output in outputs.drain(..) {
                    writer.write_output(output);
                }
            }
            Self::Acp(lines) => {
                lines.feed(bytes);
                while let Some(line) = lines.next_line() {
                    writer.line(line);
                }
                if bytes.is_empty()
                    && let Some(line) = lines.finish()
                {
                    writer.line(line);
                }
            }
        }
    }
}

struct TranslateWriter {
    /// `None`: ACP's own messages.
    formatter: Option<Formatter>,
    /// Text that is still to be printed.
    out: String,
    turn: TurnId,
    n_events: u64,
    n_turns: u64,
    is_running: bool,
    has_failed: bool,
}

impl TranslateWriter {
    fn new(to: Vocabulary) -> Self {
        let format = match to {
            Vocabulary::Acp => None,
            Vocabulary::Ui => Some(OutputFormat::Ui),
            Vocabulary::Envelopes => Some(OutputFormat::Envelopes),
            Vocabulary::Text => Some(OutputFormat::Text),
            Vocabulary::Json => Some(OutputFormat::Json),
        };
        Self {
            formatter: format
                .map(|format| Formatter::new(format, mint::session_id(), style(), false)),
            out: String::new(),
            turn: mint::turn_id(),
            n_events: 0,
            n_turns: 0,
            is_running: false,
            has_failed: false,
        }
    }

    fn print(&mut self) -> Result<(), Failure> {
        print(&std::mem::take(&mut self.out))
    }

    /// A line of an ACP agent.
    fn line(&mut self, line: Result<bytes::Bytes, wire::LineError>) {
        match line {
            Ok(line) => match Message::parse(line.clone()) {
                Ok(message) => self.message(&message),
                Err(_) => self.raw(&String::from_utf8_lossy(&line)),
            },
            Err(error) => self.raw(&error.to_string()),
        }
    }

    fn raw(&mut self, line: &str) {
        self.notified("_switchyard/raw", json!({ "sessionId": SESSION, "line": line }));
    }

    fn write_output(&mut self, said: DialectOutput) {
        match said {
            DialectOutput::Update(update) => {
                let params = json!({ "sessionId": SESSION, "update": update });
                self.update(&params);
            }
            DialectOutput::UnknownLine(line) => self.raw(&line),
            DialectOutput::SessionId(id) => {
                self.notified("_switchyard/session", json!({ "resumeId": id }));
            }
            DialectOutput::PermissionRequest(ask) => {
                let request = json!({
                    "sessionId": SESSION, "toolCall": ask.call, "options": ask.options,
                });
                self.asked(&request);
            }
            DialectOutput::TurnEnded(end) => match end.ending {
                TurnOutcome::Stopped(reason) => {
                    let mut result = json!({ "stopReason": reason });
                    if let Some(usage) = end.usage {
                        result["usage"] = json!(usage);
                    }
                    self.ended(&Json::of(&result), None);
                }
                TurnOutcome::Failed(fault) => {
                    let ended = json!({ "stopReason": "error", "error": fault });
                    self.ended(&Json::of(&ended), Some(&fault));
                }
            },
            // These are only between us and the CLI.
            DialectOutput::ConversationOpened(_)
            | DialectOutput::ConversationLost(_)
            | DialectOutput::RequestWithdrawn(_)
            | DialectOutput::StdinLine(_) => {}
        }
    }

    fn message(&mut self, message: &Message) {
        let params: Value = message.body_json().read().unwrap_or_default();
        match (message.kind(), message.method()) {
            (MessageKind::Notification, "session/update") => {
                self.update(&params);
            }
            (MessageKind::Notification, method) => self.notified(method, params),
            (MessageKind::Request, "session/request_permission") => self.asked(&params),
            (MessageKind::Request, method) => self.notified(method, params),
            _ if params["stopReason"].is_string() => self.ended(&Json::of(&params), None),
            _ => self.notified("_switchyard/raw", json!({ "message": params })),
        }
    }

    fn asked(&mut self, request: &Value) {
        let request = Json::of(request);
        let id = RpcId::number(self.n_events);
        let line = wire::request_line(&id, "session/request_permission", request.as_str());
        let (request_id, request) = (CallId::MIN, request.as_raw());
        self.write_event(
            PermissionRequested { request_id, ask: true, limit: None, request },
            &line,
        );
    }

    fn notified(&mut self, method: &str, params: Value) {
        let params = Json::of(&params);
        let line = wire::notification_line(method, params.as_str());
        let (method, params) = (method.to_owned(), params.as_raw());
        self.write_event(AgentNotification { method, params }, &line);
    }

    /// `result` has the members of a `turn_ended`.
    fn ended(&mut self, result: &Json, fault: Option<&Fault>) {
        self.has_failed |= fault.is_some();
        self.n_turns += 1;
        let id = RpcId::number(self.n_turns);
        let line = match fault {
            None => wire::result_line(&id, result.as_str()),
            Some(fault) => wire::error_line(&id, &fault.into()),
        };
        self.write_event(result.read::<TurnEnded<'_>>().unwrap_or_default(), &line);
        (self.is_running, self.turn) = (false, mint::turn_id());
    }

    /// Writes an event of our own, or the line that ACP has for it.
    fn write_event<'a>(&mut self, own: impl Into<OwnEvent<'a>>, line: &str) {
        match self.formatter {
            Some(_) => self.own(own),
            None => self.out.push_str(line),
        }
    }

    fn update(&mut self, params: &Value) {
        let payload = Json::of(params);
        if self.formatter.is_none() {
            self.out.push_str(&wire::notification_line("session/update", payload.as_str()));
            return;
        }
        let name = params["update"]["sessionUpdate"].as_str().unwrap_or_default();
        self.add(Kind::update(name), payload);
    }

    fn own<'a>(&mut self, own: impl Into<OwnEvent<'a>>) {
        let own = own.into();
        self.add(own.kind(), own.to_payload());
    }

    fn add(&mut self, kind: Kind, payload: Json) {
        if !std::mem::replace(&mut self.is_running, true) {
            self.own(TurnStarted {});
        }
        let Some(formatter) = &mut self.formatter else { return };
        self.n_events += 1;
        formatter.add(&Event {
            seq: Seq(self.n_events),
            at: mint::now(),
            turn: Some(self.turn),
            kind,
            payload,
        });
        self.out.push_str(&formatter.take());
    }
}
