//! Reads the params of requests, and says what is wrong with them.

use serde::de::DeserializeOwned;
use wire::{RpcError, codes};

pub(super) fn read<T: DeserializeOwned>(params: &str) -> Result<T, RpcError> {
    serde_json::from_str(params).map_err(|problem| invalid(problem.to_string()))
}

pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(codes::INVALID_PARAMS, message)
}

pub(super) fn unknown_session(id: &str) -> RpcError {
    RpcError::new(codes::NOT_FOUND, format!("no such session: {id}"))
}
