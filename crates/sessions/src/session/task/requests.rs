//! Requests of the agent, each of which is answered: here, by a service, by a client, or by people.

use bus::connection::RpcResult;
use wire::{Json, Message, RpcError, RpcId};

use super::{LogFailure, SessionTask};
use crate::session::clients::AttachedClient;
use crate::session::judge::CHECK;
use crate::session::limit_gate::DeferredMessage;
use crate::session::services::Services;
use crate::session::{ClientCall, params_for_client};

impl SessionTask {
    pub(super) async fn handle_agent_request(
        &mut self,
        message: Message,
    ) -> Result<(), LogFailure> {
        let Some(DeferredMessage::Request(message)) =
            self.gate.keep_back(DeferredMessage::Request(message))
        else {
            return Ok(());
        };
        match message.method() {
            "session/request_permission" => self.asked_permission(&message).await,
            "elicitation/create" => self.asked_elicitation(&message).await,
            method if Services::serves(method) && self.clients.server_of(method).is_none() => {
                self.serve(message);
                Ok(())
            }
            CHECK => {
                let allowed = self.judge.request(CHECK, message.body());
                self.respond(&message.id(), allowed.map(|()| Json::trusted("{}")));
                Ok(())
            }
            method => {
                // What cannot be read is not passed on: the client may read it in another way.
                match self.judge.request(method, message.body()) {
                    Err(refused) => self.respond(&message.id(), Err(refused)),
                    Ok(()) => self.pass_to_client(&message),
                }
                Ok(())
            }
        }
    }

    fn serve(&self, message: Message) {
        let Some(agent) = self.link.agent() else { return };
        let (services, connection) = (self.services.clone(), agent.host.connection.clone());
        let turn = self.turns.current();
        task::spawn(async move {
            let _place = services.place(message.method()).await;
            let outcome = services.serve(message.method(), message.body(), turn).await;
            let _ = connection.respond(&message.id(), outcome).await;
        });
    }

    fn pass_to_client(&mut self, message: &Message) {
        let Some(agent) = self.link.agent() else { return };
        let Some(AttachedClient { calls, .. }) = self.clients.server_of(message.method()) else {
            return self.respond(&message.id(), Err(RpcError::method_not_found(message.method())));
        };
        let call = ClientCall {
            method: message.method().to_owned(),
            params: params_for_client(message, &self.public_id),
            after: self.head,
            agent: agent.host.connection.clone(),
            id: message.id(),
        };
        if calls.try_send(call).is_err() {
            self.respond(&message.id(), Err(RpcError::internal("the client is too busy")));
        }
    }

    pub(super) fn respond(&mut self, id: &RpcId, outcome: RpcResult) {
        let kept = self.gate.keep_back(DeferredMessage::Answer(id.clone(), outcome));
        let Some(DeferredMessage::Answer(_, outcome)) = kept else { return };
        if let Some(agent) = self.link.agent() {
            // An agent that does not read will be found stalled by its connection.
            let _ = agent.host.connection.respond_now(id, outcome);
        }
    }
}
