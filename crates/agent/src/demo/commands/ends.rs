//! Commands that end the turn, or keep it from ending.
//!
//! In: arguments. Out: the turn's outcome, or time that passes.
//! Only `hang-hard` outlives a cancel.

use super::arguments::Arguments;
use super::{Done, Flow};
use crate::demo::rpc::RpcError;
use crate::demo::turn::{OnCancel, Turn};
use std::time::Duration;

const PROVIDER_ERROR: &str = "API Error: 529 \
{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";

pub(super) async fn perform(turn: &Turn, name: &str, mut arguments: Arguments<'_>) -> Done {
    match name {
        "stop" => return Ok(Flow::End(Ok(arguments.need_word()?.to_owned()))),
        "fail" => {
            let code = arguments.number()?;
            return Ok(Flow::End(Err(RpcError::new(code, arguments.need_rest()?))));
        }
        "provider-error" => {
            turn.say(PROVIDER_ERROR).await;
            return Ok(Flow::End(Ok("end_turn".to_owned())));
        }
        "hang" => std::future::pending::<()>().await,
        "hang-hard" => {
            turn.wishes().on_cancel = OnCancel::Ignore;
            std::future::pending::<()>().await;
        }
        // `sleep` and `silence`
        _ => tokio::time::sleep(Duration::from_millis(arguments.number()?)).await,
    }
    Ok(Flow::Next)
}
