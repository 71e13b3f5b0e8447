//! The rules that all sessions of a process share, and their file, which may change while
//! sessions run.
//!
//! In: a rules file. Out: the rules in force, a snapshot for each question. A file that
//! cannot be read or understood changes nothing: the rules in force stay, and the log says
//! so. No lock is held while anything is judged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{RuleError, Rules};
use crate::file_stamp::FileStamp;
use crate::lock::lock;

/// How often the file is looked at: soon enough for somebody who waits for it, and nothing
/// for an idle machine.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A file that changes within this is still being written.
const SETTLE: Duration = Duration::from_millis(150);
/// A file this young may change again without its times and its length showing it.
const YOUNG: Duration = Duration::from_secs(2);
/// Rules are written by hand.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The rules in force.
#[derive(Debug, Clone, Default)]
pub struct RuleBook(Arc<RuleBookInner>);

#[derive(Debug, Default)]
struct RuleBookInner {
    rules: watch::Sender<Arc<Rules>>,
    /// The task that looks at the file.
    watching: Mutex<Option<AbortHandle>>,
}

impl RuleBook {
    pub fn current(&self) -> Arc<Rules> {
        self.0.rules.borrow().clone()
    }

    /// Puts other rules in force: the next question of every session is judged by them.
    pub fn replace(&self, rules: Rules) {
        let n_rules = rules.len();
        let before = self.0.rules.send_replace(Arc::new(rules));
        if n_rules > 0 || !before.is_empty() {
            tracing::info!(n_rules, "permission rules are in force");
        }
    }

    /// Puts the rules of `file` in force, and those of its later versions; no other file is
    /// looked at any more. Without a file there are no rules. Nothing changes if the file cannot
    /// be used.
    pub fn follow(&self, file: Option<RulesFile>) -> Result<(), RuleError> {
        let (rules, watcher) = match file {
            Some(file) => {
                let (rules, watcher) = file.load_and_watch()?;
                (rules, Some(watcher))
            }
            None => (Rules::default(), None),
        };
        let mut watching = lock(&self.0.watching);
        let book = Arc::downgrade(&self.0);
        let next = watcher.map(|watcher| task::spawn(watcher.run(book)).abort_handle());
        if let Some(former) = std::mem::replace(&mut *watching, next) {
            former.abort();
        }
        self.replace(rules);
        Ok(())
    }
}

/// A file of rules.
#[derive(Debug, Clone)]
pub struct RulesFile {
    path: PathBuf,
}

impl RulesFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn load(&self) -> Result<Rules, RuleError> {
        self.parse(&self.read()?)
    }

    /// As [`load`](Self::load), for a file that is read once, and so may be a pipe.
    pub fn load_once(&self) -> Result<Rules, RuleError> {
        self.parse(&self.read_anything()?)
    }

    /// Loads the rules, and returns a watcher that loads them again.
    fn load_and_watch(self) -> Result<(Rules, RulesWatcher), RuleError> {
        let stamp = self.stamp();
        let text = self.read()?;
        let rules = self.parse(&text)?;
        Ok((rules, RulesWatcher { file: self, stamp, is_young: true, text: Some(text) }))
    }

    fn parse(&self, text: &str) -> Result<Rules, RuleError> {
        let parsed = Rules::parse(text).map(|rules| rules.read_from(&self.path));
        parsed.map_err(|error| RuleError::InFile { path: self.shown(), error: Box::new(error) })
    }

    /// Refuses a pipe, which would block until somebody writes to it, and be empty afterwards.
    fn read(&self) -> Result<String, RuleError> {
        use std::os::unix::fs::FileTypeExt as _;
        if std::fs::metadata(&self.path).is_ok_and(|found| found.file_type().is_fifo()) {
            let why = "it is a pipe, which cannot be read again".to_owned();
            return Err(RuleError::Unreadable { path: self.shown(), why });
        }
        self.read_anything()
    }

    fn read_anything(&self) -> Result<String, RuleError> {
        use std::io::Read;
        let unreadable = |error: std::io::Error| RuleError::Unreadable {
            path: self.shown(),
            why: error.to_string(),
        };
        let file = std::fs::File::open(&self.path).map_err(unreadable)?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(RuleError::TooLarge { path: self.shown(), max_bytes: MAX_FILE_BYTES });
        }
        Ok(text)
    }

    fn stamp(&self) -> Option<FileStamp> {
        FileStamp::of(&self.path)
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

fn is_young(stamp: FileStamp) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(stamp.modified()) < YOUNG
}

/// Loads a rules file again whenever it changes.
#[derive(Debug)]
struct RulesWatcher {
    file: RulesFile,
    stamp: Option<FileStamp>,
    is_young: bool,
    /// The text that was read last, valid or not; `None` if it could not be read.
    text: Option<String>,
}

/// The result of a check of the file.
#[derive(Debug)]
enum RulesCheck {
    Nothing,
    Rules(Rules),
    Error(RuleError),
}

impl RulesWatcher {
    /// Checks the file until the book is gone.
    async fn run(mut self, book: Weak<RuleBookInner>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if book.strong_count() == 0 {
                return;
            }
            // The disk may be slow, or far away.
            let looked = tokio::task::spawn_blocking(move || {
                let found = self.check(std::thread::sleep);
                (self, found)
            });
            let Ok((watcher, found)) = looked.await else { return };
            self = watcher;
            match found {
                RulesCheck::Nothing => {}
                RulesCheck::Rules(rules) => match book.upgrade() {
                    Some(inner) => RuleBook(inner).replace(rules),
                    None => return,
                },
                RulesCheck::Error(error) => {
                    let path = self.file.shown();
                    tracing::error!(path, %error, "the permission rules in force stay as they are");
                }
            }
        }
    }

    fn check(&mut self, wait: impl FnOnce(Duration)) -> RulesCheck {
        let stamp = self.file.stamp();
        if stamp == self.stamp && !self.is_young {
            return RulesCheck::Nothing;
        }
        if stamp != self.stamp {
            wait(SETTLE);
            if self.file.stamp() != stamp {
                return RulesCheck::Nothing;
            }
        }
        self.is_young = stamp.is_some_and(is_young);
        let is_same_stamp = std::mem::replace(&mut self.stamp, stamp) == stamp;
        let text = match self.file.read() {
            Ok(text) => text,
            Err(_) if is_same_stamp && self.text.is_none() => return RulesCheck::Nothing,
            Err(error) => {
                self.text = None;
                return RulesCheck::Error(error);
            }
        };
        if self.text.as_ref() == Some(&text) {
            return RulesCheck::Nothing;
        }
        let found = match self.file.parse(&text) {
            Ok(rules) => RulesCheck::Rules(rules),
            Err(error) => RulesCheck::Error(error),
        };
        self.text = Some(text);
        found
    }
}

#[cfg(test)]
mod tests;
