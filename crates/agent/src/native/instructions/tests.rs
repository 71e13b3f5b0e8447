//! What a project says is read from the project, and from nowhere else.

use std::os::unix::fs::symlink;

use super::*;

struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(project.path("repo/.git")).unwrap();
        fs::create_dir_all(project.path("repo/a/b")).unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, cwd: &str) -> String {
        self.instructions(cwd).text(ApprovalMode::Ask, true)
    }

    fn instructions(&self, cwd: &str) -> Instructions {
        Instructions {
            cwd: self.path(cwd),
            more_roots: Vec::new(),
            system_prompt: None,
            session_prompt: None,
            user_file: None,
            forbidden: ForbiddenDirs::default(),
            denied: Mutex::default(),
        }
    }
}

#[test]
fn from_the_root_of_the_repository_down_to_the_session() {
    let project = Project::new();
    project.put("AGENTS.md", "outside of it");
    project.put("repo/AGENTS.md", "of the root");
    project.put("repo/a/CLAUDE.md", "of a");
    project.put("repo/a/GEMINI.md", "not this one too");
    project.put("repo/a/b/.cursorrules", "of b");
    let text = project.text("repo/a/b");
    let at = |words: &str| text.find(words);
    assert!(at("of the root") < at("of a") && at("of a") < at("of b"), "{text}");
    assert!(at("of the root").is_some());
    assert!(at("outside of it").is_none() && at("not this one too").is_none());
    assert!(text.contains("Git repository: yes"));
}

#[test]
fn without_a_repository_only_the_directory_itself_counts() {
    let project = Project::new();
    // So deep that no repository around the tests is looked at.
    let plain = "d/".repeat(MAX_DIRS + 1);
    let sub = format!("{plain}sub");
    fs::create_dir_all(project.path(&sub)).unwrap();
    project.put(&format!("{plain}AGENTS.md"), "of the parent");
    project.put(&format!("{sub}/AGENTS.md"), "of the directory");
    let text = project.text(&sub);
    assert!(text.contains("of the directory") && !text.contains("of the parent"), "{text}");
}

#[test]
fn a_link_that_leads_out_of_the_project_is_not_read() {
    let project = Project::new();
    project.put("secret", "a key");
    symlink(project.path("secret"), project.path("repo/AGENTS.md")).unwrap();
    project.put("repo/CLAUDE.md", "inside");
    project.put("repo/real.md", "linked inside");
    symlink(project.path("repo/real.md"), project.path("repo/a/AGENTS.md")).unwrap();
    let text = project.text("repo/a");
    assert!(!text.contains("a key"), "{text}");
    assert!(text.contains("inside") && text.contains("linked inside"), "{text}");
}

#[test]
fn what_is_too_large_empty_or_no_text_is_left_out() {
    let project = Project::new();
    project.put("repo/AGENTS.md", &"x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1));
    fs::write(project.path("repo/a/AGENTS.md"), [0xff, 0xfe]).unwrap();
    project.put("repo/a/b/AGENTS.md", " \n");
    let text = project.text("repo/a/b");
    assert!(!text.contains("Instructions from"), "{text}");
}

#[test]
fn whoever_configures_it_has_other_words() {
    let project = Project::new();
    project.put("repo/AGENTS.md", "of the project");
    project.put("own.md", "of the user");
    let mut instructions = project.instructions("repo");
    assert!(instructions.text(ApprovalMode::Ask, true).starts_with("You are a coding agent."));
    instructions.system_prompt = Some("Be a parrot.".into());
    instructions.session_prompt = Some("Speak low.".into());
    instructions.user_file = Some(project.path("own.md"));
    instructions.more_roots = vec![PathBuf::from("/else")];
    let text = instructions.text(ApprovalMode::Ask, true);
    assert!(text.starts_with("Be a parrot.\n\nWorking directory: "), "{text}");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("You may also use: /else") < at("Speak low."));
    assert!(at("Speak low.") < at("of the user") && at("of the user") < at("of the project"));
    assert!(!text.contains("plan mode"));
    assert!(instructions.text(ApprovalMode::Plan, true).contains("The session is in plan mode"));
}

#[test]
fn a_model_without_tools_is_promised_none() {
    let project = Project::new();
    project.put("repo/AGENTS.md", "of the project");
    let mut instructions = project.instructions("repo");
    let (with, without) =
        (instructions.text(ApprovalMode::Ask, true), instructions.text(ApprovalMode::Ask, false));
    assert!(without.contains("You have no tools") && without.len() < with.len(), "{without}");
    assert!(!without.contains("todo tool") && !without.contains("with tools"), "{without}");
    assert!(without.contains("Working directory: ") && without.contains("of the project"));
    instructions.system_prompt = Some("Be a parrot.".into());
    assert!(instructions.text(ApprovalMode::Ask, false).starts_with("Be a parrot."));
}

#[test]
fn a_change_counts_from_the_next_request_on() {
    let project = Project::new();
    project.put("repo/AGENTS.md", "first");
    let instructions = project.instructions("repo");
    assert!(instructions.text(ApprovalMode::Ask, true).contains("first"));
    project.put("repo/AGENTS.md", "second");
    assert!(instructions.text(ApprovalMode::Ask, true).contains("second"));
}

#[test]
fn what_another_user_left_above_is_not_the_projects() {
    use std::os::unix::fs::chown;
    if !rustix::process::geteuid().is_root() {
        // Only root can give something away.
        return;
    }
    const OTHER_USER: Option<u32> = Some(65534);
    // A repository that somebody made around a directory that everybody may use.
    let project = Project::new();
    project.put("repo/AGENTS.md", "of somebody else");
    project.put("repo/a/b/AGENTS.md", "our own");
    for name in ["repo/.git", "repo/AGENTS.md"] {
        chown(project.path(name), OTHER_USER, None).unwrap();
    }
    let text = project.text("repo/a/b");
    assert!(text.contains("our own") && !text.contains("somebody else"), "{text}");
    // Only the file is theirs.
    chown(project.path("repo/.git"), Some(0), None).unwrap();
    let text = project.text("repo/a/b");
    assert!(text.contains("our own") && !text.contains("somebody else"), "{text}");
    // The directory between is theirs, so that they could put anything in its place.
    chown(project.path("repo/AGENTS.md"), Some(0), None).unwrap();
    chown(project.path("repo/a"), OTHER_USER, None).unwrap();
    assert!(!project.text("repo/a/b").contains("somebody else"));
    chown(project.path("repo/a"), Some(0), None).unwrap();
    assert!(project.text("repo/a/b").contains("somebody else"), "now it is ours");
}

#[test]
fn a_link_to_what_is_closed_is_not_read() {
    let project = Project::new();
    fs::create_dir(project.path("repo/state")).unwrap();
    project.put("repo/state/token", "a key");
    symlink("state/token", project.path("repo/AGENTS.md")).unwrap();
    project.put("repo/a/.env", "another key");
    symlink(".env", project.path("repo/a/AGENTS.md")).unwrap();
    let instructions = Instructions {
        forbidden: ForbiddenDirs::new([project.path("repo/state")]),
        ..project.instructions("repo/a")
    };
    let text = instructions.text(ApprovalMode::Ask, true);
    assert!(!text.contains("a key") && text.contains("another key"), "{text}");
    let denied = project.path("repo/a/.env").canonicalize().unwrap();
    lock(&instructions.denied).insert(denied);
    assert!(!instructions.text(ApprovalMode::Ask, true).contains("another key"));
}
