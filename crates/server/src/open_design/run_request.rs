//! The body of a request for a run.
//!
//! The front end sends more members than are understood here, and other ones with every
//! version; those are passed over. What is understood is checked.

use crate::problem::{Problem, kinds};
use axum::extract::{FromRequest, Request};
use serde::{Deserialize, Serialize};
use sessions::permission::PermissionMode;

/// Room for a transcript with a design system in it. The listener may take less.
const MAX_BODY_BYTES: usize = 32 << 20;
/// Limit of a prompt: no model reads more than this.
const MAX_PROMPT_BYTES: usize = 8 << 20;
const MAX_ID_BYTES: usize = 200;
const MAX_FILES: usize = 64;

/// A run, as it is asked for. Its serialised form tells two requests apart.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewRun {
    pub(super) agent_id: Option<String>,
    /// The request, with all that was said before.
    pub(super) message: Option<String>,
    /// The request alone, for an agent that remembers what was said.
    pub(super) current_prompt: Option<String>,
    pub(super) system_prompt: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) conversation_id: Option<String>,
    pub(super) attachments: Option<Vec<FileReference>>,
    pub(super) images: Option<Vec<FileReference>>,
    /// The same as `images`, by another name.
    pub(super) image_paths: Option<Vec<FileReference>>,
    pub(super) skill_id: Option<String>,
    pub(super) skill_ids: Option<Vec<String>>,
    pub(super) design_system_id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) session_mode: Option<String>,
    pub(super) permissions: Option<PermissionMode>,
    #[serde(skip_serializing)]
    pub(super) client_request_id: Option<String>,
    #[serde(skip_serializing)]
    pub(super) user_message_id: Option<String>,
    #[serde(skip_serializing)]
    pub(super) assistant_message_id: Option<String>,
    /// With `/api/chat`: the run is cancelled when the connection is closed.
    #[serde(skip_serializing)]
    pub(super) cancel_on_disconnect: Option<bool>,
}

/// A path, or an object that has one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum FileReference {
    Path(String),
    Object { path: String },
}

impl FileReference {
    fn to_path(&self) -> String {
        let (Self::Path(path) | Self::Object { path }) = self;
        path.clone()
    }
}

impl NewRun {
    /// Checks the request, and drops empty members.
    pub(super) fn checked(mut self) -> Result<Self, Problem> {
        for (name, value) in [
            ("agentId", &mut self.agent_id),
            ("projectId", &mut self.project_id),
            ("conversationId", &mut self.conversation_id),
            ("clientRequestId", &mut self.client_request_id),
            ("userMessageId", &mut self.user_message_id),
            ("assistantMessageId", &mut self.assistant_message_id),
            ("sessionMode", &mut self.session_mode),
            ("skillId", &mut self.skill_id),
            ("designSystemId", &mut self.design_system_id),
            ("reasoning", &mut self.reasoning),
        ] {
            check_id(name, value)?;
        }
        for text in [&mut self.message, &mut self.current_prompt, &mut self.system_prompt] {
            *text = text.take().filter(|text| !text.trim().is_empty());
        }
        for choice in [&mut self.model, &mut self.reasoning] {
            let given = choice.take().map(|given| given.trim().to_owned());
            // Both mean: whatever the agent is set to.
            *choice = given.filter(|given| !given.is_empty() && given != "default");
        }
        let texts = [&self.message, &self.current_prompt, &self.system_prompt];
        if texts.into_iter().flatten().map(String::len).max() > Some(MAX_PROMPT_BYTES) {
            let why = format!("a prompt has at most {MAX_PROMPT_BYTES} bytes");
            return Err(Problem::of(kinds::LONG_PROMPT).detail(why));
        }
        let n_files = self.files().len() + self.pictures().len();
        if n_files > MAX_FILES {
            let why = format!("a run has at most {MAX_FILES} attachments and images");
            return Err(Problem::bad_request(why));
        }
        let is_empty = self.message.is_none() && self.current_prompt.is_none();
        match is_empty && n_files == 0 {
            true => Err(Problem::bad_request("`message` is empty")),
            false => Ok(self),
        }
    }

    pub(super) fn files(&self) -> Vec<String> {
        self.attachments.iter().flatten().map(FileReference::to_path).collect()
    }

    pub(super) fn pictures(&self) -> Vec<String> {
        let all = [&self.images, &self.image_paths].into_iter().flatten().flatten();
        all.map(FileReference::to_path).collect()
    }

    /// The skills that it names, each once.
    pub(super) fn skills(&self) -> Vec<&str> {
        let mut skills: Vec<&str> = Vec::new();
        let further = self.skill_ids.iter().flatten().map(String::as_str);
        for skill in self.skill_id.as_deref().into_iter().chain(further) {
            if !skill.is_empty() && !skills.contains(&skill) {
                skills.push(skill);
            }
        }
        skills
    }
}

fn check_id(name: &str, value: &mut Option<String>) -> Result<(), Problem> {
    *value = value.take().filter(|value| !value.is_empty());
    let is_fine = |id: &String| id.len() <= MAX_ID_BYTES && !id.chars().any(char::is_control);
    match value.as_ref().is_none_or(is_fine) {
        true => Ok(()),
        false => Err(Problem::bad_request(format!(
            "`{name}` has at most {MAX_ID_BYTES} bytes and no control characters"
        ))),
    }
}

/// A JSON body, checked.
impl<S: Send + Sync> FromRequest<S> for NewRun {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let body = axum::body::to_bytes(request.into_body(), MAX_BODY_BYTES).await;
        let body = body.map_err(|_| {
            let why = format!("the body broke off, or has more than {MAX_BODY_BYTES} bytes");
            Problem::of(kinds::BODY_TOO_LARGE).detail(why)
        })?;
        if wire::has_too_many_values(&body) {
            return Err(Problem::bad_request("there are too many values in the body".to_owned()));
        }
        let read: Self = serde_json::from_slice(&body)
            .map_err(|error| Problem::bad_request(error.to_string()))?;
        read.checked()
    }
}
