use std::fs;

use super::*;
use crate::permission::{
    DecidedBy, Decider, PermissionMode, PermissionPolicy, PolicyQuestion, PolicyVerdict, RulePlace,
    ToolFacts,
};

const ALLOW: &str = "[[rules]]\nname = \"lists\"\naction = \"allow\"\ncommands = [\"ls*\"]\n";
const DENY: &str = "[[rules]]\naction = \"deny\"\ncommands = [\"ls*\"]\n";

struct Stage {
    dir: tempfile::TempDir,
    watcher: RulesWatcher,
}

impl Stage {
    fn with(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rules.toml");
        fs::write(&path, text).unwrap();
        let file = RulesFile::new(path);
        let (_, watcher) = file.load_and_watch().unwrap();
        Self { dir, watcher }
    }

    fn write(&self, text: &str) {
        fs::write(self.dir.path().join("rules.toml"), text).unwrap();
    }

    /// As if the file had been there for long.
    fn age(&self) {
        let file = fs::File::options().append(true).open(self.dir.path().join("rules.toml"));
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        file.unwrap().set_modified(long_ago).unwrap();
    }

    fn look(&mut self) -> RulesCheck {
        self.watcher.check(|_| {})
    }
}

fn asking(command: &str) -> PolicyQuestion {
    let (kind, command) = ("execute".to_owned(), Some(command.to_owned()));
    let facts = ToolFacts { kind, command, ..ToolFacts::default() };
    PolicyQuestion { facts, ..PolicyQuestion::default() }
}

#[test]
fn a_changed_file_gives_its_rules_once() {
    let mut stage = Stage::with(ALLOW);
    stage.age();
    assert!(matches!(stage.look(), RulesCheck::Nothing), "other times, the same text");
    stage.write(DENY);
    let found = stage.look();
    assert!(matches!(&found, RulesCheck::Rules(rules) if rules.len() == 1), "{found:?}");
    assert!(matches!(stage.look(), RulesCheck::Nothing));
}

#[test]
fn a_change_that_the_times_do_not_show_is_found_while_the_file_is_young() {
    let mut stage = Stage::with(ALLOW);
    assert!(matches!(stage.look(), RulesCheck::Nothing));
    let path = stage.dir.path().join("rules.toml");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    stage.write(&ALLOW.replace("lists", "LISTS"));
    fs::File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();

    assert!(matches!(stage.look(), RulesCheck::Rules(_)));
}

#[test]
fn a_file_that_is_still_being_written_is_left_for_later() {
    let mut stage = Stage::with(ALLOW);
    stage.write("");
    let path = stage.dir.path().join("rules.toml");

    let first = stage.watcher.check(|_| fs::write(path, DENY).unwrap());

    assert!(matches!(first, RulesCheck::Nothing), "an empty file has no rules: {first:?}");
    assert!(matches!(stage.look(), RulesCheck::Rules(rules) if rules.len() == 1));
}

#[test]
fn a_broken_or_missing_file_is_told_once_and_then_mended() {
    let mut stage = Stage::with(ALLOW);
    stage.write("[[rules]]\naction = \"perhaps\"");
    let RulesCheck::Error(broken) = stage.look() else { panic!("not told") };
    assert!(broken.to_string().contains("rules.toml"), "{broken}");
    assert!(matches!(stage.look(), RulesCheck::Nothing));

    fs::remove_file(stage.dir.path().join("rules.toml")).unwrap();
    assert!(matches!(stage.look(), RulesCheck::Error(RuleError::Unreadable { .. })));
    assert!(matches!(stage.look(), RulesCheck::Nothing));

    stage.write(ALLOW);
    assert!(matches!(stage.look(), RulesCheck::Rules(_)));
}

#[test]
fn a_file_that_is_replaced_by_another_is_read() {
    let mut stage = Stage::with(ALLOW);
    stage.age();
    let _ = stage.look();
    let other = stage.dir.path().join("other");
    fs::write(&other, ALLOW.replace("lists", "LISTS")).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(&other).unwrap().set_modified(long_ago).unwrap();
    fs::rename(&other, stage.dir.path().join("rules.toml")).unwrap();

    assert!(matches!(stage.look(), RulesCheck::Rules(_)));
}

#[test]
fn a_file_without_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rules.toml");
    fs::File::create(&path).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
    let refused = RulesFile::new(path).load().unwrap_err();
    assert!(matches!(refused, RuleError::TooLarge { .. }), "{refused}");
}

#[tokio::test]
async fn every_holder_of_the_book_judges_by_the_new_rules_and_keeps_its_own() {
    let stage = Stage::with(ALLOW);
    let book = RuleBook::default();
    book.follow(Some(stage.watcher.file.clone())).unwrap();
    let own = Rules::parse("[[rules]]\naction = \"deny\"\ncommands = [\"rm*\"]");
    let policy = PermissionPolicy { rules: own.unwrap(), mode: PermissionMode::Ask };
    let session = book.clone();
    let judged = |command: &str| {
        let question = asking(command);
        policy.judge_with(&session.current(), &question)
    };
    let file = stage.watcher.file.path().to_string_lossy().into();
    let place = RulePlace { file: Some(file), index: 1 };
    let by = Decider { rule: Some(place.clone()), ..Decider::detailed(DecidedBy::Rule, "lists") };
    assert_eq!(judged("ls"), PolicyVerdict::Allow(by));

    stage.write(DENY);
    let denied = PolicyVerdict::Deny(Decider {
        rule: Some(place),
        ..Decider::detailed(DecidedBy::Rule, "#1")
    });
    let found = async {
        while judged("ls") != denied {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(soak::PATIENCE, found).await.unwrap();

    assert!(
        matches!(judged("rm x"), PolicyVerdict::Deny(by) if by.rule.as_ref().unwrap().file.is_none())
    );

    book.follow(None).unwrap();
    assert_eq!(judged("ls"), PolicyVerdict::Ask);
    let gone = RulesFile::new(stage.dir.path().join("none.toml"));
    assert!(book.follow(Some(gone)).is_err());
}

#[test]
fn a_pipe_in_the_place_of_the_file_holds_nobody_up() {
    let mut stage = Stage::with(ALLOW);
    stage.age();
    assert!(matches!(stage.look(), RulesCheck::Nothing));
    let path = stage.dir.path().join("rules.toml");
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let found = stage.look();
    assert!(matches!(&found, RulesCheck::Error(RuleError::Unreadable { .. })), "{found:?}");
    assert!(matches!(stage.look(), RulesCheck::Nothing), "it is told once");
    assert!(RulesFile::new(path).load().is_err());
}
