//! A worker for tests of the bus: it echoes, speaks a little ACP, and misbehaves when asked to.
//!
//! In: JSON-RPC, one message a line. Out: `{"echo": params}` for every request, but for these:
//!
//! | method | does |
//! |---|---|
//! | `initialize`, `session/new`, `session/load`, `session/list` | what ACP says; `_meta.name` of `session/new` names the session |
//! | `session/prompt` | the text says how many updates it sends, or is `hold` |
//! | `x/pid`, `x/fds`, `x/environment`, `x/heard` | reports its state |
//! | `x/hold`, `x/release` | no answer until somebody says `x/release` |
//! | `x/await {path}` | does nothing at all until there is such a file, then answers |
//! | `x/late` | no answer until it is cancelled |
//! | `x/silent` | no answer at all |
//! | `x/notify {sessionId, n, bytes}` | n updates, then the answer |
//! | `x/ask {sessionId, askId}` | asks the client something, and answers with what came back |
//! | `x/garbage`, `x/partial`, `x/cut` | a line that is none; an answer in two pieces; half an answer and death |
//! | `x/big {bytes}` | an answer of that size |
//! | `x/spawn {keepsPipes}` | leaves a process in a session of its own |
//! | `x/stderr {bytes}`, `x/bloat {bytes}` | much on stderr; much memory |
//! | `x/mute`, `x/deaf` | closes its stdout without an answer; its stdin, with one |
//! | `x/hang` | stops reading for ever |
//! | `x/exit {code}`, `x/abort` | ends, well or badly; kills itself |
//!
//! Flags: `--log FILE` notes every line heard, `--needs FILE` fails at once while there is no
//! such file, `--can-load` says so in `initialize`, `--ignore-eof` stays when stdin ends.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a request that makes no sense is a mistake of the test"
)]

mod faults;
mod worker;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use worker::TestWorker;

/// One incoming line; ids and payloads stay as they were written.
#[derive(Debug, Deserialize)]
pub(crate) struct IncomingLine<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The command-line flags of the worker.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    log: Option<File>,
    needs: Option<String>,
    can_load: bool,
    ignores_eof: bool,
}

fn main() {
    let flags = flags();
    if flags.needs.as_ref().is_some_and(|path| !Path::new(path).exists()) {
        let _ = writeln!(std::io::stderr(), "bus-worker: what it needs is not there");
        std::process::exit(3);
    }
    let (mut log, ignores_eof) = (flags.log, flags.ignores_eof);
    let mut registry = TestWorker::new(flags.can_load);
    let mut stdin = BufReader::with_capacity(1 << 16, std::io::stdin());
    let mut line = Vec::new();
    while stdin.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if let Some(log) = &mut log {
            log.write_all(&line).unwrap();
        }
        match serde_json::from_slice::<IncomingLine>(&line) {
            Ok(heard) => registry.hear(&heard),
            Err(problem) => registry.misheard(&line, &problem),
        }
        line.clear();
    }
    if ignores_eof {
        faults::hang();
    }
}

fn flags() -> Flags {
    let mut flags = Flags::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            "--log" => {
                let path = args.next().expect("a file");
                flags.log = Some(File::options().create(true).append(true).open(path).unwrap());
            }
            "--needs" => flags.needs = Some(args.next().expect("a file")),
            "--can-load" => flags.can_load = true,
            "--ignore-eof" => flags.ignores_eof = true,
            _ => panic!("no such flag: {arg}"),
        }
    }
    flags
}
