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
