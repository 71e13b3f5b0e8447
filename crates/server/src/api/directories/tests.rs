use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for path in ["home/Projects/deep", "home/photos", "home/.cache", "secret/keys", "ours/log"]
        {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        std::fs::write(dir.path().join("home/notes.md"), "").unwrap();
        Self { dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn look(&self, path: Option<PathBuf>, held_to: &[&str]) -> DirectoryListing {
        DirectoryListing {
            path,
            prefix: String::new(),
            limit: DEFAULT_LIMIT,
            held_to: held_to.iter().map(|root| self.at(root)).collect(),
            home: Some(self.at("home")),
            forbidden: ForbiddenDirs::new([self.at("ours")]),
        }
    }
}

fn names(list: &DirectoryList) -> Vec<&str> {
    list.directories.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn one_begins_at_home_and_sees_directories_by_name() {
    let stage = Stage::new();
    let home = stage.look(None, &[]).list().unwrap();
    assert_eq!(names(&home), ["photos", "Projects"]);
    assert_eq!(home.path.as_deref(), stage.at("home").to_str());
    assert_eq!(
        home.parent.as_deref(),
        stage.at("").to_str().map(|path| path.trim_end_matches('/'))
    );
    assert_eq!(Some(home.directories[1].path.as_str()), stage.at("home/Projects").to_str());
    assert!(home.is_complete);

    let begins =
        |prefix: &str| DirectoryListing { prefix: prefix.to_owned(), ..stage.look(None, &[]) };
    assert_eq!(names(&begins("pro").list().unwrap()), ["Projects"]);
    assert_eq!(names(&begins(".").list().unwrap()), [".cache"]);
    let few = DirectoryListing { limit: 1, ..stage.look(None, &[]) }.list().unwrap();
    assert_eq!((names(&few), few.is_complete), (vec!["photos"], false));

    let homeless = DirectoryListing { home: None, ..stage.look(None, &[]) }.list().unwrap();
    assert_eq!((homeless.path.as_deref(), homeless.parent), (Some("/"), None));
}

#[test]
fn whoever_is_held_to_directories_sees_nothing_else_by_name_by_dots_or_by_link() {
    let stage = Stage::new();
    let (inside, outside) = (stage.at("home"), stage.at("secret"));
    symlink(&outside, inside.join("out")).unwrap();
    symlink("../secret/keys", inside.join("dots")).unwrap();
    symlink(inside.join("Projects"), inside.join("in")).unwrap();
    symlink("/nonexistent", inside.join("broken")).unwrap();
    symlink(&inside, stage.at("secret/way-in")).unwrap();

    let home = stage.look(None, &["home"]).list().unwrap();
    assert_eq!(names(&home), ["in", "photos", "Projects"]);
    assert_eq!(home.parent, None);
    for elsewhere in
        ["secret", "secret/keys", "secret/none", "home/../secret", "home/out", "home/out/keys", ""]
    {
        let error = stage.look(Some(stage.at(elsewhere)), &["home"]).list().unwrap_err();
        assert!(matches!(error, roots::RootsError::Outside(_)), "{elsewhere}: {error}");
    }
    assert_eq!(names(&stage.look(Some(inside.join("in")), &["home"]).list().unwrap()), ["deep"]);
    let deep = stage.look(Some(inside.join("Projects/deep")), &["home"]).list().unwrap();
    assert_eq!(deep.parent.as_deref(), inside.join("Projects").to_str());
    // Without a limit the link is as good as the directory.
    assert!(names(&stage.look(None, &[]).list().unwrap()).contains(&"out"));
}

#[test]
fn several_directories_are_what_one_begins_with_and_those_that_are_gone_open_nothing() {
    let stage = Stage::new();
    let held_to = ["home/Projects", "gone", "ours", "secret"];
    let list = stage.look(None, &held_to).list().unwrap();
    let paths = [stage.at("home/Projects"), stage.at("secret")];
    assert_eq!(names(&list), paths.each_ref().map(|path| path.to_str().unwrap()));
    assert_eq!((list.path, list.parent), (None, None));
    assert_eq!(names(&stage.look(Some(stage.at("secret")), &held_to).list().unwrap()), ["keys"]);
    let error = stage.look(Some(stage.at("home")), &["gone"]).list().unwrap_err();
    assert!(matches!(error, roots::RootsError::Outside(_)), "{error}");
}

#[test]
fn the_daemons_own_directories_are_not_there() {
    let stage = Stage::new();
    symlink(stage.at("ours"), stage.at("home/alias")).unwrap();
    let top = stage.look(Some(stage.at("")), &[]).list().unwrap();
    assert_eq!(names(&top), ["home", "secret"]);
    assert!(!names(&stage.look(None, &[]).list().unwrap()).contains(&"alias"));
    for own in ["ours", "ours/log", "home/alias", "home/alias/log"] {
        assert!(stage.look(Some(stage.at(own)), &[]).list().is_err(), "{own}");
    }
}

#[test]
fn what_cannot_be_listed_is_told() {
    let stage = Stage::new();
    let status =
        |path: PathBuf| Problem::from(stage.look(Some(path), &[]).list().unwrap_err()).status;
    assert_eq!(status(stage.at("none")), 404);
    assert_eq!(status(stage.at("home/notes.md")), 404);
    assert_eq!(status("relative".into()), 400);
    if !rustix::process::geteuid().is_root() {
        let closed = stage.at("secret");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        assert_eq!(status(closed.clone()), 403);
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}
