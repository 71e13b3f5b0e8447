//! Ids and links that want out of the root of all projects.

#![allow(clippy::unwrap_used)]

use super::{ProjectError, Projects};
use crate::principal::{Principal, Role};

fn own_sessions(name: &str) -> Principal {
    Principal {
        name: name.to_owned(),
        role: Role::Operator,
        own_sessions: true,
        is_local: false,
        ..Principal::local()
    }
}

#[tokio::test]
async fn an_id_is_one_plain_name() {
    let root = tempfile::tempdir().unwrap();
    let projects = Projects::below(root.path().to_owned());
    let local = Principal::local();

    let long = "x".repeat(65);
    for bad in
        ["", ".", "..", "a..b", "../a", "a/b", "/a", "-a", ".a", "_a", "a b", "ä", "a\0", &long]
    {
        let refused = projects.open(&local, bad).await;
        assert!(matches!(refused, Err(ProjectError::BadId(_))), "{bad:?}: {refused:?}");
    }
    for good in ["a", "A.b-c_1", &"x".repeat(64)] {
        let project = projects.open(&local, good).await.unwrap();
        assert_eq!(project.path, root.path().canonicalize().unwrap().join(good));
        assert!(project.path.is_dir());
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 3);
}

#[tokio::test]
async fn a_link_or_a_file_in_its_place_is_refused() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    std::os::unix::fs::symlink(root.path().join("gone"), root.path().join("dangling")).unwrap();
    std::fs::write(root.path().join("file"), "").unwrap();
    let projects = Projects::below(root.path().to_owned());

    for name in ["link", "dangling", "file"] {
        let refused = projects.open(&Principal::local(), name).await;
        assert!(matches!(refused, Err(ProjectError::NotADirectory(_))), "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn who_sees_only_its_own_has_its_own_directory() {
    let root = tempfile::tempdir().unwrap();
    let projects = Projects::below(root.path().to_owned());

    let shared = projects.open(&Principal::local(), "p").await.unwrap().path;
    let ann = projects.open(&own_sessions("ann"), "p").await.unwrap().path;
    let odd = projects.open(&own_sessions("../ann"), "p").await.unwrap().path;

    assert_eq!(ann, root.path().canonicalize().unwrap().join("@ann/p"));
    assert!(odd.starts_with(root.path().canonicalize().unwrap()), "{}", odd.display());
    assert_ne!(shared, ann);
    assert_ne!(odd, ann);
}

#[tokio::test]
async fn of_too_many_uploads_the_oldest_makes_room() {
    let root = tempfile::tempdir().unwrap();
    let projects = Projects::below(root.path().to_owned());
    let first = projects.new_upload(&Principal::local()).await.unwrap().path;
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::open(&first).unwrap().set_modified(long_ago).unwrap();
    let own = projects.new_upload(&own_sessions("ann")).await.unwrap().path;
    for _ in 1..super::MAX_UPLOADS {
        projects.new_upload(&Principal::local()).await.unwrap();
    }
    assert!(first.exists());

    let last = projects.new_upload(&Principal::local()).await.unwrap().path;

    assert!(last.exists() && !first.exists());
    let n_kept = std::fs::read_dir(last.parent().unwrap()).unwrap().count();
    assert_eq!(n_kept, super::MAX_UPLOADS);
    assert!(own.exists(), "others have uploads of their own");
}
