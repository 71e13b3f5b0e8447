//! What a reader of events asks for.

use axum::http::HeaderMap;
use serde::Deserialize;
use wire::TurnId;

use super::cursor::Cursor;
use crate::problem::Problem;

/// The query, as it came.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    after: Option<String>,
    format: Option<String>,
    until: Option<String>,
    turn: Option<String>,
}

/// The query and the headers, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) cursor: Cursor,
    pub(super) format: Format,
    pub(super) until: Until,
}

/// The vocabulary of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    Acp,
    Ui,
    Envelopes,
    Conversation,
    /// One turn alone, as the UI of Open Design reads it.
    Run(TurnId),
}

/// When the stream is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    Cut,
    /// Nothing runs and everything was told.
    Idle,
    /// That turn has ended.
    Turn(TurnId),
}

impl Wanted {
    pub(super) fn read(asked: &Asked, headers: &HeaderMap) -> Result<Self, Problem> {
        let format = match asked.format.as_deref() {
            None | Some("acp") => Format::Acp,
            Some("ui") => Format::Ui,
            Some("envelopes") => Format::Envelopes,
            Some("conversation") => Format::Conversation,
            Some(_) => {
                let known = "`format` is one of acp, ui, envelopes, conversation";
                return Err(Problem::bad_request(known));
            }
        };
        let until = match (asked.until.as_deref(), asked.turn.as_deref()) {
            (None, None) => Until::Cut,
            (Some("idle"), None) => Until::Idle,
            (None, Some(turn)) => {
                let turn = TurnId::parse(turn);
                Until::Turn(turn.map_err(|_| Problem::bad_request("`turn` is no turn id"))?)
            }
            (Some(_), None) => return Err(Problem::bad_request("`until` can only be idle")),
            (Some(_), Some(_)) => {
                return Err(Problem::bad_request("`until` and `turn` exclude each other"));
            }
        };
        Ok(Self { cursor: cursor(asked, headers)?, format, until })
    }

    /// One turn alone, until it has ended.
    pub(super) fn run(
        turn: TurnId,
        after: Option<String>,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let cursor = cursor(&Asked { after, ..Asked::default() }, headers)?;
        Ok(Self { cursor, format: Format::Run(turn), until: Until::Turn(turn) })
    }
}

/// A browser that reconnects repeats the URL of the first time, so what it adds as a header
/// is newer. It also cannot leave the header out, so there a bad cursor is told in the
/// stream; in the query it is a mistake of whoever wrote the request.
fn cursor(asked: &Asked, headers: &HeaderMap) -> Result<Cursor, Problem> {
    let after = match asked.after.as_deref() {
        None => Cursor::START,
        Some(after) => Cursor::parse(after),
    };
    if after == Cursor::Unreadable {
        return Err(Problem::bad_request("`after` is neither a number nor the id of a frame"));
    }
    Ok(match headers.get("last-event-id") {
        None => after,
        Some(last) if last.is_empty() => after,
        Some(last) => last.to_str().map_or(Cursor::Unreadable, Cursor::parse),
    })
}

#[cfg(test)]
mod tests;
