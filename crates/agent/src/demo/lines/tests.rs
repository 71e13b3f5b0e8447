//! Tests of `lines`.

use super::*;

async fn read_all(input: &[u8], max_line_bytes: usize) -> Vec<String> {
    let mut lines = Lines::new(input, max_line_bytes);
    let mut found = Vec::new();
    loop {
        match lines.next().await.unwrap() {
            Line::Ready => found.push(String::from_utf8_lossy(lines.line()).into_owned()),
            Line::TooLong => found.push("<too long>".into()),
            Line::Eof => return found,
        }
    }
}

#[tokio::test]
async fn lines_come_without_their_endings_and_the_last_needs_none() {
    assert_eq!(read_all(b"a\nb\r\n\nlast", 10).await, ["a", "b", "", "last"]);
}

#[tokio::test]
async fn a_line_over_the_limit_is_skipped_and_reported() {
    assert_eq!(read_all(b"1234\n12345\nok\n", 4).await, ["1234", "<too long>", "ok"]);
}

#[tokio::test]
async fn a_line_may_come_in_pieces() {
    use tokio::io::{AsyncWriteExt as _, BufReader};
    let (ours, theirs) = tokio::io::duplex(3);
    let mut lines = Lines::new(BufReader::with_capacity(2, theirs), 100);
    let writer = tokio::spawn(async move {
        let mut ours = ours;
        ours.write_all(b"hello world\nrest\n").await.unwrap();
    });

    assert!(matches!(lines.next().await.unwrap(), Line::Ready));
    assert_eq!(lines.line(), b"hello world");
    assert!(matches!(lines.next().await.unwrap(), Line::Ready));
    assert_eq!(lines.line(), b"rest");
    writer.await.unwrap();
}
