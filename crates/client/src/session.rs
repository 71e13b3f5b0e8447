//! One session of a daemon, and the requests about it.

use serde::Deserialize;
use serde_json::{Value, json};
use wire::{CallId, Json, Seq, SessionId, TurnId};

use crate::{ClientError, DaemonClient, Follower};

/// A session by its id. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionClient {
    pub(crate) client: DaemonClient,
    pub(crate) id: SessionId,
}

/// The answer to a question of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionAnswer {
    /// One of the question's options, by its id.
    Option(String),
    Rejected,
    /// Rejected, because nobody is there to ask.
    Unattended,
    /// ACP's answer to an elicitation.
    Form(Json),
}

/// An uploaded file, which can be sent along with a prompt.
#[derive(Debug, Clone, Deserialize)]
pub struct Attachment {
    pub id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptAccepted {
    turn_id: TurnId,
}

impl SessionClient {
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Its current state, as the API describes it.
    pub async fn get<A: serde::de::DeserializeOwned>(&self) -> Result<A, ClientError> {
        self.client.get(&self.path("")).await
    }

    /// Changes its title, its limits, or what its agent uses.
    pub async fn change(&self, changes: &Value) -> Result<(), ClientError> {
        self.client.patch::<Value>(&self.path(""), changes).await.map(drop)
    }

    /// Starts its agent; with `auth`, after logging in by this method of the agent.
    pub async fn start(&self, auth: Option<&str>) -> Result<(), ClientError> {
        let body = json!({ "auth": auth });
        self.client.post::<Value>(&self.path("/start"), &body).await.map(drop)
    }

    /// Prompts it with content blocks and what was attached; returns the turn that begins, or
    /// will when those before it have ended.
    pub async fn prompt(
        &self,
        blocks: &[Value],
        attachments: &[Attachment],
    ) -> Result<TurnId, ClientError> {
        let ids: Vec<&str> = attachments.iter().map(|one| one.id.as_str()).collect();
        let body = json!({ "prompt": blocks, "attachments": ids });
        let accepted: PromptAccepted = self.client.post(&self.path("/prompt"), &body).await?;
        Ok(accepted.turn_id)
    }

    /// Uploads a file for a prompt.
    pub async fn attach(&self, name: &str, bytes: Vec<u8>) -> Result<Attachment, ClientError> {
        let path = self.path(&format!("/attachments?name={}", crate::encoded(name)));
        self.client.upload(&path, bytes).await
    }

    /// Stops the running turn, for a reason that is logged; returns when no turn runs.
    pub async fn cancel(&self, reason: Option<&str>) -> Result<(), ClientError> {
        let body = json!({ "reason": reason });
        self.client.post::<Value>(&self.path("/cancel"), &body).await.map(drop)
    }

    pub async fn answer(
        &self,
        question: CallId,
        answer: &QuestionAnswer,
    ) -> Result<(), ClientError> {
        let body = match answer {
            QuestionAnswer::Option(id) => json!({ "optionId": id }),
            QuestionAnswer::Rejected => json!({ "outcome": "rejected" }),
            QuestionAnswer::Unattended => json!({ "outcome": "unattended" }),
            QuestionAnswer::Form(response) => json!({ "response": response }),
        };
        let path = self.path(&format!("/permissions/{question}"));
        self.client.post::<Value>(&path, &body).await.map(drop)
    }

    /// Deletes it for good.
    pub async fn delete(&self) -> Result<(), ClientError> {
        self.client.delete(&self.path("")).await
    }

    /// Its events after `after`, also when the connection is lost in between.
    pub fn follow(&self, after: Seq) -> Follower {
        self.client.follow(self.id.as_str(), after)
    }

    fn path(&self, of: &str) -> String {
        format!("/v1/sessions/{}{of}", self.id)
    }
}
