//! What an orderly close leaves behind.

use store::EventLog;

use crate::fixture::{batch, new, open, temp};

#[tokio::test]
async fn the_last_log_to_close_leaves_everything_in_the_database() {
    let mut n_left = 0;
    for _ in 0..200 {
        let dir = temp();
        let log = open(dir.path());
        log.create(new("a")).await.unwrap();
        log.append(batch("a", &["one"])).await.unwrap();
        drop(log);
        n_left += usize::from(dir.path().join("switchyard.db-wal").exists());
    }
    assert_eq!(n_left, 0, "closes out of 200 that left a WAL behind");
}
