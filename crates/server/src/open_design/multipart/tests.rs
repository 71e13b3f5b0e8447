use futures_util::stream;
use proptest::prelude::*;

use super::*;

fn form(body: &[u8], cuts: usize) -> MultipartForm {
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
        body.chunks(cuts.max(1)).map(|piece| Ok(piece.to_vec())).collect();
    let mut headers = HeaderMap::new();
    let kind = "multipart/form-data; charset=utf-8; boundary=\"edge\"";
    headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
    MultipartForm::of(&headers, Body::from_stream(stream::iter(pieces))).unwrap()
}

/// Names, file names and contents.
type Parts = Vec<(String, Option<String>, Vec<u8>)>;

async fn read(body: &[u8], cuts: usize) -> Result<Parts, MultipartError> {
    let mut form = form(body, cuts);
    let mut parts = Vec::new();
    while let Some(head) = form.next().await? {
        let mut content = Vec::new();
        while let Some(piece) = form.piece().await? {
            assert!(form.buffer.len() <= MAX_HEAD_BYTES + cuts + 100);
            content.extend_from_slice(&piece);
        }
        parts.push((head.name, head.file_name, content));
    }
    Ok(parts)
}

fn written(parts: &Parts) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, content) in parts {
        let file = file.as_ref().map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        let head =
            format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--edge--\r\n");
    body
}

proptest! {
    #[test]
    fn what_was_written_is_read_however_it_is_cut(
        contents in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), any::<u8>()], 0..200),
            0..4,
        ),
        cuts in 1_usize..300,
    ) {
        let parts: Parts = contents
            .into_iter()
            .enumerate()
            .filter(|(_, content)| memmem::find(content, b"\r\n--edge").is_none())
            .map(|(n, content)| (format!("f{n}"), (n % 2 == 0).then(|| format!("{n}.png")), content))
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let again = runtime.block_on(read(&written(&parts), cuts)).unwrap();
        prop_assert_eq!(again, parts);
    }

    #[test]
    fn nothing_panics_and_what_is_cut_off_is_no_form(
        noise in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in 1_usize..100,
        at in 0_usize..60,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _ = runtime.block_on(read(&noise, cuts));
        let whole = written(&vec![("files".to_owned(), None, noise)]);
        let cut = whole.get(..at.min(whole.len())).unwrap();
        prop_assert!(runtime.block_on(read(cut, cuts)).is_err());
    }
}

#[tokio::test]
async fn a_head_and_a_field_have_an_end() {
    let mut long = b"--edge\r\nContent-Disposition: form-data; name=\"".to_vec();
    long.extend(std::iter::repeat_n(b'a', 1 << 20));
    assert!(matches!(read(&long, 4096).await, Err(MultipartError::LongHead)));
    let field = written(&vec![("dir".to_owned(), None, vec![b'a'; 2000])]);
    let mut form = form(&field, 100);
    assert_eq!(form.next().await.unwrap().unwrap().name, "dir");
    assert!(matches!(form.text("dir", 1024).await, Err(MultipartError::LongField { .. })));
}

#[test]
fn parameters_are_found_in_every_order() {
    let value = "form-data; filename=\"a;b.png\"; name=\"files\"";
    assert_eq!(parameter(value, "name").as_deref(), Some("files"));
    assert_eq!(parameter(value, "filename").as_deref(), Some("a;b.png"));
    assert_eq!(parameter("multipart/form-data; boundary=abc", "boundary").as_deref(), Some("abc"));
    assert_eq!(parameter("form-data", "name"), None);
    assert_eq!(parameter("form-data; name", "name"), None);
}
