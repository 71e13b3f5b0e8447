use super::*;

fn kind(root: Option<PathBuf>) -> ResourceKind {
    ResourceKind { member: "skillId", file: "SKILL.md", title: "Skill", setting: "skills", root }
}

fn skills() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("deck")).unwrap();
    std::fs::write(dir.path().join("deck/SKILL.md"), "Make slides.\n").unwrap();
    dir
}

#[tokio::test]
async fn a_skill_is_told_with_where_its_files_are() {
    let dir = skills();
    let kind = kind(Some(dir.path().to_owned()));
    let text = kind.read("deck", true).await.unwrap().unwrap();
    let place = dir.path().join("deck");
    let wanted = format!("# Skill `deck`\n\nMake slides.\n\nIts files are in {}.", place.display());
    assert_eq!(text, wanted);
    assert_eq!(kind.read("deck", false).await.unwrap().unwrap(), "# Skill `deck`\n\nMake slides.");
}

#[tokio::test]
async fn what_is_no_skill_is_refused() {
    let dir = skills();
    let secret = tempfile::tempdir().unwrap();
    std::fs::write(secret.path().join("SKILL.md"), "secret").unwrap();
    std::os::unix::fs::symlink(secret.path(), dir.path().join("link")).unwrap();
    std::fs::create_dir(dir.path().join("inner")).unwrap();
    let inner = dir.path().join("inner/SKILL.md");
    std::os::unix::fs::symlink(secret.path().join("SKILL.md"), inner).unwrap();
    let kind = kind(Some(dir.path().to_owned()));
    for name in ["none", "..", "../deck", "deck/..", "", "link", "inner"] {
        assert!(kind.read(name, true).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn without_a_directory_there_are_none() {
    assert_eq!(kind(None).read("deck", true).await.unwrap(), None);
}

#[tokio::test]
async fn a_long_one_is_cut_and_says_so() {
    let dir = skills();
    let long = "x".repeat(usize::try_from(MAX_TEXT_BYTES).unwrap() + 1);
    std::fs::write(dir.path().join("deck/SKILL.md"), long).unwrap();
    let text = kind(Some(dir.path().to_owned())).read("deck", false).await.unwrap().unwrap();
    assert!(text.ends_with("(It is longer; read the rest in its file.)"));
}
