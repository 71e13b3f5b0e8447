use tokio::io::AsyncWriteExt as _;

use super::*;

#[tokio::test]
async fn a_keeper_that_speaks_what_we_do_not_counts_as_gone() {
    for told in ["?\n".to_owned(), "x".repeat(2 * MAX_REPORT_BYTES)] {
        let (ours, mut keeper) = UnixStream::pair().unwrap();
        keeper.write_all(told.as_bytes()).await.unwrap();
        assert!(ReportReader::default().next(&ours).await.is_none());
    }
}

#[test]
fn the_end_of_a_worker_names_the_limit_that_its_keeper_has_told_of() {
    let limit = LimitHit::Pids { limit: 64, of_session: false };
    let mut life = WorkerLife::default();

    life.note(KeeperReport::AtLimit(limit));
    assert!(life.exit.is_none());
    life.note(KeeperReport::ExitedWith(1));

    let exit = life.exit.unwrap();
    assert_eq!((exit.code, exit.limit), (Some(1), Some(limit)));
}
