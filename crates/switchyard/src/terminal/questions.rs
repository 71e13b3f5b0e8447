//! Asks the person at the terminal what the agent wants to know.
//!
//! The question itself is on the screen already; here only the answer is read. Reading
//! happens on a thread of its own: nothing can interrupt a person who does not type.

mod choices;

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use client::{QuestionAnswer, SessionClient};
use projection::sanitize_line;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use wire::{Event, Json};

use crate::terminal;
pub(crate) use choices::{FullQuestions, TypedAnswer, parse_answer};

/// The longest text of a form's field.
const MAX_CHARS: usize = 200;

/// Asks one question after the other.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    lines: mpsc::Sender<(String, oneshot::Sender<Option<String>>)>,
    /// Questions that have been on the screen so far.
    n_shown: Arc<AtomicU64>,
    whole: Arc<Mutex<FullQuestions>>,
}

impl Asker {
    pub(crate) fn start() -> Self {
        let (lines, mut wanted) = mpsc::channel::<(String, oneshot::Sender<Option<String>>)>(16);
        std::thread::spawn(move || {
            while let Some((prompt, reply)) = wanted.blocking_recv() {
                if reply.is_closed() {
                    continue;
                }
                // What was typed before the question could be seen is no answer to it.
                let _ = rustix::termios::tcflush(
                    std::io::stdin(),
                    rustix::termios::QueueSelector::IFlush,
                );
                terminal::count_stderr_write();
                let _ = write!(std::io::stderr(), "{prompt}");
                let _ = std::io::stderr().flush();
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let line = matches!(read, Ok(1..)).then(|| line.trim().to_owned());
                let _ = reply.send(line);
            }
        });
        let whole = Arc::new(Mutex::new(FullQuestions::new()));
        Self { lines, n_shown: Arc::default(), whole }
    }

    /// Asks the question of an event in the background and sends the answer; ignores other events.
    pub(crate) fn consider(&self, event: &Event, session: &SessionClient) {
        let whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner).see(event);
        let Some(asked) = event.question_for_person() else { return };
        let (id, is_form) = (asked.id, asked.wants_form);
        let request: Value = asked.request.read().unwrap_or_default();
        self.n_shown.fetch_add(1, Ordering::Relaxed);
        let (asker, session) = (self.clone(), session.clone());
        task::spawn(async move {
            let answer = match is_form {
                true => asker.form(&request).await,
                false => asker.permission(&request, whole.as_deref()).await,
            };
            // A question that somebody else has answered needs no answer.
            let _ = session.answer(id, &answer).await;
        });
    }

    /// `whole` is all of what is asked about, where that is longer than what was shown.
    async fn permission(&self, request: &Value, whole: Option<&str>) -> QuestionAnswer {
        let prompt = choices::prompt(request, whole.is_some());
        loop {
            let Some(line) = self.line(prompt.clone()).await else {
                return QuestionAnswer::Rejected;
            };
            match choices::parse_answer(&line, request) {
                TypedAnswer::Answer(answer) => return answer,
                TypedAnswer::View => terminal::say(whole.unwrap_or("all of it is shown above")),
                TypedAnswer::Nothing(why) => terminal::say(&why),
            }
        }
    }

    async fn form(&self, request: &Value) -> QuestionAnswer {
        let schema = &request["requestedSchema"];
        let cancelled = || QuestionAnswer::Form(Json::of(&json!({ "action": "cancel" })));
        if request["mode"] == "url" {
            return cancelled();
        }
        let mut content = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = schema["required"]
                .as_array()
                .is_some_and(|required| required.iter().any(|r| r == name.as_str()));
            match self.field(name, property, is_required).await {
                Some(Some(value)) => _ = content.insert(name.clone(), value),
                Some(None) => {}
                None => return cancelled(),
            }
        }
        QuestionAnswer::Form(Json::of(&json!({ "action": "accept", "content": content })))
    }

    /// `None` ends the form; `Some(None)` leaves the field out.
    async fn field(
        &self,
        name: &str,
        property: &Value,
        is_required: bool,
    ) -> Option<Option<Value>> {
        let title = sanitize_line(property["title"].as_str().unwrap_or(name), MAX_CHARS);
        let choices: Vec<String> = property["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(property["oneOf"].as_array().into_iter().flatten().map(|one| &one["const"]))
            .filter_map(|value| value.as_str().map(|value| sanitize_line(value, MAX_CHARS)))
            .collect();
        let kind = property["type"].as_str().unwrap_or("string");
        let expected = match kind {
            _ if !choices.is_empty() => format!(" ({})", choices.join(", ")),
            "string" => String::new(),
            "boolean" => " (y/n)".into(),
            kind => format!(" ({kind})"),
        };
        let escape = if is_required { "" } else { ", Enter to leave out" };
        let prompt = format!("{title}{expected}{escape}");
        loop {
            let line = self.line(format!("{prompt}: ")).await?;
            if line.is_empty() {
                if is_required {
                    continue;
                }
                return Some(None);
            }
            let value = match kind {
                "boolean" => match &*line.to_lowercase() {
                    "y" | "yes" | "true" => Some(json!(true)),
                    "n" | "no" | "false" => Some(json!(false)),
                    _ => None,
                },
                "integer" => line.parse::<i64>().ok().map(|n| json!(n)),
                "number" => line.parse::<f64>().ok().map(|n| json!(n)),
                _ if !choices.is_empty() && !choices.contains(&line) => None,
                _ => Some(json!(line)),
            };
            if value.is_some() {
                return Some(value);
            }
        }
    }

    async fn line(&self, prompt: String) -> Option<String> {
        loop {
            let n_shown = self.n_shown.load(Ordering::Relaxed);
            let (reply, line) = oneshot::channel();
            self.lines.send((prompt.clone(), reply)).await.ok()?;
            let line = line.await.ok().flatten()?;
            // Another question was shown meanwhile: the line may have been meant for that.
            if self.n_shown.load(Ordering::Relaxed) == n_shown {
                return Some(line);
            }
        }
    }
}
