//! Files that clients, and others, put beside a session.

use std::os::unix::fs::symlink;

use super::*;
use proptest::prelude::*;
use sessions::mint;

fn attachments() -> (tempfile::TempDir, Attachments) {
    let home = tempfile::tempdir().unwrap();
    let files = Attachments::below(home.path().join("sessions"));
    (home, files)
}

async fn put(files: &Attachments, session: SessionId, name: &str, bytes: &[u8]) -> Attachment {
    let mut upload = files.begin(session, name, "alice", Some(bytes.len() as u64)).await.unwrap();
    for chunk in bytes.chunks(1000) {
        upload = upload.write(chunk.to_vec().into()).await.unwrap();
    }
    upload.finish().await.unwrap()
}

fn read(mut file: std::fs::File) -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_file_comes_back_as_it_went_in_and_goes_with_its_session() {
    let (_home, files) = attachments();
    let session = mint::session_id();
    let bytes: Vec<u8> = (0..5000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();

    let attachment = put(&files, session, "a.bin", &bytes).await;

    assert_eq!(files.list(session).await.unwrap(), vec![attachment.clone()]);
    let (found, file) = files.open(session, attachment.id.as_str()).await.unwrap();
    assert_eq!((found, read(file)), (attachment.clone(), bytes));
    assert!(files.path(session, &attachment).is_file());
    assert_eq!(files.sessions().await.unwrap(), vec![session]);
    files.remove_all(session).await.unwrap();
    assert!(files.list(session).await.unwrap().is_empty());
    assert!(!files.path(session, &attachment).exists());
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let (home, files) = attachments();
    let session = mint::session_id();
    let upload = files.begin(session, "a.txt", "alice", None).await.unwrap();
    let upload = upload.write("half".into()).await.unwrap();
    drop(upload);
    assert!(files.list(session).await.unwrap().is_empty());
    let left = home.path().join("sessions").join(session.as_str()).join("attachments");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0);
}

#[tokio::test]
async fn more_than_was_announced_is_refused() {
    let (_home, files) = attachments();
    let session = mint::session_id();
    let upload = files.begin(session, "a", "alice", Some(3)).await.unwrap();
    let written = upload.write("four".into()).await;
    assert!(matches!(written, Err(AttachmentError::TooLarge)), "{written:?}");
    assert!(files.list(session).await.unwrap().is_empty());
    let begun = files.begin(session, "a", "alice", Some(MAX_FILE_BYTES + 1)).await;
    assert!(matches!(begun, Err(AttachmentError::TooLarge)), "{begun:?}");
}

#[tokio::test]
async fn uploads_at_the_same_time_share_the_sessions_room() {
    let (_home, files) = attachments();
    let session = mint::session_id();
    let mut open = Vec::new();
    for _ in 0..MAX_SESSION_BYTES / MAX_FILE_BYTES {
        open.push(files.begin(session, "a", "alice", None).await.unwrap());
    }
    let begun = files.begin(session, "a", "alice", Some(1)).await;
    assert!(matches!(begun, Err(AttachmentError::Full)), "{begun:?}");
    open.pop();
    files.begin(session, "a", "alice", Some(1)).await.unwrap();
    // Another session has room of its own.
    files.begin(mint::session_id(), "a", "alice", None).await.unwrap();
}

#[tokio::test]
async fn a_planted_link_is_not_followed() {
    let (home, files) = attachments();
    let secret = home.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let session = mint::session_id();
    let attachment = put(&files, session, "a.txt", b"plain").await;
    let path = files.path(session, &attachment);
    let (own, dir) = (path.parent().unwrap(), path.ancestors().nth(2).unwrap());
    let id = attachment.id.as_str();

    // In place of the file, inside and outside of the root.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(own.join("other"), "other").unwrap();
    for target in [secret.as_path(), own.join("other").as_path(), "other".as_ref()] {
        let _ = std::fs::remove_file(&path);
        symlink(target, &path).unwrap();
        assert!(matches!(files.open(session, id).await, Err(AttachmentError::NoSuchFile(_))));
    }

    // In place of its directory.
    std::fs::remove_dir_all(own).unwrap();
    symlink(home.path(), own).unwrap();
    assert!(files.open(session, id).await.is_err());
    files.remove(session, id).await.unwrap();
    assert!(secret.exists() && !own.exists());

    // In place of the session's directory: nothing is read, written or removed behind it.
    let outside = home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::remove_dir_all(dir).unwrap();
    symlink(&outside, dir).unwrap();
    assert!(files.list(session).await.unwrap().is_empty());
    assert!(files.begin(session, "a", "alice", None).await.is_err());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::write(outside.join("kept"), "").unwrap();
    files.remove_all(session).await.unwrap();
    assert!(outside.join("kept").exists());
}

#[tokio::test]
async fn ids_that_are_no_ids_name_nothing() {
    let (_home, files) = attachments();
    let session = mint::session_id();
    put(&files, session, "a.txt", b"plain").await;
    for id in ["", ".", "..", "../../secret", "a/b", "a\0b", "%2e%2e", &"a".repeat(65536)] {
        assert!(matches!(files.open(session, id).await, Err(AttachmentError::NoSuchFile(_))));
        assert!(files.remove(session, id).await.is_err());
    }
}

#[test]
fn names_lose_what_could_do_harm() {
    let cases = [
        ("../../etc/passwd", "passwd", "passwd"),
        ("C:\\Windows\\evil.exe", "evil.exe", "evil.exe"),
        ("..", "file", "file"),
        ("", "file", "file"),
        (".bashrc", ".bashrc", "bashrc"),
        ("-rf", "-rf", "rf"),
        ("a b\n$(id).txt", "a b$(id).txt", "a_b__id_.txt"),
        ("grüße.md", "grüße.md", "gr__e.md"),
        ("\u{202e}gnp.exe", "gnp.exe", "gnp.exe"),
    ];
    for (given, shown, on_disk) in cases {
        assert_eq!(name::shown(given).unwrap(), shown, "{given:?}");
        assert_eq!(name::on_disk(shown), on_disk, "{given:?}");
    }
    assert!(name::shown("a\0b").is_err());
    assert!(name::shown(&"a".repeat(64 << 10)).is_err());
}

#[test]
fn types_are_told_by_the_bytes_first() {
    assert_eq!(name::mime_type(b"\x89PNG\r\n\x1a\n....", "a.txt"), "image/png");
    assert_eq!(name::mime_type(b"RIFF\0\0\0\0WEBPVP8 ", "a"), "image/webp");
    assert_eq!(name::mime_type(b"# Title", "a.md"), "text/markdown");
    assert_eq!(name::mime_type(b"hello", "a.png"), "text/plain");
    assert_eq!(name::mime_type(b"\0\x01", "a.md"), "application/octet-stream");
    assert_eq!(name::mime_type(b"\xff\xfe\xfd", "a"), "application/octet-stream");
}

proptest! {
    #[test]
    fn a_name_on_disk_is_one_plain_part(given in ".{0,300}") {
        if let Ok(shown) = name::shown(&given) {
            let on_disk = name::on_disk(&shown);
            prop_assert!(!on_disk.is_empty() && on_disk.len() <= 100);
            prop_assert!(!on_disk.starts_with(['.', '-']));
            prop_assert!(on_disk.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)));
            prop_assert!(!shown.contains(['/', '\0', '\n']));
        }
    }
}

#[tokio::test]
async fn an_upload_that_outlives_its_session_is_told_so() {
    let (_home, files) = attachments();
    let session = mint::session_id();
    let upload = files.begin(session, "a.txt", "alice", None).await.unwrap();
    let upload = upload.write("half".into()).await.unwrap();
    files.remove_all(session).await.unwrap();
    let outcome = upload.finish().await;
    assert!(matches!(outcome, Err(AttachmentError::SessionGone)), "{outcome:?}");
}
