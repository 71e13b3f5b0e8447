//! An upload of an attachment.
//!
//! Bytes go to disk as they come. An upload that ends in any other way than [`Upload::finish`]
//! leaves nothing behind.

use std::fs::File;
use std::io::{ErrorKind, Write as _};

use axum::body::Bytes;
use cap_std::fs::Dir;
use sessions::mint;
use wire::CallId;

use super::{
    Attachment, AttachmentError, AttachmentRoom, MAX_FILE_BYTES, N_SNIFFED_BYTES, blocking, name,
    storage,
};
use crate::dir_handles::make_dir;

#[derive(Debug)]
pub(crate) struct Upload {
    dir: Dir,
    file: File,
    id: CallId,
    name: String,
    by: String,
    size: u64,
    start: Vec<u8>,
    is_kept: bool,
    room: AttachmentRoom,
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.is_kept {
            // A file that cannot be removed now is removed with the session.
            let _ = storage::remove(&self.dir, self.id, &self.name);
        }
    }
}

impl Upload {
    pub(super) fn begin(
        dir: Dir,
        room: AttachmentRoom,
        name: String,
        by: String,
    ) -> Result<Self, AttachmentError> {
        let id = mint::turn_id();
        let create = || {
            let own = make_dir(&dir, id.as_str())?;
            storage::create(&own, &name::on_disk(&name))
        };
        let file = create().map_err(AttachmentError::io("make the file"))?;
        let start = Vec::new();
        Ok(Self { dir, file, id, name, by, size: 0, start, is_kept: false, room })
    }

    /// Appends a chunk of the body.
    pub(crate) async fn write(mut self, bytes: Bytes) -> Result<Self, AttachmentError> {
        blocking(move || {
            self.size += bytes.len() as u64;
            // More than was announced would be more than there is room for.
            if self.size > MAX_FILE_BYTES.min(self.room.n_bytes) {
                return Err(AttachmentError::TooLarge);
            }
            let wanted = N_SNIFFED_BYTES.saturating_sub(self.start.len()).min(bytes.len());
            self.start.extend_from_slice(bytes.get(..wanted).unwrap_or_default());
            self.file.write_all(&bytes).map_err(AttachmentError::io("write the file"))?;
            Ok(self)
        })
        .await
    }

    /// Completes the upload: the file exists from now on.
    pub(crate) async fn finish(self) -> Result<Attachment, AttachmentError> {
        blocking(move || {
            let mut upload = self;
            let attachment = Attachment {
                id: upload.id,
                name: upload.name.clone(),
                mime_type: name::mime_type(&upload.start, &upload.name).to_owned(),
                size: upload.size,
                created: mint::now().0,
                by: upload.by.clone(),
            };
            let keep = || {
                upload.file.sync_all()?;
                storage::write_note(&upload.dir, &attachment)
            };
            keep().map_err(|error| match error.kind() {
                ErrorKind::NotFound => AttachmentError::SessionGone,
                _ => AttachmentError::io("keep the file")(error),
            })?;
            upload.is_kept = true;
            Ok(attachment)
        })
        .await
    }
}
