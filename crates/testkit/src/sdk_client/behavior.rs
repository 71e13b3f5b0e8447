//! The client's behaviour on requests of the agent.
//!
//! In: choices of the test. Out: the same, before the connection starts.
//! Without choices it refuses: permissions are rejected, forms declined, no file is touched.

use agent_client_protocol::v1::schema::{
    CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction, ElicitationContentValue,
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, SelectedPermissionOutcome,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Clone, Default)]
pub struct ClientBehavior {
    pub permission: PermissionReply,
    pub elicitation: FormAnswer,
    /// Where files may be read and written.
    pub files: Option<PathBuf>,
    /// Unsaved texts of files that are open in the editor.
    pub buffers: BTreeMap<PathBuf, String>,
}

impl ClientBehavior {
    #[must_use]
    pub fn permission(mut self, permission: PermissionReply) -> Self {
        self.permission = permission;
        self
    }

    #[must_use]
    pub fn elicitation(mut self, answer: FormAnswer) -> Self {
        self.elicitation = answer;
        self
    }

    #[must_use]
    pub fn files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.files = Some(directory.into());
        self
    }
}

impl ClientBehavior {
    /// A file that is open in the editor with other words than on the disk.
    #[must_use]
    pub fn buffer(mut self, path: impl Into<PathBuf>, text: &str) -> Self {
        self.buffers.insert(path.into(), text.to_owned());
        self
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PermissionReply {
    /// Once if that is offered, else always.
    Allow,
    /// Once if that is offered, else always.
    #[default]
    Reject,
    /// The option with this id, offered or not.
    Option(String),
    /// No answer until the turn is cancelled.
    Never,
}

impl PermissionReply {
    /// The answer to a permission request; `None` if there is to be none.
    pub(super) fn choose(&self, offered: &[PermissionOption]) -> Option<RequestPermissionOutcome> {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let kinds = match self {
            Self::Never => return None,
            Self::Option(id) => return Some(selected(id.clone())),
            Self::Allow => [AllowOnce, AllowAlways],
            Self::Reject => [RejectOnce, RejectAlways],
        };
        let option =
            kinds.iter().find_map(|kind| offered.iter().find(|option| option.kind == *kind));
        Some(option.map_or(RequestPermissionOutcome::Cancelled, |option| {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                option.option_id.clone(),
            ))
        }))
    }
}

fn selected(id: String) -> RequestPermissionOutcome {
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
}

/// The answer to a form.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FormAnswer {
    Accept(BTreeMap<String, ElicitationContentValue>),
    #[default]
    Decline,
    Cancel,
}

impl FormAnswer {
    pub(super) fn response(&self) -> CreateElicitationResponse {
        CreateElicitationResponse::new(match self {
            Self::Accept(content) => {
                ElicitationAction::Accept(ElicitationAcceptAction::new().content(content.clone()))
            }
            Self::Decline => ElicitationAction::Decline,
            Self::Cancel => ElicitationAction::Cancel,
        })
    }
}
