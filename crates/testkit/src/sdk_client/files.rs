//! The client's files: what `fs/read_text_file` and `fs/write_text_file` do.
//!
//! In: requests with absolute paths. Out: text of files below one directory.
//! Everything else is answered with an error that names the path.

use agent_client_protocol::v1::schema::{
    ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::{Error, ErrorCode, Result};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(super) struct Files(pub(super) Option<PathBuf>);

impl Files {
    pub(super) fn read(&self, request: &ReadTextFileRequest) -> Result<ReadTextFileResponse> {
        self.check(&request.path)?;
        let text = std::fs::read_to_string(&request.path)
            .map_err(|problem| not_found(&request.path, problem))?;
        let first = request.line.map_or(0, |line| line.saturating_sub(1)) as usize;
        let limit = request.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(ReadTextFileResponse::new(
            text.split_inclusive('\n').skip(first).take(limit).collect::<String>(),
        ))
    }

    pub(super) fn write(&self, request: &WriteTextFileRequest) -> Result<WriteTextFileResponse> {
        self.check(&request.path)?;
        std::fs::write(&request.path, &request.content)
            .map_err(|problem| not_found(&request.path, problem))?;
        Ok(WriteTextFileResponse::new())
    }

    // Not a defence, only a fence: the agents of our tests do not try to get out.
    fn check(&self, path: &Path) -> Result<()> {
        match &self.0 {
            Some(directory) if path.starts_with(directory) => Ok(()),
            _ => Err(not_found(path, "not below the client's directory")),
        }
    }
}

fn not_found(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, format!("{}: {problem}", path.display()))
}
