//! `sdk-agent [--state DIR]`: an ACP agent on stdio, made with the official SDK.
//!
//! In: ACP v1. Out: what a prompt's first word asks for (see `turn`), and sessions that can be
//! listed, loaded, resumed, closed and deleted; with `--state`, by the next process too.
//! Handlers never wait: the SDK handles one message at a time, so turns run as tasks.

mod sessions;
mod turn;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest,
    ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionListCapabilities, SessionNotification,
    SessionResumeCapabilities, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{Agent, ByteStreams, Client, Result};
use agent_client_protocol::{on_receive_notification, on_receive_request};
use sessions::Sessions;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

// The SDK nests one future per handler; unoptimised, a message costs up to half a megabyte.
const STACK_BYTES: usize = 16 * 1024 * 1024;

fn main() {
    let mut args = std::env::args_os().skip(1);
    let state = args.find(|arg| arg == "--state").and_then(|_| args.next()).map(PathBuf::from);
    let serving = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map(|runtime| runtime.block_on(serve(Arc::new(Sessions::new(state)))))
    });
    let is_well = matches!(serving.map(std::thread::JoinHandle::join), Ok(Ok(Ok(Ok(())))));
    // Not a return: tokio's stdin may still be reading, and would be waited for.
    std::process::exit(i32::from(!is_well));
}

async fn serve(sessions: Arc<Sessions>) -> Result<()> {
    let [begin, create, load, resume, list] = std::array::from_fn(|_| Arc::clone(&sessions));
    let [close, delete, mode, cancel, prompt] = std::array::from_fn(|_| Arc::clone(&sessions));
    Agent
        .v1()
        .name("sdk-agent")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _| {
                begin.meet(request.client_capabilities);
                responder.respond(introduction())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _| {
                let (id, modes) = create.create(request.cwd);
                responder.respond(NewSessionResponse::new(id).modes(modes))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, cx: ConnectionTo<Client>| {
                let id = request.session_id;
                match load.open(&id) {
                    Ok((modes, history)) => {
                        for update in history {
                            cx.send_notification(SessionNotification::new(id.clone(), update))?;
                        }
                        responder.respond(LoadSessionResponse::new().modes(modes))
                    }
                    Err(problem) => responder.respond_with_error(problem),
                }
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, _| {
                let opened = resume.open(&request.session_id);
                responder.respond_with_result(
                    opened.map(|(modes, _)| ResumeSessionResponse::new().modes(modes)),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _| {
                responder.respond(ListSessionsResponse::new(list.list(request.cwd.as_deref())))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _| {
                close.close(&request.session_id);
                responder.respond(CloseSessionResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, _| {
                delete.delete(&request.session_id);
                responder.respond(DeleteSessionResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _| {
                let set = mode.set_mode(&request.session_id, request.mode_id);
                responder.respond_with_result(set.map(|()| SetSessionModeResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: CancelNotification, _| {
                cancel.cancel(&notification.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, cx: ConnectionTo<Client>| {
                // Begun here and not in the task, so that a cancel behind it finds the turn.
                let turn = turn::begin(Arc::clone(&prompt), cx.clone(), request);
                match turn {
                    Ok(turn) => {
                        cx.spawn(async move { responder.respond_with_result(turn.run().await) })
                    }
                    Err(problem) => responder.respond_with_error(problem),
                }
            },
            on_receive_request!(),
        )
        .connect_to(ByteStreams::new(
            tokio::io::stdout().compat_write(),
            tokio::io::stdin().compat(),
        ))
        .await
}

fn introduction() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(
            AgentCapabilities::new().load_session(true).session_capabilities(sessions),
        )
        .agent_info(Implementation::new("sdk-agent", env!("CARGO_PKG_VERSION")))
}
