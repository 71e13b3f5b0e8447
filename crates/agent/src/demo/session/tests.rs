//! Tests of `session`.

use super::*;

#[tokio::test]
async fn an_id_cannot_leave_the_directory() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::create_dir(parent.path().join("state")).unwrap();
    let store = RecordStore::new(Some(parent.path().join("state")));
    let long = "x".repeat(MAX_ID_BYTES + 1);
    for id in ["../outside", "/etc/passwd", "a/b", "", ".", "..", "a\0b", &long] {
        let record = DemoRecord::new(id.to_owned(), "/".into());
        store.save(&record).await.unwrap();
        assert!(store.load(id).await.is_none(), "{id}");
        store.remove(id).await.unwrap();
    }
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(parent.path().join("state")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_broken_file_is_a_lost_session() {
    let directory = tempfile::tempdir().unwrap();
    let store = RecordStore::new(Some(directory.path().join("made/on/demand")));
    store.save(&DemoRecord::new("good".into(), "/".into())).await.unwrap();
    std::fs::write(directory.path().join("made/on/demand/bad.json"), "{").unwrap();

    assert!(store.load("bad").await.is_none());
    assert_eq!(store.list().await.len(), 1);
}
