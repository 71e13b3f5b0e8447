//! A fake CLI that follows a script, for tests of the code around a CLI.
//!
//! `cli-imitator SCRIPT LOG [the CLI's own arguments]`. The script is JSON, one step a line:
//!
//! | step | does |
//! |---|---|
//! | `{"print": X}` | prints X as a line; `"$/a/b"` in it is that member of the last line heard |
//! | `{"file": PATH}` | prints a file as it is |
//! | `{"hear": X}` | reads lines of stdin until one has all members of X |
//! | `{"hear_all": true}` | reads stdin to its end |
//! | `{"stderr": TEXT}` | says it on stderr |
//! | `{"write": PATH, "text": TEXT}` | writes a file |
//! | `{"grandchild": true}` | leaves a process behind that nobody asked for |
//! | `{"if_args": TEXT, "then": N}` | skips N steps unless the arguments contain TEXT |
//! | `{"wait": true}` | does nothing until it is ended |
//! | `{"exit": CODE}` | exits |
//!
//! Its arguments and what it heard are appended to LOG, one JSON value a line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a script that cannot be followed is a mistake of the test"
)]

use std::io::{BufRead as _, Read as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(script), Some(log)) = (args.next(), args.next()) else {
        return ExitCode::from(2);
    };
    let args: Vec<String> = args.collect();
    let script = std::fs::read_to_string(script).expect("the script");
    let mut imitator = Imitator { log, last: Value::Null, args: args.clone() };
    imitator.note(&json!({ "args": args }));
    let steps: Vec<Value> =
        script.lines().map(|line| serde_json::from_str(line).expect("a step")).collect();
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        match imitator.take(step) {
            NextStep::Next => {}
            NextStep::Skip(n) => at += n,
            NextStep::Exit(code) => return ExitCode::from(code),
        }
    }
    ExitCode::SUCCESS
}

enum NextStep {
    Next,
    Skip(usize),
    Exit(u8),
}

struct Imitator {
    log: String,
    last: Value,
    args: Vec<String>,
}

impl Imitator {
    fn take(&mut self, step: &Value) -> NextStep {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        if !step["print"].is_null() {
            let line = match self.filled(&step["print"]) {
                Value::String(line) => line,
                value => value.to_string(),
            };
            say(line.as_bytes());
            say(b"\n");
        } else if !text("file").is_empty() {
            say(&std::fs::read(text("file")).expect("the file"));
        } else if !step["hear"].is_null() {
            if !self.hear(&step["hear"]) {
                return NextStep::Exit(0);
            }
        } else if step["hear_all"] == true {
            let mut heard = String::new();
            let _ = std::io::stdin().read_to_string(&mut heard);
            self.note(&json!({ "heard": heard }));
        } else if !text("stderr").is_empty() {
            let _ = writeln!(std::io::stderr(), "{}", text("stderr"));
        } else if !text("write").is_empty() {
            std::fs::write(text("write"), text("text")).expect("a file");
        } else if step["grandchild"] == true {
            let sleeping = std::process::Command::new("setsid").args(["sleep", "600"]).spawn();
            std::mem::forget(sleeping);
        } else if let Some(wanted) = step["if_args"].as_str() {
            if !self.args.join(" ").contains(wanted) {
                return NextStep::Skip(
                    usize::try_from(step["then"].as_u64().unwrap_or(1)).unwrap(),
                );
            }
        } else if step["wait"] == true {
            loop {
                std::thread::park();
            }
        } else if let Some(code) = step["exit"].as_u64() {
            return NextStep::Exit(u8::try_from(code).unwrap());
        }
        NextStep::Next
    }

    /// Reads lines until one fits; `false` when stdin ended first.
    fn hear(&mut self, wanted: &Value) -> bool {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return false };
            let heard: Value = serde_json::from_str(&line).unwrap_or(Value::String(line));
            self.note(&json!({ "heard": heard }));
            if holds(&heard, wanted) {
                self.last = heard;
                return true;
            }
        }
        false
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text.starts_with("$/") => {
                self.last.pointer(&text[1..]).cloned().unwrap_or_default()
            }
            Value::Array(values) => values.iter().map(|value| self.filled(value)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect()
            }
            value => value.clone(),
        }
    }

    fn note(&self, value: &Value) {
        let mut options = std::fs::OpenOptions::new();
        let mut log = options.create(true).append(true).open(&self.log).expect("the log");
        log.write_all(format!("{value}\n").as_bytes()).expect("the log");
    }
}

fn say(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    // An error means that nobody reads any more and the end is near.
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

fn holds(heard: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(members) => {
            members.iter().all(|(name, value)| holds(&heard[name.as_str()], value))
        }
        value => heard == value,
    }
}
