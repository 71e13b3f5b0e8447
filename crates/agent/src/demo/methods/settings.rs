//! Choosing a mode, a config option, or (as old clients do) a model.
//!
//! In: params. Out: the result and the update that tells everybody else.
//! With `--no-config` none of these methods exists.

use super::{Reply, invalid, read, unknown_method, unknown_session};
use crate::demo::connection::Connection;
use crate::demo::rpc::RpcError;
use crate::demo::settings::Settings;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) async fn call(
    connection: &Connection,
    method: &str,
    params: &RawValue,
) -> Result<Reply, RpcError> {
    if connection.options.has_no_config {
        return Err(unknown_method(method));
    }
    match method {
        "session/set_mode" => set_mode(connection, read(params)?).await,
        "session/set_config_option" => set_option(connection, read(params)?).await,
        _ => set_model(connection, read(params)?).await,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetMode {
    session_id: String,
    mode_id: String,
}

async fn set_mode(connection: &Connection, params: SetMode) -> Result<Reply, RpcError> {
    let SetMode { session_id, mode_id } = params;
    change(connection, &session_id, |settings| settings.set_mode(&mode_id)).await?;
    let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode_id });
    Ok(Reply { result: json!({}), then: vec![(session_id, update)] })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetOption {
    session_id: String,
    config_id: String,
    value: String,
}

async fn set_option(connection: &Connection, params: SetOption) -> Result<Reply, RpcError> {
    let SetOption { session_id, config_id, value } = params;
    let options =
        change(connection, &session_id, |settings| settings.set_option(&config_id, &value)).await?;
    Ok(json!({ "configOptions": options }).into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModel {
    session_id: String,
    model_id: String,
}

async fn set_model(connection: &Connection, params: SetModel) -> Result<Reply, RpcError> {
    let SetModel { session_id, model_id } = params;
    let options =
        change(connection, &session_id, |settings| settings.set_option("model", &model_id)).await?;
    let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
    Ok(Reply { result: json!({}), then: vec![(session_id, update)] })
}

/// Applies a change and gives the complete list of options after it.
async fn change(
    connection: &Connection,
    id: &str,
    apply: impl FnOnce(&mut Settings) -> bool,
) -> Result<Value, RpcError> {
    let options = {
        let mut state = connection.state();
        let session = state.sessions.get_mut(id).filter(|session| session.is_open);
        let session = session.ok_or_else(|| unknown_session(id))?;
        if !apply(&mut session.record.settings) {
            return Err(invalid("no such option or no such value"));
        }
        session.record.settings.options()
    };
    // The choice holds for this process even when it cannot be written down.
    let _ = connection.save(id).await;
    Ok(options)
}
