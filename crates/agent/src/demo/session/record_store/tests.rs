//! Tests of `record_store`.

use super::*;

fn whole(id: &str) -> UnsavedPart {
    DemoRecord::new(id.to_owned(), "/".into()).take_unsaved()
}

/// A file that was used so long ago.
fn put(directory: &Path, name: &str, n_bytes: u64, unused: Duration) {
    let file = File::create(directory.join(name)).unwrap();
    file.set_len(n_bytes).unwrap();
    file.set_modified(SystemTime::now() - unused).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(directory).unwrap().map(name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_id_cannot_leave_the_directory() {
    let parent = tempfile::tempdir().unwrap();
    fs::create_dir(parent.path().join("state")).unwrap();
    let store = RecordStore::new(Some(parent.path().join("state")));
    let long = "x".repeat(MAX_ID_BYTES + 1);
    for id in ["../outside", "/etc/passwd", "a/b", "", ".", "..", "a\0b", &long] {
        store.write(id, whole(id)).await.unwrap();
        assert!(store.load(id).await.is_none(), "{id}");
        store.remove(id).await.unwrap();
    }
    assert_eq!(names(parent.path()), ["state"]);
    assert!(names(&parent.path().join("state")).is_empty());
}

#[tokio::test]
async fn a_broken_file_is_a_lost_session() {
    let directory = tempfile::tempdir().unwrap();
    let store = RecordStore::new(Some(directory.path().join("made/on/demand")));
    store.write("good", whole("good")).await.unwrap();
    fs::write(directory.path().join("made/on/demand/bad.jsonl"), "{").unwrap();

    assert!(store.load("good").await.is_some());
    assert!(store.head("good").await.is_some());
    assert!(store.load("bad").await.is_none());
    assert!(store.head("bad").await.is_none());
}

#[test]
fn old_files_and_the_oldest_of_too_many_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let day = Duration::from_secs(24 * 60 * 60);
    put(directory, "demo-1-a-0.jsonl", 10, 29 * day);
    put(directory, "demo-1-a-1.jsonl", 10, 31 * day);
    put(directory, "demo-1-a-2.json", 10, 31 * day);
    put(directory, "demo-1-a-3.77.draft", 10, day);
    put(directory, "demo-1-a-4.77.draft", 10, Duration::ZERO);
    // Names that are not of a demo agent.
    let foreign =
        ["demo.json", "demo-notes.jsonl", "demo-1-a-1", "demo-x-y-z.json", "x-1-a-1.json"];
    for name in foreign {
        put(directory, name, 10, 400 * day);
    }
    clean_up(directory);
    let mut kept = vec!["demo-1-a-0.jsonl", "demo-1-a-4.77.draft"];
    kept.extend(foreign);
    kept.sort_unstable();
    assert_eq!(names(directory), kept);

    for n in 0..MAX_FILES {
        put(directory, &format!("demo-2-a-{n}.jsonl"), 10, Duration::from_secs(n as u64));
    }
    clean_up(directory);
    let left = names(directory);
    assert_eq!(left.len(), MAX_FILES + foreign.len());
    assert!(left.contains(&"demo-2-a-0.jsonl".to_owned()));
    assert!(!left.contains(&"demo-1-a-0.jsonl".to_owned()));
}

#[test]
fn what_is_kept_is_bounded_in_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for n in 0..10 {
        let unused = Duration::from_secs(60 * n);
        put(directory, &format!("demo-1-a-{n}.jsonl"), MAX_TOTAL_BYTES / 4, unused);
    }
    clean_up(directory);
    let newest = [0, 1, 2, 3].map(|n| format!("demo-1-a-{n}.jsonl"));
    assert_eq!(names(directory), newest);
}
