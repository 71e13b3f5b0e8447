//! `switchyard acp` as a relay: carries lines between the editor and the daemon's socket.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use sessions::order::SessionOrder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_util::sync::CancellationToken;
use wire::LineSplitter;

use crate::command_daemon::RunningDaemon;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::stdio;
use crate::this_process::environment_for_agents;

/// The wait for the daemon's last answers; it waits for less before it closes.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

pub(super) type DaemonSocket = WebSocketStream<UnixStream>;

/// Opens a WebSocket to the daemon, and sends the order for the editor's sessions.
pub(super) async fn open(
    order: &SessionOrder,
    config: &Config,
    daemon: &RunningDaemon,
) -> Result<DaemonSocket, Failure> {
    let max_bytes = config.file.limits.worker_line_bytes;
    let limits = WebSocketConfig::default()
        .max_message_size(Some(max_bytes))
        .max_frame_size(Some(max_bytes));
    let stream = daemon.connect().await?;
    let (mut socket, _) =
        tokio_tungstenite::client_async_with_config("ws://localhost/acp", stream, Some(limits))
            .await
            .context("the daemon does not speak ACP")?;
    socket.send(Message::text(order_notification(order))).await.context("the daemon has ended")?;
    Ok(socket)
}

/// Serves the editor with sessions of the daemon until either leaves.
pub(super) async fn serve(
    socket: Box<DaemonSocket>,
    max_line_bytes: usize,
    stop: CancellationToken,
) -> Result<ExitCode, Failure> {
    let (mut sink, mut frames) = socket.split();
    let (mut reader, mut writer) = stdio::open();
    let outwards = async {
        while let Some(Ok(frame)) = frames.next().await {
            let Message::Text(text) = frame else { continue };
            writer.write_all(text.as_bytes()).await?;
            writer.write_all(b"\n").await?;
            writer.flush().await?;
        }
        anyhow::Ok(())
    };
    tokio::pin!(outwards);
    let inwards = async {
        let mut lines = LineSplitter::new(max_line_bytes);
        loop {
            while let Some(line) = lines.next_line() {
                let text = match line {
                    Ok(line) => String::from_utf8_lossy(&line).into_owned(),
                    // What cannot be carried is sent as a string, which the daemon refuses.
                    Err(error) => format!("\"{error}\""),
                };
                sink.send(Message::text(text)).await?;
            }
            if reader.read_buf(lines.buffer()).await? == 0 {
                let end = wire::notification_line("_switchyard/end_of_input", "{}");
                sink.send(Message::text(end)).await?;
                return anyhow::Ok(());
            }
        }
    };
    let has_editor_left = async {
        let has_left = tokio::select! {
            _ = &mut outwards => false,
            left = inwards => left.is_ok(),
        };
        if has_left {
            // The daemon answers what it was sent, and closes.
            let _ = tokio::time::timeout(ANSWER_GRACE, outwards).await;
        }
        has_left
    };
    let has_editor_left = tokio::select! {
        has_left = has_editor_left => has_left,
        () = stop.cancelled() => true,
    };
    match has_editor_left {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::new(ERROR, "the daemon has ended")
            .hint("start the agent again; its sessions can be loaded")),
    }
}

/// The order as the notification that the daemon takes.
fn order_notification(order: &SessionOrder) -> String {
    let words = order.command.iter().map(|word| word.to_string_lossy());
    let params = json!({
        "agent": order.agent,
        "command": words.collect::<Vec<_>>(),
        "cwd": order.cwd,
        "additionalDirectories": order.additional_directories,
        "env": environment_for_agents(),
        "permissions": order.permissions,
    });
    wire::notification_line("_switchyard/order", &params.to_string())
}
