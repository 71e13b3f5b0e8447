//! The client's files: what `fs/read_text_file` and `fs/write_text_file` do.
//!
//! In: requests with absolute paths. Out: text of files below one directory, as it stands in
//! the editor where it is open there; what is written is saved.
//! Everything else is answered with an error that names the path.

use agent_client_protocol::v1::schema::{
    ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::{Error, ErrorCode, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Debug)]
pub(super) struct Files {
    directory: Option<PathBuf>,
    buffers: Mutex<BTreeMap<PathBuf, String>>,
}

impl Files {
    pub(super) fn new(directory: Option<PathBuf>, buffers: BTreeMap<PathBuf, String>) -> Self {
        Self { directory, buffers: Mutex::new(buffers) }
    }

    pub(super) fn read(&self, request: &ReadTextFileRequest) -> Result<ReadTextFileResponse> {
        self.check(&request.path)?;
        let buffer = self.buffers.lock().unwrap().get(&request.path).cloned();
        let text = match buffer {
            Some(text) => text,
            None => std::fs::read_to_string(&request.path)
                .map_err(|problem| not_found(&request.path, problem))?,
        };
        let first = request.line.map_or(0, |line| line.saturating_sub(1)) as usize;
        let limit = request.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(ReadTextFileResponse::new(
            text.split_inclusive('\n').skip(first).take(limit).collect::<String>(),
        ))
    }

    pub(super) fn write(&self, request: &WriteTextFileRequest) -> Result<WriteTextFileResponse> {
        self.check(&request.path)?;
        self.buffers.lock().unwrap().remove(&request.path);
        std::fs::write(&request.path, &request.content)
            .map_err(|problem| not_found(&request.path, problem))?;
        Ok(WriteTextFileResponse::new())
    }

    // Not a defence, only a fence: the agents of our tests do not try to get out.
    fn check(&self, path: &Path) -> Result<()> {
        match &self.directory {
            Some(directory) if path.starts_with(directory) => Ok(()),
            _ => Err(not_found(path, "not below the client's directory")),
        }
    }
}

fn not_found(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, format!("{}: {problem}", path.display()))
}
