//! The thread in which the SDK's connection and the agent's process live.
//!
//! In: the command and how to behave. Out: a handle to the connection, and the agent's end.
//! Handlers never wait for anything: the SDK handles one message at a time.

use super::GRACE;
use super::behavior::ClientBehavior;
use super::files::Files;
use super::record::ClientRecord;
use super::recorder::Recorder;
use super::terminals::Terminals;
use crate::transcript::Direction;
use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, CreateTerminalRequest, KillTerminalRequest, KillTerminalResponse,
    ReadTextFileRequest, ReleaseTerminalRequest, ReleaseTerminalResponse, RequestPermissionRequest,
    RequestPermissionResponse, SessionNotification, TerminalOutputRequest,
    WaitForTerminalExitRequest, WriteTextFileRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, ByteStreams, Client, ConnectTo, Result};
use agent_client_protocol::{on_receive_notification, on_receive_request};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

// The SDK nests one future per handler; unoptimised, a message costs up to half a megabyte.
const STACK_BYTES: usize = 16 * 1024 * 1024;

type StartedConnection = (ConnectionTo<Agent>, u32);

pub(super) fn open(
    command: Command,
    behavior: ClientBehavior,
    memory: Arc<ClientRecord>,
    stopped: oneshot::Receiver<()>,
) -> (oneshot::Receiver<StartedConnection>, oneshot::Receiver<ExitStatus>) {
    let (started_tx, started) = oneshot::channel();
    let (exit_tx, exit) = oneshot::channel();
    let live = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let status = runtime.block_on(async {
            let mut child = start(command);
            let transport = transport(&mut child, &memory);
            let pid = child.id().unwrap();
            let client = Handlers::new(behavior, memory);
            let end = client.serve(transport, started_tx, pid, stopped).await;
            // An agent that ended first is no error here; its exit status tells the rest.
            drop(end);
            wait(child).await
        });
        let _ = exit_tx.send(status);
    };
    let thread = std::thread::Builder::new().name("sdk-client".into()).stack_size(STACK_BYTES);
    thread.spawn(live).unwrap();
    (started, exit)
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command.spawn().unwrap_or_else(|problem| panic!("cannot start {command:?}: {problem}"))
}

fn transport(child: &mut Child, memory: &Arc<ClientRecord>) -> impl ConnectTo<Client> + use<> {
    let to_agent = child.stdin.take().unwrap();
    let from_agent = child.stdout.take().unwrap();
    ByteStreams::new(
        Recorder::new(to_agent, Direction::ClientToAgent, Arc::clone(memory)).compat_write(),
        Recorder::new(from_agent, Direction::AgentToClient, Arc::clone(memory)).compat(),
    )
}

async fn wait(mut child: Child) -> ExitStatus {
    if let Ok(status) = tokio::time::timeout(GRACE, child.wait()).await {
        return status.unwrap();
    }
    let _ = child.start_kill();
    child.wait().await.unwrap()
}

struct Handlers {
    behavior: ClientBehavior,
    files: Files,
    memory: Arc<ClientRecord>,
    terminals: Terminals,
}

impl Handlers {
    fn new(behavior: ClientBehavior, memory: Arc<ClientRecord>) -> Arc<Self> {
        let files = Files::new(behavior.files.clone(), behavior.buffers.clone());
        Arc::new(Self { behavior, files, memory, terminals: Terminals::default() })
    }

    /// Serves the agent's requests until the test is done.
    async fn serve(
        self: Arc<Self>,
        transport: impl ConnectTo<Client> + 'static,
        started: oneshot::Sender<StartedConnection>,
        pid: u32,
        stopped: oneshot::Receiver<()>,
    ) -> Result<()> {
        let [updates, permissions, forms, reads, writes] =
            std::array::from_fn(|_| Arc::clone(&self));
        let [creates, outputs, waits, kills, releases] = std::array::from_fn(|_| Arc::clone(&self));
        Client
            .v1()
            .name("testkit")
            .on_receive_notification(
                async move |update: SessionNotification, _| {
                    updates.memory.keep_update(update);
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    permissions.permit(request, responder)
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |_: CreateElicitationRequest, responder, _| {
                    responder.respond(forms.behavior.elicitation.response())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ReadTextFileRequest, responder, _| {
                    responder.respond_with_result(reads.files.read(&request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: WriteTextFileRequest, responder, _| {
                    responder.respond_with_result(writes.files.write(&request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: CreateTerminalRequest, responder, _| {
                    responder.respond_with_result(creates.terminals.create(&request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: TerminalOutputRequest, responder, _| {
                    responder.respond_with_result(outputs.terminals.output(&request.terminal_id))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: WaitForTerminalExitRequest, responder, cx: ConnectionTo<_>| {
                    match waits.terminals.exit(&request.terminal_id) {
                        Ok(exit) => {
                            cx.spawn(async move { responder.respond_with_result(exit.await) })
                        }
                        Err(problem) => responder.respond_with_error(problem),
                    }
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: KillTerminalRequest, responder, _| {
                    let killed = kills.terminals.kill(&request.terminal_id);
                    responder.respond_with_result(killed.map(|()| KillTerminalResponse::new()))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ReleaseTerminalRequest, responder, _| {
                    let released = releases.terminals.release(&request.terminal_id);
                    responder.respond_with_result(released.map(|()| ReleaseTerminalResponse::new()))
                },
                on_receive_request!(),
            )
            .connect_with(transport, async move |cx| {
                let _ = started.send((cx, pid));
                // A dropped client means the same as a stopped one.
                let _ = stopped.await;
                Ok(())
            })
            .await
    }

    fn permit(
        &self,
        request: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<()> {
        if let Some(outcome) = self.behavior.permission.choose(&request.options) {
            self.memory.keep_question(request);
            responder.respond(RequestPermissionResponse::new(outcome))
        } else {
            self.memory.keep_open_question(request, responder);
            Ok(())
        }
    }
}
